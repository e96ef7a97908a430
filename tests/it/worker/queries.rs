//! `/v1/query`: the fields of a match.

use serde_json::json;

use super::{TEXT, counted_as_equal, is_problem};
use crate::support::Worker;

#[test]
fn matches_say_where_they_came_from_and_when() {
    let folder = tempfile::tempdir().unwrap();
    let worker = Worker::start(&format!("embedded:{}", folder.path().to_str().unwrap()), &[]);
    let document = json!({ "id": "a", "text": TEXT, "source": "wire-7" });
    assert_eq!(worker.post("/v1/documents", &document).0, 201);
    let (_, mut expected) = worker.get("/v1/documents/a");
    expected.as_object_mut().unwrap().remove("has_text");
    expected["distance"] = json!(0);
    let counted = counted_as_equal();
    expected.as_object_mut().unwrap().extend(counted.as_object().unwrap().clone());
    let (_, found) = worker.post("/v1/query", &json!({ "text": TEXT }));
    assert_eq!(found["matches"], json!([expected]));
}

/// A query may require more similarity than the index, but not less.
#[test]
fn how_similar_matches_are() {
    let worker = Worker::start("memory:", &["--min-similarity", "0.7"]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    let edited = TEXT.replace("Monday", "Tuesday").replace("ninety", "eighty");
    let ask = |min_similarity: f64| {
        let query = json!({ "text": edited, "min_similarity": min_similarity });
        let (status, found) = worker.post("/v1/query", &query);
        assert_eq!(status, 200, "{found}");
        found
    };
    let found = ask(0.7);
    let similarity = found["matches"][0]["similarity"].as_f64().unwrap();
    let (_, compared) =
        worker.post("/v1/compare", &json!({ "a": { "text": edited }, "b": { "text": TEXT } }));
    let exact = compared["similarity"].as_f64().unwrap();
    assert!((similarity - exact).abs() < 0.15 && (0.7..1.0).contains(&exact), "{similarity} {exact}");
    assert_eq!((ask(1.0)["n_matches"].clone(), &ask(0.7)["n_matches"]), (json!(0), &json!(1)));
    let query = json!({ "text": edited, "min_similarity": 0.69 });
    is_problem(worker.post("/v1/query", &query), 400, "bad-request");
}

/// An index of simhashes alone reports distances of documents, and no shared parts.
#[test]
fn an_index_that_verifies_nothing() {
    let worker = Worker::start("memory:", &["--profile", "classic", "--verify", "off"]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    let (_, mut expected) = worker.get("/v1/documents/a");
    expected.as_object_mut().unwrap().remove("has_text");
    expected["distance"] = json!(0);
    let (_, found) = worker.post("/v1/query", &json!({ "text": TEXT }));
    assert_eq!((&found["matches"], &found["cost"]["n_buckets"]), (&json!([expected]), &json!(10)));
    let (_, duplicate) = worker.post("/v1/documents", &json!({ "id": "b", "text": TEXT }));
    assert_eq!(duplicate["duplicate_of"].get("similarity"), None, "{duplicate}");
    is_problem(worker.post("/v1/query", &json!({ "text": TEXT, "min_similarity": 0.9 })), 400, "bad-request");
    is_problem(worker.post("/v1/query", &json!({ "text": "……" })), 422, "no-features");
    let described = worker.get("/openapi.json").1;
    assert_eq!(described["components"]["schemas"]["Query"]["properties"].get("min_similarity"), None);
    let (_, index) = worker.get("/v1/index");
    assert_eq!((&index["profile"], &index["min_similarity"]), (&json!("classic"), &json!(null)));
    assert!(!worker.get_text("/metrics").contains("pigeonhole_duplicate_similarity_count 1"));
}

/// An index of n-grams alone finds no fingerprints.
#[test]
fn an_index_without_simhashes() {
    let worker = Worker::start("memory:", &["--profile", "minhash"]);
    let (_, inserted) = worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    let (_, found) = worker.post("/v1/query", &json!({ "text": TEXT.to_uppercase() }));
    assert_eq!((&found["matches"][0]["similarity"], &found["n_matches"]), (&json!(1.0), &json!(1)));
    let by_fingerprint = json!({ "fingerprint": inserted["fingerprint"] });
    is_problem(worker.post("/v1/query", &by_fingerprint), 400, "bad-request");
    let pair = json!({ "a": { "text": TEXT }, "b": { "id": "a" } });
    let (_, compared) = worker.post("/v1/compare", &pair);
    assert_eq!((&compared["is_near"], &compared["a"]["n_terms"]), (&json!(true), &json!(null)), "{compared}");
    let (_, index) = worker.get("/v1/index");
    assert_eq!((&index["scheme"], &index["n_tables"]), (&json!("none"), &json!(0)));
}

/// While documents come and go, every match in an answer has its time, and the count is exact.
#[test]
fn searches_while_documents_go() {
    let worker = Worker::start("memory:", &[]);
    std::thread::scope(|scope| {
        let churn = scope.spawn(|| {
            for n in 0..100 {
                let id = format!("{}", n % 3);
                worker.post("/v1/documents", &json!({ "id": id, "text": TEXT }));
                worker.delete(&format!("/v1/documents/{id}"));
            }
        });
        while !churn.is_finished() {
            let (status, found) = worker.post("/v1/query", &json!({ "text": TEXT }));
            assert_eq!(status, 200);
            let matches = found["matches"].as_array().unwrap();
            assert_eq!(found["n_matches"], matches.len());
            assert!(matches.iter().all(|found| found["inserted_at"].is_string()), "{found}");
        }
    });
}
