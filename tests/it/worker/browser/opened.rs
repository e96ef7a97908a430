//! A document that was found, opened: one share, differences one by one, numbers, by what it was
//! found, and where it is.

use serde_json::json;

use super::{TEXT, edited, explained, find};
use crate::support::{Worker, browser, json_lines, run_with_input};

/// Before, the row said 85 % and the opened document 88.6 %.
#[test]
fn there_is_one_share() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    for texts in ["zstd", "none"] {
        let store = format!("embedded:{}/{texts}", folder.path().to_str().unwrap());
        let args = ["index", "-q", "--store", &store, "--texts", texts, "-"];
        run_with_input("indexer", args, json_lines([("a", TEXT)]).as_bytes()).expect(0);
        let worker = Worker::start(&store, &[]);
        let far =
            format!("{TEXT} A longer text than these is counted, and its share is estimated elsewhere.");
        page.open(worker.base());
        find(&page, &edited());
        explained(&page);
        let is_kept = texts == "zstd";
        let row = page.text(".nearness");
        assert_eq!(
            (row.starts_with("about "), page.text("#find-answer").contains("an estimate")),
            (!is_kept, !is_kept)
        );
        assert_eq!(row, format!("{} in common", page.text(".common strong")));
        // This worker has a text of its own, which counts from then on.
        worker.post("/v1/documents", &json!({ "id": "b", "text": far }));
        find(&page, &far.replace("Monday", "Tuesday"));
        explained(&page);
        let row = page.text(".nearness");
        assert!(!row.starts_with("about ") && row.ends_with(" % in common"), "{row}");
        assert_eq!(row, format!("{} in common", page.text(".common strong")));
        assert_eq!(page.console(&[]), [""; 0], "nothing is asked for that is not there");
    }
}

#[test]
fn differences_numbers_and_reasons() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    let text = format!("{TEXT} {TEXT} {TEXT} A ticket costs 7 crowns, and 12 with a bicycle. {TEXT} {TEXT}");
    worker.post("/v1/documents", &json!({ "id": "a", "text": text }));
    page.open(worker.base());
    let asked = text.replacen("Monday", "Tuesday", 1).replace("7 crowns, and 12", "9 crowns, and 12");
    find(&page, &asked);
    explained(&page);
    let said = page.text(".common");
    assert!(said.contains("of your text is in the document, and "), "{said}");
    assert_eq!(page.texts(".numbers li"), ["9 → 7"]);
    assert_eq!(page.count(".two .texts"), 2);
    assert!(page.text(".differences").contains("2 places differ"), "{}", page.text(".differences"));
    let current = || (page.texts(".texts del.current"), page.texts(".texts ins.current"));
    let one = |a: &str, b: &str| (vec![a.to_owned()], vec![b.to_owned()]);
    for (button, there) in [
        (".next", one("Tuesday", "Monday")),
        (".next", one("9", "7")),
        (".next", one("Tuesday", "Monday")),
        (".previous", one("9", "7")),
    ] {
        page.click(button);
        assert_eq!(current(), there, "{button}");
        let inside = "const pane = document.querySelector('.texts'); const [a, b] = [pane, pane.querySelector('.current')].map((e) => e.getBoundingClientRect()); \
                      return b.top >= a.top && b.bottom <= a.bottom";
        assert_eq!(page.script(inside), true, "it is in sight");
    }
    // In a narrow window the two are one text.
    page.resize(375, 800);
    page.wait("document.querySelectorAll('.differences .texts').length === 1");
    assert_eq!(current(), one("9", "7"), "the place stays");
    assert!(page.text(".texts").contains("97 crowns"), "{}", page.text(".texts"));
    page.resize(1280, 900);
    page.wait("document.querySelectorAll('.differences .texts').length === 2");
    page.click(".why > summary");
    let found = worker.post("/v1/compare", &json!({ "a": { "text": asked }, "b": { "id": "a" } })).1;
    let bands = found["found_by"].as_array().unwrap().iter().find(|by| by["filed"] == "long").unwrap();
    let n = bands["shared"].as_array().unwrap().len();
    let said = page.text(".found-by");
    assert!(said.contains(&format!("{n} of {} bands of character runs", bands["of"])), "{said}");
    page.draw("opened");
    assert_eq!(page.console(&[]), [""; 0]);
}

/// Ids that are addresses are links, others by the worker's rule; what looks like one is none.
#[test]
fn documents_are_links_to_where_they_are() {
    let Some(page) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let corpus =
        json_lines([("https://example.org/a?b=c", TEXT), ("javascript:alert(1)", TEXT), ("a b/$&", TEXT)]);
    let args = ["index", "-q", "--store", &store, "--texts", "none", "-"];
    run_with_input("indexer", args, corpus.as_bytes()).expect(0);
    let with = ["--document-url", "https://wiki.example/page/{id}?x={id}"];
    for (more, places) in [
        (
            &with[..],
            [
                "https://wiki.example/page/a%20b%2F%24%26?x=a%20b%2F%24%26",
                "https://example.org/a?b=c",
                "https://wiki.example/page/javascript%3Aalert(1)?x=javascript%3Aalert(1)",
            ],
        ),
        (&[], ["", "https://example.org/a?b=c", ""]),
    ] {
        let worker = Worker::start(&store, more);
        page.open(worker.base());
        find(&page, &edited());
        explained(&page);
        for (n, place) in (1..).zip(places) {
            let row = format!(".matches > li:nth-child({n})");
            if n > 1 {
                page.click(&format!("{row} summary"));
            }
            page.wait_for(&format!("{row} .paste"));
            let link = page.script(&format!("const a = document.querySelector('{row} a.place'); return a ? [a.href, a.rel] : ['', 'noopener noreferrer']"));
            assert_eq!(link, json!([place, "noopener noreferrer"]));
            // The text that the index does not keep is there as well.
            let there = page.text(&format!("{row} .paste"));
            assert_eq!(there.contains("it is at https://"), !place.is_empty(), "{there}");
        }
        assert_eq!(page.console(&[]), [""; 0]);
    }
}

/// A miss says what was compared, and shows what comes nearest, which opens like a hit.
#[test]
fn what_comes_nearest_where_nothing_is_near() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    page.open(worker.base());
    page.wait("document.querySelector('#find-nearness')?.options.length > 0");
    page.script("document.querySelector('#find-nearness').selectedIndex = 4");
    find(&page, &edited());
    assert_eq!(page.text("#find-answer h2"), "No document with 100 % in common");
    let asked = json!({ "text": edited(), "min_similarity": 1.0, "below": 5 });
    let answer = worker.post("/v1/query", &asked).1;
    let cost = &answer["cost"];
    let read = format!(
        "{} buckets of the index were read, with {} entries to compare.",
        cost["n_buckets"], cost["n_candidates"]
    );
    assert!(page.text(".none").contains(&read), "{read}: {}", page.text(".none"));
    let share = (1000.0 * answer["nearest_below"][0]["similarity"].as_f64().unwrap()).floor() / 10.0;
    assert_eq!(page.texts(".nearness"), [format!("{share:.1} % in common")]);
    page.click(".matches summary");
    explained(&page);
    assert_eq!(page.texts(".texts del"), ["Tuesday"]);
    page.draw("a-miss");
    find(&page, "Bees sleep in winter, and nobody has written about that here so far.");
    page.wait("document.querySelector('.none').innerText.includes('no document shares one with this text')");
    assert_eq!(page.count(".matches"), 0);
    assert_eq!(page.console(&[]), [""; 0]);
}
