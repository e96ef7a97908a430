//! `indexer pairs`: writes all near-duplicates of an index, pair by pair, into a folder of parts.
//!
//! Each thread joins one part at a time (`engine::join`); where fingerprints alone decide, the
//! pairs of all parts are found before (`fingerprint_pairs`). The file of a part appears once it is
//! whole. Parts of other workers or of an earlier run stay as they are.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use clap::{Args, value_parser};
use crossbeam_channel::RecvTimeoutError;
use engine::join::{CellJoin, Joined, NearPair};
use index::{Cell, Index, Rule, Segments};
use minhash::Similarity;
use simhash::Distance;

use crate::fingerprint_pairs::{self, FingerprintJoin, FingerprintPairs};
use crate::flag_values::{pairs_format, path_for, similarity};
use crate::job::refuse_remote;
use crate::memory::{self, Watch};
use crate::numbers::Grouped;
use crate::opening::{check_outlives, open_existing};
use crate::output::{ResultsFormat, Role, place_of, print_to_stdout};
use crate::pairs::PairsFile;
use crate::parts::{Asked, Parts};
use crate::progress::{PartsProgress, Scanned, complain};
use crate::shard::Shard;
use crate::table::Table;
use crate::walk::{Walk, is_in_order};

/// Default numbers of parts: of an index read in its order, and of one sorted here.
const N_PARTS_IN_ORDER: u32 = 64;
const N_PARTS_SORTED: u32 = 16;

/// Least default number of threads for an index behind a server: some threads wait for the server
/// while others work.
const N_THREADS_IN_ORDER: usize = 8;

/// Bytes of a thread at its start: its stack, a page of cells, and the documents looked up.
const THREAD_BYTES: u64 = 4 << 20;

/// Bytes by which each thread may grow between two checks.
const STEP_BYTES: u64 = 1 << 20;

/// Pairs of fingerprints that a thread writes between two checks.
const PAIRS_BETWEEN_CHECKS: u64 = 65_536;

/// Pause between two updates of the progress.
const SHOW_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct PairsOptions {
    pub(crate) uri: String,
    pub(crate) shard: Option<Shard>,
    pub(crate) flags: PairsFlags,
}

/// The flags of this command alone, but for those of the shard.
#[derive(Debug, Args)]
pub(crate) struct PairsFlags {
    /// Write the pairs to this folder, a file for each part: a new one, or of a run that broke off
    ///
    /// Each pair is a, the lesser of the two ids, b, similarity, the share of n-grams that both
    /// have of those that either has, missing where the index does not verify, exact, whether it
    /// was counted over the texts, share_of_a and share_of_b, what of each is in common, and
    /// distance, in bits. A file appears when it is whole. manifest.json says of what index the
    /// pairs are and how they were asked for; a folder of others is refused.
    #[arg(long, value_name = "DIR", value_parser = path_for(Role::PairParts), help_heading = "Output")]
    pub(crate) output: PathBuf,
    /// Format of the files
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "jsonl",
        value_parser = pairs_format(),
        help_heading = "Output"
    )]
    pub(crate) results_format: ResultsFormat,
    /// In how many parts the index is gone through [default: 64 in HBase, else 16]
    ///
    /// Each has as many rows as the others, where documents are not all alike. A table of HBase
    /// that was made with as many regions is read region by region. What a part has found is lost
    /// by a kill, so a big index wants many.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=99_999), help_heading = "Output")]
    pub(crate) parts: Option<u32>,
    /// Only pairs that are at least so similar, .5 to 1 [default: the index's own least similarity,
    /// which is also the least]
    #[arg(long, value_name = "SHARE", value_parser = similarity, help_heading = "Near-duplicates")]
    pub(crate) min_similarity: Option<Similarity>,
    /// Bits of simhashes that may differ [default: the index's own max distance, which is also the
    /// most]
    #[arg(long, value_name = "BITS", help_heading = "Near-duplicates")]
    pub(crate) max_distance: Option<Distance>,
    /// Parts that are gone through at a time [default: one for each core, in HBase 8 at least]
    #[arg(long, value_name = "N", env = "PIGEONHOLE_THREADS", value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

