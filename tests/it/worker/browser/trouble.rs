//! Messages of the page about missing or wrong things.

use serde_json::json;

use super::{TEXT, edited, explained, find};
use crate::support::{Worker, browser, json_lines, key, run_with_input};
use crate::worker::keys::{add_key, key_file};

#[test]
fn a_key_is_asked_for_and_kept_in_the_tab_only() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let reader = add_key(&file, "reader", "read", "");
    let writer = add_key(&file, "writer", "write", "");
    let worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    page.open(worker.base());
    page.wait_for("#key-form");
    assert_eq!(page.script("return document.activeElement.id"), "key");
    page.fill("#key", "ph_no_such_key");
    page.press(&[key::ENTER]);
    page.wait("document.querySelector('#key-reason').textContent.includes('not known')");
    page.wait_for("#key-form");
    page.fill("#key", &writer);
    page.press(&[key::ENTER]);
    page.wait("!document.querySelector('#key-form').checkVisibility()");
    find(&page, TEXT);
    assert_eq!(page.text("#find-answer .problem h2"), "The key is not for this");
    assert!(page.text("#find-answer .problem").contains("scope `read`"));

    page.click("#forget-key");
    page.click("#find-form [type=submit]");
    page.wait_for("#key-form");
    page.click("#key-cancel");
    page.wait("document.querySelector('#find-answer .problem h2')?.textContent === 'The request has no key'");
    page.click("#find-form [type=submit]");
    page.wait_for("#key-form");
    page.fill("#key", &reader);
    page.press(&[key::ENTER]);
    page.wait("document.querySelector('#find-answer .none h2')?.textContent === 'The index is empty'");
    let kept = page.script("return [Object.values(sessionStorage), localStorage.length, document.cookie]");
    assert_eq!(kept, json!([[reader], 0, ""]));
    page.script("location.reload()");
    page.wait("document.querySelector('#where')?.textContent === 'memory:'");
    page.wait("document.querySelector('#forget-key').checkVisibility()");
    assert_eq!(page.console(&[401, 403]), [""; 0]);
}

#[test]
fn what_cannot_be_found_is_said_in_words() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &["--text-bytes-max", "2000"]);
    page.open(worker.base());
    let said = |text: &str, kind: &str| {
        find(&page, text);
        page.wait(&format!("document.querySelector('#find-answer').innerText.includes({kind:?})"));
        page.text("#find-answer")
    };
    let empty = said(TEXT, "The index is empty");
    assert!(empty.contains("/v1/documents"), "{empty}");
    worker.post(
        "/v1/documents",
        &json!({ "id": "a", "text": "A text about bees, and what they do in winter." }),
    );
    let nothing = said(TEXT, "No document with 80 % or more in common");
    assert!(!nothing.contains("The index is empty"), "{nothing}");
    let none = said(" ", "The text has no features");
    assert!(none.contains("punctuation") && none.contains("Request "), "{none}");
    page.draw("an-error");
    let long = said(&"回家".repeat(400), "The text is too long");
    assert!(long.contains("2.3 KiB") && long.contains("--text-bytes-max"), "{long}");
    assert_eq!(page.console(&[422]), [""; 0]);
    worker.send_kill();
    worker.wait();
    let gone = said(TEXT, "The worker does not answer");
    assert!(gone.contains("Is the worker running") && gone.contains("Try again"), "{gone}");
    assert!(page.text("#status").contains("does not answer"));
}

/// A key with characters that no header may have never reaches the worker. Before, the worker
/// seemed to be away, and the page offered no way to forget the key.
#[test]
fn a_key_with_quotes() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let reader = add_key(&file, "reader", "read", "");
    let worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    page.open(worker.base());
    page.wait_for("#key-form");
    page.fill("#key", &format!("“{reader}”"));
    page.press(&[key::ENTER]);
    page.wait("document.querySelector('#key-reason').textContent.includes('ASCII')");
    assert_eq!(page.script("return sessionStorage.length"), 0);
    page.fill("#key", &reader);
    page.press(&[key::ENTER]);
    page.wait("document.querySelector('#where')?.textContent === 'memory:'");
    assert_eq!(page.console(&[401]), [""; 0]);
}

/// A late answer does not replace a newer one, and a failed one can be requested again.
#[test]
fn answers_that_come_late_or_not_at_once() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let corpus = json_lines([("a", TEXT)]);
    run_with_input("indexer", ["index", "-q", "--store", &store, "--texts", "none", "-"], corpus.as_bytes())
        .expect(0);
    let worker = Worker::start(&store, &[]);
    page.open(worker.base());
    page.wait("document.querySelector('#find-nearness')?.options.length > 0");
    page.script(
        "const real = window.fetch;
        window.failures = 1;
        window.held = [];
        window.fetch = async (path, options) => {
          if (path === 'v1/analyze' && window.failures-- > 0) return new Response('{\"type\":\"urn:pigeonhole:problem:busy\",\"title\":\"The worker is busy\",\"detail\":\"once\"}', { status: 503 });
          if (path === 'v1/index') await new Promise((go) => window.held.push(go));
          return real(path, options);
        };",
    );
    page.paste("#find-text", "Bees sleep in winter, and nobody has written about that here so far.");
    page.click("#find-form [type=submit]");
    page.wait("window.held.length === 1");
    find(&page, TEXT);
    page.wait_for(".matches .problem");
    page.script("window.held.forEach((go) => go())");
    assert_eq!(page.text(".matches .problem h2"), "The worker is busy");
    page.click(".matches .problem button");
    page.wait_for(".matches .paste");
    assert_eq!(page.texts(".matches .id"), ["a"], "the first search has no say any more");
    assert_eq!(page.console(&[]), [""; 0]);
}

/// A document removed between the search and a look at it.
#[test]
fn a_match_that_is_gone() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let corpus = json_lines([("a", TEXT), ("b", &edited()), (".", TEXT)]);
    run_with_input("indexer", ["index", "-q", "--store", &store, "-"], corpus.as_bytes()).expect(0);
    let worker = Worker::start(&store, &[]);
    page.open(worker.base());
    find(&page, TEXT);
    explained(&page);
    assert_eq!(page.texts(".matches .id"), [".", "a", "b"]);
    // Of the id ".", which no path can name.
    assert_eq!((page.text(".texts"), page.count("[open] .remove")), (TEXT.to_owned(), 0));
    worker.delete("/v1/documents/b");
    page.click(".matches > li:last-child summary");
    page.wait_for(".matches .problem");
    assert_eq!(page.text(".matches .problem h2"), "No such document");
    assert_eq!(page.console(&[404]), [""; 0]);
}
