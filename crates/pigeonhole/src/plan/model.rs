//! The model of a plan: arithmetic on the load and the constants of [`measured`](super::measured)
//! only.

use index::{Retention, SketchKind, TextKeeping};

use super::measured as m;

#[cfg(test)]
mod tests;

const DAY_SECONDS: f64 = 86_400.0;

/// The checked load of a deployment.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub(super) kind: SketchKind,
    /// True if the kind is the one for as many documents, and none was asked for.
    pub(super) is_recommended: bool,
    pub(super) n_documents: f64,
    pub(super) queries_per_second: f64,
    pub(super) inserts_per_second: f64,
    pub(super) retain: Option<Retention>,
    pub(super) id_bytes: f64,
    pub(super) text_bytes: f64,
    pub(super) texts: TextKeeping,
    /// Queries in one call.
    pub(super) queries_a_call: f64,
    /// Rows of unlike documents met by a query in all its bands, for each million documents.
    pub(super) strangers_a_million: f64,
}

/// The machines of a deployment.
#[derive(Clone, Debug)]
pub(super) struct Machines {
    pub(super) disk_bytes: f64,
    pub(super) memory_bytes: f64,
    pub(super) cores: f64,
    /// Random reads a second by the disks of one server.
    pub(super) reads_per_second: f64,
    pub(super) seek_seconds: f64,
    pub(super) round_trip_seconds: f64,
    /// Price of a region server a month, if one was given.
    pub(super) price: Option<f64>,
    pub(super) replication: f64,
    pub(super) region_bytes: f64,
    /// Share of the tables to be in memory.
    pub(super) hot_share: f64,
}

/// Stored data.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// Rows of the index for each document.
    pub(super) keys: f64,
    /// Documents on disk, including expired ones.
    pub(super) n_documents: f64,
    pub(super) rows: f64,
    pub(super) index_bytes: f64,
    pub(super) documents_bytes: f64,
    /// The kept texts, in `NAME_docs` beside the records.
    pub(super) texts_bytes: f64,
    /// With all copies, and with room for compactions.
    pub(super) disk_bytes: f64,
    pub(super) index_regions: f64,
    pub(super) documents_regions: f64,
    /// `REGIONS` of `schema/create.rb`, which gives the documents a quarter of them.
    pub(super) regions_to_create: f64,
    pub(super) bloom_bytes: f64,
    pub(super) block_index_bytes: f64,
    /// Cached data beside blooms and block indexes.
    pub(super) hot_bytes: f64,
}

/// Costs of one query.
#[derive(Clone, Debug)]
pub(super) struct Query {
    /// Rows met by chance, in the tables of simhashes and in the bands of signatures.
    pub(super) simhash_rows: f64,
    pub(super) band_rows: f64,
    /// Scans of region servers, on average.
    pub(super) calls: f64,
    pub(super) server_seconds: f64,
    pub(super) worker_seconds: f64,
    /// Blocks read, in memory or not.
    pub(super) blocks: f64,
    /// With all data in memory, in an idle cluster.
    pub(super) warm_seconds: f64,
    /// With only blooms and block indexes in memory: buckets read side by side, and one after
    /// another.
    pub(super) cold_seconds: [f64; 2],
}

/// Resources that may determine the number of region servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Copies,
    Disk,
    Memory,
    Regions,
    Queries,
    Inserts,
    Reads,
}

impl Limit {
    /// The name in the output.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Copies => "copies",
            Self::Disk => "disk",
            Self::Memory => "memory",
            Self::Regions => "regions",
            Self::Queries => "queries",
            Self::Inserts => "inserts",
            Self::Reads => "reads",
        }
    }
}

/// Numbers of machines, and their reasons.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) stored: Stored,
    pub(super) query: Query,
    pub(super) server_seconds_an_insert: f64,
    /// By each limit, not rounded. Queries and inserts share the cores.
    pub(super) servers_by: Vec<(Limit, f64)>,
    pub(super) servers: f64,
    pub(super) decided_by: Limit,
    pub(super) worker_cores: f64,
    pub(super) workers: f64,
    /// Time of one machine that sorts and writes the rows.
    pub(super) bulk_load_seconds: f64,
    /// Time of `indexer pairs` on the cores of the workers, or of one server if more; at least that
    /// of the region servers.
    pub(super) pairs_seconds: f64,
    /// Price of all machines a month, if that of a server was given.
    pub(super) price: Option<f64>,
}

