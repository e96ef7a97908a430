//! All pairs of an index, from its cells: those of the self-join in memory, on the corpora and in every store; whatever kills
//! the run and however many workers share it, the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::carry::{at, embedded};
use crate::corpora::corpora_of_a_size;
use crate::hbase::{create, url};
use crate::support::{CLASSIC, command, hbase, json_lines, made_up_corpus, redis, run};

/// Ids, the lesser first, similarity and distance, as they are written.
type Pairs = BTreeSet<(String, String, String, String)>;

fn pairs_in(lines: &str) -> Pairs {
    let of_line = |line: &str| {
        let pair: Value = serde_json::from_str(line).unwrap();
        let [a, b] = ["a", "b"].map(|name| pair[name].as_str().unwrap().to_owned());
        (a.clone().min(b.clone()), a.max(b), pair["similarity"].to_string(), pair["distance"].to_string())
    };
    let pairs: Pairs = lines.lines().map(of_line).collect();
    assert_eq!(pairs.len(), lines.lines().count(), "each pair once");
    pairs
}

/// By name, what is in a folder, without what the run says of itself.
fn parts(folder: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()));
    files.filter(|(name, _)| name != "manifest.json").collect()
}

fn pairs_of(folder: &str) -> Pairs {
    let lines: String = parts(folder).into_values().map(|bytes| String::from_utf8(bytes).unwrap()).collect();
    pairs_in(&lines)
}

fn join(store: &str, folder: &str, more: &[&str]) -> crate::support::Run {
    run("indexer", [&["pairs", "-q", "--store", store, "--output", folder], more].concat())
}

/// What `dedup --pairs` finds in memory.
fn self_join(folder: &Path, corpus: &str, flags: &[&str]) -> Pairs {
    let pairs = at(folder, "self-join.jsonl");
    let output = at(folder, "kept.jsonl");
    let args = ["dedup", "-q", corpus, "--pairs", &pairs, "--output", &output];
    let dedup = run("indexer", [&args, flags].concat());
    assert!(dedup.code.is_some_and(|code| code < 2), "{dedup:?}");
    pairs_in(&fs::read_to_string(&pairs).unwrap())
}

/// A corpus with what may be near in every way, the same text many times, and some that have no simhash.
fn corpus(folder: &Path, n: usize) -> String {
    let again: Vec<(String, &str)> = (0..30)
        .map(|n| (format!("again {n}"), "Rain stops, and the ferries go again."))
        .chain((0..9).map(|n| (format!("☂ {n}"), if n < 6 { "😂😂😂 → ☂" } else { "★☆★" })))
        .collect();
    let again = json_lines(again.iter().map(|(id, text)| (id.as_str(), *text)));
    let path = at(folder, "corpus.jsonl");
    fs::write(&path, made_up_corpus(n, 21) + &again).unwrap();
    path
}

fn index(store: &str, corpus: &str, flags: &[&str]) {
    let index = run("indexer", [&["index", "-q", corpus, "--store", store], flags].concat());
    assert!(index.code.is_some_and(|code| code < 2), "{index:?}");
}

#[test]
fn those_of_the_corpora_are_the_self_joins() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made_up = corpus(folder, 600);
    let corpora = corpora_of_a_size(folder).into_iter().map(|path| path.to_str().unwrap().to_owned());
    let ways =
        [(made_up.clone(), &CLASSIC[..]), (made_up.clone(), &["--profile", "minhash"]), (made_up, &[])];
    for (n, (file, flags)) in ways.into_iter().chain(corpora.map(|file| (file, &[][..]))).enumerate() {
        let (store, output) = (embedded(folder, &format!("index-{n}")), at(folder, &format!("pairs-{n}")));
        index(&store, &file, flags);
        join(&store, &output, &[]).expect(0);
        let (found, expected) = (pairs_of(&output), self_join(folder, &file, flags));
        assert!(!expected.is_empty(), "{file} has pairs to find");
        assert!(found == expected, "{file} {flags:?}: {} pairs, {} expected", found.len(), expected.len());
    }
}

/// An index that all of `check` holds against: embedded, with its pairs in five parts.
fn expected(folder: &Path) -> (String, BTreeMap<String, Vec<u8>>) {
    let corpus = corpus(folder, 400);
    let (store, output) = (embedded(folder, "expected"), at(folder, "expected-pairs"));
    index(&store, &corpus, &[]);
    join(&store, &output, &["--parts", "5"]).expect(0);
    assert_eq!(pairs_of(&output), self_join(folder, &corpus, &[]));
    (corpus, parts(&output))
}

/// An index of the same documents has the same bytes, by one worker, by three at once, and after every kill.
fn check(folder: &Path, store: &str, expected: &BTreeMap<String, Vec<u8>>) {
    let whole = at(folder, "whole");
    let told = join(store, &whole, &["--parts", "5"]).expect(0).stdout;
    assert!(told.starts_with("parts                    5\nrows "), "{told}");
    assert!(parts(&whole) == *expected, "one worker");
    let told = join(store, &whole, &[]).expect(0).stdout;
    assert_eq!(told, "parts                    0  (5 were there already)\n");

    let shared = at(folder, "shared");
    let workers = ["0/3", "1/3", "2/3"].map(|shard| {
        let args = ["pairs", "-q", "--store", store, "--output", &shared, "--parts", "5", "--shard", shard];
        command("indexer", args).spawn().unwrap()
    });
    for worker in workers {
        let output = worker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(parts(&shared) == *expected, "three workers");

    let killed = at(folder, "killed");
    let mut n_killed = 0;
    for n_parts in 0..5 {
        let args = ["pairs", "-q", "--store", store, "--output", &killed, "--parts", "5", "--threads", "1"];
        let mut child = command("indexer", args).spawn().unwrap();
        let has = |n: usize| {
            let files = fs::read_dir(&killed).into_iter().flatten().map(|entry| entry.unwrap().file_name());
            files.filter(|name| name.to_string_lossy().starts_with("part-")).count() >= n
        };
        while child.try_wait().unwrap().is_none() && !has(n_parts) {
            thread::yield_now();
        }
        child.kill().unwrap();
        n_killed += usize::from(!child.wait().unwrap().success());
    }
    assert!(n_killed >= 2, "only {n_killed} of 5 runs were killed before their end");
    join(store, &killed, &["--parts", "5"]).expect(0);
    assert!(parts(&killed) == *expected, "killed and run again");
}

#[test]
fn of_an_index_on_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (_, expected) = expected(folder.path());
    check(folder.path(), &embedded(folder.path(), "expected"), &expected);
}

