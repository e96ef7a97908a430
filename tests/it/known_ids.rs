//! `dedup --known-ids`: this month's crawl compared with the index of last month's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Random, digest, redis, run};

/// Returns random words; no two texts share a word.
fn text(seed: u64) -> String {
    let mut random = Random(seed);
    let word = |_| -> String { (0..6).map(|_| (b'a' + random.below(26) as u8) as char).collect() };
    (0..80).map(word).collect::<Vec<_>>().join(" ")
}

/// Returns the text with one word inserted.
fn edited(seed: u64) -> String {
    text(seed).replacen(' ', " somewhat ", 1)
}

/// The text of each id in a crawl.
type Crawl<'a> = Vec<(&'a str, String)>;

fn last_month() -> Crawl<'static> {
    ["unchanged", "edited", "rewritten", "copies", "emptied", "elsewhere"]
        .into_iter()
        .zip(1..)
        .map(|(id, seed)| (id, text(seed)))
        .collect()
}

fn this_month() -> Crawl<'static> {
    vec![
        ("unchanged", text(1)),
        ("edited", edited(2)),
        ("rewritten", text(13)),
        // A copy of a text whose own address is not in this crawl.
        ("copies", edited(6)),
        ("emptied", String::new()),
        ("new", text(17)),
        ("new-copy", text(1)),
    ]
}

/// The expected result of a value of `--known-ids`: the kept ids, pairs of a duplicate and its
/// original, the final index, and rows of the report.
struct Expected {
    kept: Vec<&'static str>,
    dropped: Vec<(&'static str, &'static str)>,
    index: Crawl<'static>,
    rows: &'static [&'static str],
}

fn expected(known_ids: &str) -> Expected {
    let now: BTreeMap<_, _> = this_month().into_iter().collect();
    let mut index: BTreeMap<_, _> = last_month().into_iter().collect();
    let mut take = |ids: &[&'static str]| index.extend(ids.iter().map(|id| (*id, now[id].clone())));
    let both = [("copies", "elsewhere"), ("new-copy", "unchanged")];
    let (kept, dropped, rows) = match known_ids {
        "compare" => {
            take(&["rewritten", "new"]);
            let own = [("unchanged", "unchanged"), ("edited", "edited")];
            let rows = &[
                "kept                     2",
                "duplicates               4",
                "  unchanged              2  (of these: near to their own earlier versions)",
                "known ids          compare",
            ][..];
            (vec!["rewritten", "emptied", "new"], own.into_iter().chain(both).collect(), rows)
        }
        value => {
            take(&["edited", "rewritten", "new"]);
            let mut rows = &["kept                     4", "duplicates               2"][..];
            if value == "replace" {
                index.remove("copies");
                index.remove("emptied");
                rows = &[
                    "kept                     4",
                    "duplicates               2",
                    "known ids          replace",
                ];
            }
            (vec!["unchanged", "edited", "rewritten", "emptied", "new"], both.to_vec(), rows)
        }
    };
    Expected { kept, dropped, index: index.into_iter().collect(), rows }
}

fn lines(crawl: &Crawl<'_>) -> String {
    crawl.iter().map(|(id, text)| format!("{}\n", json!({ "id": id, "text": text }))).collect()
}

fn fields(path: &str, field: &str) -> Vec<String> {
    let lines = fs::read_to_string(path).unwrap();
    let field = |line| serde_json::from_str::<Value>(line).unwrap()[field].as_str().unwrap().to_owned();
    lines.lines().map(field).collect()
}

/// Runs all cases. `store` returns the URL of a new index.
fn check(store: &dyn Fn(&str) -> String) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [last, this, kept, dropped, report] =
        ["last.jsonl", "this.jsonl", "kept", "dropped", "report.json"].map(at);
    fs::write(&last, lines(&last_month())).unwrap();
    fs::write(&this, lines(&this_month())).unwrap();
    let journal = at("journal");
    let ways: [(&str, &[&str]); 4] = [
        ("plain", &[]),
        ("longest", &["--keep", "longest"]),
        ("journal", &["--journal", &journal]),
        ("both", &["--keep", "longest", "--journal", &journal]),
    ];
    for value in ["keep", "compare", "replace"] {
        let Expected { kept: stay, dropped: go, index, rows } = expected(value);
        let whole = format!("embedded:{}", at(&format!("expected-{value}")));
        fs::write(at("index.jsonl"), lines(&index)).unwrap();
        run("indexer", ["index", "-q", "--store", &whole, &at("index.jsonl")]).expect(0);
        for (way, more) in ways {
            let what = format!("{value} {way}");
            let store = store(&format!("{value}-{way}"));
            run("indexer", ["dedup", "-q", "--store", &store, "--output", "/dev/null", &last]).expect(0);
            let before = digest(&store);
            let dedup = |more: &[&str]| {
                let args = ["dedup", "-q", "--force", "--store", &store, "--known-ids", value, &this];
                run("indexer", [&args[..], more].concat()).expect(0).stdout
            };
            dedup(&["--dry-run", "--report", &report]);
            assert_eq!(digest(&store), before, "{what}");
            let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
            let n_unchanged = (value == "compare").then_some(2);
            assert_eq!(report["counts"]["unchanged"].as_u64(), n_unchanged, "{what}");
            assert_eq!(report["counts"]["duplicates"], go.len(), "{what}");
            assert_eq!(report["options"]["known_ids"].as_str(), Some(value).filter(|_| value != "keep"));

            let said = dedup(&[&["--output", &kept, "--duplicates", &dropped], more].concat());
            for row in rows {
                assert!(said.lines().any(|line| line == *row), "{what}: {row}\n{said}");
            }
            assert!(value == "compare" || !said.contains("unchanged"), "{said}");
            assert_eq!(fields(&kept, "id"), stay, "{what}");
            let pairs = fields(&dropped, "id").into_iter().zip(fields(&dropped, "duplicate_of"));
            let go: Vec<_> = go.iter().map(|(id, of)| ((*id).to_owned(), (*of).to_owned())).collect();
            assert_eq!(pairs.collect::<Vec<_>>(), go, "{what}");
            assert_eq!(digest(&store), digest(&whole), "{what}");
            if Path::new(&journal).exists() {
                // A finished job repeats its report.
                assert_eq!(
                    dedup(&[&["--output", &kept, "--duplicates", &dropped], more].concat()),
                    said,
                    "{what}"
                );
                fs::remove_dir_all(&journal).unwrap();
            }
        }
    }
}

