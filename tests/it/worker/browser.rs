//! The page at `/`, in a real browser.

mod clusters;
mod documents;
mod firefox;
mod looks;
mod opened;
mod pictures;
mod trouble;
mod visiting;

use serde_json::{Value, json};

use super::TEXT;
use crate::support::{Browser, Worker, browser, key, news};

/// Returns the text with a changed word, two bits away.
fn edited() -> String {
    TEXT.replace("Monday", "Tuesday")
}

/// Looks for a text on the page, and waits for the answer.
fn find(page: &Browser, text: &str) {
    page.paste("#find-text", text);
    page.click("#find-form [type=submit]");
    page.wait("document.querySelector('#find-answer').children.length && !document.querySelector('#find-answer[aria-busy]')");
}

/// Waits for the explanation of the first match.
fn explained(page: &Browser) {
    page.wait("document.querySelector('.matches details .explained')?.children.length > 1");
    page.wait("!document.querySelector('.explained[aria-busy]')");
}

/// Posts the shipped corpus. Duplicates and texts without features are not kept.
fn post_news(worker: &Worker) {
    let lines = std::fs::read_to_string(news()).unwrap();
    let document = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        format!("{}\n", json!({ "id": record["id"], "text": record["text"], "source": "wire-7" }))
    };
    let lines: String = lines.lines().map(document).collect();
    worker.post_lines("/v1/documents:batch", lines.as_bytes());
}

#[test]
fn a_text_is_found_with_what_differs() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    worker.post("/v1/documents", &json!({ "id": "first", "text": TEXT, "source": "wire-7" }));
    post_news(&worker);
    page.open(worker.base());
    assert_eq!(page.text("#panel-find h2, #find-form label"), "Which documents are like this text?");
    find(&page, &edited());
    let answer = worker.post("/v1/query", &json!({ "text": edited() })).1;
    let nearest = &answer["matches"][0];
    assert_eq!(page.text("#find-answer h2"), "1 document with 80 % or more in common");
    assert_eq!(page.texts(".matches .id"), [nearest["id"].as_str().unwrap()]);
    assert_eq!(page.texts(".matches .source"), ["wire-7"]);
    assert_eq!(
        page.script("return document.querySelector('.matches time').dateTime"),
        nearest["inserted_at"]
    );
    let similarity = nearest["similarity"].as_f64().unwrap();
    assert!((0.8..1.0).contains(&similarity), "{similarity}");
    assert_eq!(page.text(".nearness"), format!("{:.1} % in common", (1000.0 * similarity).floor() / 10.0));
    let distance = nearest["distance"].as_u64().unwrap();

    explained(&page);
    let pair = json!({ "a": { "text": edited() }, "b": { "text": TEXT } });
    let compared = worker.post("/v1/compare", &pair).1;
    let counted = (1000.0 * compared["similarity"].as_f64().unwrap()).floor() / 10.0;
    assert_eq!(page.text(".common strong"), format!("{counted:.1} %"));
    assert_eq!(page.count(".common .note"), 0, "it has no numbers");
    assert_eq!(page.texts(".texts del"), ["Tuesday"]);
    assert_eq!(page.texts(".texts ins"), ["Monday"]);
    let panes = page.script("return [...document.querySelectorAll('.texts')].map((e) => e.textContent)");
    assert_eq!(panes, json!([edited(), TEXT]), "the one text beside the other");
    assert_eq!(page.script("return document.querySelector('.bit-table').checkVisibility()"), false);
    page.click(".why > summary");
    page.wait_for(".bit-table");
    assert_eq!(page.count(".bit-table tbody tr"), distance);
    let first = &compared["bits"][0];
    let margin = format!("{} by {:.1} %", first["value_a"], 100.0 * first["margin_a"].as_f64().unwrap());
    assert_eq!(page.text(".bit-table tbody td"), margin);
    let decides = page.text(".bit-table tbody");
    assert!(decides.contains("monday") && decides.contains("tuesday"), "{decides}");
    assert!(page.text("#status").starts_with("1 document with 80 % or more in common, the nearest with"));
    assert_eq!(page.console(&[]), [""; 0]);
}

/// The index verifies nothing, so the page shows bits.
#[test]
fn an_index_that_verifies_nothing() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &["--profile", "classic", "--verify", "off"]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    page.open(worker.base());
    find(&page, &edited());
    assert_eq!(page.text("#find-answer h2"), "1 document within 3 bits");
    let distance =
        worker.post("/v1/query", &json!({ "text": edited() })).1["matches"][0]["distance"].as_u64().unwrap();
    assert!(page.text(".nearness").starts_with(&distance.to_string()), "{}", page.text(".nearness"));
    assert_eq!(page.count("summary .strip i"), 64);
    assert_eq!(page.count("summary .strip > span"), 5, "the blocks of 5c2");
    assert_eq!(page.count("summary .strip .differs"), distance);
    assert!(page.text("#find-bound").starts_with("At most"), "{}", page.text("#find-bound"));
    explained(&page);
    assert_eq!(page.console(&[]), [""; 0]);
}

