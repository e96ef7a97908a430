//! Measurable properties of the page's look. The drawings in `target/tmp/page` are for visual
//! review.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{TEXT, edited, explained, find, post_news};
use crate::support::{Worker, browser};

/// Returns a text of the shipped corpus.
fn news_text(id: &str) -> String {
    let lines = std::fs::read_to_string(crate::support::news()).unwrap();
    let mut records = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.find(|record| record["id"] == id).unwrap()["text"].as_str().unwrap().to_owned()
}

#[test]
fn light_and_dark() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    post_news(&worker);
    for scheme in ["light", "dark"] {
        page.prefer(scheme);
        page.open(worker.base());
        page.reload();
        let chinese = news_text("zh-raingarden-edited");
        find(&page, &chinese);
        explained(&page);
        page.click(".why > summary");
        page.is_readable(&format!("find, {scheme}"));
        page.draw(&format!("find-{scheme}"));
        find(&page, " ");
        page.wait_for("#find-answer .problem");
        page.is_readable(&format!("problem, {scheme}"));
        page.click("#tab-compare");
        page.paste("#compare-a", &news_text("en-wetland"));
        page.paste("#compare-b", &news_text("en-chess"));
        page.click("#compare-form [type=submit]");
        page.wait_for(".verdict");
        page.click("#compare-answer .why > summary");
        page.is_readable(&format!("compare, {scheme}"));
        page.draw(&format!("compare-{scheme}"));
        page.click("#tab-index");
        page.wait_for("#index-answer dl");
        page.is_readable(&format!("index, {scheme}"));
        page.draw(&format!("index-{scheme}"));
        let ground = page.script("return getComputedStyle(document.body).backgroundColor");
        assert_eq!(ground, if scheme == "dark" { "rgb(22, 22, 26)" } else { "rgb(255, 255, 255)" });
    }
    assert_eq!(page.console(&[422]), [""; 0]);
}

/// On a telephone, long ids and words do not make the page wider than the window.
#[test]
fn a_narrow_window() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    let text = format!("{TEXT} {} {}", "long".repeat(60), "很长".repeat(60));
    let document = json!({ "id": "x".repeat(300), "text": text, "source": "wire-".repeat(40) });
    assert_eq!(worker.post("/v1/documents", &document).0, 201);
    page.resize(360, 740);
    page.open(worker.base());
    page.fits("the beginning");
    find(&page, &text.replace("Monday", "Tuesday"));
    page.wait_for(".matches");
    explained(&page);
    page.click(".why > summary");
    page.fits("a match");
    page.draw("narrow-find");
    page.click("#tab-compare");
    page.paste("#compare-a", &text);
    page.paste("#compare-b", &news_text("en-chess"));
    page.click("#compare-form [type=submit]");
    page.wait_for(".verdict");
    page.fits("a comparison");
    page.draw("narrow-compare");
    page.click("#tab-index");
    page.wait_for("#index-answer dl");
    page.fits("the figures");
    page.draw("narrow-index");
    assert_eq!(page.console(&[]), [""; 0]);
}

/// Nothing is cut, pale or nameless at any width, in either scheme, in either language.
#[test]
fn every_view_at_every_width() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &["--document-url", "https://wiki.example/page/{id}"]);
    post_news(&worker);
    let text = news_text("zh-raingarden-edited").replacen('。', " 2026。", 1);
    for (scheme, language) in [("light", "en"), ("dark", "zh-CN")] {
        page.prefer(scheme);
        page.speak(language);
        for width in [375, 768, 1280] {
            page.resize(width, 900);
            let checked = |view: &str| {
                let place = format!("{view}, {scheme}, {width} px");
                page.is_readable(&place);
                page.fits(&place);
                page.is_named(&place);
                page.draw(&format!("{view}-{scheme}-{width}"));
            };
            page.open("about:blank");
            page.open(worker.base());
            page.wait_for(".examples a");
            checked("beginning");
            find(&page, &text);
            page.wait_for(".matches");
            explained(&page);
            page.click(".why > summary");
            page.click(".next");
            checked("hit");
            page.click(".actions a:not(.place)");
            page.wait_for(".document .texts");
            page.click(".document .remove");
            checked("document");
            page.click("#tab-index");
            page.wait_for("#index-answer dl");
            page.click(".how > summary");
            checked("figures");
        }
    }
    assert_eq!(page.console(&[]), [""; 0]);
}

/// An index that keeps every document has many near one text: the page shows a few, and details
/// only of opened ones.
#[test]
fn a_hundred_matches() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let mut corpus = String::new();
    for n in 0..100 {
        let text = if n % 3 == 0 { TEXT.to_owned() } else { edited() };
        writeln!(corpus, "{}", json!({ "id": format!("https://example.org/news/{n:03}"), "text": text }))
            .unwrap();
    }
    let args = ["index", "-q", "--store", &store, "--texts", "none", "--source", "crawl-2026-01", "-"];
    crate::support::run_with_input("indexer", args, corpus.as_bytes()).expect(0);
    let worker = Worker::start(&store, &[]);
    page.open(worker.base());
    find(&page, TEXT);
    page.wait_for(".matches");
    explained(&page);
    assert_eq!(page.text("#find-answer h2"), "100 documents with 80 % or more in common");
    assert_eq!((page.count(".matches > li"), page.count(".matches details[open]")), (20, 1));
    let shares = page.texts(".nearness");
    assert!(shares.is_sorted_by(|a, b| a == b || a == "about 100 % in common"), "{shares:?}");
    page.draw("a-hundred-matches");
    for n in [40, 60, 80, 100] {
        page.click("#find-answer > button");
        assert_eq!(page.count(".matches > li"), n);
        let focused =
            page.script("return [...document.querySelectorAll('.matches > li > details > summary')].indexOf(document.activeElement)");
        assert_eq!(focused, n - 20, "the keyboard goes on with the first of the new ones");
    }
    page.wait("!document.querySelector('#find-answer > button').checkVisibility()");
    let asked = "return performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/compare')).length";
    assert_eq!(page.script(asked), 1, "only of what was opened");
    page.click(".matches > li:last-child summary");
    page.wait_for(".matches > li:last-child .paste");
    assert_eq!(page.script(asked), 2);
    assert_eq!(page.console(&[]), [""; 0]);
}

/// Two texts of 100 KB that share only words are marked while the page stays responsive.
#[test]
fn long_texts_do_not_freeze_it() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    page.open(&format!("{}/#compare", worker.base()));
    let text =
        |step: u32| (0..20_000_u32).map(|n| format!("w{:x} ", n % 5003 * step % 5003)).collect::<String>();
    assert!(text(7).len() > 100_000);
    page.paste("#compare-a", &text(7));
    page.paste("#compare-b", &text(2600));
    // The longest time in which the page did not react.
    page.script("window.pause = 0; let last = performance.now(); \
                 setInterval(() => { const now = performance.now(); window.pause = Math.max(window.pause, now - last); last = now; }, 10)");
    page.click("#compare-form [type=submit]");
    page.wait_for(".verdict");
    page.wait("!document.querySelector('[aria-busy]')");
    let pause = page.script("return window.pause").as_f64().unwrap();
    assert!(pause < 2000.0, "nothing happened for {pause} ms");
    assert!(page.count(".texts ins") > 0);
    assert_eq!(page.console(&[]), [""; 0]);
}
