//! Looking around in an index: lists of documents, documents near a stored one, what comes nearest
//! where nothing is near, and by what a document is found.

use serde_json::{Value, json};

use super::keys::{add_key, key_file};
use super::{TEXT, is_problem};
use crate::support::{Worker, json_lines, run, run_with_input};

const OTHER: &str =
    "Astronomers at the mountain observatory have finished a survey of the northern sky after nine years.";

fn ids(listed: &Value) -> Vec<&str> {
    listed.as_array().unwrap().iter().map(|document| document["id"].as_str().unwrap()).collect()
}

/// Indexes documents with the indexer, one call for each source.
fn indexed(store: &str, more: &[&str], sources: &[(&str, &[(&str, &str)])]) {
    for (source, documents) in sources {
        let args = [&["index", "-q", "--store", store, "--source", source], more, &["-"]].concat();
        run_with_input("indexer", args, json_lines(documents.iter().copied()).as_bytes()).expect(0);
    }
}

#[test]
fn the_latest_documents_are_listed_with_their_beginnings() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("{OTHER} {}", "And the sky is large. ".repeat(30));
    let sources: [(&str, &[(&str, &str)]); 2] = [("wire-7", &[("a", TEXT)]), ("crawl", &[("b", &long)])];
    for (texts, first) in [("zstd", Some(300)), ("none", None)] {
        let store = format!("embedded:{}/{texts}", folder.path().to_str().unwrap());
        indexed(&store, &["--texts", texts], &sources);
        let worker = Worker::start(&store, &[]);
        let (status, listed) = worker.get("/v1/documents");
        assert_eq!(status, 200, "{listed}");
        assert_eq!(ids(&listed["documents"]), ["b", "a"]);
        assert_eq!((&listed["are_latest"], &listed["n_read"]), (&json!(true), &json!(2)));
        assert_eq!(listed["sources"], json!(["crawl", "wire-7"]));
        let beginning = listed["documents"][0]["beginning"].as_str();
        assert_eq!(beginning.map(|text| text.chars().count()), first);
        assert!(beginning.is_none_or(|text| long.starts_with(text)), "{beginning:?}");
        assert_eq!(ids(&worker.get("/v1/documents?limit=1").1["documents"]), ["b"]);
        let has_text = worker.get("/v1/documents/a").1["has_text"].as_bool();
        assert_eq!(has_text, Some(texts == "zstd"));
        assert_eq!(worker.get("/v1/documents/a/text").0 == 200, texts == "zstd");
        // A gap after the last write is none in the list.
        worker.delete("/v1/documents/b");
        assert_eq!(ids(&worker.get("/v1/documents").1["documents"]), ["a"]);
        for bad in ["limit=0", "limit=101", "limit=x", "limit=", "page=2", "limit=1&limit=2"] {
            is_problem(worker.get(&format!("/v1/documents?{bad}")), 400, "bad-request");
        }
    }
}