/// Without simhashes there are no bits to show.
#[test]
fn an_index_without_simhashes() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &["--profile", "minhash"]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": format!("{TEXT} It costs 7 crowns.") }));
    page.open(worker.base());
    find(&page, &format!("{TEXT} It costs 9 crowns."));
    explained(&page);
    let numbers = page.text(".common .note");
    assert!(numbers.starts_with("The numbers in them differ:") && numbers.contains("9 → 7"), "{numbers}");
    assert_eq!((page.count(".why"), page.count(".found-by"), page.count(".bits")), (1, 1, 0));
    page.click("#tab-index");
    page.wait_for("#index-answer dl");
    page.click(".how > summary");
    assert!(page.text("#index-answer").contains("runs of characters (minhash)"));
    assert_eq!(page.count(".tables"), 0);
    assert_eq!(page.console(&[]), [""; 0]);
}

/// An indexer filled the index: the worker has no text, and the page asks for it.
#[test]
fn a_text_that_nobody_has_is_pasted() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &["--recent-texts-bytes-max", "0"]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    page.open(worker.base());
    find(&page, &edited());
    explained(&page);
    let said = page.text(".paste");
    assert!(said.contains("does not have its text") && said.contains("Paste it"), "{said}");
    page.click(".why > summary");
    page.wait_for(".bit-table");
    assert!(!page.texts(".bit-table tbody .term").is_empty(), "the terms of the text at hand are known");
    page.paste(".paste textarea", TEXT);
    page.click(".paste [type=submit]");
    page.wait_for(".paste ins");
    assert_eq!(
        (page.texts(".texts del"), page.texts(".texts ins")),
        (vec!["Tuesday".into()], vec!["Monday".into()])
    );
    assert_eq!(page.count(".paste .note"), 0);
    page.paste(".paste textarea", "A text about bees, and what they do in winter.");
    page.click(".paste [type=submit]");
    page.wait_for(".paste .note");
    assert!(page.text(".paste .note").contains("not quite the text"), "{}", page.text(".paste .note"));
    assert_eq!(page.console(&[]), [""; 0]);
}

#[test]
fn two_texts_are_compared() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    page.open(&format!("{}/#compare", worker.base()));
    page.paste("#compare-a", "你妈妈喊你回家吃饭哦，回家罗回家罗");
    page.paste("#compare-b", "你妈妈叫你回家吃饭啦，回家罗回家罗");
    page.click("#compare-form [type=submit]");
    page.wait_for(".verdict");
    assert_eq!(page.text(".verdict h2"), "50.0 % in common: not near-duplicates");
    assert!(page.text(".verdict p").contains("80 % or more"), "{}", page.text(".verdict p"));
    assert!(
        page.text(".verdict").contains("66.6 % of the one text is in the other"),
        "{}",
        page.text(".verdict")
    );
    page.click(".why > summary");
    page.wait_for(".bit-table");
    assert!(page.text(".bits p").starts_with("10 of 64 bits differ. "), "{}", page.text(".bits p"));
    assert_eq!(
        (page.texts(".texts del").join(" "), page.texts(".texts ins").join(" ")),
        ("喊 哦".into(), "叫 啦".into())
    );
    assert_eq!(page.count(".bit-table tbody tr"), 8);
    page.click(".bits button");
    assert_eq!((page.count(".bit-table tbody tr"), page.count(".bits button")), (10, 0));
    // The README shows the same for `pigeonhole compare`.
    let first = page.texts(".bit-table tbody tr:first-child > *");
    assert_eq!(&first[1..3], ["0 by 13.4 %", "1 by 4.0 %"]);
    assert!(first[3].contains('哦') && first[4].contains('啦'), "{first:?}");

    page.paste("#compare-b", "你妈妈喊你回家吃饭哦。回家罗回家罗");
    page.click("#compare-form [type=submit]");
    page.wait_for(".verdict.near");
    assert_eq!(page.text(".verdict h2"), "100 % in common: near-duplicates");
    assert_eq!(page.texts(".texts ins"), ["。"]);
    assert_eq!(page.console(&[]), [""; 0]);
}

