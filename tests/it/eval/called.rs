//! Called pairs of `eval` are those of `dedup --pairs`, and both drop equally many documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{json_lines, made_up_corpus, news, run};

/// Pairs by their ids, with their similarity; the flag is true if the similarity was counted.
type Pairs = BTreeMap<(String, String), (Option<String>, bool)>;

fn pairs(path: &Path, profile: Option<&str>) -> Pairs {
    let lines = fs::read_to_string(path).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_profile = |line: &Value| profile.is_none_or(|profile| line["profile"] == profile);
    let lines: Vec<Value> = lines.filter(of_profile).collect();
    // `dedup` has a row for each copy, beside the first of them, and near pairs of the firsts
    // alone.
    let mut copies: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line["copy_of"].is_string()) {
        let [first, copy] = ["a", "b"].map(|field| line[field].as_str().unwrap());
        copies.entry(first).or_default().push(copy);
    }
    let group = |first: &str| {
        let copies = copies.get(first).into_iter().flatten().copied();
        std::iter::once(first).chain(copies).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut pairs = Pairs::new();
    let mut add = |a: &str, b: &str, line: &Value| {
        let similarity = line["similarity"].as_f64().map(|similarity| format!("{similarity:.4}"));
        let [a, b] = [a.min(b), a.max(b)].map(str::to_owned);
        pairs.insert((a, b), (similarity, line["exact"] == true));
    };
    for line in &lines {
        let [a, b] = ["a", "b"].map(|field| line[field].as_str().unwrap());
        if line["copy_of"].is_string() {
            group(a).iter().filter(|other| *other != b).for_each(|other| add(other, b, line));
        } else {
            for a in group(a) {
                group(b).iter().for_each(|b| add(&a, b, line));
            }
        }
    }
    pairs
}

/// Returns series of texts of 300 words, around a similarity of .8. Each next text shares one word
/// less with the first. Short texts around the threshold come with them.
fn near_the_threshold() -> String {
    let word = |n: usize| format!("{:x}", (n as u32).wrapping_mul(2_654_435_761) >> 8);
    let long = |series: usize, n: usize| {
        let words = (0..300).map(|at| word(series * 10_000 + if at < n { 1_000 * (n + 1) + at } else { at }));
        words.collect::<Vec<_>>().join(" ")
    };
    let short = |n: usize| {
        let changed: String = "甲乙丙丁戊己庚辛".chars().take(n).collect();
        format!("今天天气很好我们一起去海边散步吧然后回家吃饭看书写字{changed}")
    };
    let mut texts: Vec<(String, String)> = (0..8).map(|n| (format!("short {n}"), short(n))).collect();
    for series in 0..8 {
        texts.push((format!("{series}"), long(series, 0)));
        texts.extend((18..46).map(|n| (format!("{series}/{n}"), long(series, n))));
    }
    json_lines(texts.iter().map(|(id, text)| (id.as_str(), text.as_str())))
}

#[test]
fn it_calls_what_dedup_calls() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("near.jsonl"), near_the_threshold()).unwrap();
    fs::write(at("made-up.jsonl"), made_up_corpus(300, 9)).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    for (n, input) in [news(), at("near.jsonl"), at("made-up.jsonl")].into_iter().enumerate() {
        let (called, json) = (at("called.jsonl"), at("eval.json"));
        let [input, called_arg, json_arg] = [&input, &called, &json].map(|path| text(path));
        let args = ["eval", "-q", &input, "--unverified", "--texts", "zstd", "--texts", "none", "--pairs"];
        let args = [&args[..], &[&called_arg, "--json", &json_arg]].concat();
        run("pigeonhole", args).expect(0);
        let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let mut n_differ = 0;
        for row in report["profiles"].as_array().unwrap() {
            let name = row["profile"].as_str().unwrap();
            let mut options: Vec<&str> = name.split(' ').collect();
            options.insert(0, "--profile");
            // The default of a new index in memory is set explicitly: an index on disk may have
            // another.
            if row["texts"] == "zstd" {
                options.extend(["--texts", "zstd"]);
            }
            let said = pairs(&called, Some(name));
            assert_eq!(said.len() as u64, row["whole"]["n_called"].as_u64().unwrap());
            assert!(said.values().all(|(_, exact)| *exact == (row["texts"] == "zstd")), "{name}");
            n_differ += usize::from(row["whole"]["n_below"] != 0);
            let in_memory = "memory:".to_owned();
            let on_disk = format!("embedded:{}", text(&at(&format!("index {n} {name}"))));
            for store in [in_memory, on_disk] {
                let (file, dropped) = (at("pairs.jsonl"), at("dropped.jsonl"));
                let [file_arg, dropped_arg] = [&file, &dropped].map(|path| text(path));
                let args = ["dedup", "-q", "--force", &input, "--store", &store, "--pairs", &file_arg];
                let args = [&args[..], &["--duplicates", &dropped_arg], &options].concat();
                run("indexer", args).expect(0);
                assert_eq!(pairs(&file, None), said, "{input} {name} {store}");
                let n_dropped = fs::read_to_string(&dropped).unwrap().lines().count();
                assert_eq!(row["n_dropped"], n_dropped as u64, "{input} {name} {store}");
            }
        }
        if input.ends_with("near.jsonl") {
            // Estimates err here, and so does simhash alone.
            assert!(n_differ >= 2, "{}", report["profiles"]);
            let row = &report["profiles"][0];
            assert_eq!((&row["profile"], &row["whole"]["n_below"]), (&"full".into(), &0.into()));
            assert!(row["whole"]["n_found"].as_u64().unwrap() >= 50, "{row}");
        }
    }
}
