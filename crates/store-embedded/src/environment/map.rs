//! The opening of the map: the one block of `unsafe` in this crate.

use std::path::Path;

use heed::{Env, EnvFlags, EnvOpenOptions};

use super::{databases, locks};
use crate::directory;
use crate::limits::READERS_MAX;

#[expect(
    unsafe_code,
    reason = "LMDB maps its file; a map is sound only while no other program writes to the file"
)]
pub(crate) fn open_env(directory: &Path, map_bytes: Option<usize>) -> Result<Env, heed::Error> {
    let mut options = EnvOpenOptions::new();
    options.max_readers(READERS_MAX).max_dbs(databases::N_MAX);
    if let Some(bytes) = map_bytes {
        options.map_size(bytes);
    }
    locks::reserve(directory)?;
    // SAFETY: the map is sound while the file changes only through LMDB and its lock file. The
    // directory holds nothing but LMDB's files (`directory::prepare`), this program opens them only
    // here, and no flag gives up locks or syncing. Other programs must not write to the file, which
    // is the caller's part and stated in the README; heed refuses to open it twice in this process.
    // No reference into the map outlives its transaction, and no transaction outlives the
    // environment: heed checks both lifetimes.
    //
    // An access to a page of the map beyond the end of the file kills the process (SIGBUS). LMDB
    // accesses none behind its last page. Before the map is made (`pages::extent`) and when a
    // transaction begins, the file is checked to have all pages up to there, except free ones. At
    // the same moments it is checked to be the file at the path, with the roots written by LMDB
    // (`Place`).
    //
    // The rest breaks the caller's part: a program that truncates the file, or writes to it,
    // between the check and the end of the transaction; and pages with changed bytes, from a broken
    // disk too. LMDB trusts the content of a page, so changed bytes may kill the process. The
    // checksums of the records keep them out of answers.
    //
    // Whether the system reads ahead changes no byte.
    unsafe {
        if !reads_ahead(directory::data_bytes(directory), memory_bytes()) {
            options.flags(EnvFlags::NO_READ_AHEAD);
        }
        options.open(directory)
    }
}

/// Returns true if the system is to read pages around one that is read. That brings a file into
/// memory soon. Of a file that does not fit, each page read would push out hundreds of others.
fn reads_ahead(n_data_bytes: u64, n_memory_bytes: Option<u64>) -> bool {
    n_memory_bytes.is_none_or(|n_bytes| n_data_bytes <= n_bytes / 2)
}

/// Bytes of memory of this machine; `None` on a system that does not report them.
fn memory_bytes() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let of = rustix::system::sysinfo();
        // The type is narrower on some machines.
        fn wide(n: impl Into<u64>) -> u64 {
            n.into()
        }
        wide(of.totalram).checked_mul(of.mem_unit.into())
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_fills_most_of_memory_is_not_read_ahead() {
        assert!(
            reads_ahead(0, Some(0)) && reads_ahead(8 << 30, Some(16 << 30)) && reads_ahead(1 << 40, None)
        );
        assert!(!reads_ahead((8 << 30) + 1, Some(16 << 30)));
        assert!(memory_bytes().is_none_or(|n_bytes| n_bytes > 1 << 20));
    }
}
