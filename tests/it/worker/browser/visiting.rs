//! The way through the page: the beginning, its examples, its address, files, keys and languages.

use serde_json::json;

use super::{TEXT, edited, explained, find, post_news};
use crate::support::{Browser, Worker, browser, json_lines, key, run_with_input};

/// Waits until the answer is there and has a title with this part.
#[track_caller]
fn titled(page: &Browser, part: &str) {
    page.wait(&format!(
        "!document.querySelector('#find-answer[aria-busy]') && \
         document.querySelector('#find-answer h2')?.textContent.includes({part:?})"
    ));
}

fn query(page: &Browser, name: &str) -> serde_json::Value {
    page.script(&format!("return new URLSearchParams(location.search).get('{name}')"))
}

/// A person who comes to the page sees what is there, and one click shows a hit.
#[test]
fn it_begins_with_what_is_there_and_with_examples() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let lone = "Bees sleep in winter, and nobody has written about that here so far.";
    let corpus =
        json_lines([("a", TEXT), ("b", &edited()), ("c", lone), ("d", "Another text, of other words.")]);
    for texts in ["zstd", "none"] {
        let store = format!("embedded:{}/{texts}", folder.path().to_str().unwrap());
        let args = ["index", "-q", "--store", &store, "--texts", texts, "--source", "wire-7", "-"];
        run_with_input("indexer", args, corpus.as_bytes()).expect(0);
        let worker = Worker::start(&store, &[]);
        page.open(worker.base());
        page.wait_for(".examples a");
        let said = page.text(".start");
        assert!(
            said.contains("4 documents. The last was written on ") && said.contains("Sources: wire-7."),
            "{said}"
        );
        assert_eq!(page.count(".examples a"), 3);
        // Those with others near come first.
        let first = page.text(".examples li");
        assert!(
            first.contains("1 near") && first.contains(if texts == "zstd" { "Tuesday" } else { "b" }),
            "{first}"
        );
        page.draw(&format!("beginning-{texts}"));
        page.click(".examples a");
        if texts == "zstd" {
            titled(&page, "2 documents with 80 % or more in common");
            assert_eq!(page.script("return document.querySelector('#find-text').value"), edited());
            assert_eq!(query(&page, "q"), edited());
        } else {
            titled(&page, "b");
            assert_eq!(query(&page, "id"), "b");
            assert_eq!(page.texts(".matches .id"), ["a"]);
        }
        assert_eq!(page.console(&[]), [""; 0]);
    }
    let empty = Worker::start("memory:", &[]);
    page.open(empty.base());
    titled(&page, "The index is empty");
}

/// Addresses that can be sent; the buttons of the browser go through what was shown.
#[test]
fn an_address_can_be_sent_and_gone_back_to() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    worker.post("/v1/documents", &json!({ "id": "a/b ?", "text": TEXT }));
    let other = format!("{TEXT} {}", "But this one is much longer than any address. ".repeat(30));
    page.open(worker.base());
    page.wait_for(".examples a");
    find(&page, &edited());
    titled(&page, "1 document with");
    page.script("document.querySelector('#find-nearness').selectedIndex = 3");
    page.click("#find-form [type=submit]");
    titled(&page, "No document with 95 % or more in common");
    let sent = page.script("return location.href").as_str().unwrap().to_owned();
    assert_eq!((query(&page, "q"), query(&page, "bound")), (json!(edited()), json!("0.95")));
    page.click("#tab-compare");
    page.wait_for("#panel-compare");
    page.go_back();
    page.wait_for("#panel-find");
    titled(&page, "No document with 95 %");
    page.go_back();
    titled(&page, "1 document with 80 %");
    assert_eq!(query(&page, "bound"), json!(null));
    page.go_back();
    page.wait_for(".examples a");
    page.go_forward();
    titled(&page, "1 document with 80 %");
    // A text beyond an address comes back as well, and the page says that it cannot be sent.
    find(&page, &other);
    titled(&page, "No document");
    assert_eq!(page.script("return location.search"), "");
    assert!(page.text("#find-answer").contains("too long for an address"));
    page.reload();
    titled(&page, "No document");
    assert_eq!(page.script("return document.querySelector('#find-text').value"), other);
    // Another person opens what was sent.
    page.open("about:blank");
    page.open(&sent);
    titled(&page, "No document with 95 % or more in common");
    assert_eq!(page.script("return document.querySelector('#find-text').value"), edited());
    page.open(&format!("{}/?id=a%2Fb+%3F", worker.base()));
    titled(&page, "a/b ?");
    assert_eq!(page.text(".document .texts"), TEXT);
    assert_eq!(page.console(&[]), [""; 0]);
}

