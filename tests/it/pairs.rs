//! All pairs of an index, from its cells: equal to the self-join in memory, on the corpora and in
//! every store. Kills and any number of workers leave the same bytes.

mod folders;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::carry::{at, embedded};
use crate::corpora::corpora_of_a_size;
use crate::hbase::{create, url};
use crate::support::{CLASSIC, Figures, command, hbase, json_lines, made_up_corpus, pause, redis, run};

/// Ids, the lesser first, similarity and distance, as written.
pub(crate) type Pairs = BTreeSet<(String, String, String, String)>;

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

/// Returns the files of a folder by name, without the run's manifest.
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

/// Returns all pairs that `dedup --pairs` implies. The program writes each copy beside the first,
/// and near pairs of the first alone.
pub(crate) fn of_copies_too(lines: &str) -> Pairs {
    let mut copies: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let (mut same, mut near) = (BTreeMap::new(), Vec::new());
    for line in lines.lines() {
        let pair: Value = serde_json::from_str(line).unwrap();
        let [a, b] = ["a", "b"].map(|name| pair[name].as_str().unwrap().to_owned());
        let told = (pair["similarity"].to_string(), pair["distance"].to_string());
        match pair["copy_of"].as_str() {
            Some(of) => {
                assert_eq!(of, a, "{line}");
                copies.entry(a.clone()).or_default().push(b);
                same.insert(a, told);
            }
            None => near.push((a, b, told)),
        }
    }
    let group =
        |first: &String| [std::slice::from_ref(first), copies.get(first).map_or(&[], |more| more)].concat();
    let mut pairs = Pairs::new();
    let mut add = |a: &String, b: &String, (similarity, distance): &(String, String)| {
        let (a, b) = (a.min(b).clone(), a.max(b).clone());
        assert!(pairs.insert((a, b, similarity.clone(), distance.clone())), "each pair once");
    };
    for (first, told) in &same {
        let members = group(first);
        for (n, b) in members.iter().enumerate() {
            members[..n].iter().for_each(|a| add(a, b, told));
        }
    }
    for (a, b, told) in &near {
        for a in group(a) {
            group(b).iter().for_each(|b| add(&a, b, told));
        }
    }
    pairs
}

/// Returns the pairs that `dedup --pairs` finds in memory, of the profile that an index has.
fn self_join(folder: &Path, corpus: &str, flags: &[&str]) -> Pairs {
    let pairs = at(folder, "self-join.jsonl");
    let output = at(folder, "kept.jsonl");
    let args = ["dedup", "-q", "--force", corpus, "--pairs", &pairs, "--output", &output];
    let profile = if flags.contains(&"--profile") { &[][..] } else { &["--profile", "full"] };
    let dedup = run("indexer", [&args, flags, profile].concat());
    assert!(dedup.code.is_some_and(|code| code < 2), "{dedup:?}");
    of_copies_too(&fs::read_to_string(&pairs).unwrap())
}

/// Writes a corpus with near texts of every kind, repeated texts, and texts without a simhash.
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

#[test]
fn copies_are_written_beside_the_first_and_what_is_called_was_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let word = |n: u64| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
    let text = |from: u64| (from..from + 100).map(word).collect::<Vec<_>>().join(" ");
    let texts: Vec<(String, String)> = (0..40)
        .map(|n| (format!("copy {n}"), text(0)))
        .chain((0..20).map(|n| (format!("near {n}"), text(3))))
        .chain([("far".to_owned(), text(500))])
        .collect();
    let input = at(folder, "copies.jsonl");
    fs::write(&input, json_lines(texts.iter().map(|(id, text)| (id.as_str(), text.as_str())))).unwrap();
    let (pairs, clusters) = (at(folder, "copies-pairs.jsonl"), at(folder, "copies-clusters.jsonl"));
    let run = run("indexer", ["dedup", "-q", &input, "--pairs", &pairs, "--clusters", &clusters]).expect(0);
    assert!(!run.stderr.contains("share a bucket"), "{}", run.stderr);
    let lines = fs::read_to_string(&pairs).unwrap();
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (copies, near): (Vec<&Value>, Vec<&Value>) = rows.iter().partition(|row| row["copy_of"].is_string());
    assert_eq!(copies.len(), 39 + 19);
    for row in copies {
        assert!(row["a"] == row["copy_of"] && (row["a"] == "copy 0" || row["a"] == "near 0"), "{row}");
        assert_eq!((row["similarity"].as_f64(), row["exact"].as_bool()), (Some(1.0), Some(true)), "{row}");
    }
    let [near] = &near[..] else { panic!("{near:?}") };
    assert!(near["a"] == "copy 0" && near["b"] == "near 0" && near["exact"] == true, "{near}");
    let cluster: Value = serde_json::from_str(&fs::read_to_string(&clusters).unwrap()).unwrap();
    let edge = &cluster["edges"][0];
    assert_eq!((cluster["n_documents"].as_u64(), cluster["n_edges"].as_u64()), (Some(60), Some(1)));
    for column in ["similarity", "exact", "share_of_a", "share_of_b"] {
        assert_eq!(edge[column], near[column], "{column}");
    }
}

