//! `pigeonhole`: the commands of an operator, and their output.

use std::fs;

use crate::support::{news, run};

fn compare(args: &[&str]) -> String {
    run("pigeonhole", [&["compare"], args].concat()).expect(0).stdout
}

/// Returns the rest of the first line that starts with a word.
fn said<'a>(compared: &'a str, word: &str) -> &'a str {
    let line = compared.lines().find_map(|line| line.strip_prefix(word));
    line.unwrap_or_else(|| panic!("no {word:?} in\n{compared}")).trim_start()
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.split_whitespace()
        .find_map(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no number in {text}"))
}

#[test]
fn compare_tells_texts_apart() {
    let news = fs::read_to_string(news()).unwrap();
    let records: Vec<serde_json::Value> =
        news.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = |id: &str| records.iter().find(|r| r["id"] == id).unwrap()["text"].as_str().unwrap();
    for (a, b, is_near, similarities, distances) in [
        ("zh-bridge", "zh-bridge-copy", true, 1.0..=1.0, 0..=0),
        ("zh-raingarden", "zh-raingarden-edited", true, 0.9..=1.0, 0..=3),
        // Found by bands, and by no simhash.
        ("zh-bridge", "zh-bridge-edited", true, 0.8..=0.9, 4..=9),
        ("zh-bridge", "zh-tea", false, 0.0..=0.1, 16..=64),
        ("en-harbour", "zh-tea", false, 0.0..=0.1, 16..=64),
    ] {
        let compared = compare(&["--literal", text(a), text(b)]);
        let verdict = if is_near { "near-duplicates: similarity" } else { "not near-duplicates: similarity" };
        let counted: f64 = number(said(&compared, verdict));
        let estimated: f64 = number(said(&compared, "an index    estimates").split(',').next().unwrap());
        let distance: u32 = number(said(&compared, "simhashes   distance"));
        assert!(similarities.contains(&counted) && (counted - estimated).abs() < 0.1, "{a} {b}: {compared}");
        assert!(distances.contains(&distance), "{a} {b}: {compared}");
    }
}

#[test]
fn compare_explains_itself() {
    let a = "你妈妈喊你回家吃饭哦，回家罗回家罗";
    let b = "你妈妈叫你回家吃饭啦，回家罗回家罗";
    let compared = compare(&["--why", a, b]);
    for part in
        ["a  17", "b  17", "numbers     are the same", "bits that differ", "heaviest terms", "回家", "妈妈"]
    {
        assert!(compared.contains(part), "{part:?} is missing in\n{compared}");
    }
    // The explanation lists every differing bit.
    let n_bits = compared.lines().filter(|line| line.starts_with("  bit ")).count();
    assert_eq!(number::<usize>(said(&compared, "simhashes   distance")), n_bits);
    let short = compare(&[a, b]);
    assert!(compared.starts_with(&short) && !short.contains("heaviest"), "{short}");
}

#[test]
fn compare_reads_files_and_refuses_what_it_cannot_compare() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    fs::write(&file, "the words of a file are compared, not its name").unwrap();
    let same = "The words of a FILE are compared - not its name!";
    let compared = compare(&[file.to_str().unwrap(), same]);
    assert!(compared.contains("\nnear-duplicates: similarity 1.0000 (at least 0.8)"), "{compared}");
    assert!(said(&compared, "simhashes   ").starts_with("distance 0 of 64 bits"), "{compared}");
    fs::write(&file, b"\xff\xfe").unwrap();
    for (a, part) in [
        (file.to_str().unwrap(), "not UTF-8"),
        ("", "nothing to be compared by"),
        (" ", "nothing to be"),
        ("nosuch.txt", "there is no file nosuch.txt; --literal"),
        ("no/such", "there is no file no/such; --literal"),
        (".html.gz", "there is no file .html.gz; --literal"),
    ] {
        let refused = run("pigeonhole", ["compare", a, same]).expect(2);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    // Texts that are no names of files.
    for text in ["3.5", "e.g.", "U.S.A", "a.b c", "ends.", "地铁.", "and so on ... txt"] {
        compare(&[text, text]);
    }
    compare(&["--literal", "nosuch.txt", "nosuch.txt"]);
}

#[test]
fn compare_takes_texts_without_words() {
    for (a, b, verdict) in
        [("😂😂", "😂😂😂😂", "near-"), ("😂", "…", "not near-"), ("😂", "a text", "not near-")]
    {
        let compared = compare(&["--why", a, b]);
        assert!(compared.contains(&format!("\n{verdict}duplicates: similarity")), "{compared}");
        assert!(said(&compared, "simhashes   ").starts_with("none"), "{compared}");
        assert!(said(&compared, "no terms and bits").contains("without words"), "{compared}");
    }
}