pub(super) fn run(options: &PairsOptions) -> anyhow::Result<()> {
    let PairsOptions { uri, flags, .. } = options;
    let output = &flags.output;
    check_outlives(uri)?;
    refuse_remote(std::iter::once(output.as_path()), None)?;
    if let Some(folder) = engine::local_path(uri) {
        let inside = place_of(output).starts_with(place_of(&folder));
        ensure!(!inside, "{} lies in the directory of the index; write elsewhere", output.display());
    }
    let index = open_existing(uri, BTreeMap::new())?;
    let max_distance = flags.max_distance.unwrap_or(index.max_distance());
    if let Some((asked, least)) = flags.min_similarity.zip(index.min_similarity()) {
        let (asked, least) = (asked.get(), least.get());
        ensure!(
            asked >= least,
            "similarity {asked} is below the {least} that this index finds; ask for more"
        );
    }
    let min_similarity = flags.min_similarity.or(index.min_similarity());
    let rule = Rule { max_distance, min_similarity, ..index.rule() };
    index.check_rule(&rule)?;
    let is_in_order = is_in_order(&index).with_context(|| format!("failed to read index `{uri}`"))?;
    let n_parts_max = index.kind().n_regions_max();
    let parts = Parts::open(
        output,
        &Asked {
            index: index.metadata().identity.to_string(),
            last_write: index.mark(false).with_context(|| format!("failed to read index `{uri}`"))?,
            store: uri,
            max_distance: max_distance.as_bits(),
            min_similarity: min_similarity.map(Similarity::get),
            n_parts: flags.parts,
            n_parts_default: n_parts_max.min(if is_in_order { N_PARTS_IN_ORDER } else { N_PARTS_SORTED }),
            n_shards: options.shard.map(Shard::n_shards),
            suffix: flags.results_format.suffix(),
        },
    )?;
    parts.hold_to(&index)?;
    if parts.is_older() {
        complain(format_args!(
            "{} was begun before the last write to the index: parts that are there have no pairs of later \
             documents; remove the folder to begin anew",
            output.display()
        ));
    }
    let segments =
        Segments::parts(index.kind(), parts.len()).with_context(|| format!("--parts {}", parts.len()))?;
    let is_ours = |part: &u32| options.shard.is_none_or(|shard| shard.takes(*part));
    let ours: Vec<u32> = (0..parts.len()).filter(is_ours).collect();
    let missing: Vec<u32> = ours.iter().copied().filter(|&part| !parts.has(part)).collect();
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let n_threads = match flags.threads {
        Some(n_threads) => usize::from(n_threads),
        None if is_in_order => n_cores.max(N_THREADS_IN_ORDER),
        None => n_cores,
    };
    let mut time = Duration::ZERO;
    let source = if is_in_order || missing.is_empty() {
        Source::cells(&index, rule, Walk::in_order(&index, segments))?
    } else {
        let mut wanted = vec![false; parts.len() as usize];
        missing.iter().for_each(|&part| wanted[part as usize] = true);
        let of_parts = (segments, &wanted[..]);
        let (source, sorted) =
            Source::sorted(&index, rule, of_parts, parts.folder(), n_threads, flags.quiet)?;
        time += sorted;
        source
    };
    let mut progress = PartsProgress::new(missing.len() as u64, source.unit(), flags.quiet);
    let joining = Joining::new(&source, &parts, n_threads.min(missing.len()));
    let joined = joining.run(&missing, &mut progress)?;
    time += progress.elapsed();
    drop(progress);
    parts.tidy().with_context(|| format!("failed to tidy {}", output.display()))?;
    let n_before = ours.len() - missing.len();
    let n_different = source.n_different();
    print_to_stdout(&Report {
        n_made: missing.len(),
        n_before,
        n_parts: parts.len(),
        n_different,
        joined,
        time,
    })
}

/// The source of the pairs of a part.
enum Source<'a> {
    Cells { join: Box<CellJoin<'a>>, walk: Walk<'a> },
    Fingerprints(FingerprintPairs),
}

impl<'a> Source<'a> {
    fn cells(index: &'a Index, rule: Rule, walk: Walk<'a>) -> anyhow::Result<Self> {
        let join = CellJoin::new(index, rule)?.with_cache(memory::share());
        Ok(Self::Cells { join: Box::new(join), walk })
    }

    /// Reads and sorts an index that its store does not keep in order.
    fn sorted(
        index: &'a Index,
        rule: Rule,
        (segments, wanted): (Vec<Segments>, &[bool]),
        folder: &Path,
        n_threads: usize,
        quiet: bool,
    ) -> anyhow::Result<(Self, Duration)> {
        let mut progress = Scanned::new(index, quiet)?;
        progress.begin_pass("sorting: ");
        if fingerprint_pairs::decide_alone(index, &rule) {
            let join = FingerprintJoin {
                index,
                max_distance: rule.max_distance,
                parts: &segments,
                wanted,
                folder,
                n_bytes_max: memory::room(),
                n_threads,
            };
            if let Some(found) = join.run(&mut |n| progress.show(n), quiet)? {
                return Ok((Self::Fingerprints(found), progress.elapsed()));
            }
        }
        let walk = Walk::sorted(index, segments, wanted, folder, &mut |n| progress.show(n))?;
        Ok((Self::cells(index, rule, walk)?, progress.elapsed()))
    }
}

impl Source<'_> {
    /// The name of what is counted while pairs are written.
    fn unit(&self) -> &'static str {
        match self {
            Self::Cells { .. } => "rows",
            Self::Fingerprints(_) => "pairs",
        }
    }

    /// The number of different fingerprints, where the pairs follow from them.
    fn n_different(&self) -> Option<u64> {
        match self {
            Self::Cells { .. } => None,
            Self::Fingerprints(found) => Some(found.n_different()),
        }
    }
}

/// Data shared by the threads.
struct Joining<'a> {
    source: &'a Source<'a>,
    parts: &'a Parts,
    /// Cells read so far, or pairs of fingerprints, of all parts.
    n_read: AtomicU64,
    memory: Watch,
    n_threads: u64,
    /// True once a thread has failed.
    is_over: AtomicBool,
}