#[test]
fn each_value_against_an_embedded_index() {
    let folder = tempfile::tempdir().unwrap();
    check(&|name| format!("embedded:{}", folder.path().join(name).display()));
}

#[test]
fn each_value_against_an_index_in_redis() {
    let Some(redis) = redis() else { return };
    check(&|name| redis.url(&format!("known-{name}")));
}

/// Workers that share a crawl keep the same documents as one.
#[test]
fn workers_share_a_crawl() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let store = format!("embedded:{}", at("index"));
    let crawl = |seeds: std::ops::Range<u64>, change: u64| -> String {
        let line = |n: u64| {
            let text = match n % 3 {
                0 => text(n),
                1 if change > 0 => edited(n),
                1 => text(n),
                _ => text(n + change),
            };
            format!("{}\n", json!({ "id": n.to_string(), "text": text }))
        };
        seeds.map(line).collect()
    };
    fs::write(at("last.jsonl"), crawl(0..60, 0)).unwrap();
    fs::write(at("this.jsonl"), crawl(0..90, 1_000)).unwrap();
    run("indexer", ["dedup", "-q", "--store", &store, "--output", "/dev/null", &at("last.jsonl")]).expect(0);
    let mut kept = Vec::new();
    for shard in ["0/2", "1/2"] {
        let args = ["dedup", "-q", "--force", "--store", &store, "--known-ids", "compare", "--shard", shard];
        run("indexer", [&args[..], &["--output", &at("kept"), &at("this.jsonl")]].concat()).expect(0);
        kept.extend(fields(&at("kept"), "id").into_iter().map(|id| id.parse::<u64>().unwrap()));
    }
    kept.sort_unstable();
    let expected: Vec<u64> = (0..90).filter(|n| n % 3 == 2 || *n >= 60).collect();
    assert_eq!(kept, expected);
}

#[test]
fn without_an_index_of_before_there_is_nothing_to_know() {
    let folder = tempfile::tempdir().unwrap();
    let this = folder.path().join("this.jsonl").to_str().unwrap().to_owned();
    fs::write(&this, lines(&this_month())).unwrap();
    for store in [&[][..], &["--store", "memory:"]] {
        for value in ["compare", "replace"] {
            let args = ["dedup", "-q", &this, "--known-ids", value];
            let refused = run("indexer", [&args[..], store].concat()).expect(2).stderr;
            assert!(refused.contains("name that index with --store"), "{refused}");
        }
        run("indexer", [&["dedup", "-q", &this, "--known-ids", "keep"], store].concat()).expect(0);
    }
    let refused = run("indexer", ["dedup", "-q", &this, "--known-ids", "forget"]).expect(2).stderr;
    assert!(refused.contains("keep, compare, replace"), "{refused}");
}

/// A document dropped for its own earlier version is in a cluster with that version.
#[test]
fn clusters_have_the_earlier_versions() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let store = format!("embedded:{}", at("index"));
    fs::write(at("last.jsonl"), lines(&last_month())).unwrap();
    fs::write(at("this.jsonl"), lines(&this_month())).unwrap();
    run("indexer", ["dedup", "-q", "--store", &store, "--output", "/dev/null", &at("last.jsonl")]).expect(0);
    let args = ["dedup", "-q", "--store", &store, "--known-ids", "compare", &at("this.jsonl")];
    run("indexer", [&args[..], &["--clusters", &at("clusters.csv")]].concat()).expect(0);
    let clusters = fs::read_to_string(at("clusters.csv")).unwrap();
    let rows: Vec<Vec<&str>> = clusters.lines().skip(1).map(|row| row.split(',').take(3).collect()).collect();
    for (group, id, status) in [
        ("unchanged", "unchanged", "in_index"),
        ("unchanged", "unchanged", "dropped"),
        ("unchanged", "new-copy", "dropped"),
        ("edited", "edited", "in_index"),
        ("edited", "edited", "dropped"),
        ("elsewhere", "copies", "dropped"),
    ] {
        assert!(rows.contains(&vec![group, id, status]), "{group} {id} {status}: {clusters}");
    }
}
