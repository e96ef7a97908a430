//! The near-duplicates that `dedup` finds by default: of every length, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use features::shingles::{ShingleSets, TextSketcher};
use serde_json::Value;

use crate::pairs::of_copies_too;
use crate::support::{json_lines, made_up_corpus, news, run, run_with_input};

fn news_arg() -> String {
    news().to_str().unwrap().to_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the lines of documents dropped from `input`, each with its original.
fn dropped(input: &str, more: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let dropped = folder.path().join("dropped.jsonl");
    let args = [&["dedup", "-q", "-", "--duplicates", dropped.to_str().unwrap()], more].concat();
    run_with_input("indexer", args, input.as_bytes()).expect(0);
    lines(&dropped)
}

/// Texts that simhash takes for equal, at 0 bits, and copies of every kind.
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
    // An index of simhashes alone cannot compare symbols, and keeps such texts.
    let classic =
        dropped(&(records(&different, "text") + &records(&copies, "copy")), &["--profile", "classic"]);
    assert_eq!(classic.len(), 4, "{classic:?}");
}

fn ordered(a: &str, b: &str) -> (String, String) {
    (a.min(b).to_owned(), a.max(b).to_owned())
}

/// Every pair well above the least similarity of the texts themselves is found, and none below.
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
        let mut sketcher = TextSketcher::default();
        let sets: Vec<ShingleSets> = texts.iter().map(|(_, text)| sketcher.sets(text)).collect();
        let signatures: Vec<_> = texts.iter().map(|(_, text)| sketcher.signature(text)).collect();
        let (mut certain, mut possible) = (BTreeSet::new(), BTreeMap::new());
        for b in 0..texts.len() {
            for a in 0..b {
                if signatures[a].is_none() || signatures[b].is_none() {
                    continue;
                }
                let pair = ordered(&texts[a].0, &texts[b].0);
                let similarity = ShingleSets::compare(&sets[a], &sets[b]).similarity.get();
                if similarity >= 0.8 {
                    possible.insert(pair.clone(), similarity);
                }
                if similarity >= 0.85 {
                    certain.insert(pair);
                }
            }
        }
        assert!(certain.len() > 10, "{}", certain.len());
        let [pairs, kept, dropped] = ["pairs.jsonl", "kept.jsonl", "dropped.jsonl"].map(at);
        let paths = [&pairs, &kept, &dropped].map(|path| path.to_str().unwrap());
        let outputs = ["--pairs", paths[0], "--output", paths[1], "--duplicates", paths[2]];
        let args = [&["dedup", "-q", "--force", &input], &outputs[..]].concat();
        run("indexer", args).expect(0);
        let mut found = BTreeSet::new();
        for (a, b, similarity, _) in of_copies_too(&fs::read_to_string(&pairs).unwrap()) {
            let counted = possible.get(&(a.clone(), b.clone())).copied().unwrap_or_default();
            let similarity: f64 = similarity.parse().unwrap();
            assert!((similarity - counted).abs() < 1e-3, "{a} {b} {similarity} {counted}");
            found.insert((a, b));
        }
        assert!(lines(&pairs).iter().all(|line| line["exact"] == true));
        assert!(certain.is_subset(&found), "{:?}", certain.difference(&found).collect::<Vec<_>>());
        // Each dropped document is near a kept one, and no two kept ones are near.
        let stay: BTreeSet<String> =
            lines(&kept).iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
        for line in lines(&dropped) {
            let [id, of] = ["id", "duplicate_of"].map(|field| line[field].as_str().unwrap().to_owned());
            assert!(stay.contains(&of) && found.contains(&ordered(&of, &id)), "{line}");
        }
        assert!(found.iter().all(|(a, b)| !(stay.contains(a) && stay.contains(b))));
        // The same pairs as a table.
        let table = at("pairs.csv");
        run("indexer", ["dedup", "-q", "--force", &input, "--pairs", table.to_str().unwrap()]).expect(0);
        let rows = fs::read_to_string(table).unwrap();
        let columns = "a,b,similarity,distance,exact,numbers_differ,share_of_a,share_of_b,copy_of";
        assert_eq!(rows.lines().next(), Some(columns));
        assert_eq!(rows.lines().count(), 1 + lines(&pairs).len());
    }
}

/// The place of the index makes no difference, nor does the time at which it is filled.
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
            info.contains("verify        on, similarity 0.8 and more") && info.contains("format        4")
        );
        // Another run finds each kept one under its own id, unchanged. The nearest document may be
        // a later one by now.
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

