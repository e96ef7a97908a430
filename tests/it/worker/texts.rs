//! `GET /v1/documents/{id}/text`: the texts that the index keeps and those that a worker received
//! lately, and `differences` of `/v1/compare`.

use serde_json::json;

use super::{TEXT, is_problem};
use crate::support::{Worker, json_lines, run, run_with_input};

const OTHER: &str =
    "Astronomers at the mountain observatory have finished a survey of the northern sky after nine years.";

#[test]
fn a_text_comes_back_until_its_document_goes() {
    let worker = Worker::start("memory:", &[]);
    let long = format!("{TEXT}\n微博 \u{202e}<b>&amp;</b>\n").repeat(50);
    for (id, path, text) in [("a", "a", TEXT), ("a/text", "a%2Ftext", OTHER), ("c", "c", &long)] {
        let path = format!("/v1/documents/{path}");
        is_problem(worker.get(&format!("{path}/text")), 404, "no-such-document");
        let (status, inserted) = worker.post("/v1/documents", &json!({ "id": id, "text": text }));
        assert_eq!(status, 201, "{inserted}");
        let expected = json!({ "id": id, "fingerprint": inserted["fingerprint"], "text": text });
        assert_eq!(worker.get(&format!("{path}/text")), (200, expected));
        assert_eq!(worker.get("/v1/index").1["n_recent_texts"], 1);
        worker.delete(&path);
        is_problem(worker.get(&format!("{path}/text")), 404, "no-such-document");
        assert_eq!(worker.get("/v1/index").1["n_recent_texts"], 0);
    }
}

/// No text of a duplicate is kept, and only the newer text of a replaced document.
#[test]
fn only_what_is_in_the_index_is_kept() {
    let worker = Worker::start("memory:", &[]);
    let lines = json_lines([("a", TEXT), ("b", &TEXT.to_uppercase()), ("c", OTHER), ("d", " ")]);
    worker.post_lines("/v1/documents:batch", lines.as_bytes());
    let text = |id: &str| worker.get(&format!("/v1/documents/{id}/text"));
    assert_eq!(text("a").1["text"], TEXT);
    is_problem(text("b"), 404, "no-such-document");
    assert_eq!(text("c").1["text"], OTHER);
    assert_eq!(worker.get("/v1/index").1["n_recent_texts"], 2);
    let newer =
        format!("{} By lamplight.", OTHER.replace("mountain", "island").replace("sky", "sea and its shores"));
    let (_, replaced) = worker.post("/v1/documents", &json!({ "id": "a", "text": newer }));
    assert_eq!(replaced["outcome"], "replaced", "{replaced}");
    assert_eq!(text("a").1["text"], newer);
    let figures = worker.get_text("/metrics");
    assert!(figures.contains("pigeonhole_recent_texts 2\n"), "{figures}");
}

/// Changes by another program count: a kept text is not returned for a changed document.
#[test]
fn others_replace_and_remove() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    run_with_input("indexer", ["index", "-q", "--store", &store, "--texts", "none", "-"], b"").expect(0);
    let worker = Worker::start(&store, &[]);
    for (id, text) in [("a", TEXT), ("b", OTHER)] {
        assert_eq!(worker.post("/v1/documents", &json!({ "id": id, "text": text })).0, 201);
    }
    let text = |id: &str| worker.get(&format!("/v1/documents/{id}/text"));
    let input = json_lines([("a", "Now something entirely different, about bees and honey.")]);
    run_with_input("indexer", ["index", "-q", "--store", &store, "-"], input.as_bytes()).expect(0);
    is_problem(text("a"), 404, "no-text");
    run("pigeonhole", ["remove", "--store", &store, "b"]).expect(0);
    is_problem(text("b"), 404, "no-such-document");
    assert_eq!(worker.get("/v1/index").1["n_recent_texts"], 0);
}

/// Texts in the index outlive the worker; one that gives out no texts gives out none of these.
#[test]
fn the_index_keeps_texts() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let input = json_lines([("a", TEXT)]);
    run_with_input("indexer", ["index", "-q", "--store", &store, "-"], input.as_bytes()).expect(0);
    let worker = Worker::start(&store, &[]);
    assert_eq!(worker.get("/v1/documents/a/text").1["text"], TEXT);
    drop(worker);
    let worker = Worker::start(&store, &["--recent-texts-bytes-max", "0"]);
    is_problem(worker.get("/v1/documents/a/text"), 404, "no-text");
}

#[test]
fn there_is_only_so_much_room() {
    let worker = Worker::start("memory:", &["--recent-texts-bytes-max", "1000", "--texts", "none"]);
    let texts = [
        TEXT.to_owned(),
        OTHER.to_owned(),
        format!("{OTHER} {TEXT}"),
        TEXT.replace("ferr", "night train").replace("winter of repairs", "long strike"),
    ];
    for (n, text) in texts.iter().enumerate() {
        assert_eq!(worker.post("/v1/documents", &json!({ "id": format!("d{n}"), "text": text })).0, 201);
    }
    is_problem(worker.get("/v1/documents/d0/text"), 404, "no-text");
    assert_eq!(worker.get("/v1/documents/d3/text").1["text"], texts[3]);

    let worker = Worker::start("memory:", &["--recent-texts-bytes-max", "0"]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    let answer = worker.get("/v1/documents/a/text");
    assert!(answer.1["detail"].as_str().unwrap().contains("--recent-texts-bytes-max 0"), "{}", answer.1);
    is_problem(answer, 404, "no-text");
}

#[test]
fn differences_are_marked_where_that_is_asked_for() {
    let worker = Worker::start("memory:", &[]);
    let (a, b) = ("老城区的花园 opened on Monday", "老城区花园 opens on Monday");
    let mut pair = json!({ "a": { "text": a }, "b": { "text": b } });
    assert_eq!(worker.post("/v1/compare", &pair).1["differences"], json!(null));
    pair["differences"] = json!(true);
    let expected = json!([
        { "side": "both", "text": "老城区" },
        { "side": "a", "text": "的" },
        { "side": "both", "text": "花园 " },
        { "side": "a", "text": "opened" },
        { "side": "b", "text": "opens" },
        { "side": "both", "text": " on Monday" },
    ]);
    assert_eq!(worker.post("/v1/compare", &pair).1["differences"], expected);
    worker.post("/v1/documents", &json!({ "id": "a", "text": a }));
    pair["a"] = json!({ "id": "a" });
    assert_eq!(worker.post("/v1/compare", &pair).1["differences"], expected, "its text is at hand");
}
