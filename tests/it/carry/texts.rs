//! Stored texts of an index: they are carried over on request, and not otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use engine::StoreUri;
use index::{Clock, DocumentId, Mode};
use serde_json::Value;

use super::{at, corpus, embedded, indexed, records};
use crate::support::{digest, run};

/// Returns the texts of the corpus, except the one without features.
fn corpus_texts(folder: &Path) -> BTreeMap<String, String> {
    let lines = fs::read_to_string(corpus(folder)).unwrap();
    let texts = lines.lines().map(|line| {
        let record: Value = serde_json::from_str(line).unwrap();
        let field = |name: &str| record[name].as_str().unwrap().to_owned();
        (field("id"), field("text"))
    });
    texts.filter(|(id, _)| id != "none").collect()
}

/// Returns the texts that an index stores, by the ids of the corpus.
fn kept(folder: &Path, store: &str) -> BTreeMap<String, String> {
    let place: StoreUri = store.parse().unwrap();
    let store = place.open(Mode::MustExist, Clock::system(), None).unwrap();
    let ids: Vec<_> = corpus_texts(folder).into_keys().map(|id| DocumentId::new(id).unwrap()).collect();
    let texts = store.texts(&ids).unwrap();
    let kept =
        ids.iter().zip(texts).filter_map(|(id, text)| Some((id.as_str().to_owned(), text?.to_string())));
    kept.collect()
}

fn says(store: &str, line: &str) {
    let info = run("pigeonhole", ["info", "--store", store]).expect(0).stdout;
    assert!(info.contains(line), "{info}");
}

const COUNTED: &str = "texts         zstd: similarities are counted over them\n";
const ESTIMATED: &str = "texts         none: similarities are estimates\n";

#[test]
fn exports_and_imports_have_texts_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let old = indexed(folder, "old", &[]);
    let texts = corpus_texts(folder);
    says(&old, COUNTED);
    assert_eq!(kept(folder, &old), texts);
    for name in ["a.jsonl", "a.parquet", "a.csv"] {
        let file = at(folder, name);
        let export = ["export", "-q", "--store", &old, "--output", &file];
        let told = run("indexer", export).expect(0).stdout;
        assert!(!told.contains("texts ") && !told.contains("--texts"), "{told}");
        let is_in = |text: &str| fs::read_to_string(&file).unwrap().contains(text);
        assert!(name.ends_with("parquet") || !is_in("Rain stops."));
        let told = run("indexer", [&export[..], &["--with-texts", "--force"]].concat()).expect(0).stdout;
        assert!(told.contains("texts                  123") && told.ends_with(" --texts zstd\n"), "{told}");
        assert!(name.ends_with("parquet") || is_in("Rain stops."));
        for (flags, line) in [(&[][..], ESTIMATED), (&["--texts", "zstd"], COUNTED)] {
            let new = embedded(folder, &format!("{name} {flags:?}"));
            let told = run("indexer", [&["import", &file, "--store", &new], flags].concat()).expect(0);
            says(&new, line);
            assert!(told.stderr.contains("keeps no texts") == flags.is_empty(), "{}", told.stderr);
            assert_eq!(digest(&new), digest(&old));
            assert_eq!(kept(folder, &new), if flags.is_empty() { BTreeMap::new() } else { texts.clone() });
        }
    }
    let none = indexed(folder, "none", &["--texts", "none"]);
    says(&none, ESTIMATED);
    let said =
        run("indexer", ["export", "--with-texts", "-q", "--store", &none, "--output", "-"]).expect(2).stderr;
    assert!(said.contains("keeps no texts; leave --with-texts out"), "{said}");
}

/// Records without a text become documents without one in an index that stores texts.
#[test]
fn records_without_texts_are_estimated() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (old, new) = (indexed(folder, "old", &[]), embedded(folder, "new"));
    let file = at(folder, "a.jsonl");
    run("indexer", ["export", "-q", "--store", &old, "--output", &file]).expect(0);
    run("indexer", ["import", "-q", &file, "--store", &new, "--texts", "zstd"]).expect(0);
    says(&new, COUNTED);
    assert_eq!(kept(folder, &new), BTreeMap::new());
    // The texts come later, and once.
    let index = ["index", "-q", &corpus(folder), "--store", &new].map(str::to_owned);
    let told = run("indexer", &index).expect(0).stdout;
    assert!(told.contains("replaced               123"), "{told}");
    let told = run("indexer", &index).expect(0).stdout;
    assert!(told.contains("unchanged              123"), "{told}");
    assert_eq!(kept(folder, &new), corpus_texts(folder));
}

#[test]
fn texts_are_carried_over_and_features_made_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let texts = corpus_texts(folder);
    let [full, minhash] = [("full", &[][..]), ("minhash", &["--profile", "minhash"])]
        .map(|(name, flags)| indexed(folder, name, flags));
    for (n, (old, flags, has_texts)) in [
        (&full, &[][..], true),
        (&full, &["--texts", "none"], false),
        (&full, &["--profile", "minhash"], true),
        (&full, &["--profile", "classic", "--verify", "off"], false),
        // From its texts, an index of signatures alone becomes one of both.
        (&minhash, &["--profile", "full"], true),
        (&minhash, &["--profile", "full", "--texts", "none"], false),
    ]
    .into_iter()
    .enumerate()
    {
        let new = embedded(folder, &format!("new-{n}"));
        let expected = indexed(folder, &format!("expected-{n}"), flags);
        let reindex = || run("indexer", [&["reindex", "-q", old, &new], flags].concat()).expect(0).stdout;
        let told = reindex();
        assert!(told.contains("missing                  0"), "{told}");
        assert_eq!(digest(&new), digest(&expected), "{flags:?}");
        assert_eq!(records(folder, &new), records(folder, &expected), "{flags:?}");
        assert_eq!(kept(folder, &new), if has_texts { texts.clone() } else { BTreeMap::new() }, "{flags:?}");
        let again = reindex();
        assert!(
            again.contains("written                  0") && again.contains("replaced                 0"),
            "{again}"
        );
    }
}
