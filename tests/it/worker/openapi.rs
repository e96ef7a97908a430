//! `/openapi.json`: the description of the API is true.

use serde_json::{Map, Value, json};

use crate::support::Worker;

const METHODS: [&str; 3] = ["get", "post", "delete"];

fn operations(description: &Value) -> Vec<(String, &'static str, Value)> {
    let paths = description["paths"].as_object().unwrap().iter();
    let of_path = |(path, item): (&String, &Value)| {
        let operation = |method: &&'static str| Some((path.clone(), *method, item.get(*method)?.clone()));
        METHODS.iter().filter_map(operation).collect::<Vec<_>>()
    };
    paths.flat_map(of_path).collect()
}

/// Checks that two values have the same fields, with values of the same kinds.
#[track_caller]
fn same_shape(shown: &Value, real: &Value, place: &str) {
    let fields = |of: &Map<String, Value>| of.keys().cloned().collect::<Vec<_>>();
    match (shown, real) {
        (Value::Object(shown), Value::Object(real)) => {
            assert_eq!(fields(shown), fields(real), "{place}");
            shown
                .iter()
                .for_each(|(field, shown)| same_shape(shown, &real[field], &format!("{place}.{field}")));
        }
        (Value::Array(shown), Value::Array(real)) => {
            assert_eq!(shown.len(), real.len(), "{place}");
            shown.iter().zip(real).for_each(|(shown, real)| same_shape(shown, real, place));
        }
        _ => {
            assert_eq!(
                std::mem::discriminant(shown),
                std::mem::discriminant(real),
                "{place}: {shown} {real}"
            );
        }
    }
}

#[test]
fn every_example_is_answered_as_shown() {
    let worker = Worker::start("memory:", &[]);
    let (status, description) = worker.get("/openapi.json");
    assert_eq!((status, &description["openapi"]), (200, &json!("3.1.0")));
    let mut operations = operations(&description);
    // The examples speak of one document: it comes first, and goes last.
    operations
        .sort_by_key(|(path, method, _)| (path != "/v1/documents" || *method == "get", *method == "delete"));
    assert_eq!(operations.len(), 14, "an operation more needs no change here but this number");
    for (path, method, operation) in operations {
        let place = format!("{method} {path}");
        let path = path.replace("{id}", operation["parameters"][0]["example"].as_str().unwrap_or_default());
        let request = &operation["requestBody"]["content"];
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.contains_key("default"), "{place} says what a problem looks like");
        let (status, answers) = match (method, request.get("application/x-ndjson")) {
            ("get", _) if path == "/metrics" => (200, vec![json!(worker.get_text(&path))]),
            ("get", _) => one(worker.get(&path)),
            ("delete", _) => one(worker.delete(&path)),
            (_, Some(lines)) => worker.post_lines(&path, lines["example"].as_str().unwrap().as_bytes()),
            (_, None) => one(worker.post(&path, &request["application/json"]["example"])),
        };
        let response = responses.get(&status.to_string());
        let response = response.unwrap_or_else(|| panic!("{place} answers {status}: {answers:?}"));
        if let Some(shown) = response["content"]["application/json"].get("example") {
            same_shape(shown, &answers[0], &place);
        }
        if let Some(lines) = request.get("application/x-ndjson") {
            let shown = response["content"]["application/x-ndjson"]["example"].as_str().unwrap();
            let shown = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            same_shape(&Value::Array(shown), &Value::Array(answers.clone()), &place);
            assert_eq!(answers.len(), lines["example"].as_str().unwrap().lines().count(), "{place}");
            assert!(answers.iter().all(|answer| answer["status"].as_u64().unwrap() < 300), "{answers:?}");
        }
    }
}

fn one((status, answer): (u16, Value)) -> (u16, Vec<Value>) {
    (status, vec![answer])
}

/// The example of a duplicate is true, too.
#[test]
fn the_duplicate_is_as_shown() {
    let worker = Worker::start("memory:", &[]);
    let description = worker.get("/openapi.json").1;
    let operation = &description["paths"]["/v1/documents"]["post"];
    let mut document = operation["requestBody"]["content"]["application/json"]["example"].clone();
    worker.post("/v1/documents", &document);
    document["id"] = json!("a2");
    let shown = &operation["responses"]["200"]["content"]["application/json"]["example"];
    assert_eq!(worker.post("/v1/documents", &document), (200, shown.clone()));
}

/// Before, the bound was that of a new index by default, and not that of the open one.
#[test]
fn the_bound_of_a_distance_is_that_of_the_index() {
    for max_distance in [1, 3] {
        let worker = Worker::start("memory:", &["--max-distance", &max_distance.to_string()]);
        let description = worker.get("/openapi.json").1;
        let described = &description["components"]["schemas"]["Query"]["properties"];
        assert_eq!(described["max_distance"]["maximum"], max_distance);
        assert_eq!(described["min_similarity"]["minimum"], 0.8);
    }
}

/// Each answer has the headers of its description.
#[test]
fn answers_have_the_headers_that_are_described() {
    let folder = tempfile::tempdir().unwrap();
    let keys = super::keys::key_file(&folder);
    super::keys::add_key(&keys, "reader", "read", "");
    let worker = Worker::start("memory:", &["--keys", keys.to_str().unwrap()]);
    let description = worker.get("/openapi.json").1;
    for (path, method, operation) in operations(&description) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let names = response["headers"].as_object().unwrap().iter();
            for (name, header) in names {
                let place = header["$ref"].as_str().unwrap().trim_start_matches('#');
                assert!(description.pointer(place).is_some(), "{method} {path} {status} {name}: {place}");
            }
            assert!(response["headers"].get("X-Request-Id").is_some(), "{method} {path} {status}");
        }
    }
    assert_eq!(worker.header("/v1/index", "WWW-Authenticate").as_deref(), Some("Bearer"));
    assert!(worker.header("/healthz", "X-Request-Id").is_some());
}

/// Only described paths are answered.
#[test]
fn only_what_is_described_is_there() {
    let worker = Worker::start("memory:", &[]);
    for path in ["/openapi.yaml", "/v1", "/v1/documents:batches"] {
        super::is_problem(worker.get(path), 404, "not-found");
    }
}