impl<'a> Joining<'a> {
    fn new(source: &'a Source<'a>, parts: &'a Parts, n_threads: usize) -> Self {
        Self {
            source,
            parts,
            n_read: AtomicU64::new(0),
            memory: Watch::new(),
            n_threads: n_threads as u64,
            is_over: AtomicBool::new(false),
        }
    }

    fn run(&self, missing: &[u32], progress: &mut PartsProgress) -> anyhow::Result<Joined> {
        let room = self.memory.check_step(self.n_threads * THREAD_BYTES);
        room.with_context(|| format!("{} threads have no room; --threads takes fewer", self.n_threads))?;
        let queue = Mutex::new(missing.iter().copied());
        let (done, results) = crossbeam_channel::unbounded();
        thread::scope(|scope| {
            for _ in 0..self.n_threads {
                let (done, queue) = (done.clone(), &queue);
                scope.spawn(move || {
                    let next = || queue.lock().ok()?.next().filter(|_| !self.is_over.load(Ordering::Relaxed));
                    while let Some(part) = next() {
                        let joined = self.part(part).with_context(|| format!("part {part} is not whole"));
                        let failed = joined.is_err();
                        if done.send(joined).is_err() || failed {
                            self.is_over.store(true, Ordering::Relaxed);
                        }
                    }
                });
            }
            drop(done);
            let (mut joined, mut n_done, mut failed) = (Joined::default(), 0, None);
            loop {
                match results.recv_timeout(SHOW_INTERVAL) {
                    Ok(Ok(of_part)) => {
                        joined += of_part;
                        n_done += 1;
                    }
                    // Later errors only say that the other threads stopped.
                    Ok(Err(error)) => failed = failed.or(Some(error)),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                progress.show(n_done, self.n_read.load(Ordering::Relaxed));
            }
            failed.map_or(Ok(joined), Err)
        })
    }

    fn part(&self, part: u32) -> anyhow::Result<Joined> {
        let mut table = Table::<PairsFile>::open(&self.parts.path_of(part), None)?;
        let joined = match self.source {
            Source::Cells { join, walk } => {
                let scratch = || tempfile::tempfile_in(self.parts.folder());
                let pages = walk.pages(part).map(|page: anyhow::Result<Vec<Cell>>| {
                    let page = page?;
                    self.n_read.fetch_add(page.len() as u64, Ordering::Relaxed);
                    self.check(0)?;
                    Ok(page)
                });
                let check = |n_bytes| self.check(n_bytes);
                join.run(pages, &scratch, &check, &mut |pair: NearPair<'_>| table.add(pair.into()))?
            }
            Source::Fingerprints(found) => {
                let mut n_pairs = 0_u64;
                found.run(part, &mut |pair| {
                    n_pairs += 1;
                    if n_pairs.is_multiple_of(PAIRS_BETWEEN_CHECKS) {
                        self.n_read.fetch_add(PAIRS_BETWEEN_CHECKS, Ordering::Relaxed);
                        self.check(0)?;
                    }
                    table.add(pair.into())
                })?;
                Joined { n_pairs, ..Joined::default() }
            }
        };
        table.finish()?;
        Ok(joined)
    }

    /// Fails if another part has failed, or memory runs out with `n_bytes` more.
    fn check(&self, n_bytes: u64) -> anyhow::Result<()> {
        ensure!(!self.is_over.load(Ordering::Relaxed), anyhow!("another part has failed"));
        Ok(self.memory.check_step(self.n_threads * STEP_BYTES + n_bytes)?)
    }
}

struct Report {
    n_made: usize,
    /// Parts of this worker that existed before the run.
    n_before: usize,
    n_parts: u32,
    /// The number of different fingerprints, where the pairs follow from them.
    n_different: Option<u64>,
    joined: Joined,
    time: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_made, n_before, n_parts, n_different, joined, time } = *self;
        write!(f, "parts         {:>12}", Grouped(n_made as u64))?;
        if n_before > 0 {
            write!(f, "  ({} were there already)", Grouped(n_before as u64))?;
        }
        if n_made + n_before < n_parts as usize {
            write!(f, "  (of {}; the others are other workers')", Grouped(n_parts.into()))?;
        }
        writeln!(f)?;
        if n_made == 0 {
            // Without joined parts the counts below say nothing about the pairs in the folder.
            return Ok(());
        }
        let (n_read, unit) = n_different.map_or((joined.n_rows, "rows"), |n| (n, "fingerprints"));
        writeln!(f, "{unit:<13} {:>12}", Grouped(n_read))?;
        if n_different.is_none() {
            writeln!(f, "candidates    {:>12}", Grouped(joined.n_candidates))?;
        }
        writeln!(f, "pairs         {:>12}", Grouped(joined.n_pairs))?;
        let per_second = (n_read as f64 / time.as_secs_f64().max(1e-3)) as u64;
        writeln!(f, "seconds       {:>12.2}  ({} {unit}/s)", time.as_secs_f64(), Grouped(per_second))
    }
}