#[test]
fn a_file_is_dropped_onto_the_box() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &["--text-bytes-max", "2000"]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    page.open(worker.base());
    page.wait_for(".examples a");
    page.drop_file("#find-text", "ferry.txt", edited().as_bytes());
    titled(&page, "1 document with 80 % or more in common");
    assert_eq!(page.script("return document.querySelector('#find-text').value"), edited());
    for (name, bytes, title) in [
        ("latin.txt", &b"caf\xe9"[..], "This is no text"),
        ("program", b"\x7fELF\0", "This is no text"),
        ("long.txt", &[b'a'; 2001], "The text is too long"),
    ] {
        page.drop_file("#find-text", name, bytes);
        titled(&page, title);
        assert!(page.text("#find-answer").contains(name), "{}", page.text("#find-answer"));
    }
    page.wait_for("#find-choose");
    assert_eq!(page.console(&[]), [""; 0]);
}

/// `/` to the text, j, k and arrows through the documents, n and p through differences, Escape.
#[test]
fn keys_go_through_it() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let corpus = json_lines([
        ("a", TEXT),
        ("b", &TEXT.replace("Monday", "Sunday")),
        ("c", &edited().replace("six", "seven").replace("nine at", "ten at")),
    ]);
    run_with_input("indexer", ["index", "-q", "--store", &store, "-"], corpus.as_bytes()).expect(0);
    let worker = Worker::start(&store, &[]);
    page.open(worker.base());
    page.wait_for(".examples a");
    page.press(&["/"]);
    assert_eq!(page.script("return document.activeElement.id"), "find-text");
    page.press(&["/"]);
    assert_eq!(
        page.script("return document.querySelector('#find-text').value"),
        "/",
        "a letter where one writes"
    );
    find(&page, &edited());
    titled(&page, "3 documents");
    explained(&page);
    let at = || {
        page.script("return [...document.querySelectorAll('.matches > li > details > summary')].indexOf(document.activeElement)")
    };
    page.script("document.querySelector('#find-text').focus()");
    for (pressed, row) in [(key::ESCAPE, 0), ("j", 1), (key::DOWN, 2), ("j", 2), ("k", 1), ("j", 2)] {
        page.press(&[pressed]);
        assert_eq!(at(), row, "{pressed:?}");
    }
    page.press(&[key::ENTER]);
    page.wait_for(".matches > li:last-child .steps");
    let places: Vec<_> = ["n", "n", "p", "p"]
        .iter()
        .map(|pressed| {
            page.press(&[pressed]);
            page.text(".matches > li:last-child .steps [aria-live]")
        })
        .collect();
    let n = page.text(".matches > li:last-child .differences p").split(' ').next().unwrap().to_owned();
    assert_eq!(
        places,
        [format!("1 of {n}"), format!("2 of {n}"), format!("1 of {n}"), format!("{n} of {n}")]
    );
    page.press(&[key::ESCAPE]);
    page.wait("!document.querySelector('.matches > li:last-child details').open");
    assert_eq!(at(), 2);
    page.press(&["/"]);
    assert_eq!(page.script("return document.activeElement.id"), "find-text");
    assert_eq!(page.console(&[]), [""; 0]);
}

/// The language is that of the browser, and each text is there in both.
#[test]
fn it_speaks_chinese_where_the_browser_does() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    post_news(&worker);
    for (language, tag, button, title, tab) in [
        ("zh-CN", "zh-Hans", "查找", "个文档相同部分达", "文档"),
        ("en-US", "en", "Find", "document", "Documents"),
    ] {
        page.speak(language);
        page.open(&format!("{}/", worker.base()));
        page.wait_for(".examples a");
        assert_eq!(page.script("return document.documentElement.lang"), tag);
        assert_eq!(page.text("#find-form [type=submit]"), button);
        find(&page, TEXT);
        worker.post("/v1/documents", &json!({ "id": "ferry", "text": TEXT }));
        find(&page, &edited());
        titled(&page, title);
        explained(&page);
        page.click(".why > summary");
        page.draw(&format!("find-{tag}"));
        let said = page.text("main");
        let is_english =
            ["In common", "Differences", "Heaviest terms", "Found by"].map(|word| said.contains(word));
        assert_eq!(is_english, [tag == "en"; 4], "{said}");
        page.click("#tab-index");
        page.wait_for("#index-answer dl");
        page.click(".how > summary");
        assert_eq!(page.text("#index-answer dt"), tab);
        worker.delete("/v1/documents/ferry");
    }
    assert_eq!(page.console(&[]), [""; 0]);
}
