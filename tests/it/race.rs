//! Near-duplicates posted to several processes at once, some of which are killed in the middle: the
//! documents kept on each store.
//!
//! No check depends on the order of arrival. The figures of each race are printed (`--nocapture`).

mod check;
mod churn;
mod groups;
mod posting;
mod runs;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::StoreUri;
use index::{
    Clock, Document, DocumentId, Examined, FORMAT_VERSION, Identity, Insertion, Metadata, Mode, SketchKind,
    Store,
};

use self::check::check;
use self::churn::churn;
use self::groups::{MAX_DISTANCE, Posting, chains, identical};
use self::posting::{Race, agent, post, run};
use crate::hbase::{create, each_page, url};
use crate::support::{CLASSIC, Door, Figures, Random, Worker, hbase, redis};

/// The number of groups in a race, unless [`GROUPS`] is set; fewer of chains, which take long to
/// make.
const N_GROUPS: usize = 2_000;
const N_CHAINS: usize = 500;

/// The number on HBase, where a document takes some dozen requests and not one.
const N_GROUPS_HBASE: usize = 300;

/// The variable with the number of groups of each race.
const GROUPS: &str = "PIGEONHOLE_RACE_GROUPS";

/// The number of posts and removals of a churn.
const N_CHURNED: usize = 2_000;

const N_WORKERS: usize = 4;

/// The number of workers killed in a race, one after another.
const N_KILLED: usize = 3;

fn n_groups(usual: usize) -> usize {
    std::env::var(GROUPS).map_or(usual, |number| number.parse().unwrap())
}

fn metadata() -> Metadata {
    let (kind, recipe, identity) = (SketchKind::default(), [].into(), Identity::new([1; 16]));
    let (format_version, max_distance) = (FORMAT_VERSION, MAX_DISTANCE);
    Metadata {
        format_version,
        max_distance,
        min_similarity: None,
        texts: index::TextKeeping::None,
        same_numbers: false,
        key: None,
        retain: None,
        kind,
        recipe,
        identity,
    }
}

fn open(url: &str) -> Box<dyn Store> {
    url.parse::<StoreUri>().unwrap().open(Mode::CreateIfMissing, Clock::system(), None).unwrap()
}

/// The store lives in one process, so threads race.
#[test]
fn memory() {
    for (name, postings) in
        [("identical", identical(n_groups(N_GROUPS), 1)), ("chains", chains(n_groups(N_CHAINS), 2))]
    {
        let store = open("memory:");
        store.create(&metadata()).unwrap();
        let kind = SketchKind::default();
        let post = |_: usize, posting: &Posting| {
            let id = DocumentId::new(posting.id.as_str()).unwrap();
            let document = Document { id, sketch: kind.sketch(posting.fingerprint), source: None };
            store.insert_if_new(&[document], &MAX_DISTANCE.into()).unwrap().pop()
        };
        let race = run(&postings, 1, &|_| {}, &post);
        let n_kept = check(&postings, &race, &*store);
        print("memory", name, &postings, &race, n_kept, &Claims::default());
    }
}

#[test]
fn embedded() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| format!("embedded:{}", folder.path().join(name).display());
    let mut figures = Figures::default();
    races("embedded", n_groups(N_GROUPS), n_groups(N_CHAINS), &place, &mut figures);
    churns(&place("churn"), N_CHURNED, 6, &mut figures);
    figures.end("workers killed in races, embedded");
}

#[test]
fn in_redis() {
    let Some(redis) = redis() else { return };
    let place = |name: &str| redis.url(&format!("race-{name}"));
    let mut figures = Figures::default();
    races("redis", n_groups(N_GROUPS), n_groups(N_CHAINS), &place, &mut figures);
    churns(&place("churn"), N_CHURNED, 6, &mut figures);
    counted_race("redis", n_groups(N_CHAINS), &place("counted"), &mut figures);
    figures.end("workers killed in races, Redis");
}