/// Where fingerprints alone decide, three workers write the same parts as one.
#[test]
fn of_fingerprints_alone() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let corpus = corpus(folder, 400);
    let (store, whole, shared) = (embedded(folder, "index"), at(folder, "whole"), at(folder, "shared"));
    index(&store, &corpus, &CLASSIC);
    let told = join(&store, &whole, &["--parts", "5"]).expect(0).stdout;
    assert!(told.starts_with("parts                    5\nfingerprints "), "{told}");
    assert_eq!(pairs_of(&whole), self_join(folder, &corpus, &CLASSIC));
    for shard in ["0/3", "1/3", "2/3"] {
        join(&store, &shared, &["--parts", "5", "--shard", shard]).expect(0);
    }
    assert!(parts(&shared) == parts(&whole));
}

/// Returns the corpus and the expected pairs in five parts, from an embedded index.
fn expected(folder: &Path) -> (String, BTreeMap<String, Vec<u8>>) {
    let corpus = corpus(folder, 400);
    let (store, output) = (embedded(folder, "expected"), at(folder, "expected-pairs"));
    index(&store, &corpus, &[]);
    join(&store, &output, &["--parts", "5"]).expect(0);
    assert_eq!(pairs_of(&output), self_join(folder, &corpus, &[]));
    (corpus, parts(&output))
}

/// Checks an index of the same documents: one worker, three at once, and every kill leave the same
/// bytes. `name` is the store's.
fn check(name: &str, folder: &Path, store: &str, expected: &BTreeMap<String, Vec<u8>>) {
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
    let mut figures = Figures::default();
    for n_parts in 0..5 {
        let args = ["pairs", "-q", "--store", store, "--output", &killed, "--parts", "5", "--threads", "1"];
        let mut child = command("indexer", args).spawn().unwrap();
        let has = |n: usize| {
            let files = fs::read_dir(&killed).into_iter().flatten().map(|entry| entry.unwrap().file_name());
            files.filter(|name| name.to_string_lossy().starts_with("part-")).count() >= n
        };
        while child.try_wait().unwrap().is_none() && !has(n_parts) {
            pause();
        }
        child.kill().unwrap();
        figures.faults += u64::from(!child.wait().unwrap().success());
    }
    figures.round(|| join(store, &killed, &["--parts", "5"])).expect(0);
    figures.wrong = u64::from(parts(&killed) != *expected);
    figures.end(&format!("pairs killed, {name}"));
    assert!(figures.faults >= 2, "only {} of 5 runs were killed before their end", figures.faults);
}

#[test]
fn of_an_index_on_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (_, expected) = expected(folder.path());
    check("embedded", folder.path(), &embedded(folder.path(), "expected"), &expected);
}

#[test]
fn of_an_index_in_redis() {
    let Some(redis) = redis() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (corpus, expected) = expected(folder.path());
    let store = redis.url("pairs");
    index(&store, &corpus, &["--texts", "zstd"]);
    check("Redis", folder.path(), &store, &expected);
}

/// HBase has its own order of cells. Recently replaced or removed documents still have cells, and
/// make no pairs.
#[test]
fn of_an_index_in_hbase() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_pairs", &[("pairs", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let (corpus, expected) = expected(folder.path());
    let store = url(hbase.gateway, "pairs");
    // Each document first has another text, near to others.
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
    check("HBase", folder.path(), &store, &expected);
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
        (&store, &pairs, &["--min-similarity", "0.7"], "below the 0.8 that this index finds"),
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
    // A similarity that rounds to 1 may be lower.
    assert!(pairs_of(&narrow).is_subset(&same) && !pairs_of(&narrow).is_empty() && same.len() < all.len());
}