#[test]
fn documents_near_a_document() {
    let worker = Worker::start("memory:", &["--min-similarity", "0.7"]);
    let near = |asked: Value| worker.post("/v1/query", &asked);
    is_problem(near(json!({ "id": "a" })), 404, "no-such-document");
    let edited = |word: &str| TEXT.replace("Monday", word);
    // In an index that keeps what is not near: an indexer's.
    let folder = tempfile::tempdir().unwrap();
    for texts in ["zstd", "none"] {
        let store = format!("embedded:{}/{texts}", folder.path().to_str().unwrap());
        let documents = [("a", TEXT), ("7", TEXT), ("c", &edited("Tuesday")), ("d", OTHER)];
        indexed(&store, &["--texts", texts], &[("s", &documents)]);
        let worker = Worker::start(&store, &[]);
        let near = |asked: Value| worker.post("/v1/query", &asked).1;
        let found = near(json!({ "id": "a" }));
        assert_eq!((ids(&found["matches"]), &found["n_matches"]), (vec!["7", "c"], &json!(2)), "{found}");
        assert_eq!(found["matches"][0]["similarity"], 1.0);
        assert_eq!(found["matches"][1]["exact"], texts == "zstd", "{found}");
        let by_text = near(json!({ "text": TEXT }));
        assert_eq!(by_text["matches"][2], found["matches"][1], "as near as by the text");
        // An id may be an integer, and the limit is one of others.
        for (limit, listed) in [(0, vec![]), (1, vec!["a"]), (2, vec!["a", "c"])] {
            let found = near(json!({ "id": 7, "limit": limit }));
            assert_eq!((ids(&found["matches"]), &found["n_matches"]), (listed, &json!(2)), "{found}");
        }
        assert_eq!(near(json!({ "id": "d" }))["n_matches"], 0);
        let lines = b"{\"id\": \"a\", \"limit\": 0}\n{\"id\": \"x\"}\n{\"id\": \"d\", \"below\": 3}\n";
        let lines = worker.post_lines("/v1/query:batch", lines).1;
        assert_eq!((&lines[0]["n_matches"], &lines[1]["status"]), (&json!(2), &json!(404)), "{lines:?}");
        assert_eq!(lines[2]["nearest_below"], json!([]));
    }
    for both in [json!({ "id": "a", "text": TEXT }), json!({ "id": "", "limit": 1 }), json!({})] {
        is_problem(near(both), 400, "bad-request");
    }
}

/// Where nothing is near, the documents that were compared come with their counted similarities.
#[test]
fn the_nearest_of_what_is_not_near() {
    let worker = Worker::start("memory:", &["--same-numbers"]);
    let with_number = |n: u32| format!("{TEXT} It costs {n} crowns.");
    worker.post("/v1/documents", &json!({ "id": "a", "text": with_number(7) }));
    let query = |asked: Value| worker.post("/v1/query", &asked).1;
    let other = query(json!({ "text": with_number(9), "below": 2 }));
    assert_eq!((&other["n_matches"], ids(&other["nearest_below"])), (&json!(0), vec!["a"]), "{other}");
    let nearest = &other["nearest_below"][0];
    assert_eq!((&nearest["exact"], &nearest["numbers_differ"]), (&json!(true), &json!(true)));
    assert!(nearest["similarity"].as_f64().unwrap() > 0.9, "{nearest}");
    // A bound of the question's own.
    let edited = with_number(7).replace("Monday", "Tuesday");
    let strict = query(json!({ "text": edited, "below": 2, "min_similarity": 0.99 }));
    let pair = json!({ "a": { "text": edited }, "b": { "id": "a" } });
    assert_eq!(strict["nearest_below"][0]["similarity"], worker.post("/v1/compare", &pair).1["similarity"]);
    // Not asked for, or something is near.
    assert!(query(json!({ "text": with_number(9) })).get("nearest_below").is_none());
    let near = query(json!({ "text": edited, "below": 2 }));
    assert!(near["n_matches"] == 1 && near.get("nearest_below").is_none(), "{near}");
    let far = query(json!({ "text": "Bees sleep in winter, and nobody has written of that.", "below": 2 }));
    assert_eq!(far["nearest_below"], json!([]));
    let figures = worker.get_text("/metrics");
    assert!(
        figures.contains("pigeonhole_query_match_similarity_count 1\n"),
        "only of what is near: {figures}"
    );
    is_problem(worker.post("/v1/query", &json!({ "text": TEXT, "below": 11 })), 400, "bad-request");
    let classic = Worker::start("memory:", &["--profile", "classic", "--verify", "off"]);
    assert_eq!(classic.post("/v1/query", &json!({ "text": TEXT, "below": 2 })).1["nearest_below"], json!([]));
}