impl Load {
    /// For each table of simhashes, the number of bits that must agree for two to meet.
    pub(super) fn table_bits(&self) -> Vec<u32> {
        self.kind.masks().iter().map(|mask| mask.count_ones()).collect()
    }

    pub(super) fn n_bands(&self) -> usize {
        self.kind.n_keys() - self.kind.masks().len()
    }

    /// Bytes of a document's text, if texts are kept.
    pub(super) fn stored_text_bytes(&self) -> f64 {
        match self.texts {
            TextKeeping::None => 0.0,
            TextKeeping::Zstd => self.text_bytes * m::TEXT_SHARE,
        }
    }

    /// The numbers of filled buckets for `n` documents: of those of a query, and of all.
    fn filled(&self, n: f64) -> (f64, f64) {
        let bits = self.table_bits().into_iter().chain(std::iter::repeat_n(u32::BITS, self.n_bands()));
        bits.fold((0.0, 0.0), |(of_query, in_all), bits| {
            let n_buckets = f64::from(bits).exp2();
            // 1 − e^(−x), without losing the digits of a small x.
            let share = -(-n / n_buckets).exp_m1();
            (of_query + share, in_all + share * n_buckets)
        })
    }
}

/// The plan of a deployment.
pub(super) fn plan(load: &Load, machines: &Machines) -> Plan {
    let stored = stored(load, machines);
    let query = query(load, machines, &stored);
    let (_, search_seconds) = search(&stored, query.simhash_rows + query.band_rows, m::INSERT_BATCH);
    let server_seconds_an_insert =
        m::INSERT_SEARCHES * search_seconds + (stored.keys + m::INSERT_SWAPS) * m::WRITE_ROW_SECONDS;
    let busy = machines.cores * m::CPU_FILL;
    let by_queries = load.queries_per_second * query.server_seconds / busy;
    let by_inserts = load.inserts_per_second * server_seconds_an_insert / busy;
    let cached = stored.bloom_bytes + stored.block_index_bytes + stored.hot_bytes;
    let searches = load.queries_per_second + load.inserts_per_second * m::INSERT_SEARCHES;
    let reads = searches * query.blocks * (1.0 - machines.hot_share);
    let servers_by = vec![
        (Limit::Disk, stored.disk_bytes / machines.disk_bytes),
        (Limit::Memory, cached / (machines.memory_bytes * m::CACHE_FILL)),
        (Limit::Regions, (stored.index_regions + stored.documents_regions) / m::REGIONS_A_SERVER),
        (Limit::Queries, by_queries),
        (Limit::Inserts, by_inserts),
        (Limit::Reads, reads / machines.reads_per_second),
        (Limit::Copies, machines.replication),
    ];
    let (servers, decided_by) = decide(&servers_by);
    let insert_seconds = m::CLIENT_WRITE_SECONDS
        + m::CLIENT_CALL_SECONDS / load.queries_a_call
        + load.text_bytes * m::TEXT_SECONDS_A_BYTE
        + m::INSERT_SEARCHES * (query.simhash_rows + query.band_rows) * m::CLIENT_ROW_SECONDS;
    let worker_seconds =
        load.queries_per_second * query.worker_seconds + load.inserts_per_second * insert_seconds;
    let worker_cores = worker_seconds / m::CPU_FILL;
    // Two, so that one may fail.
    let workers = (worker_cores / m::WORKER_CORES).ceil().max(2.0);
    let rows_to_load = load.n_documents * (stored.keys + 1.0);
    let bulk_load_seconds = (rows_to_load * (m::BULK_SORT_SECONDS + m::BULK_ROW_SECONDS)
        + load.n_documents * load.text_bytes * m::TEXT_SECONDS_A_BYTE)
        / machines.cores;
    let joining_cores = worker_cores.max(machines.cores);
    let pairs_seconds = (stored.rows * m::CLIENT_ROW_SECONDS / joining_cores)
        .max(stored.rows * m::PAIRS_SERVER_SECONDS / (servers * machines.cores));
    let n_priced = servers + worker_cores.ceil().max(2.0) / machines.cores + m::HEADS * m::HEAD_PRICE;
    let price = machines.price.map(|price| price * n_priced);
    Plan {
        stored,
        query,
        server_seconds_an_insert,
        servers_by,
        servers,
        decided_by,
        worker_cores,
        workers,
        bulk_load_seconds,
        pairs_seconds,
        price,
    }
}

