//! The page of `pigeonhole eval`: its contents, its safety, and its look in a browser.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::support::{browser, json_lines, made_up_corpus, run};

/// Returns the page of a corpus: its folder, its path and its text.
fn page(corpus: &str) -> (TempDir, PathBuf, String) {
    let folder = tempfile::tempdir().unwrap();
    let (input, page) = (folder.path().join("corpus.jsonl"), folder.path().join("eval.html"));
    fs::write(&input, corpus).unwrap();
    run("pigeonhole", ["eval", "-q", "--html", page.to_str().unwrap(), input.to_str().unwrap()]).expect(0);
    let text = fs::read_to_string(&page).unwrap();
    (folder, page, text)
}

/// Returns two near-duplicates that simhash misses, with markup as ids and texts.
fn attack() -> String {
    let attack = r#"<script>alert("1")</script><img src=x onerror='alert(1)'> & "#;
    let words: String = (0..60).map(|n| format!("reed{n} ")).collect();
    let edited =
        words.replacen("reed7 ", "willow ", 1).replacen("reed30 ", "harbour ", 1).replacen("reed44 ", "", 1);
    let texts = [format!("{attack}{words}"), format!("{attack}{edited}")];
    json_lines([("\u{202e}<b>\"a\"</b>", &*texts[0]), ("'><i>", &texts[1])])
}

#[test]
fn it_has_figures_curves_and_texts_and_is_safe() {
    let (_folder, _, page) = page(&attack());
    for raw in ["<script>alert", "<img", "<b>", "<i>", "http:", "https:", "NaN", "inf"] {
        assert!(!page.contains(raw), "{raw}");
    }
    for part in [
        "<bdi>\u{202e}&lt;b&gt;&quot;a&quot;&lt;/b&gt;</bdi>",
        "<bdi>'&gt;&lt;i&gt;</bdi>",
        "<del>reed7</del>",
        "<ins>willow</ins>",
        "dir=\"auto\"",
        "default-src 'none'",
        "prefers-color-scheme: dark",
        "classic: missed, the most similar first",
        "minhash: share of pairs found, by similarity",
        "Precision by length",
        "promised of short texts",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    // A chart by similarity for each profile, and three by length.
    assert_eq!(page.matches("<svg class=\"chart\"").count(), 3 + 3);
}

/// A corpus without pairs has a page, too.
#[test]
fn it_is_written_where_there_is_nothing_to_find() {
    let (_folder, _, page) = page(&json_lines([("one", "今天天气很好"), ("two", "no bridge is near")]));
    for part in ["0 pairs of a similarity of 0.8", "There are none."] {
        assert!(page.contains(part), "{part} is missing");
    }
    assert!(!page.contains("NaN"));
}

/// Light and dark, on a desk and on a telephone. The console would show violations of the page's
/// policy.
#[test]
fn in_a_browser() {
    let Some(browser) = browser() else { return };
    let (_folder, path, _) = page(&(attack() + &made_up_corpus(300, 5)));
    let open = || {
        browser.open(&format!("file://{}", path.display()));
        browser.script("document.querySelectorAll('details').forEach((details) => { details.open = true; })");
    };
    for scheme in ["light", "dark"] {
        browser.prefer(scheme);
        open();
        browser.is_readable(scheme);
        browser.draw(&format!("eval-{scheme}"));
    }
    browser.is_short_on_a_telephone(&path);
    browser.resize(375, 812);
    browser.open(&format!("file://{}", path.display()));
    browser.draw("eval-folded");
    browser.resize(360, 740);
    open();
    browser.fits("a telephone");
    browser.draw("eval-narrow");
    // All marks are visible.
    let outside = "return [...document.querySelectorAll('svg.chart')].filter((svg) => {
        const frame = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('.mark, text')].some((part) => {
            const { left, right, top, bottom } = part.getBoundingClientRect();
            return left < frame.left || right > frame.right || top < frame.top || bottom > frame.bottom;
        });
    }).map((svg) => svg.getAttribute('aria-label'))";
    assert_eq!(browser.script(outside), serde_json::json!([]));
    assert_eq!(browser.console(&[]), [""; 0]);
}
