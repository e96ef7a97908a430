//! The amounts and counters that a store tells of itself.

use std::time::Duration;

/// The amounts of stored data, and the counters of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The number of documents, where the store counts them.
    pub n_documents: Option<u64>,
    /// The bytes of this store's files, where it has files.
    pub n_disk_bytes: Option<u64>,
    /// The bytes of these files that hold nothing now, where the store writes them again: it does
    /// once no reader has a snapshot in which they held something.
    pub n_free_bytes: Option<u64>,
    /// The bytes of memory held by its search tables in this process, where it has some.
    pub n_table_bytes: Option<u64>,
    /// The image of the search tables on disk, where there is one that is fit for use.
    pub image: Option<ImageStatus>,
    /// The number of searches of this process with more candidates than the rule judges, where the
    /// store leaves some out: [`candidates_max`](crate::Rule::candidates_max).
    pub n_bounded: Option<u64>,
    /// The encounters of this process's insertions with other writers, where the store has no
    /// global lock.
    pub claims: Option<ClaimCounts>,
    /// The connections of this process to the server, where the store has one.
    pub connections: Option<ConnectionCounts>,
}

/// The part of a store that needs no tables in memory: see
/// [`Store::write_image`](crate::Store::write_image).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageStatus {
    /// The number of the last change in the image.
    pub up_to: u64,
    /// The number of the last change of all.
    pub last_change: u64,
}

/// The counts of a pool of connections. A call waits while all of them are in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// The greatest number of connections.
    pub n_max: usize,
    /// The number of open connections, in use or not.
    pub n_open: usize,
    /// The number of connections in use by a call.
    pub n_in_use: usize,
}

/// Counts of the encounters between insert-if-new calls and other writers, since the store was
/// opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClaimCounts {
    /// The number of claims announced. A duplicate of an old document needs no claim.
    pub n_claims: u64,
    /// The number of own claims ended or overtaken by other writers, which had to start again.
    pub n_conflicts: u64,
    /// The number of other writers' claims ended, because they came later or their leases had run
    /// out.
    pub n_aborted: u64,
    /// The number of pauses because of earlier claims.
    pub n_waits: u64,
    /// The total time of these pauses.
    pub waited: Duration,
}
