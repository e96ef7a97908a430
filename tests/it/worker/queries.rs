//! `/v1/query`: what a match says.

use serde_json::json;

use super::TEXT;
use crate::support::Worker;

#[test]
fn matches_say_where_they_came_from_and_when() {
    let folder = tempfile::tempdir().unwrap();
    let worker = Worker::start(&format!("embedded:{}", folder.path().to_str().unwrap()), &[]);
    let document = json!({ "id": "a", "text": TEXT, "source": "wire-7" });
    assert_eq!(worker.post("/v1/documents", &document).0, 201);
    let (_, mut expected) = worker.get("/v1/documents/a");
    expected["distance"] = json!(0);
    let (_, found) = worker.post("/v1/query", &json!({ "text": TEXT }));
    assert_eq!(found["matches"], json!([expected]));
}

/// While documents come and go, an answer never has one without its time, nor counts one that it does not have.
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
