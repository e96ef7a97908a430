//! A document by its id: its text, those near it, from which one walks on, and its removal.

use serde_json::json;

use super::{TEXT, edited, explained};
use crate::support::{Browser, Worker, browser, json_lines, key, run_with_input};
use crate::worker::keys::{add_key, key_file};

fn look_up(page: &Browser, id: &str) {
    page.fill("#find-id", id);
    page.press(&[key::ENTER]);
    let wanted = format!("document.querySelector('.document h2')?.innerText === {id:?}");
    page.wait(&format!("!document.querySelector('#find-answer[aria-busy]') && {wanted}"));
}

#[test]
fn one_walks_from_a_document_to_those_near_it() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let third = edited().replace("harbour", "haven");
    let corpus =
        json_lines([("one", TEXT), ("two", &edited()), (".", &third), ("lone", "Of bees, in winter.")]);
    let args = ["index", "-q", "--store", &store, "--source", "wire-7", "-"];
    run_with_input("indexer", args, corpus.as_bytes()).expect(0);
    let worker = Worker::start(&store, &[]);
    page.open(worker.base());
    look_up(&page, "one");
    assert_eq!(page.script("return location.search"), "?id=one");
    assert_eq!(page.text(".document .source"), "wire-7");
    assert_eq!(page.text(".document .texts"), TEXT);
    assert_eq!(page.texts("#find-answer h2"), ["one", "2 documents near this one"]);
    assert_eq!(page.texts(".matches .id"), ["two", "."], "itself is none of them");
    page.click(".matches summary");
    explained(&page);
    assert_eq!(
        (page.texts(".texts del"), page.texts(".texts ins")),
        (vec!["Monday".into()], vec!["Tuesday".into()])
    );
    assert!(page.text(".common").contains("of this document is in the other"), "{}", page.text(".common"));
    page.click(".matches .actions a");
    page.wait("document.querySelector('.document h2')?.innerText === 'two'");
    assert_eq!(page.script("return document.querySelector('#find-id').value"), "two");
    // An id that no path can name.
    look_up(&page, ".");
    assert_eq!(page.texts(".matches .id"), ["two", "one"]);
    page.go_back();
    page.wait("document.querySelector('.document h2')?.innerText === 'two'");
    look_up(&page, "lone");
    assert_eq!(page.texts("#find-answer h2"), ["lone", "No document is near this one"]);
    page.draw("a-document");
    assert_eq!(page.console(&[]), [""; 0]);
    page.fill("#find-id", "nobody");
    page.click("#id-form [type=submit]");
    page.wait_for("#find-answer .problem");
    assert_eq!(page.text("#find-answer .problem h2"), "No such document");
    assert_eq!(page.console(&[404]), [""; 0]);
}

#[test]
fn a_document_is_removed_after_a_question() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let keys = ["read", "read,admin"].map(|scopes| add_key(&file, &scopes.replace(',', "-"), scopes, ""));
    let writer = add_key(&file, "writer", "write", "");
    let worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    let agent: ureq::Agent = ureq::Agent::config_builder().build().into();
    let request = agent.post(format!("{}/v1/documents", worker.base()));
    let document = json!({ "id": "a", "text": TEXT }).to_string();
    request.header("Authorization", format!("Bearer {writer}")).send(document.as_bytes()).unwrap();
    for (n, key) in keys.iter().enumerate() {
        page.open(worker.base());
        page.script("sessionStorage.clear()");
        page.open(&format!("{}/?id=a", worker.base()));
        page.wait_for("#key-form");
        page.fill("#key", key);
        page.press(&[key::ENTER]);
        page.wait_for(".document h2");
        assert_eq!(page.count(".remove"), n as u64, "only a key that may remove is offered to");
    }
    let is_there = || {
        page.script(
        "const { status } = await fetch('v1/documents/a', { headers: { Authorization: `Bearer ${sessionStorage.getItem('pigeonhole.key')}` } }); return status",
    )
    };
    for leave in [true, false] {
        page.click(".remove");
        page.wait_for(".document .no, #find-answer .no");
        assert_eq!(
            page.script("return document.activeElement.className"),
            "no",
            "the safe answer has the focus"
        );
        assert!(page.text("#find-answer .problem").contains("Remove a from the index, for everybody?"));
        if leave {
            page.press(&[key::ESCAPE]);
        } else {
            page.click("#find-answer .no");
        }
        page.wait("!document.querySelector('#find-answer .no')");
        assert_eq!(is_there(), 200);
    }
    page.click(".remove");
    page.click("#find-answer .yes");
    page.wait("document.querySelector('#find-answer').innerText.includes('It is removed.')");
    assert_eq!(is_there(), 404);
    assert_eq!(page.console(&[401, 404]), [""; 0]);
}
