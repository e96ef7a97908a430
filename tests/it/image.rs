//! The image of an embedded index: written by a job, used by the next program, and not believed
//! where it is damaged.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::{Worker, command, digest, made_up_corpus, pause, run};

/// Enough for an image.
const N: usize = 11_000;

struct Place {
    folder: tempfile::TempDir,
    store: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
        Self { folder, store }
    }

    fn write(&self, name: &str, text: &str) -> String {
        let file = self.folder.path().join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    }

    /// The line about the image of `pigeonhole info`.
    fn image(&self) -> Option<String> {
        let info = run("pigeonhole", ["info", "--store", &self.store]).expect(0).stdout;
        info.lines().find(|line| line.starts_with("image")).map(str::to_owned)
    }

    /// The groups of duplicates among documents and those of the index, and the messages.
    fn duplicates(&self, queries: &str) -> (String, String) {
        let dry = ["dedup", "-q", "--dry-run", "--groups", "1000", "--store", &self.store, queries];
        let ran = run("indexer", dry).expect(0);
        let groups = ran.stdout.lines().filter(|line| !line.starts_with("seconds"));
        (groups.map(|line| format!("{line}\n")).collect(), ran.stderr)
    }

    fn data(&self) -> std::path::PathBuf {
        Path::new(self.store.strip_prefix("embedded:").unwrap()).join("data.mdb")
    }
}

/// Some documents of a corpus under other ids, and some that are new.
fn queries(corpus: &str) -> String {
    let known = corpus.lines().step_by(40).map(|line| line.replace("made-up/", "again/"));
    let new = made_up_corpus(100, 99).replace("made-up/", "new/");
    known.chain(new.lines().map(str::to_owned)).map(|line| line + "\n").collect()
}

/// Changes a byte of each block of keys, in a file that no program has open.
fn damage(data: &Path) {
    let mut bytes = fs::read(data).unwrap();
    let is_block = |bytes: &[u8]| {
        let word = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
        let [from, until, first, second] = [5, 13, 21, 29].map(word);
        let is_number = |word: u64| (1..=N as u64).contains(&(word & u64::from(u32::MAX)));
        let ascend = from <= first && first < second && second <= until;
        bytes[..4] == [0, 0, 0, 1] && bytes[4] > 0 && ascend && is_number(first) && is_number(second)
    };
    let places = (0..bytes.len() - 40).filter(|&at| bytes[at + 3] == 1 && is_block(&bytes[at..]));
    let blocks: Vec<usize> = places.collect();
    assert!(blocks.len() > 1_000, "{}", blocks.len());
    blocks.into_iter().for_each(|at| bytes[at + 28] ^= 1);
    fs::write(data, &bytes).unwrap();
}

#[test]
fn a_job_writes_it_and_the_next_program_uses_it() {
    let place = Place::new();
    let corpus = made_up_corpus(N, 8);
    let (first, queries) = (place.write("a.jsonl", &corpus), place.write("queries.jsonl", &queries(&corpus)));
    run("indexer", ["index", "-q", "--store", &place.store, &first]).expect(0);
    let said = place.image().expect("an image");
    assert!(said.contains(&format!("up to change {N} of {N}:")), "{said}");
    let (with_image, warned) = place.duplicates(&queries);
    assert!(with_image.lines().count() > N / 40, "{with_image}");
    assert!(!warned.contains("is not used"), "{warned}");
    // What comes later is in tables, as long as it is little.
    let later = place.write("b.jsonl", &made_up_corpus(500, 9).replace("made-up/", "later/"));
    run("indexer", ["index", "-q", "--store", &place.store, &later]).expect(0);
    let said = place.image().expect("an image");
    assert!(said.contains(&format!("up to change {N} of {}:", N + 500)), "{said}");
    let removed = ["remove", "--store", &place.store, "later/0", "made-up/0", "made-up/40"];
    run("pigeonhole", removed).expect(0);
    let sound = run("pigeonhole", ["verify", "--store", &place.store]).expect(0);
    assert!(!sound.stdout.contains("image\t"), "{}", sound.stdout);
    let (before, _) = place.duplicates(&queries);

    damage(&place.data());
    let (damaged, warned) = place.duplicates(&queries);
    assert_eq!(damaged, before);
    assert_eq!(warned.matches("is not used").count(), 1, "{warned}");
    let found = run("pigeonhole", ["verify", "-q", "--store", &place.store]).expect(1);
    assert!(found.stdout.contains("image"), "{}", found.stdout);
    run("pigeonhole", ["repair", "-q", "--apply", "--store", &place.store]).expect(0);
    assert_eq!(place.image(), None);
    assert_eq!(place.duplicates(&queries).0, before);

    let mut worker = Worker::start(&place.store, &[]);
    worker.log_until("an image of the search tables was written");
    assert!(place.image().is_some());
    worker.send_stop();
    assert_eq!(worker.wait().0, Some(0));
    run("pigeonhole", ["verify", "-q", "--store", &place.store]).expect(0);
    assert_eq!(place.duplicates(&queries).0, before);
}