/// An index of an earlier version opens, names its version, and gives its former results.
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

/// As sets, `1000` equals `10000`, and a repeated passage counts once.
#[test]
fn copies_say_whether_their_numbers_differ() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let [pairs, clusters, duplicates] = ["pairs.jsonl", "clusters.jsonl", "duplicates.jsonl"].map(at);
    let fine = |amount: &str| format!("The fine is {amount} for all who park here.");
    let [low, high, upper] = [fine("1000"), fine("10000"), fine("1000").to_uppercase()];
    let input = json_lines([("low", low.as_str()), ("high", &high), ("copy", &low), ("upper", &upper)]);
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let args = [
        "dedup".to_owned(),
        "-q".to_owned(),
        "-".to_owned(),
        format!("--pairs={}", path(&pairs)),
        format!("--clusters={}", path(&clusters)),
        format!("--duplicates={}", path(&duplicates)),
    ];
    run_with_input("indexer", args, input.as_bytes()).expect(0);
    let told = |row: &Value, a: &str, b: &str| {
        let name = |name: &str| row[name].as_str().unwrap().to_owned();
        (
            name(a),
            name(b),
            row["similarity"].as_f64(),
            row["numbers_differ"].as_bool(),
            row["copy_of"].is_string(),
        )
    };
    let row = |a: &str, b: &str, differ: bool, is_copy: bool| {
        (a.to_owned(), b.to_owned(), Some(1.0), Some(differ), is_copy)
    };
    let of_pairs: Vec<_> = lines(&pairs).iter().map(|pair| told(pair, "a", "b")).collect();
    let expected =
        [row("low", "copy", false, true), row("low", "upper", false, true), row("low", "high", true, false)];
    assert_eq!(of_pairs, expected);
    let of_duplicates: Vec<_> =
        lines(&duplicates).iter().map(|dropped| told(dropped, "duplicate_of", "id")).collect();
    let expected = [
        row("low", "high", true, false),
        row("low", "copy", false, false),
        row("low", "upper", false, false),
    ];
    assert_eq!(of_duplicates, expected);
    let cluster = &lines(&clusters)[0];
    assert_eq!(cluster["edges"][0]["numbers_differ"], true);
    let nodes = cluster["nodes"].as_array().unwrap().iter();
    let of_nodes: Vec<_> = nodes
        .map(|node| (node["documents"].as_array().unwrap().len(), node["numbers_differ"].as_bool()))
        .collect();
    assert_eq!(of_nodes, [(3, Some(false)), (1, None)]);
}

/// Before, such a record was taken for a repeat of the first one, and was in no output.
#[test]
fn another_text_of_the_same_sets_under_the_same_id_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [kept, rejects] = ["kept.jsonl", "rejects.jsonl"].map(at);
    let [ferry, office] =
        ["The ferry to the island leaves at noon. ", "The harbour office closes on Fridays. "];
    let first = format!("The fine is 1000. {ferry}{office}{ferry}");
    let input = json_lines([
        ("a", first.as_str()),
        ("a", &first.replace("1000", "10000")),
        ("a", &format!("{first}{office}{ferry}")),
        ("a", &first),
        ("a", &first.to_uppercase()),
    ]);
    let store = format!("embedded:{}", at("index"));
    let inputs = at("input.jsonl");
    fs::write(&inputs, &input).unwrap();
    // Simhashes count repeated words. Without simhashes, only the texts tell records apart.
    for more in [&[][..], &["--store", &store], &["--keep", "longest"], &["--texts", "none"]] {
        let args = ["dedup", "-q", &inputs, "--profile", "minhash", "--output", &kept, "--rejects", &rejects];
        let said = run("indexer", [&args[..], more, &["--force"]].concat()).expect(1);
        let kept = lines(Path::new(&kept));
        assert_eq!(kept.len(), 1);
        let numbers: Vec<u64> =
            lines(Path::new(&rejects)).iter().map(|reject| reject["line"].as_u64().unwrap()).collect();
        // Without a text at hand, only the numbers tell records apart. With `--keep longest`, the
        // longest record comes first.
        let expected: &[u64] = match more {
            ["--texts", "none"] => &[2],
            ["--keep", "longest"] => &[1, 2, 4, 5],
            _ => &[2, 3],
        };
        assert_eq!(numbers, expected, "{more:?}: {}", said.stderr);
    }
}