#[test]
fn of_an_index_in_redis() {
    let Some(redis) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (corpus, expected) = expected(folder.path());
    let store = redis.url("pairs");
    index(&store, &corpus, &[]);
    check(folder.path(), &store, &expected);
}

/// In its own order; and what was replaced or removed a moment ago, whose cells are still there, makes no pairs.
#[test]
fn of_an_index_in_hbase() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_pairs", &[("pairs", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let (corpus, expected) = expected(folder.path());
    let store = url(hbase.gateway, "pairs");
    // Each document is something else first, near to others.
    let before = at(folder.path(), "before.jsonl");
    let lines = fs::read_to_string(&corpus).unwrap();
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (ids, texts) = (records.iter(), records.iter().rev());
    let text = |record: &Value, field: &str| record[field].as_str().unwrap().to_owned();
    let turned: Vec<_> = ids.zip(texts).map(|(id, of)| (text(id, "id"), text(of, "text"))).collect();
    let gone = [("gone", "Rain stops, and the ferries go again.")];
    let turned = turned.iter().map(|(id, text)| (id.as_str(), text.as_str())).chain(gone);
    fs::write(&before, json_lines(turned)).unwrap();
    index(&store, &before, &[]);
    index(&store, &corpus, &[]);
    run("pigeonhole", ["remove", "--store", &store, "gone"]).expect(0);
    check(folder.path(), &store, &expected);
}

#[test]
fn parquet_holds_the_same() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let store = embedded(folder, "index");
    index(&store, &corpus(folder, 100), &[]);
    let [lines, packed, columns] = ["lines", "packed", "columns"].map(|name| at(folder, name));
    join(&store, &lines, &[]).expect(0);
    join(&store, &packed, &["--results-format", "jsonl.gz", "--parts", "3"]).expect(0);
    assert!(parts(&packed).into_keys().eq((0..3).map(|n| format!("part-0000{n}.jsonl.gz"))));
    join(&store, &columns, &["--results-format", "parquet", "--parts", "3"]).expect(0);
    let mut found = Pairs::new();
    for name in parts(&columns).into_keys() {
        assert!(name.ends_with(".parquet"), "{name}");
        let reader =
            SerializedFileReader::new(fs::File::open(Path::new(&columns).join(name)).unwrap()).unwrap();
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let text = |place| row.get_string(place).unwrap().clone();
            let similarity = Value::from(row.get_double(2).unwrap()).to_string();
            found.insert((text(0), text(1), similarity, row.get_long(3).unwrap().to_string()));
        }
    }
    assert_eq!(found, pairs_of(&lines));
}

#[test]
fn what_is_asked_is_held_against_index_and_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let corpus = corpus(folder, 60);
    let [store, other] = ["index", "other"].map(|name| embedded(folder, name));
    index(&store, &corpus, &[]);
    index(&other, &corpus, &[]);
    let pairs = at(folder, "pairs");
    join(&store, &pairs, &["--parts", "3"]).expect(0);
    let [inside, file] = ["index/pairs", "file"].map(|name| at(folder, name));
    fs::write(&file, "").unwrap();
    for (store, output, more, part) in [
        (&*other, &*pairs, &[][..], "has pairs of the index "),
        (
            &store,
            &pairs,
            &["--parts", "4"],
            "has pairs in --parts 3, and these are in --parts 4; name another folder",
        ),
        (&store, &pairs, &["--min-similarity", "0.9"], "by --min-similarity 0.8, and these are"),
        (&store, &pairs, &["--max-distance", "2"], "by --max-distance 3, and these are"),
        (&store, &pairs, &["--results-format", "parquet"], "as --results-format jsonl, and these are"),
        (
            &store,
            &pairs,
            &["--min-similarity", "0.7"],
            "a similarity below 0.8000 is not what this index looks for",
        ),
        (&store, &pairs, &["--max-distance", "4"], "above the 3 that this index finds"),
        (&store, folder.to_str().unwrap(), &[], "has other files ("),
        (&store, &inside, &[], "lies in the directory of the index; write elsewhere"),
        (&store, &file, &[], "failed to make the folder"),
        (&store, "pairs.jsonl", &[], "a folder is written"),
        ("memory:", "elsewhere", &[], "is gone when this program ends"),
        ("embedded:nowhere", "elsewhere", &[], "there is no index"),
    ] {
        let said = join(store, output, more).expect(2).stderr;
        assert!(said.contains(part), "{more:?}: {said}");
    }
    let narrow = at(folder, "narrow");
    join(&store, &narrow, &["--min-similarity", "1"]).expect(0);
    let all = pairs_of(&pairs);
    let same: Pairs = all.iter().filter(|(_, _, similarity, _)| similarity == "1.0").cloned().collect();
    // What rounds to 1 need not be.
    assert!(pairs_of(&narrow).is_subset(&same) && !pairs_of(&narrow).is_empty() && same.len() < all.len());
}