#[test]
fn a_comparison_says_by_what_a_document_is_found_and_which_numbers_differ() {
    let worker = Worker::start("memory:", &[]);
    let with_number = |n: u32| format!("{TEXT} It costs {n} crowns.");
    worker.post("/v1/documents", &json!({ "id": "a", "text": with_number(7) }));
    let compare =
        |b: Value| worker.post("/v1/compare", &json!({ "a": { "id": "a" }, "b": b, "differences": true })).1;
    let near = compare(json!({ "text": with_number(90) }));
    assert_eq!(near["numbers"], json!([{ "a": ["7"], "b": ["90"] }]), "{near}");
    let by_grams = near["found_by"].as_array().unwrap().iter().find(|by| by["filed"] == "long").unwrap();
    assert!(by_grams["shared"].as_array().is_some_and(|shared| !shared.is_empty()), "{near}");
    let sides: Vec<_> = near["differences"].as_array().unwrap().iter().map(|s| &s["side"]).collect();
    assert_eq!(sides, ["both", "a", "b", "both"], "the text of a document is at hand");
    let same = compare(json!({ "id": "a" }));
    let tables = json!({ "filed": "simhash", "shared": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "of": 10 });
    assert_eq!((&same["found_by"][0], &same["numbers"]), (&tables, &json!([])));
    let far = compare(json!({ "text": OTHER }));
    assert_eq!((&far["is_near"], &far["found_by"]), (&json!(false), &json!([])), "{far}");
    // A worker that gives out no texts shows nothing of them, and counts all the same.
    let silent = Worker::start("memory:", &["--recent-texts-bytes-max", "0"]);
    silent.post("/v1/documents", &json!({ "id": "a", "text": with_number(7) }));
    let pair = json!({ "a": { "id": "a" }, "b": { "text": with_number(90) }, "differences": true });
    let hidden = silent.post("/v1/compare", &pair).1;
    for field in ["differences", "terms", "numbers"] {
        assert_eq!(hidden[field], Value::Null, "{field}");
    }
    assert_eq!((&hidden["exact"], &hidden["numbers_differ"]), (&json!(true), &json!(true)));
    assert_eq!(hidden["similarity"], near["similarity"]);
    assert_eq!(silent.get("/v1/documents").1["documents"][0]["beginning"], Value::Null);
}

/// The key decides on what the page offers, and the operator on where documents are.
#[test]
fn the_index_says_what_a_key_may_and_where_documents_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = key_file(&folder);
    let reader = add_key(&file, "reader", "read", "");
    let address = "https://wiki.example/page/{id}?from=dups";
    let worker = Worker::start("memory:", &["--document-url", address]);
    let index = worker.get("/v1/index").1;
    assert_eq!(index["document_url"], address);
    assert_eq!(index["scopes"], json!(["read", "write", "admin"]));
    let worker = Worker::start("memory:", &["--keys", file.to_str().unwrap()]);
    let agent: ureq::Agent = ureq::Agent::config_builder().build().into();
    let request = agent.get(format!("{}/v1/index", worker.base()));
    let mut answer = request.header("Authorization", format!("Bearer {reader}")).call().unwrap();
    let index: Value = serde_json::from_str(&answer.body_mut().read_to_string().unwrap()).unwrap();
    assert_eq!((&index["scopes"], &index["document_url"]), (&json!(["read"]), &Value::Null));
    for (address, part) in [
        ("wiki.example/{id}", "begins with https://"),
        ("javascript:alert('{id}')", "begins with https://"),
        ("https://wiki.example/page", "write {id}"),
        ("https://{id}.example/", "the server's name"),
        ("https:///{id}", "the server's name"),
        ("https://wiki.example/a page/{id}", "no spaces"),
    ] {
        let said = run("query-worker", ["--print-config", "--document-url", address]).expect(2).stderr;
        assert!(
            said.contains(part) && said.contains("'https://wiki.example/page/{id}'"),
            "{address}: {said}"
        );
    }
}
