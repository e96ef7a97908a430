//! Timed queries and insertions. Each answer is checked against the truth.

use std::collections::HashMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use index::{DocumentId, Index, Insertion, Neighbours};
use serde_json::{Value, json};
use simhash::Fingerprint;

use crate::made::SplitMix64;
use crate::world::{self, World, mask};

/// Who calls, and how.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Callers {
    /// Threads, each with a call at a time.
    #[arg(long, default_value_t = 1)]
    threads: u64,
    /// Queries or documents in a call.
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// Which queries or documents are drawn.
    #[arg(long, default_value_t = 1)]
    draw: u64,
}

/// Calls and counts of one thread.
#[derive(Default)]
struct Tally {
    calls: Vec<Duration>,
    n_done: u64,
    n_matches: u64,
    n_candidates: u64,
    n_buckets: u64,
    n_by_chance: u64,
    n_missed: u64,
    n_wrong: u64,
}

/// Queries `index`, for `n` queries and for `seconds` at least. Half of the queries differ in up to
/// three bits from a document; the others are random.
pub(crate) fn query(
    index: &Index,
    world: World,
    n_documents: u64,
    n: u64,
    seconds: u64,
    callers: Callers,
) -> (Value, bool) {
    let until = Instant::now() + Duration::from_secs(seconds);
    run(callers, |thread| {
        let mut random =
            SplitMix64(callers.draw.wrapping_mul(SplitMix64::STEP) ^ thread.wrapping_mul(0x5851_f42d));
        let mut tally = Tally::default();
        while tally.n_done < n / callers.threads || Instant::now() < until {
            let asked: Vec<(Option<u64>, Fingerprint)> = (0..callers.batch)
                .map(|_| match random.next() % 2 {
                    0 => (None, Fingerprint(random.next())),
                    _ => {
                        let (document, n_bits) = (random.next() % n_documents, random.next() % 4);
                        let near = world.fingerprint(document) ^ mask(&mut random, n_bits);
                        (Some(document), Fingerprint(near))
                    }
                })
                .collect();
            let fingerprints: Vec<Fingerprint> = asked.iter().map(|&(_, fingerprint)| fingerprint).collect();
            let begun = Instant::now();
            let answers = index.near(&fingerprints, &index.rule(), 100).unwrap();
            tally.calls.push(begun.elapsed());
            for ((document, fingerprint), answer) in asked.iter().zip(&answers) {
                tally.judge(world, n_documents, *document, fingerprint.0, answer);
            }
        }
        tally
    })
}

/// Waits until the file of the store's tier is there, and returns the seconds. The first call of an
/// insertion begins to fill the tier.
pub(crate) fn wait_for(index: &Index, file: &Path) -> f64 {
    let begun = Instant::now();
    let none: [(DocumentId, Fingerprint); 0] = [];
    index.insert_if_new(&none).unwrap();
    while !file.exists() {
        thread::sleep(Duration::from_millis(100));
    }
    begun.elapsed().as_secs_f64()
}

/// Inserts documents and checks each result. Either new documents from `first` on, where the index
/// is to refuse the planted near-duplicates; or, with `known`, near-duplicates of the documents
/// before `first` under other ids, where the index is to refuse all.
pub(crate) fn insert(
    index: &Index,
    world: World,
    first: u64,
    n: u64,
    known: bool,
    callers: Callers,
) -> (Value, bool) {
    run(callers, |thread| {
        let mut random =
            SplitMix64(callers.draw.wrapping_mul(SplitMix64::STEP) ^ thread.wrapping_mul(0x5851_f42d));
        let mut tally = Tally::default();
        // A family stays in one thread and in order.
        let families = (0..n / world::FAMILY).filter(|family| family % callers.threads == thread);
        let numbers: Vec<u64> = families
            .flat_map(|family| (0..world::FAMILY).map(move |place| first + family * world::FAMILY + place))
            .collect();
        for numbers in numbers.chunks(callers.batch) {
            let documents: Vec<(DocumentId, Fingerprint)> = numbers
                .iter()
                .map(|&n| {
                    if known {
                        let (of, n_bits) = (random.next() % first, random.next() % 4);
                        let near = world.fingerprint(of) ^ mask(&mut random, n_bits);
                        (DocumentId::new(format!("k{n}")).unwrap(), Fingerprint(near))
                    } else {
                        (DocumentId::new(n.to_string()).unwrap(), Fingerprint(world.fingerprint(n)))
                    }
                })
                .collect();
            let begun = Instant::now();
            let insertions = index.insert_if_new(&documents).unwrap();
            tally.calls.push(begun.elapsed());
            for (&n, insertion) in numbers.iter().zip(&insertions) {
                tally.n_done += 1;
                tally.n_matches += u64::from(matches!(insertion, Insertion::Duplicate(_)));
                match insertion {
                    Insertion::Inserted if known || world::distance(n) > 0 => tally.n_missed += 1,
                    // A near-duplicate by chance, or a wrong answer.
                    Insertion::Duplicate(of) if !known && world::distance(n) == 0 => {
                        let is_near = (of.fingerprint.0 ^ world.fingerprint(n)).count_ones() <= 3;
                        *(if is_near { &mut tally.n_by_chance } else { &mut tally.n_wrong }) += 1;
                    }
                    Insertion::Inserted | Insertion::Duplicate(_) => {}
                    Insertion::Unchanged | Insertion::Replaced => tally.n_wrong += 1,
                }
            }
        }
        tally
    })
}

