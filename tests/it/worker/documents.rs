//! `/v1/documents`, `/v1/index` and the readiness of the worker.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{TEXT, is_problem};
use crate::support::Worker;

#[test]
fn a_document_comes_is_seen_and_goes() {
    let worker = Worker::start("memory:", &[]);
    for (id, path) in [
        ("a", "a"),
        ("https://example.org/?a=b#c", "https%3A%2F%2Fexample.org%2F%3Fa%3Db%23c"),
        ("微博 4711", "%E5%BE%AE%E5%8D%9A%204711"),
        ("100%", "100%25"),
        ("a+b:batch", "a+b:batch"),
    ] {
        let path = format!("/v1/documents/{path}");
        is_problem(worker.get(&path), 404, "no-such-document");
        let document = json!({ "id": id, "text": TEXT, "source": "wire-7" });
        let (status, inserted) = worker.post("/v1/documents", &document);
        assert_eq!((status, &inserted["id"]), (201, &json!(id)));
        let (status, stored) = worker.get(&path);
        assert_eq!((status, &stored["id"], &stored["source"]), (200, &json!(id), &json!("wire-7")));
        assert_eq!(stored["fingerprint"], inserted["fingerprint"]);
        assert!(stored["inserted_at"].as_str().is_some_and(|time| time.ends_with('Z')), "{stored}");
        assert_eq!(worker.delete(&path), (204, json!(null)));
        is_problem(worker.delete(&path), 404, "no-such-document");
        assert_eq!(worker.post("/v1/query", &json!({ "text": TEXT })).1["n_matches"], 0);
    }
    for path in ["%ff", "a%09b", "%00"] {
        is_problem(worker.get(&format!("/v1/documents/{path}")), 400, "bad-request");
        is_problem(worker.delete(&format!("/v1/documents/{path}")), 400, "bad-request");
    }
    is_problem(worker.get(&format!("/v1/documents/{}", "a".repeat(4097))), 400, "bad-request");
    is_problem(worker.get("/v1/documents/"), 404, "not-found");
    is_problem(worker.post("/v1/documents/a", &json!({})), 405, "method-not-allowed");
}

/// Ids made by the worker are unique, even if made at once, and sort by time.
#[test]
fn ids_are_made_where_there_are_none() {
    let worker = Worker::start("memory:", &[]);
    let ids: Vec<Vec<String>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let worker = &worker;
                let insert = move |n| {
                    let text = format!("{client}0{n}1 {client}2{n}3 {client}4{n}5");
                    let (status, inserted) = worker.post("/v1/documents", &json!({ "text": text }));
                    let id = inserted["id"].as_str().map(str::to_owned);
                    // A duplicate is not kept, so it has no name either.
                    assert_eq!(id.is_some(), status == 201, "{inserted}");
                    id
                };
                scope.spawn(move || (0..20).filter_map(insert).collect())
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    assert!(ids.iter().all(|ids| ids.is_sorted()), "{ids:?}");
    let different: BTreeSet<_> = ids.iter().flatten().collect();
    assert_eq!(different.len(), ids.iter().map(Vec::len).sum::<usize>());
    assert_eq!(worker.get("/v1/index").1["n_documents"], different.len());
    let (_, inserted) = worker.post("/v1/documents", &json!({ "text": TEXT }));
    assert!(different.iter().all(|id| id.as_str() < inserted["id"].as_str().unwrap()));
    let (status, duplicate) = worker.post("/v1/documents", &json!({ "text": TEXT }));
    assert_eq!((status, &duplicate["duplicate_of"]["id"]), (200, &inserted["id"]));
    assert_eq!(duplicate.get("id"), None);
}

#[test]
fn a_duplicate_says_why() {
    let worker = Worker::start("memory:", &[]);
    let (_, first) = worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT.repeat(3) }));
    let edited = TEXT.repeat(3) + " Tuesday";
    let (status, second) = worker.post("/v1/documents", &json!({ "id": "b", "text": edited }));
    assert_eq!((status, &second["outcome"]), (200, &json!("duplicate")), "{second}");
    let fingerprint = |of: &Value| u64::from_str_radix(of.as_str().unwrap(), 16).unwrap();
    let why = &second["duplicate_of"];
    assert_eq!((&why["id"], &why["fingerprint"]), (&json!("a"), &first["fingerprint"]));
    let bits = why["differing_bits"].as_array().unwrap();
    let differing = bits.iter().fold(0, |all, bit| all | 1 << bit.as_u64().unwrap());
    assert_eq!(differing, fingerprint(&first["fingerprint"]) ^ fingerprint(&second["fingerprint"]));
    assert_eq!(why["distance"], bits.len());
    let similarity = why["similarity"].as_f64().unwrap();
    assert!((0.8..1.0).contains(&similarity) && (similarity * 1e4).fract() < 1e-6, "{why}");
    is_problem(worker.get("/v1/documents/b"), 404, "no-such-document");
}

#[test]
fn the_index_says_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let worker = Worker::start(&store, &["--scheme", "t11", "--retain", "2d", "--max-distance", "2"]);
    worker.post("/v1/documents", &json!({ "text": TEXT }));
    let (status, index) = worker.get("/v1/index");
    assert_eq!(status, 200);
    for (field, expected) in [
        ("store", json!(store)),
        ("scheme", json!("t11")),
        ("profile", json!("full")),
        ("min_similarity", json!(0.8)),
        ("n_tables", json!(11)),
        ("n_buckets", json!(27)),
        ("max_distance", json!(2)),
        ("retain_seconds", json!(2 * 24 * 60 * 60)),
        ("n_documents", json!(1)),
    ] {
        assert_eq!(index[field], expected, "{index}");
    }
    assert_eq!(index["recipe"]["seed"], "0");
    assert_eq!(worker.get("/readyz"), (200, json!({ "status": "ready" })));
}

/// Clients take these ids for steps in the path, and would request another path.
#[test]
fn ids_that_are_dots() {
    let worker = Worker::start("memory:", &[]);
    let ask = |request: &str, body: &str| {
        let mut connection = TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap();
        let length = body.len();
        let head = "host: localhost\r\nconnection: close";
        write!(connection, "{request} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    };
    for (id, path, text) in [
        (".", "%2E", "The night train to the mountains is late again."),
        ("..", "%2E%2E", "A beekeeper sold forty jars of honey at the fair."),
        ("...", "...", "Nobody has seen the lighthouse keeper since Sunday."),
    ] {
        let created = ask("POST /v1/documents", &json!({ "id": id, "text": text }).to_string());
        assert!(created.contains(&format!("location: /v1/documents/{path}\r\n")), "{created}");
        let found = ask(&format!("GET /v1/documents/{path}"), "");
        assert!(found.contains(&format!("\"id\":\"{id}\"")), "{found}");
    }
}
