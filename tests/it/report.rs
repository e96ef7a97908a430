//! `dedup --report`: doubtful pairs come first, on the page and in the JSON.

use std::fs;

use serde_json::Value;

use crate::support::{browser, json_lines, made_up_corpus, run};

/// Returns a text of `n_sentences` sentences, which no other number has.
pub(crate) fn text(number: usize, n_sentences: usize) -> String {
    (0..n_sentences)
        .map(|n| {
            format!(
                "Ferry {} leaves quay {} for island {}. ",
                word(number, n),
                word(n, number + 7),
                word(n * 3, number)
            )
        })
        .collect()
}

/// Returns a word without digits.
fn word(a: usize, b: usize) -> String {
    let mut state = (a as u64 * 1_000_003 + b as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..7)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + (state >> 40) as u8 % 26)
        })
        .collect()
}

#[test]
fn what_is_in_doubt_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [corpus, json, page] = ["corpus.jsonl", "report.json", "report.html"].map(at);
    let notice = |dead: u32| format!("On 3 May the storm took {dead} lives, says the harbour office.");
    let (whole, border) = (text(1, 40), text(2, 40));
    let documents = [
        ("notice", notice(26)),
        ("notice again", notice(28)),
        ("fine", "The fine is 1000 for all who park here.".to_owned()),
        ("fine again", "The fine is 10000 for all who park here.".to_owned()),
        ("whole", whole.clone()),
        ("longer", whole + &text(4, 14)),
        ("border", border.clone()),
        ("bordering", border + &text(5, 8)),
        ("copied", text(6, 40)),
        ("copy", text(6, 40)),
    ];
    let lines = documents.iter().map(|(id, text)| json_lines([(*id, text.as_str())])).collect::<String>();
    fs::write(&corpus, lines).unwrap();
    for more in [&[][..], &["--keep", "longest"]] {
        let args = [
            "dedup",
            "-q",
            "--dry-run",
            "--force",
            "--min-similarity",
            "0.6",
            "--report",
            &json,
            "--report",
            &page,
            &corpus,
        ];
        run("indexer", [&args[..], more].concat()).expect(0);
        let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let (options, counts, doubtful) = (&report["options"], &report["counts"], &report["doubtful"]);
        assert_eq!((&options["counted"], &options["min_similarity"]), (&true.into(), &0.6.into()));
        let longest = !more.is_empty();
        assert_eq!(
            (&counts["numbers_differ"], &counts["text_lost"]),
            (&2.into(), &u64::from(!longest).into())
        );
        let dropped = |pairs: &Value| -> Vec<String> {
            pairs
                .as_array()
                .unwrap()
                .iter()
                .map(|pair| pair["dropped"].as_str().unwrap().to_owned())
                .collect()
        };
        let least = &doubtful["least_similar"];
        let expected = if longest {
            ["whole", "border", "notice again"]
        } else {
            ["longer", "bordering", "notice again"]
        };
        assert_eq!(dropped(least), expected, "the copy is far from the threshold");
        assert_eq!((&least[0]["exact"], &least[0]["numbers_differ"]), (&true.into(), &false.into()));
        let similarity = |n: usize| least[n]["similarity"].as_f64().unwrap();
        assert!(0.6 <= similarity(0) && similarity(0) < similarity(1), "{least}");
        // As sets the fines are equal, so only the number differs.
        let differing = &doubtful["numbers_differ"];
        let stays = if longest { "fine" } else { "fine again" };
        assert_eq!(differing["n"], 2);
        assert_eq!(dropped(&differing["pairs"]), [stays, "notice again"]);
        assert_eq!(differing["pairs"][1]["numbers"]["kept"], serde_json::json!(["26"]));
        assert_eq!(differing["pairs"][1]["numbers"]["dropped"], serde_json::json!(["28"]));
        assert_eq!(dropped(&doubtful["text_lost"]["pairs"]), if longest { vec![] } else { vec!["longer"] });
        let text = fs::read_to_string(&page).unwrap();
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what}: {text}"));
        let first = [
            place("corpus.jsonl"),
            place("<strong>0.6</strong>"),
            place("Look here first"),
            place("numbers differ</h2>"),
        ];
        assert!(first.is_sorted() && first[3] < place("<h2>Groups"), "{first:?}");
        assert!(
            text.contains("<del>26</del>") && text.contains("<ins>28</ins>") && text.contains(", counted"),
            "{text}"
        );
    }
}

/// The warnings of the run stand at the top of the page.
#[test]
fn signs_of_a_wrong_run_are_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [corpus, json, page] = ["corpus.jsonl", "report.json", "report.html"].map(at);
    let store = format!("embedded:{}", at("index"));
    let lines = (0..12).map(|n| json_lines([(format!("d{n}").as_str(), text(n, 5).as_str())]));
    fs::write(&corpus, lines.collect::<String>()).unwrap();
    let args = ["dedup", "-q", "--force", "--store", &store, "--report", &json, "--report", &page, &corpus];
    run("indexer", args).expect(0);
    let signs = || {
        let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        report["doubtful"]["signs"].clone()
    };
    assert_eq!(signs(), serde_json::json!([]));
    let again = run("indexer", args).expect(0);
    let sign = signs()[0].as_str().unwrap().to_owned();
    assert!(sign.contains("knows 12 of the first 12 ids") && again.stderr.contains(&sign), "{again:?}");
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.find("knows 12 of").unwrap() < text.find("<table").unwrap(), "{text}");
}

/// On a telephone the first pair is seen, and the rest is folded.
#[test]
fn in_a_browser() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (corpus, page) = (folder.path().join("corpus.jsonl"), folder.path().join("report.html"));
    let lines = (0..6).flat_map(|n| {
        let (fine, more) = (10 + n, text(n, 40) + &text(n + 50, 14));
        let same = format!("The fine number {n} for all who park by the quay is {fine} crowns");
        let wrong = json_lines([(format!("w{n}").as_str(), "")]).replace("\"text\":\"\"", "\"text\":7");
        [
            json_lines([(format!("a{n}").as_str(), text(n, 40).as_str()), (&format!("b{n}"), &more)]),
            json_lines([(format!("c{n}").as_str(), same.as_str()), (&format!("d{n}"), &format!("{same}9"))]),
            wrong,
        ]
    });
    fs::write(&corpus, lines.collect::<String>() + &made_up_corpus(300, 5)).unwrap();
    let report = ["--min-similarity", "0.6", "--dry-run", "--report", page.to_str().unwrap()];
    let args = [&["dedup", "-q", "--source", "wire-7", corpus.to_str().unwrap()], &report[..]].concat();
    run("indexer", args).expect(1);
    browser.is_short_on_a_telephone(&page);
    for (scheme, width) in [("light", 375), ("dark", 375), ("light", 1280)] {
        browser.prefer(scheme);
        browser.resize(width, 812);
        browser.open(&format!("file://{}", page.display()));
        browser.draw(&format!("report-{scheme}-{width}"));
    }
    // A pair that is looked for is not left in a folded list.
    browser.resize(375, 812);
    browser.open(&format!("file://{}", page.display()));
    let other = "document.querySelectorAll('[data-pairs]')[1].querySelector('article')";
    let id = browser.script(&format!("return {other}.checkVisibility() ? '' : {other}.dataset.b"));
    browser.fill(".tools input", id.as_str().unwrap());
    browser.wait(&format!("{other}.checkVisibility()"));
    assert_eq!(browser.console(&[]), [""; 0]);
}
