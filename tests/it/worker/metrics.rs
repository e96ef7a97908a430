//! `/metrics` counts events. A test of the crate checks that the table in its README is complete.

use serde_json::json;

use super::TEXT;
use crate::support::Worker;

#[test]
fn what_was_done_is_counted() {
    let worker = Worker::start("memory:", &["--requests-max", "7"]);
    for id in ["canary-id", "another"] {
        worker.post("/v1/documents", &json!({ "id": id, "text": TEXT }));
    }
    worker.get("/v1/documents/canary-id");
    worker.get("/v1/documents/nobody");
    worker.get("/v1/canary-path");
    let queries = format!("{}\n", json!({ "text": TEXT })).repeat(3);
    worker.post_lines("/v1/query:batch", queries.as_bytes());
    let metrics = worker.get_text("/metrics");
    let bytes = format!("pigeonhole_text_bytes_total {}", 5 * TEXT.len());
    for line in [
        "pigeonhole_requests_total{route=\"/v1/documents\",method=\"POST\",status=\"201\"} 1",
        "pigeonhole_requests_total{route=\"/v1/documents\",method=\"POST\",status=\"200\"} 1",
        "pigeonhole_requests_total{route=\"/v1/documents/{id}\",method=\"GET\",status=\"200\"} 1",
        "pigeonhole_requests_total{route=\"/v1/documents/{id}\",method=\"GET\",status=\"404\"} 1",
        "pigeonhole_requests_total{route=\"none\",method=\"GET\",status=\"404\"} 1",
        "pigeonhole_request_duration_seconds_count{route=\"/v1/query:batch\"} 1",
        // The request for the metrics itself.
        "pigeonhole_requests_under_way 1",
        "pigeonhole_permits 7",
        "pigeonhole_permits_in_use 0",
        "pigeonhole_long_texts_waiting 0",
        "pigeonhole_texts_total 5",
        &bytes,
        "pigeonhole_insertions_total{outcome=\"inserted\"} 1",
        "pigeonhole_insertions_total{outcome=\"duplicate\"} 1",
        "pigeonhole_duplicate_similarity_bucket{le=\"0.999\"} 0",
        "pigeonhole_duplicate_similarity_bucket{le=\"1.0\"} 1",
        "pigeonhole_query_match_similarity_sum 3.0",
        "pigeonhole_query_matches_sum 3.0",
        "pigeonhole_query_candidates_count 3",
        "pigeonhole_store_call_duration_seconds_count{call=\"insert_if_new\"} 2",
        "pigeonhole_store_call_duration_seconds_count{call=\"near\"} 1",
        "pigeonhole_documents 1",
    ] {
        assert!(metrics.lines().any(|served| served == line), "{line}\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n") && !metrics.contains("canary"), "{metrics}");
}