/// An index that has no image yet, as too few documents are in it before the last round.
#[test]
fn a_round_of_a_collector_writes_it() {
    let place = Place::new();
    let corpus = made_up_corpus(N, 11);
    let at = corpus.match_indices('\n').nth(N * 4 / 5).unwrap().0 + 1;
    let first = place.write("first.jsonl", &corpus[..at]);
    run("indexer", ["index", "-q", "--store", &place.store, &first]).expect(0);
    assert_eq!(place.image(), None);
    let [incoming, results] =
        ["incoming", "results"].map(|name| place.folder.path().join(name).to_str().unwrap().to_owned());
    fs::create_dir(&incoming).unwrap();
    let file = place.write("incoming/last.jsonl", &corpus[at..]);
    let hour = Duration::from_secs(3600);
    File::open(&file).unwrap().set_modified(SystemTime::now() - hour).unwrap();
    let collect = ["collect", "--once", "-q", "--watch", &incoming, "--results", &results];
    run("indexer", collect.into_iter().chain(["--store", &place.store])).expect(0);
    let said = place.image().expect("an image");
    assert!(said.contains(" of "), "{said}");
}

/// Two jobs that both write an image of one index, one of them killed again and again.
#[test]
fn two_jobs_at_once_and_one_killed() {
    let place = Place::new();
    let corpus = made_up_corpus(N, 10);
    let half = corpus.match_indices('\n').nth(N / 2 - 1).unwrap().0 + 1;
    let all = place.write("all.jsonl", &corpus);
    let halves = [place.write("a.jsonl", &corpus[..half]), place.write("b.jsonl", &corpus[half..])];
    let start =
        |file: &str| command("indexer", ["index", "-q", "--store", &place.store, file]).spawn().unwrap();
    let mut children = halves.map(|file| start(&file));
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let whole = digest(&place.store);
    let size = |place: &Place| fs::metadata(place.data()).map_or(0, |metadata| metadata.len());
    let full = size(&place);
    let queries = place.write("queries.jsonl", &queries(&corpus));
    let (expected, _) = place.duplicates(&queries);

    let killed = Place::new();
    for share in [50, 70, 80, 90, 95] {
        fs::remove_dir_all(killed.data().parent().unwrap()).unwrap_or(());
        let mut child = command("indexer", ["index", "-q", "--store", &killed.store, &all]).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && size(&killed) < full * share / 100 {
            pause();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        run("pigeonhole", ["verify", "-q", "--store", &killed.store]).expect(0);
        run("indexer", ["index", "-q", "--store", &killed.store, &all]).expect(0);
        assert_eq!(digest(&killed.store), whole, "killed at {share} %");
        assert!(killed.image().is_some());
        run("pigeonhole", ["verify", "-q", "--store", &killed.store]).expect(0);
        assert_eq!(killed.duplicates(&queries).0, expected);
    }
}
