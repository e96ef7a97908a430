//! Real text: every way to search finds each pair of the naive scan. The corpora are not part of
//! the project; without them, the shipped and a made-up one take their place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use index::{DocumentId, OpenOptions, Profile, SketchKind};
use serde_json::Value;
use simhash::{Distance, Fingerprint, TableScheme};
use tables::SelfJoin;

use crate::support::{CLASSIC, made_up_corpus, news, root, run};

const MAX_DISTANCE: Distance = Distance::of_differing(0b111);

/// The number of documents with which a naive scan takes seconds.
const DOCUMENTS_MAX: usize = 10_000;

pub(crate) fn corpora() -> Vec<PathBuf> {
    let mut files = vec![news()];
    let folder = root().parent().map(|parent| parent.join("shared/corpora")).unwrap_or_default();
    match fs::read_dir(&folder) {
        Ok(entries) => files.extend(
            entries
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|e| e == "gz")),
        ),
        Err(_) => {
            let why = format!("skipped the shared corpora: {} is not there", folder.display());
            std::io::Write::write_all(&mut std::io::stderr(), format!("{why}\n").as_bytes()).unwrap();
        }
    }
    files
}

/// Returns the corpora, each cut in `folder` to the number of documents that a naive scan can
/// handle.
pub(crate) fn corpora_of_a_size(folder: &Path) -> Vec<PathBuf> {
    let cut = |file: PathBuf| {
        let mut lines = String::new();
        let packed = file.extension().is_some_and(|ending| ending == "gz");
        let content = fs::File::open(&file).unwrap();
        let mut reader: Box<dyn BufRead> = match packed {
            true => Box::new(BufReader::new(MultiGzDecoder::new(content))),
            false => Box::new(BufReader::new(content)),
        };
        for _ in 0..DOCUMENTS_MAX {
            if reader.read_line(&mut lines).unwrap() == 0 {
                return file;
            }
        }
        let cut = folder.join(file.file_stem().unwrap());
        fs::write(&cut, lines).unwrap();
        cut
    };
    corpora().into_iter().map(cut).collect()
}

pub(crate) fn fingerprints(file: &str) -> Vec<(String, Option<Fingerprint>)> {
    let printed = run("indexer", ["fingerprint", "-q", file]).expect(0).stdout;
    printed
        .lines()
        .map(|line| line.split_once('\t').expect("a tab stands between id and fingerprint"))
        .map(|(id, digits)| (id.to_owned(), digits.parse().ok()))
        .collect()
}

#[test]
fn all_pairs_of_the_naive_scan_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let made_up = folder.path().join("made-up.jsonl");
    fs::write(&made_up, made_up_corpus(3_000, 6)).unwrap();
    for file in corpora_of_a_size(folder.path()).into_iter().chain([made_up]) {
        let all = fingerprints(file.to_str().unwrap());
        let some: Vec<Fingerprint> = all.iter().filter_map(|(_, fingerprint)| *fingerprint).collect();
        let mut naive = BTreeSet::new();
        for (i, a) in some.iter().enumerate() {
            for (j, b) in some.iter().enumerate().skip(i + 1) {
                if a.distance(*b) <= MAX_DISTANCE {
                    naive.insert((i, j));
                }
            }
        }
        assert!(!naive.is_empty(), "{} has no pairs to find", file.display());
        check_index(&some, &naive);
        check_self_join(&some, &naive);
        check_dedup(file.to_str().unwrap(), &all);
    }
}

fn check_index(fingerprints: &[Fingerprint], naive: &BTreeSet<(usize, usize)>) {
    let classic =
        OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
    let index = engine::open_index("memory:", &classic).unwrap();
    let id = |i: usize| DocumentId::new(i.to_string()).unwrap();
    let documents: Vec<_> = fingerprints.iter().enumerate().map(|(i, f)| (id(i), *f)).collect();
    for batch in documents.chunks(1000) {
        index.insert(batch).unwrap();
    }
    let mut found = BTreeSet::new();
    for (batch, queries) in fingerprints.chunks(1000).enumerate() {
        for (i, neighbours) in
            index.near(queries, &MAX_DISTANCE.into(), usize::MAX).unwrap().into_iter().enumerate()
        {
            assert_eq!(neighbours.matches.len() as u64, neighbours.n_matches);
            let i = batch * 1000 + i;
            for found_match in neighbours.matches {
                let j: usize = found_match.id.as_str().parse().unwrap();
                assert_eq!(found_match.distance(), fingerprints[i].distance(fingerprints[j]));
                if i < j {
                    found.insert((i, j));
                }
            }
        }
    }
    assert!(found == *naive, "the index finds {} pairs, the naive scan {}", found.len(), naive.len());
}

fn check_self_join(fingerprints: &[Fingerprint], naive: &BTreeSet<(usize, usize)>) {
    let mut copies: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    fingerprints.iter().enumerate().for_each(|(i, bits)| copies.entry(bits.0).or_default().push(i));
    let different: Vec<u64> = copies.keys().copied().collect();
    for name in SketchKind::NAMES {
        let scheme: TableScheme = name.parse().unwrap();
        let masks = scheme.tables().iter().map(|table| table.mask()).collect();
        let mut join = SelfJoin::new(masks, scheme.max_distance());
        let mut found = BTreeSet::new();
        for table in 0..join.n_tables() {
            join.in_table(table, &different, &mut |a, b| {
                for &a in &copies[&a] {
                    for &b in &copies[&b] {
                        assert!(found.insert((a.min(b), a.max(b))), "{a} and {b} came twice");
                    }
                }
            });
        }
        for members in copies.values() {
            for (i, &a) in members.iter().enumerate() {
                found.extend(members[i + 1..].iter().map(|&b| (a, b)));
            }
        }
        assert!(
            found == *naive,
            "{name}: the join finds {} pairs, the naive scan {}",
            found.len(),
            naive.len()
        );
    }
}

/// Checks `dedup` against the naive rule: a document is dropped if a document kept before is near.
fn check_dedup(file: &str, all: &[(String, Option<Fingerprint>)]) {
    let mut kept: Vec<(&str, Fingerprint)> = Vec::new();
    let mut expected = Vec::new();
    for (id, fingerprint) in all {
        let Some(fingerprint) = *fingerprint else { continue };
        let near = kept.iter().map(|(id, kept)| (kept.distance(fingerprint), *id));
        match near.filter(|(distance, _)| *distance <= MAX_DISTANCE).min() {
            Some((distance, original)) => {
                expected.push((id.clone(), original.to_owned(), distance.as_bits()));
            }
            None => kept.push((id, fingerprint)),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let duplicates = folder.path().join("duplicates.jsonl");
    let args = ["dedup", "-q", file, "--duplicates", duplicates.to_str().unwrap()];
    run("indexer", [&args[..], &CLASSIC].concat()).expect(0);
    let duplicates = fs::read_to_string(duplicates).unwrap();
    let found = duplicates.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |field: &str| line[field].as_str().unwrap().to_owned();
        (text("id"), text("duplicate_of"), u32::try_from(line["distance"].as_u64().unwrap()).unwrap())
    });
    assert_eq!(found.collect::<Vec<_>>(), expected, "{file}");
}
