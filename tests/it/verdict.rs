//! What `dedup` calls near-duplicates by default: every length, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use features::shingles::{ShingleSets, TextSketcher};
use minhash::Signature;
use serde_json::Value;

use crate::support::{json_lines, made_up_corpus, news, run, run_with_input};

fn news_arg() -> String {
    news().to_str().unwrap().to_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What is dropped of `input`, with what it is dropped for.
fn dropped(input: &str, more: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let dropped = folder.path().join("dropped.jsonl");
    let args = [&["dedup", "-q", "-", "--duplicates", dropped.to_str().unwrap()], more].concat();
    run_with_input("indexer", args, input.as_bytes()).expect(0);
    lines(&dropped)
}

/// What simhash took for the same, at 0 bits, and copies of every kind.
#[test]
fn short_texts_and_texts_without_letters() {
    let different = [
        "同意",
        "不同意",
        "very very very good",
        "very very very bad",
        "[",
        "😂😂",
        "好",
        "a",
        "谢谢",
        "不谢",
        "A heron stands by the weir",
        "A heron sits by the wall",
    ];
    let copies = ["同意！", "VERY very very good", "[ ", "😂😂😂", "谢谢。", "a heron stands, by the weir"];
    let records = |texts: &[&str], name: &str| {
        let ids: Vec<String> = (0..texts.len()).map(|n| format!("{name} {n}")).collect();
        ids.iter().zip(texts).map(|(id, text)| json_lines([(id.as_str(), *text)])).collect::<String>()
    };
    assert_eq!(dropped(&records(&different, "text"), &[]), [] as [Value; 0]);
    let found = dropped(&(records(&different, "text") + &records(&copies, "copy")), &[]);
    let of: Vec<_> = found.iter().map(|line| line["duplicate_of"].as_str().unwrap()).collect();
    assert_eq!(of, ["text 0", "text 2", "text 4", "text 5", "text 8", "text 10"]);
    assert!(found.iter().all(|line| line["similarity"] == 1.0), "{found:?}");
    // An index that files by simhashes alone has nothing to compare symbols by, and keeps them.
    let classic =
        dropped(&(records(&different, "text") + &records(&copies, "copy")), &["--profile", "classic"]);
    assert_eq!(classic.len(), 4, "{classic:?}");
}

/// Every pair above the least similarity by the texts themselves is among the pairs, and none that its signatures do not say.
#[test]
fn pairs_are_those_of_the_texts() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("made-up.jsonl"), made_up_corpus(400, 7)).unwrap();
    for input in [news_arg(), at("made-up.jsonl").to_str().unwrap().to_owned()] {
        let texts: Vec<(String, String)> = lines(Path::new(&input))
            .iter()
            .map(|line| (line["id"].as_str().unwrap().to_owned(), line["text"].as_str().unwrap().to_owned()))
            .collect();
        let mut sketcher = TextSketcher::new();
        let sets: Vec<ShingleSets> = texts.iter().map(|(_, text)| sketcher.sets(text)).collect();
        let signatures: Vec<_> = texts.iter().map(|(_, text)| sketcher.signature(text)).collect();
        let (mut certain, mut possible) = (BTreeSet::new(), BTreeMap::new());
        for b in 0..texts.len() {
            for a in 0..b {
                let (Some(of_a), Some(of_b)) = (&signatures[a], &signatures[b]) else { continue };
                let pair = (texts[a].0.clone(), texts[b].0.clone());
                let estimate = Signature::compare(of_a, of_b).similarity.get();
                if estimate > 0.7 {
                    possible.insert(pair.clone(), estimate);
                }
                if ShingleSets::compare(&sets[a], &sets[b]).similarity.get() >= 0.85 {
                    certain.insert(pair);
                }
            }
        }
        assert!(certain.len() > 10, "{}", certain.len());
        let [pairs, kept, dropped] = ["pairs.jsonl", "kept.jsonl", "dropped.jsonl"].map(at);
        let paths = [&pairs, &kept, &dropped].map(|path| path.to_str().unwrap());
        let args =
            ["dedup", "-q", &input, "--pairs", paths[0], "--output", paths[1], "--duplicates", paths[2]];
        run("indexer", args).expect(0);
        let mut found = BTreeSet::new();
        for line in lines(&pairs) {
            let [a, b] = ["a", "b"].map(|field| line[field].as_str().unwrap().to_owned());
            let similarity = possible.get(&(a.clone(), b.clone())).copied().unwrap_or_default();
            assert!((line["similarity"].as_f64().unwrap() - similarity).abs() < 1e-3, "{line} {similarity}");
            assert!(found.insert((a, b)), "twice: {line}");
        }
        assert!(certain.is_subset(&found), "{:?}", certain.difference(&found).collect::<Vec<_>>());
        // What is dropped is near to what stays, and of what stays no two are near.
        let stay: BTreeSet<String> =
            lines(&kept).iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
        for line in lines(&dropped) {
            let [id, of] = ["id", "duplicate_of"].map(|field| line[field].as_str().unwrap().to_owned());
            assert!(stay.contains(&of) && found.contains(&(of, id)), "{line}");
        }
        assert!(found.iter().all(|(a, b)| !(stay.contains(a) && stay.contains(b))));
        // The same pairs as a table.
        let table = at("pairs.csv");
        run("indexer", ["dedup", "-q", &input, "--pairs", table.to_str().unwrap()]).expect(0);
        let rows = fs::read_to_string(table).unwrap();
        assert_eq!(rows.lines().next(), Some("a,b,similarity,distance"));
        assert_eq!(rows.lines().count(), 1 + found.len());
    }
}