#[test]
fn compare_decides_as_an_index_does() {
    let folder = tempfile::tempdir().unwrap();
    let index = |name: &str, flags: &[&str]| {
        let store = format!("embedded:{}", folder.path().join(name).to_str().unwrap());
        let news = news();
        run("indexer", [&["index", "-q", "--store", &store, news.to_str().unwrap()], flags].concat())
            .expect(0);
        store
    };
    let (a, b) = ("the harbour office closes at noon", "the harbour office closes at noon today");
    let [strict, words, bits] = [
        index("strict", &["--min-similarity", "0.9"]),
        index("minhash", &["--profile", "minhash"]),
        index("classic", &["--profile", "classic", "--verify", "off", "--segmenter", "chars:3"]),
    ];
    for (args, verdict) in [
        (&[][..], "near-duplicates: similarity 0.8378 (at least 0.8)"),
        (&["--min-similarity", "0.9"], "not near-duplicates: similarity 0.8378 (at least 0.9)"),
        (&["--store", &strict], "not near-duplicates: similarity 0.8378 (at least 0.9)"),
        (
            &["--store", &strict, "--min-similarity", "0.8"],
            "near-duplicates: similarity 0.8378 (at least 0.8)",
        ),
        (&["--store", &words], "near-duplicates: similarity 0.8378 (at least 0.8)"),
        (&["--store", &bits], "not near-duplicates: distance "),
    ] {
        let compared = compare(&[&[a, b], args].concat());
        assert!(compared.contains(&format!("\n{verdict}")), "{args:?}: {compared}");
    }
    let of_numbers = index("numbers", &["--same-numbers"]);
    for (a, b, args, verdict) in [
        ("the fine is 1000", "the fine is 10000", &[][..], "near-duplicates: similarity 1"),
        (
            "the fine is 1000",
            "the fine is 10000",
            &["--store", &*of_numbers],
            "not near-duplicates: similarity 1",
        ),
        ("哈哈 哈哈", "哈哈哈哈哈哈", &["--min-similarity", "1"], "not near-duplicates: similarity 1"),
        ("Tea at four.", "tea at FOUR", &["--min-similarity", "1"], "near-duplicates: similarity 1"),
    ] {
        let compared = compare(&[&[a, b], args].concat());
        assert!(compared.contains(&format!("\n{verdict}")), "{a} {args:?}: {compared}");
    }
    let by_ngrams = compare(&[a, b, "--store", &words, "--why"]);
    assert!(
        by_ngrams.contains("simhashes   none to compare: this index files by n-grams alone"),
        "{by_ngrams}"
    );
    for (args, part) in [
        (["--store", &*bits, "--min-similarity", "0.9"], "no signatures"),
        (["--store", &bits, "--segmenter", "words"], "segmenter"),
        (["--store", "embedded:/missing", "--terms", "1"], "/missing"),
    ] {
        let refused = run("pigeonhole", [&["compare", a, b], &args[..]].concat()).expect(2);
        assert!(refused.stderr.contains(part), "{args:?}: {}", refused.stderr);
    }
    // An index in a settings file for all commands does not decide about two texts.
    let config = folder.path().join("all.toml");
    fs::write(&config, "store = \"embedded:/missing\"\nmin-similarity = \"0.9\"\n").unwrap();
    let compared = compare(&[a, b, "--config", config.to_str().unwrap()]);
    assert!(compared.contains("(at least 0.9)"), "{compared}");
}

