//! `dedup --clusters`: connected documents, and how far a cluster reaches.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use simhash::{Distance, Fingerprint};

use crate::corpora::{corpora_of_a_size, fingerprints};
use crate::support::{CLASSIC, json_lines, made_up_corpus, news, root, run, run_with_input};

const MAX_DISTANCE: Distance = Distance::of_differing(0b111);

fn parse(lines: &str) -> Vec<Value> {
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn file_in(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// Returns the clusters of a corpus, the kept document by dropped one, and the report.
fn clusters(file: &str, chains: &str) -> (Vec<Value>, BTreeMap<String, String>, String) {
    let folder = tempfile::tempdir().unwrap();
    let [clusters, dropped] = ["clusters", "dropped"].map(|name| file_in(folder.path(), name));
    let args = ["dedup", "-q", file, "--clusters", &clusters, "--chains", chains, "--duplicates", &dropped];
    let args = [&args[..], &CLASSIC].concat();
    let report = run("indexer", args).expect(0).stdout;
    let dropped = parse(&fs::read_to_string(dropped).unwrap());
    let text = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    let dropped = dropped.iter().map(|line| (text(line, "id"), text(line, "duplicate_of"))).collect();
    (parse(&fs::read_to_string(clusters).unwrap()), dropped, report)
}

/// Returns the ids and the status of a cluster's documents.
fn members(cluster: &Value) -> BTreeMap<String, String> {
    let nodes = cluster["nodes"].as_array().unwrap().iter();
    let documents = nodes.flat_map(|node| node["documents"].as_array().unwrap());
    let text = |document: &Value, field: &str| document[field].as_str().unwrap().to_owned();
    documents.map(|document| (text(document, "id"), text(document, "status"))).collect()
}

/// Returns the edges of a cluster, each as the lesser and the greater fingerprint.
fn edges(cluster: &Value) -> BTreeSet<(Fingerprint, Fingerprint)> {
    let edges = cluster["edges"].as_array().unwrap().iter().map(|edge| {
        let [a, b] = [0, 1].map(|end| edge["between"][end].as_str().unwrap().parse::<Fingerprint>().unwrap());
        assert_eq!(edge["distance"], a.distance(b).as_bits());
        (a.min(b), a.max(b))
    });
    edges.collect()
}

#[test]
fn clusters_are_what_the_naive_scan_connects() {
    let folder = tempfile::tempdir().unwrap();
    let made_up = folder.path().join("made-up.jsonl");
    fs::write(&made_up, made_up_corpus(1_500, 3)).unwrap();
    let mut n_chained = 0;
    for file in corpora_of_a_size(folder.path()).into_iter().chain([made_up]) {
        let file = file.to_str().unwrap();
        let all = fingerprints(file);
        let all: BTreeMap<&str, Fingerprint> =
            all.iter().filter_map(|(id, fingerprint)| Some((&**id, (*fingerprint)?))).collect();
        let (whole, dropped, report) = clusters(file, "report");
        check_whole(&all, &whole, &dropped);
        let (split, ..) = clusters(file, "split");
        check_split(&all, &whole, &split, &dropped);
        let chained = whole.iter().filter(|cluster| cluster["chained"] == true).count();
        let report = report.replace(',', "");
        let report = report.split_whitespace().collect::<Vec<_>>();
        let count = |name: &str| {
            let at = report.iter().position(|word| *word == name).expect("a row of the report");
            report[at + 1].parse::<usize>().expect("a number beside its name")
        };
        assert_eq!((count("clusters"), count("chained")), (whole.len(), chained), "{report:?}");
        n_chained += chained;
    }
    assert!(n_chained > 0, "there were no chains to see");
}

fn check_whole(all: &BTreeMap<&str, Fingerprint>, clusters: &[Value], dropped: &BTreeMap<String, String>) {
    let mut n_members = 0;
    let mut cluster_of = BTreeMap::new();
    for (i, cluster) in clusters.iter().enumerate() {
        let members = members(cluster);
        assert!(members.len() >= 2 && members.len() as u64 == cluster["n_documents"]);
        assert_eq!(members[cluster["group"].as_str().unwrap()], "kept");
        for (id, status) in &members {
            assert_eq!(status, if dropped.contains_key(id) { "dropped" } else { "kept" }, "{id}");
        }
        let nodes: BTreeSet<Fingerprint> = members.keys().map(|id| all[&**id]).collect();
        let pairs = nodes.iter().flat_map(|&a| nodes.range(..a).map(move |&b| (b, a)));
        let near: BTreeSet<_> = pairs.clone().filter(|(a, b)| a.distance(*b) <= MAX_DISTANCE).collect();
        assert_eq!(edges(cluster), near);
        assert_eq!(cluster["chained"], near.len() < pairs.clone().count());
        let widest = pairs.map(|(a, b)| a.distance(b)).max().unwrap_or(Distance::ZERO);
        if cluster["chained"] == true {
            assert_eq!(cluster["widest"]["distance"], widest.as_bits());
        }
        // The edges connect the whole cluster.
        let mut reached: BTreeSet<Fingerprint> = nodes.first().copied().into_iter().collect();
        while let Some(&(a, b)) = near.iter().find(|(a, b)| reached.contains(a) != reached.contains(b)) {
            reached.extend([a, b]);
        }
        assert_eq!(reached, nodes);
        n_members += members.len();
        cluster_of.extend(members.into_keys().map(|id| (id, i)));
    }
    assert_eq!(cluster_of.len(), n_members, "no document is in two clusters");
    // No document is near one of another cluster, or of none.
    let all: Vec<_> = all.iter().collect();
    for (i, (a, a_fingerprint)) in all.iter().enumerate() {
        for (b, b_fingerprint) in &all[..i] {
            if a_fingerprint.distance(**b_fingerprint) <= MAX_DISTANCE {
                let [a, b] = [a, b].map(|id| cluster_of.get(&***id));
                assert!(a == b && a.is_some());
            }
        }
    }
}

fn check_split(
    all: &BTreeMap<&str, Fingerprint>,
    whole: &[Value],
    split: &[Value],
    dropped: &BTreeMap<String, String>,
) {
    let unchained: Vec<&Value> = whole.iter().filter(|cluster| cluster["chained"] == false).collect();
    let (pieces, others): (Vec<&Value>, _) =
        split.iter().partition(|cluster| cluster["split_from"].is_string());
    assert_eq!(others, unchained);
    let chained = whole.iter().filter(|cluster| cluster["chained"] == true);
    let groups: BTreeSet<&str> = chained.clone().map(|cluster| cluster["group"].as_str().unwrap()).collect();
    assert_eq!(
        pieces.iter().map(|piece| piece["split_from"].as_str().unwrap()).collect::<BTreeSet<_>>(),
        groups
    );
    let mut found = BTreeMap::new();
    for piece in pieces {
        let centre = piece["group"].as_str().unwrap();
        for (id, status) in members(piece) {
            assert!(all[&*id].distance(all[centre]) <= MAX_DISTANCE);
            assert_eq!(status == "kept", id == centre, "just one of them stays");
            if id != centre {
                found.insert(id, centre.to_owned());
            }
        }
    }
    let mut expected = dropped.clone();
    let in_chains: BTreeSet<String> = chained.flat_map(|cluster| members(cluster).into_keys()).collect();
    expected.retain(|id, _| in_chains.contains(id));
    assert_eq!(found, expected);
}

#[test]
fn what_was_in_the_index_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", file_in(folder.path(), "index"));
    let news = news().to_str().unwrap().to_owned();
    run("indexer", ["dedup", "-q", "--store", &store, &news]).expect(0);
    let again = fs::read_to_string(&news).unwrap();
    let again = parse(&again).into_iter().find(|record| record["id"] == "en-harbour-edited").unwrap();
    let text = again["text"].as_str().unwrap();
    let input = json_lines([("first", text), ("second", text), ("other", "nothing like it is in the index")]);
    let args = ["dedup", "-q", "-", "--store", &store, "--clusters", "-"];
    let run = run_with_input("indexer", args, input.as_bytes()).expect(0);
    assert!(run.stderr.contains("clusters                 1\n"), "{}", run.stderr);
    let clusters = parse(&run.stdout);
    assert_eq!(clusters.len(), 1);
    assert_eq!(clusters[0]["group"], "en-harbour");
    let expected = [("en-harbour", "in_index"), ("first", "dropped"), ("second", "dropped")];
    assert_eq!(members(&clusters[0]), expected.map(|(id, status)| (id.to_owned(), status.to_owned())).into());
    assert_eq!(edges(&clusters[0]).len(), 1);
}

#[test]
fn the_file_is_an_output_like_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| file_in(folder.path(), name);
    let news = news().to_str().unwrap().to_owned();
    let to_stdout = run("indexer", ["dedup", "-q", &news, "--clusters", "-"]).expect(0).stdout;
    let report = path("report.json");
    let packed = path("clusters.jsonl.gz");
    run("indexer", ["dedup", "-q", &news, "--clusters", &packed, "--report", &report]).expect(0);
    let mut unpacked = String::new();
    let file = fs::File::open(packed).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut unpacked).unwrap();
    assert_eq!(unpacked, to_stdout);
    let report: Value = serde_json::from_slice(&fs::read(report).unwrap()).unwrap();
    assert_eq!(report["clusters"], serde_json::json!({ "n": 13, "n_chained": 0, "split": false }));

    let [clusters, journal] = ["clusters", "journal"].map(path);
    for (flags, part) in [
        (vec!["--clusters", &news], "is an input"),
        (vec!["--clusters", &clusters, "--duplicates", &clusters], "two outputs"),
        (vec!["--clusters", &clusters, "--journal", &journal], "leave one of them out"),
        (vec!["--clusters", &clusters, "--dry-run"], "cannot be used with"),
        (vec!["--chains", "split"], "--clusters"),
        (vec!["--clusters", &clusters, "--chains", "of gold"], "of gold"),
    ] {
        let run = run("indexer", [&["dedup", "-q", &news], &flags[..]].concat()).expect(2);
        assert!(run.stderr.contains(part), "{flags:?} should say {part:?}: {}", run.stderr);
    }
    assert!(!Path::new(&clusters).exists() && !Path::new(&journal).exists());
}

/// The page of the batch job shows one of the lines.
#[test]
fn the_shown_cluster_is_a_real_one() {
    let clusters =
        run("indexer", ["dedup", "-q", news().to_str().unwrap(), "--clusters", "-"]).expect(0).stdout;
    let shown = clusters.lines().find(|line| line.contains("en-harbour")).unwrap();
    let page = fs::read_to_string(root().join("docs/src/batch/file.md")).unwrap();
    assert!(page.contains(shown), "the page should show {shown}");
}
