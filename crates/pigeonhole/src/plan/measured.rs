//! The constants of the model, each with its unit and its source. A new measurement is a new number
//! here, or a row of `TABLES` if it measures tables; no other file has figures.
//!
//! Unless stated otherwise: HBase 2.6.1, standalone on two cores of an Intel Xeon (Sapphire Rapids)
//! shared with clients and other work, tables of `schema/create.rb`. Processor time is of one core.

#[cfg(test)]
use index::Profile;

/// A constant.
pub(super) struct Constant {
    pub(super) name: &'static str,
    pub(super) value: f64,
    pub(super) unit: &'static str,
    /// The measurement or the rule behind it.
    pub(super) from: &'static str,
}

macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $value:expr, $unit:literal, $from:literal;)*) => {
        $($(#[$doc])* pub(super) const $name: f64 = $value;)*
        /// All constants, for display.
        pub(super) const ALL: &[Constant] = &[$(
            Constant { name: stringify!($name), value: $value, unit: $unit, from: $from },
        )*];
    };
}

constants! {
    // Storage.

    /// The id in a row is not compressed: it is the qualifier, which FAST_DIFF writes in full where
    /// rows differ.
    INDEX_ROW_BYTES = 18.0, "bytes of a row of NAME beside the id",
        "du of compacted tables: 18.2 by puts (docs/src/measured.md, HBase), 16.3 by a bulk load, whose cells have one time";
    RECORD_BYTES = 225.4, "bytes of a row of NAME_docs beside the id, with the signature of a long text",
        "du of compacted tables of 100,000 documents of 40 words, ids of 12, 36 and 80 bytes";
    TEXT_SHARE = 0.46, "of the bytes of a text that it takes in NAME_docs where texts are kept",
        "6,800 of 15,300 bytes of a statute, 8,600 of 18,400 of a PEP, compressed alone: docs/src/measured.md, Batch";
    /// Counted by HBase towards a block before FAST_DIFF.
    RAW_CELL_BYTES = 34.0, "bytes of a cell of NAME before encoding, beside the id",
        "HBase's KeyValue: 4 + 4 bytes of lengths, 2 + 13 of the row, 1 + 1 of the family, 8 + 1 of time and type";
    BLOCK_BYTES = 16_384.0, "bytes of a block before encoding", "BLOCKSIZE of schema/create.rb";
    BLOCK_ENTRY_BYTES = 28.0, "bytes of a block's entry in the index of blocks",
        "78,839 bytes for 2,814 blocks of 649,834 rows: hbase hfile -m of a table of 100,000 documents, profile full";
    BLOOM_BITS = 9.7, "bits for each entry of a bloom filter",
        "786,432 bytes for 649,828 buckets, the same file: an error rate of 1 %";

    // Reading and writing.

    SCAN_SECONDS = 57e-6, "s of a region server for a call that scans one bucket",
        "0.57 ms a query of ten scans, in memory, HBase's own RPC";
    RANGE_SECONDS = 19e-6, "s of a region server for each further bucket of the same call",
        "0.50 ms a query of 26 buckets: batches of 2,000 to a worker, 100,000 documents in 4 regions, a busy machine";
    CONFIRM_CALLS = 2.0, "calls more, for the records of what is near and for the index's metadata",
        "docs/src/measured.md, HBase";
    ROW_SECONDS = 0.72e-6, "s of a region server for each row that a scan passes",
        "5.9 s for 8,191,056 rows: bench/FullScan.java of deploy/hbase/README.md, All pairs";
    CLIENT_ROW_SECONDS = 0.47e-6, "s of a client for each row that it gets and compares",
        "1.21 s for 2,600,000 rows without pairs: indexer pairs by hbase+rpc, a busy machine";
    CLIENT_CALL_SECONDS = 500e-6, "s of a worker for a call of any number of queries",
        "0.58 ms a query of one caller of four to a query-worker, less what follows: the same index and machine";
    CLIENT_QUERY_SECONDS = 80e-6, "s of a worker for each query of a call, beside text and rows",
        "0.083 ms a query in batches of 2,000: the same";
    TEXT_SECONDS_A_BYTE = 40e-9, "s from text to sketch for each byte of it",
        "50 MB/s on both cores: dedup of the corpora of docs/src/measured.md, Batch";
    WRITE_ROW_SECONDS = 9.3e-6, "s of a region server for each row that is put",
        "two thirds of two cores at 13,000 documents/s of 11 rows: docs/src/measured.md, HBase";
    CLIENT_WRITE_SECONDS = 125e-6, "s of a client for each document that it inserts if it is new, beside text and rows",
        "136 us a document of 280 bytes: indexer dedup of 20,000 new ones by hbase+rpc, the same machine";
    BULK_ROW_SECONDS = 1.2e-6, "s of the loader for each row of a bulk load",
        "16.7 s on two cores for 27 rows of each of 996,401 documents: deploy/hbase/README.md, Bulk load";
    BULK_SORT_SECONDS = 0.72e-6, "s of `indexer bulk-rows` for each row, short texts included",
        "9.7 s on two cores for the same documents";
    PAIRS_SERVER_SECONDS = 1.40e-6, "s of a region server for each row that `indexer pairs` passes",
        "11.5 s for 8,191,056 rows: deploy/hbase/README.md, All pairs";
    STRANGERS_A_MILLION = index::STRANGERS_A_MILLION, "rows of unlike documents that a query meets in its bands, for each million documents",
        "89,685 headlines (titles_zh); 1.1 among 13,644 poems (poetry_zh), 310 among 557,639 sentences: as the texts are";

    // Rules, not measured.

    DISK_FILL = 0.6, "of the disk that tables may fill",
        "a rule: a major compaction writes a table anew before the old one goes";
    CPU_FILL = 0.6, "of the cores that may be busy", "a rule: for peaks, compactions and a server that is away";
    CACHE_FILL = 0.6, "of the memory that is for blooms, index blocks and cached data",
        "a rule: the rest is for memstores, the JVM and the system";
    COMPACTION_DAYS = 7.0, "days that expired documents stay on disk", "HBase's hbase.hregion.majorcompaction";
    REGIONS_A_SERVER = 200.0, "regions that a server has at most", "a rule of HBase's reference guide";
    INSERT_SEARCHES = 2.0, "searches for each document that is inserted if it is new", "docs/src/measured.md, HBase";
    INSERT_BATCH = 500.0, "documents that are searched for together before they are inserted",
        "docs/src/measured.md, HBase";
    INSERT_SWAPS = 3.0, "writes to its record, beside its rows", "the claims protocol";
    WORKER_CORES = 8.0, "cores of a worker process", "a rule";
    HEADS = 3.0, "small machines for masters, ZooKeeper and name nodes", "a rule";
    HEAD_PRICE = 0.25, "of a server's price for each of those", "a rule";
}

/// Greatest relative error of the model for a measured table.
#[cfg(test)]
pub(super) const TOLERANCE: f64 = 0.1;

/// A measured table, as a test of the model.
#[cfg(test)]
pub(super) struct Measured {
    pub(super) profile: Profile,
    pub(super) scheme: &'static str,
    pub(super) n_documents: f64,
    pub(super) id_bytes: f64,
    /// Bytes of `NAME`.
    pub(super) index_bytes: f64,
    /// Bytes of `NAME_docs`, if the documents have signatures.
    pub(super) documents_bytes: Option<f64>,
}

/// Sizes after a major compaction. The 100,000 documents are texts of 40 random words, written by
/// bulk load; the 500,000 are fingerprints, written by puts: docs/src/measured.md, HBase.
#[cfg(test)]
pub(super) const TABLES: &[Measured] = &[
    table(Profile::Classic, "5c2", 500_000.0, 11.0, 146e6, None),
    table(Profile::Classic, "t11", 500_000.0, 11.0, 161e6, None),
    table(Profile::Full, "5c2", 100_000.0, 12.0, 73_297_364.0, Some(23_724_600.0)),
    table(Profile::Full, "5c2", 100_000.0, 36.0, 136_031_020.0, Some(26_136_892.0)),
    table(Profile::Full, "5c2", 100_000.0, 80.0, 251_081_717.0, Some(30_561_988.0)),
    table(Profile::Full, "t11", 100_000.0, 36.0, 141_799_104.0, Some(26_136_892.0)),
    table(Profile::Classic, "5c2", 100_000.0, 36.0, 51_957_823.0, Some(26_136_898.0)),
    table(Profile::Minhash, "5c2", 100_000.0, 36.0, 84_403_817.0, Some(24_629_370.0)),
];

#[cfg(test)]
const fn table(
    profile: Profile,
    scheme: &'static str,
    n_documents: f64,
    id_bytes: f64,
    index_bytes: f64,
    documents_bytes: Option<f64>,
) -> Measured {
    Measured { profile, scheme, n_documents, id_bytes, index_bytes, documents_bytes }
}