#[test]
fn in_hbase() {
    let Some(hbase) = hbase() else { return };
    let names = ["identical", "killed", "chains", "churn", "lost"].map(|name| format!("race_{name}"));
    create(hbase, "create_races", &names.each_ref().map(|name| (name.as_str(), "5c2")));
    let place = |name: &str| url(hbase.gateway, &format!("race_{name}"));
    let mut figures = Figures::default();
    races("hbase", n_groups(N_GROUPS_HBASE), n_groups(N_GROUPS_HBASE), &place, &mut figures);

    // Every connection breaks repeatedly: no worker knows which compare-and-sets were done.
    let postings = chains(n_groups(N_GROUPS_HBASE), 8);
    let door = Door::open(hbase.gateway);
    let through_door = url(door.address, "race_lost");
    let n_closed = AtomicU64::new(0);
    let break_all = |n_answers: usize| {
        if n_answers.is_multiple_of(20) {
            door.close();
            door.open_again();
            n_closed.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (race, claims) = figures.round(|| among_workers(&through_door, &CLASSIC, &postings, &[], &break_all));
    let n_kept = check(&postings, &race, &*open(&place("lost")));
    figures.faults += n_closed.into_inner();
    figures.acknowledged += n_kept as u64;
    assert!(claims[0] > 0.0, "the workers log what became of their claims");
    print("hbase", "answers lost", &postings, &race, n_kept, &claims);

    churns(&place("churn"), N_CHURNED / 2, 6, &mut figures);
    figures.end("workers killed and answers lost in races, HBase");
    for name in ["identical", "killed", "chains", "lost", "churn"] {
        let mut states: BTreeMap<String, usize> = BTreeMap::new();
        each_page(hbase.gateway, &format!("race_{name}_docs"), |_, rows| {
            for row in rows {
                let columns = row.columns.unwrap();
                let Some(claim) = columns.get(&b"d:claim"[..]) else { continue };
                let words = String::from_utf8(claim.value.clone().unwrap()).unwrap();
                *states.entry(words.split(' ').next().unwrap().to_owned()).or_default() += 1;
            }
        });
        println!("claims on hbase, {name}: {states:?}");
    }
}

/// Runs three races, each in its own index: groups of one text; the same with killed workers;
/// chains with killed workers.
fn races(
    store: &str,
    n_groups: usize,
    n_chains: usize,
    place: &dyn Fn(&str) -> String,
    figures: &mut Figures,
) {
    let mut random = Random(7);
    let mut kills = |n_answers: usize| -> Vec<_> {
        // At a random answer of each third, except the last few, after which a worker may be idle.
        let third = n_answers / 3;
        let victims =
            (0..N_KILLED).map(|victim| (victim * third + third / 4 + random.below(third / 2), victim));
        victims.collect()
    };
    for (name, postings, is_killed) in [
        ("identical", identical(n_groups, 3), false),
        ("killed", identical(n_groups, 4), true),
        ("chains", chains(n_chains, 5), true),
    ] {
        let place = place(name);
        let kills = if is_killed { kills(postings.len()) } else { Vec::new() };
        let (race, claims) = figures.round(|| among_workers(&place, &CLASSIC, &postings, &kills, &|_| {}));
        let n_kept = check(&postings, &race, &*open(&place));
        if name != "chains" {
            assert_eq!(n_kept, n_groups, "exactly one of each group");
        }
        if !is_killed {
            check_clean(&place);
        }
        figures.faults += kills.len() as u64;
        figures.acknowledged += n_kept as u64;
        print(store, name, &postings, &race, n_kept, &claims);
    }
}

/// Checks that nothing is left to be mended, by a clock for which all traces of the race are old.
fn check_clean(place: &str) {
    let late = Clock::new(|| Clock::system().now().as_ms() + 60 * 60 * 1_000);
    let store = place.parse::<StoreUri>().unwrap().open(Mode::MustExist, late, None).unwrap();
    let mut findings = Vec::new();
    let mut report = |examined| {
        if let Examined::Found(finding) = examined {
            findings.push(finding);
        }
    };
    store.examine(false, &mut report).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
}

/// Runs a race in an index that stores texts: groups of one text, with killed workers.
fn counted_race(store: &str, n_groups: usize, place: &str, figures: &mut Figures) {
    let postings = identical(n_groups, 9);
    let kills: Vec<_> = (0..N_KILLED).map(|victim| ((victim + 1) * postings.len() / 5, victim)).collect();
    let (race, claims) =
        figures.round(|| among_workers(place, &["--texts", "zstd"], &postings, &kills, &|_| {}));
    let opened = open(place);
    let n_kept = check(&postings, &race, &*opened);
    figures.faults += kills.len() as u64;
    figures.acknowledged += n_kept as u64;
    assert_eq!(n_kept, n_groups, "exactly one of each group");
    let answered = postings.iter().zip(&race.answers);
    let kept = answered.filter(|(_, (answer, _))| !matches!(answer, Insertion::Duplicate(_)));
    let kept: Vec<_> = kept.map(|(posting, _)| posting).collect();
    let ids: Vec<_> = kept.iter().map(|posting| DocumentId::new(posting.id.as_str()).unwrap()).collect();
    let texts = opened.texts(&ids).unwrap();
    assert!(kept.iter().zip(texts).all(|(posting, text)| text.is_some_and(|text| *text == *posting.text)));
    opened.examine(false, &mut |examined| assert!(matches!(examined, Examined::Items(_)))).unwrap();
    print(store, "counted", &postings, &race, n_kept, &claims);
}

/// Runs a race among workers in separate processes. `kills` are pairs of a number of answers and
/// the worker killed after them.
fn among_workers(
    store: &str,
    flags: &[&str],
    postings: &[Posting],
    kills: &[(usize, usize)],
    trouble: &(dyn Fn(usize) + Sync),
) -> (Race, Claims) {
    let workers: Vec<_> = (0..N_WORKERS).map(|_| Worker::start(store, flags)).collect();
    let agent = agent();
    let after = |n_answers: usize| {
        trouble(n_answers);
        for (_, victim) in kills.iter().filter(|(at, _)| *at == n_answers) {
            workers[*victim].send_kill();
        }
    };
    let race = run(postings, N_WORKERS, &after, &|worker, posting| post(&agent, &workers[worker], posting));
    let alive =
        workers.into_iter().enumerate().filter(|(number, _)| kills.iter().all(|(_, dead)| number != dead));
    let mut claims = Claims::default();
    for (_, worker) in alive {
        worker.send_stop();
        let (code, log) = worker.wait();
        assert_eq!(code, Some(0), "{log}");
        for (sum, name) in claims.iter_mut().zip(CLAIMS) {
            let word = log.split_whitespace().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            *sum += word.map_or(0.0, |number| number.parse::<f64>().unwrap());
        }
    }
    (race, claims)
}

/// Runs churns in one index: undisturbed, and with a killed worker.
fn churns(place: &str, n: usize, seed: u64, figures: &mut Figures) {
    for (seed, is_killed) in [(seed, false), (seed + 1, true)] {
        let workers: Vec<_> = (0..N_WORKERS).map(|_| Worker::start(place, &CLASSIC)).collect();
        let kill = |n_done: usize| {
            if is_killed && n_done == n / 2 {
                workers[0].send_kill();
            }
        };
        figures.round(|| churn(n, seed, &workers, &*open(place), &kill));
        figures.faults += u64::from(is_killed);
    }
}

/// The counts of claims in a worker's last log line.
const CLAIMS: [&str; 5] = ["claims", "conflicts", "aborted", "waits", "waited_s"];

/// The sums over all workers that were not killed.
type Claims = [f64; CLAIMS.len()];

#[expect(clippy::print_stdout, reason = "the figures are for whoever runs a race by hand")]
fn print(store: &str, name: &str, postings: &[Posting], race: &Race, n_kept: usize, claims: &Claims) {
    let n_groups = postings.iter().map(|posting| posting.group).max().map_or(0, |last| last + 1);
    let counted = CLAIMS.iter().zip(claims).filter(|_| claims[0] > 0.0);
    let claims: String = counted.map(|(name, number)| format!(", {name} {number:.0}")).collect();
    println!(
        "race {store}, {name}: documents {}, groups {n_groups}, kept {n_kept}, seconds {:.1}{claims}; slowest answer \
         {:.1} s",
        postings.len(),
        race.seconds,
        race.slowest.as_secs_f64()
    );
}
