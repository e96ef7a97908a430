//! `pigeonhole`: what an operator asks, and what is printed.

use std::fs;

use crate::support::{news, run};

fn distance(a: &str, b: &str) -> u32 {
    let compared = run("pigeonhole", ["compare", "--literal", a, b]).expect(0).stdout;
    let line = compared.lines().find(|line| line.starts_with("distance")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn compare_tells_texts_apart() {
    let news = fs::read_to_string(news()).unwrap();
    let records: Vec<serde_json::Value> =
        news.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let text = |id: &str| records.iter().find(|r| r["id"] == id).unwrap()["text"].as_str().unwrap();
    assert_eq!(distance(text("zh-bridge"), text("zh-bridge-copy")), 0);
    assert!(distance(text("zh-raingarden"), text("zh-raingarden-edited")) <= 3);
    assert!(distance(text("zh-bridge"), text("zh-tea")) > 15);
    assert!(distance(text("en-harbour"), text("zh-tea")) > 15);
}

#[test]
fn compare_explains_itself() {
    let a = "你妈妈喊你回家吃饭哦，回家罗回家罗";
    let b = "你妈妈叫你回家吃饭啦，回家罗回家罗";
    let compared = run("pigeonhole", ["compare", a, b]).expect(0).stdout;
    for part in
        ["a  ", "b  ", "distance ", "of 64 bits", "bits that differ", "heaviest terms", "回家", "妈妈"]
    {
        assert!(compared.contains(part), "{part:?} is missing in\n{compared}");
    }
    // As many bits are explained as differ.
    let distance = compared.lines().find_map(|line| line.strip_prefix("distance ")).unwrap();
    let n_bits = compared.lines().filter(|line| line.starts_with("  bit ")).count();
    assert_eq!(distance.split_whitespace().next().unwrap(), n_bits.to_string());
}

#[test]
fn compare_reads_files_and_refuses_what_it_cannot_compare() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    fs::write(&file, "the words of a file are compared, not its name").unwrap();
    let same = "The words of a FILE are compared - not its name!";
    let compared = run("pigeonhole", ["compare", file.to_str().unwrap(), same]).expect(0).stdout;
    assert!(compared.contains("distance 0 of 64 bits: near-duplicates"), "{compared}");
    fs::write(&file, b"\xff\xfe").unwrap();
    for (a, part) in [(file.to_str().unwrap(), "not UTF-8"), ("", "no features"), ("...", "no features")] {
        let refused = run("pigeonhole", ["compare", a, same]).expect(2);
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
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
    for part in ["64–79", "128–143", "192", " 208", "0.998122", "0.999744", "no flag changes them"] {
        assert!(built_in.contains(part), "{part} is missing in\n{built_in}");
    }
    let row = |said: &str, name: &str| -> Vec<String> {
        let line = said.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{said}"));
        line.split_whitespace().map(str::to_owned).collect()
    };
    // The built-in bands are those of the default wish.
    let default = bands(&["--recall", "0.998", "--similarity", "0.8"]).expect(0).stdout;
    assert_eq!(row(&default, "cheapest"), row(&default, "built in, long"), "{default}");
    let narrow = bands(&["--bands-max", "8", "--recall", "0.95"]).expect(0).stdout;
    assert!(row(&narrow, "cheapest")[0].parse::<u32>().unwrap() <= 8, "{narrow}");
    let other = bands(&["--bands", "20", "--rows", "6", "--distance", "15"]).expect(0).stdout;
    assert_eq!(row(&other, "asked for")[..4], ["20", "6", "15", "260"], "{other}");
    let splits = bands(&["--regions", "4"]).expect(0).stdout;
    assert_eq!(splits, "40000000\n80000000\nc0000000\n");
    for (args, part) in [
        (&["--recall", "1"][..], "below 1"),
        (&["--recall", "0.99", "--bands-max", "1"], "more bands"),
        (&["--bands", "60", "--rows", "6", "--distance", "15"], "424 bins"),
        (&["--bands", "20"], "--rows"),
    ] {
        let said = bands(args).expect(2).stderr;
        assert!(said.contains(part), "{args:?}: {said}");
    }
    let said = run("pigeonhole", ["scheme", "5c2", "--recall", "0.9"]).expect(2).stderr;
    assert!(said.contains("pigeonhole scheme minhash"), "{said}");
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
    // Insisting on what it is, or on nothing, is fine.
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