#[test]
fn keys_come_back() {
    for scheme in index::SketchKind::NAMES {
        let fingerprint = "9e3779b97f4a7c15";
        let encoded = run("pigeonhole", ["key", "encode", fingerprint, "--scheme", scheme]).expect(0).stdout;
        let keys: Vec<Vec<&str>> = encoded
            .lines()
            .skip(1)
            .map(|line| line.splitn(4, "  ").map(str::trim).filter(|part| !part.is_empty()).collect())
            .filter(|parts: &Vec<&str>| !parts[0].starts_with("scan"))
            .collect();
        let n_tables = scheme.parse::<index::SketchKind>().unwrap().n_keys();
        assert_eq!(encoded.matches("scan 'TABLE'").count(), n_tables, "{encoded}");
        let mut n_decoded = 0;
        for line in encoded.lines().skip(1).filter(|line| !line.contains("scan")) {
            let mut parts = line.split("  ").map(str::trim).filter(|part| !part.is_empty());
            let (_flag, segment, hex, shell) =
                (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
            for form in [hex, shell.trim_matches('"')] {
                let decoded = run("pigeonhole", ["key", "decode", form, "--scheme", scheme]).expect(0).stdout;
                assert!(decoded.contains(segment) && decoded.contains(fingerprint), "{decoded}");
                n_decoded += 1;
            }
        }
        assert_eq!(n_decoded, 2 * n_tables, "{keys:?}");
    }
}

#[test]
fn a_key_that_is_none_is_refused() {
    for (key, part) in [
        ("0123", "13 bytes"),
        ("00048d15000123456789abcdef", "flag 0"),
        ("00048d160101 23456789abcdef", "13 bytes"),
        ("00048d16010123456789abcdef", "does not belong"),
        ("00048d150b0123456789abcdef", "no table with flag 11"),
    ] {
        let run = run("pigeonhole", ["key", "decode", key]).expect(2);
        assert!(run.stderr.contains(part), "{key}: {run:?}");
    }
}

#[test]
fn schemes_show_their_proof() {
    let all = run("pigeonhole", ["scheme"]).expect(0).stdout;
    for name in simhash::SCHEME_NAMES {
        assert!(all.lines().any(|line| line.starts_with(name)), "{name} is missing in\n{all}");
        let one = run("pigeonhole", ["scheme", name]).expect(0).stdout;
        assert!(one.contains("41664 sets of 3 bits"), "{one}");
    }
    let five = run("pigeonhole", ["scheme", "5c2"]).expect(0).stdout;
    assert!(five.contains("10^10") && five.contains("2086"), "{five}");
    assert!(run("pigeonhole", ["scheme", "x"]).expect(2).stderr.contains("5c2"));
}

#[test]
fn bands_show_what_they_find() {
    let all = run("pigeonhole", ["scheme"]).expect(0).stdout;
    for name in ["long", "short"] {
        assert!(all.lines().any(|line| line.starts_with(&format!("minhash  {name}"))), "{name}\n{all}");
    }
    let bands = |args: &[&str]| run("pigeonhole", [&["scheme", "minhash"], args].concat());
    // Documented with these figures.
    let built_in = bands(&[]).expect(0).stdout;
    for part in
        ["64–79", "128–143", "192", " 208", "0.998122", "0.999744", "--min-similarity", "0.9   7x5-12"]
    {
        assert!(built_in.contains(part), "{part} is missing in\n{built_in}");
    }
    let splits = bands(&["--regions", "4"]).expect(0).stdout;
    assert_eq!(splits, "40000000\n80000000\nc0000000\n");
}

#[test]
fn schemes_say_where_tables_are_split() {
    let splits = |name: &str, n_regions: &str| run("pigeonhole", ["scheme", name, "--regions", n_regions]);
    assert_eq!(splits("5c2", "4").expect(0).stdout, "00b6db6e\n016db6dc\n02555556\n");
    assert_eq!(splits("5c2", "1").expect(0).stdout, "");
    assert!(splits("4c1", "65537").expect(2).stderr.contains("1 to 65536"));
    assert!(splits("5c2", "0").expect(2).stderr.contains("0 regions"));
}

#[test]
fn an_index_describes_itself_and_refuses_others() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().join("index").to_str().unwrap());
    let missing = run("pigeonhole", ["query", "--store", &store, "a text"]).expect(2);
    assert!(missing.stderr.contains("indexer index"), "it says what makes one: {}", missing.stderr);
    assert!(!folder.path().join("index").exists(), "looking makes nothing");

    let news = news();
    let news = news.to_str().unwrap();
    let made = [
        "index",
        "-q",
        "--store",
        &store,
        "--scheme",
        "t8",
        "--segmenter",
        "chars:3",
        "--simplify",
        "false",
        news,
    ];
    run("indexer", made).expect(0);
    let info = run("pigeonhole", ["info", "--store", &store]).expect(0).stdout;
    for part in ["documents     35", "t8", "chars:3"] {
        assert!(info.contains(part), "{part:?} is missing in\n{info}");
    }
    for (option, value, field) in [
        ("--scheme", "5c2", "scheme"),
        ("--max-distance", "2", "max distance"),
        ("--segmenter", "words", "segmenter"),
        ("--top-terms", "7", "top-terms"),
        ("--seed", "7", "seed"),
    ] {
        let refused = run("indexer", ["index", "-q", "--store", &store, option, value, news]).expect(2);
        assert!(refused.stderr.contains(field) && refused.stderr.contains(value), "{}", refused.stderr);
    }
    // Options equal to those of the index, or none, are fine.
    run("indexer", ["index", "-q", "--store", &store, "--scheme", "t8", "--segmenter", "chars:3", news])
        .expect(0);
    let text = fs::read_to_string(news).unwrap();
    let record: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let found =
        run("pigeonhole", ["query", "--store", &store, record["text"].as_str().unwrap()]).expect(0).stdout;
    assert!(found.lines().next().unwrap().ends_with(record["id"].as_str().unwrap()), "{found}");
    let far = run("pigeonhole", ["query", "--store", &store, "--max-distance", "4", "a text"]).expect(2);
    assert!(far.stderr.contains("distance 4"), "{}", far.stderr);
}