impl Tally {
    fn judge(
        &mut self,
        world: World,
        n_documents: u64,
        document: Option<u64>,
        asked: u64,
        answer: &Neighbours,
    ) {
        self.n_done += 1;
        self.n_matches += answer.n_matches;
        self.n_candidates += answer.cost.n_candidates;
        self.n_buckets += answer.cost.n_buckets;
        let of = |n: u64| u64::from((world.fingerprint(n) ^ asked).count_ones());
        let family = document.into_iter().flat_map(|document| [Some(document), world.mate(document)]);
        let mut expected: HashMap<String, u64> = family
            .flatten()
            .filter(|&n| n < n_documents && of(n) <= world::DISTANCE_MAX)
            .map(|n| (n.to_string(), of(n)))
            .collect();
        for found in &answer.matches {
            let distance = u64::from((found.fingerprint.0 ^ asked).count_ones());
            match (expected.remove(found.id.as_str()), found.id.as_str().parse::<u64>()) {
                (Some(expected), _) => self.n_wrong += u64::from(expected != distance),
                (None, Ok(n)) if of(n) > world::DISTANCE_MAX => self.n_wrong += 1,
                (None, Err(_)) if distance > world::DISTANCE_MAX => self.n_wrong += 1,
                (None, _) => self.n_by_chance += 1,
            }
        }
        self.n_missed += expected.len() as u64;
    }
}

fn run(callers: Callers, work: impl Fn(u64) -> Tally + Sync) -> (Value, bool) {
    let begun = Instant::now();
    let work = &work;
    let mut all = Tally::default();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..callers.threads).map(|thread| scope.spawn(move || work(thread))).collect();
        for thread in threads {
            let tally = thread.join().unwrap();
            all.calls.extend(tally.calls);
            all.n_done += tally.n_done;
            all.n_matches += tally.n_matches;
            all.n_candidates += tally.n_candidates;
            all.n_buckets += tally.n_buckets;
            all.n_by_chance += tally.n_by_chance;
            all.n_missed += tally.n_missed;
            all.n_wrong += tally.n_wrong;
        }
    });
    let seconds = begun.elapsed().as_secs_f64();
    all.calls.sort();
    let ms = |at: usize| all.calls.get(at).map(|call| (call.as_secs_f64() * 1e6).round() / 1e3);
    let each = |sum: u64| (sum as f64 / all.n_done.max(1) as f64 * 1e3).round() / 1e3;
    let report = json!({
        "n": all.n_done,
        "threads": callers.threads,
        "batch": callers.batch,
        "seconds": (seconds * 1e3).round() / 1e3,
        "per_second": (all.n_done as f64 / seconds).round(),
        "call_ms_p50": ms(all.calls.len() / 2),
        "call_ms_p99": ms(all.calls.len() * 99 / 100),
        "call_ms_max": ms(all.calls.len().saturating_sub(1)),
        "matches": all.n_matches,
        "rows_each": each(all.n_candidates),
        "buckets_each": each(all.n_buckets),
        "by_chance": all.n_by_chance,
        "missed": all.n_missed,
        "wrong": all.n_wrong,
    });
    (report, all.n_missed + all.n_wrong == 0)
}