/// The number of servers, and the limit that determines it. Queries and inserts share the cores, so
/// their servers add up, under the name of the greater.
fn decide(servers_by: &[(Limit, f64)]) -> (f64, Limit) {
    let of = |wanted: Limit| servers_by.iter().find(|(limit, _)| *limit == wanted).map_or(0.0, |(_, n)| *n);
    let (queries, inserts) = (of(Limit::Queries), of(Limit::Inserts));
    let by_cores = (if queries >= inserts { Limit::Queries } else { Limit::Inserts }, queries + inserts);
    let others = servers_by.iter().filter(|(limit, _)| !matches!(limit, Limit::Queries | Limit::Inserts));
    let (limit, n) = others.fold(by_cores, |most, &other| if other.1 > most.1 { other } else { most });
    (n.ceil(), limit)
}

fn stored(load: &Load, machines: &Machines) -> Stored {
    let keys = load.kind.n_keys() as f64;
    let expired = match load.retain {
        Some(_) => load.inserts_per_second * m::COMPACTION_DAYS * DAY_SECONDS,
        None => 0.0,
    };
    let n_documents = load.n_documents + expired;
    let rows = n_documents * keys;
    let index_bytes = rows * (m::INDEX_ROW_BYTES + load.id_bytes);
    let documents_bytes = n_documents * (m::RECORD_BYTES + load.id_bytes);
    let texts_bytes = n_documents * load.stored_text_bytes();
    let regions = |bytes: f64| (bytes / machines.region_bytes).ceil().max(1.0);
    let (index_regions, documents_regions) = (regions(index_bytes), regions(documents_bytes + texts_bytes));
    let (_, buckets) = load.filled(n_documents);
    let blocks = rows * (m::RAW_CELL_BYTES + load.id_bytes) / m::BLOCK_BYTES;
    Stored {
        keys,
        n_documents,
        rows,
        index_bytes,
        documents_bytes,
        texts_bytes,
        disk_bytes: (index_bytes + documents_bytes + texts_bytes) * machines.replication / m::DISK_FILL,
        index_regions,
        documents_regions,
        regions_to_create: index_regions.max(4.0 * documents_regions).max(16.0),
        bloom_bytes: (buckets + n_documents) * m::BLOOM_BITS / 8.0,
        block_index_bytes: (blocks + (documents_bytes + texts_bytes) / m::BLOCK_BYTES) * m::BLOCK_ENTRY_BYTES,
        hot_bytes: machines.hot_share * (index_bytes + documents_bytes),
    }
}

/// The scans of region servers for a query that passes `rows` rows, one of `together` in a call,
/// and the processor time of all its calls.
fn search(stored: &Stored, rows: f64, together: f64) -> (f64, f64) {
    // Ranges in one region go in one call.
    let regions = stored.index_regions;
    let calls = regions * (1.0 - (1.0 - 1.0 / regions).powf(stored.keys * together)) / together;
    let seconds = (calls + m::CONFIRM_CALLS / together) * m::SCAN_SECONDS
        + (stored.keys - calls).max(0.0) * m::RANGE_SECONDS
        + rows * m::ROW_SECONDS;
    (calls, seconds)
}

fn query(load: &Load, machines: &Machines, stored: &Stored) -> Query {
    // Expired rows are read as long as they are on disk.
    let n = stored.n_documents;
    let simhash_rows = load.table_bits().into_iter().map(|bits| n / f64::from(bits).exp2()).sum();
    let band_rows = if load.kind.files_by_sets() { n / 1e6 * load.strangers_a_million } else { 0.0 };
    let rows = simhash_rows + band_rows;
    let (calls, server_seconds) = search(stored, rows, load.queries_a_call);
    // A bloom filter skips an empty bucket. The rows of a filled one may continue in the next
    // blocks.
    let (found, _) = load.filled(n);
    let blocks = found + rows * (m::RAW_CELL_BYTES + load.id_bytes) / m::BLOCK_BYTES + 1.0;
    let worker_seconds = m::CLIENT_CALL_SECONDS / load.queries_a_call
        + m::CLIENT_QUERY_SECONDS
        + load.text_bytes * m::TEXT_SECONDS_A_BYTE
        + rows * m::CLIENT_ROW_SECONDS;
    // One round trip for the rows, one for the records of near documents.
    let warm_seconds = 2.0 * machines.round_trip_seconds + server_seconds + worker_seconds;
    let cold_seconds =
        [f64::min(2.0, blocks), blocks].map(|n_waits| warm_seconds + n_waits * machines.seek_seconds);
    Query {
        simhash_rows,
        band_rows,
        calls,
        server_seconds,
        worker_seconds,
        blocks,
        warm_seconds,
        cold_seconds,
    }
}