/// Where the index is makes no difference, and neither does it whether it is filled before or on the way.
#[test]
fn every_place_says_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let input = fs::read_to_string(news()).unwrap() + &made_up_corpus(300, 3);
    for profile in ["classic", "minhash", "full"] {
        let in_memory = dropped(&input, &["--profile", profile]);
        let store = format!("{store}-{profile}");
        assert_eq!(dropped(&input, &["--profile", profile, "--store", &store]), in_memory, "{profile}");
        let info = run("pigeonhole", ["info", "--store", &store]).expect(0).stdout;
        assert!(info.contains(&format!("profile       {profile}")), "{info}");
        assert!(
            info.contains("verify        on, similarity 0.8 and more") && info.contains("format        3")
        );
        // Another run finds each kept one under its own id, unchanged. By now what one is nearest to may be a later
        // one.
        let ids = |lines: &[Value]| lines.iter().map(|line| line["id"].clone()).collect::<Vec<_>>();
        assert_eq!(ids(&dropped(&input, &["--store", &store])), ids(&in_memory), "{profile}, again");
        let refused =
            run("indexer", ["dedup", "-q", &news_arg(), "--store", &store, "--verify", "off"]).expect(2);
        assert!(refused.stderr.contains("verify is"), "{}", refused.stderr);
    }
    let wetland = lines(&news()).into_iter().find(|line| line["id"] == "en-wetland").unwrap();
    let query = ["query", "--store", &format!("{store}-full"), wetland["text"].as_str().unwrap()];
    let found = run("pigeonhole", query).expect(0).stdout;
    assert!(
        found.starts_with("1.0000\t0\t") && found.lines().next().unwrap().ends_with("en-wetland"),
        "{found}"
    );
}

/// An index of an earlier version opens, says what it is, and finds what it found.
#[test]
fn an_index_without_signatures_stays_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let input = fs::read_to_string(news()).unwrap();
    let classic = ["--profile", "classic", "--verify", "off", "--store", &store];
    let found = dropped(&input, &classic);
    assert_eq!(found.len(), 12);
    assert!(found.iter().all(|line| line.get("similarity").is_none()), "{found:?}");
    let info = run("pigeonhole", ["info", "--store", &store]).expect(0).stdout;
    assert!(info.contains("verify        off") && info.contains("format        2"), "{info}");
    assert_eq!(dropped(&input, &["--store", &store]), found);
    let refused =
        run("indexer", ["index", "-q", "--store", &store, "--profile", "full", &news_arg()]).expect(2);
    assert!(refused.stderr.contains("profile is \"classic\""), "{}", refused.stderr);
}

#[test]
fn what_cannot_be_asked() {
    for (flags, part) in [
        (&["--verify", "off"][..], "cannot do without verifying"),
        (&["--profile", "both"], "minhash"),
        (&["--min-similarity", "0.4"], "below 0.5"),
        (&["--min-similarity", "1.5"], "from 0 to 1"),
        (&["--profile", "classic", "--verify", "off", "--min-similarity", "0.9"], "leave one of the two out"),
        (&["--profile", "minhash", "--scheme", "t8"], "scheme t8 would do nothing"),
        (&["--pairs", "p.xlsx"], ".xlsx"),
    ] {
        let refused = run("indexer", [&["dedup", "-q", &news_arg()], flags].concat()).expect(2);
        assert!(refused.stderr.contains(part), "{flags:?}: {}", refused.stderr);
    }
}

#[test]
fn an_index_of_bands_has_no_scheme_to_insist_on() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").display());
    let index = ["index", "-q", &news_arg(), "--store", &store];
    run("indexer", [&index[..], &["--profile", "minhash"]].concat()).expect(0);
    run("indexer", index).expect(0);
    let refused = run("indexer", [&index[..], &["--scheme", "5c2"]].concat()).expect(2);
    assert!(refused.stderr.contains("scheme is \"none\" in the index and \"5c2\""), "{}", refused.stderr);
}