#[test]
fn the_figures_of_the_index() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &["--scheme", "t11", "--retain", "2d"]);
    post_news(&worker);
    page.open(worker.base());
    page.click("#tab-index");
    page.wait_for("#index-answer dl");
    let first = page.text("#index-answer");
    assert!(first.contains("wire-7") && first.contains("kept: shares are counted"), "{first}");
    let identity = worker.get("/v1/index").1["identity"].as_str().unwrap().to_owned();
    assert!(!first.contains(&identity), "hashes come last, folded");
    page.click(".how > summary");
    let said = page.text("#index-answer");
    assert!(said.contains(&identity), "{said}");
    let index = worker.get("/v1/index").1;
    let documents = index["n_documents"].as_u64().unwrap();
    for part in [
        &format!("{documents}"),
        "memory:",
        "for 2 days",
        "t11: 11 tables",
        "64 MiB of memory",
        "80 % or more in common",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for (field, value) in index["recipe"].as_object().unwrap() {
        assert!(
            said.contains(&field.replace('_', " ")) && said.contains(value.as_str().unwrap()),
            "{field}: {said}"
        );
    }
    assert_eq!(page.count(".tables .strip"), 11);
    worker.post("/v1/documents", &json!({ "text": TEXT }));
    page.click("#index-again");
    page.wait(&format!("document.querySelector('#index-answer dd').innerText === '{}'", documents + 1));
    assert_eq!(page.console(&[]), [""; 0]);
}

/// A text, an id or a source is never markup.
#[test]
fn what_looks_like_markup_is_text() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    let bomb = "<img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>";
    let id = format!("{bomb}/../%2e\u{202e}?#");
    let text = format!("{bomb} {TEXT}");
    worker.post("/v1/documents", &json!({ "id": id, "text": text, "source": bomb }));
    page.open(worker.base());
    // The fingerprint is the same, but the texts differ in the middle.
    find(&page, &text.replace("<script>", "<SCRIPT>"));
    page.wait_for(".matches");
    explained(&page);
    // In Firefox the text that is seen lacks what turns its direction.
    let whole =
        |selector: &str| page.script(&format!("return document.querySelector({selector:?}).textContent"));
    assert_eq!((whole(".matches .id"), whole(".matches .source")), (json!(id), json!(bomb)));
    let marked = (page.texts(".texts del"), page.texts(".texts ins"));
    assert_eq!(marked, (vec!["SCRIPT".into()], vec!["script".into()]));
    assert_eq!(page.count("#find-answer img, #find-answer script"), 0);
    assert_eq!(page.script("return window.hit ?? null"), Value::Null);
    let to_markup =
        "try { document.body.innerHTML = '<b>'; return 'markup' } catch (error) { return error.name }";
    assert_eq!(
        page.script(to_markup),
        "TypeError",
        "the policy keeps any script of the page from making markup"
    );
    let console = page.console(&[]);
    assert!(console.len() == 1 && console[0].to_lowercase().contains("trusted"), "{console:?}");
}

#[test]
fn all_by_the_keyboard() {
    let Some(page) = browser() else { return };
    let worker = Worker::start("memory:", &[]);
    let text = "The ferry leaves at nine";
    worker.post("/v1/documents", &json!({ "id": "a", "text": text }));
    page.open(worker.base());
    let focused = || {
        page.script("return document.activeElement.id || document.activeElement.tagName")
            .as_str()
            .unwrap()
            .to_owned()
    };
    let outlined = "return getComputedStyle(document.activeElement).outlineStyle";
    page.press(&[key::TAB]);
    assert_eq!((focused(), page.script(outlined)), ("tab-find".into(), json!("solid")));
    for (pressed, tab) in [(key::RIGHT, "compare"), (key::END, "index"), (key::RIGHT, "find")] {
        page.press(&[pressed]);
        assert_eq!(focused(), format!("tab-{tab}"));
        let hash = if tab == "find" { String::new() } else { format!("#{tab}") };
        assert_eq!(page.script("return location.hash"), hash);
        assert_eq!(page.count("[role=tab][aria-selected=true]"), 1);
        page.wait_for(&format!("#panel-{tab}"));
        assert_eq!(page.script("return [...document.querySelectorAll('[role=tabpanel]')].filter((e) => e.checkVisibility()).length"), 1);
    }
    page.press(&[key::TAB]);
    assert_eq!((focused(), page.script(outlined)), ("find-text".into(), json!("solid")));
    for letter in text.chars().map(String::from) {
        page.press(&[&letter]);
    }
    page.press(&[key::CONTROL, key::ENTER]);
    page.wait_for(".matches");
    explained(&page);
    for _ in 0..6 {
        page.press(&[key::TAB]);
    }
    assert_eq!((focused(), page.script(outlined)), ("SUMMARY".into(), json!("solid")));
    page.press(&[key::ENTER]);
    page.wait("!document.querySelector('.matches details').open");
    assert_eq!(page.script("return new URLSearchParams(location.search).get('q')"), text);
    assert_eq!(page.console(&[]), [""; 0]);
}
