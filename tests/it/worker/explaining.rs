//! `/v1/compare` and `/v1/analyze`: explanations.

use serde_json::{Value, json};

use super::{TEXT, is_problem};
use crate::support::{Worker, run};

const A: &str = "你妈妈喊你回家吃饭哦，回家罗回家罗";
const B: &str = "你妈妈叫你回家吃饭啦，回家罗回家罗";

#[test]
fn two_texts_are_compared() {
    let worker = Worker::start("memory:", &[]);
    let (status, compared) = worker.post("/v1/compare", &json!({ "a": { "text": A }, "b": { "text": B } }));
    assert_eq!(status, 200, "{compared}");
    assert_eq!((&compared["distance"], &compared["is_near"]), (&json!(10), &json!(false)));
    assert_eq!((&compared["similarity"], &compared["min_similarity"]), (&json!(0.5), &json!(0.8)));
    assert_eq!((&compared["a"]["share"], &compared["numbers_differ"]), (&json!(0.6666), &json!(false)));
    // The operator's command says the same.
    let shown = run("pigeonhole", ["compare", "--why", A, B]).expect(0).stdout;
    for part in ["not near-duplicates: similarity 0.5000", "distance 10 of 64 bits", "  bit 55 "] {
        assert!(shown.contains(part), "{shown}");
    }
    for side in ["a", "b"] {
        assert!(shown.contains(compared[side]["fingerprint"].as_str().unwrap()), "{shown}");
    }
    for (bit, line) in compared["bits"]
        .as_array()
        .unwrap()
        .iter()
        .zip(shown.lines().filter(|line| line.starts_with("  bit ")))
    {
        let percent = |margin: &Value| format!("{:>4.1} %", 100.0 * margin.as_f64().unwrap());
        assert!(line.contains(&format!("bit {:>2}", bit["bit"].as_u64().unwrap())), "{bit} {line}");
        assert!(line.contains(&percent(&bit["margin_a"])), "{bit} {line}");
        assert!(line.contains(&percent(&bit["margin_b"])), "{bit} {line}");
    }
    let terms = compared["terms"].as_array().unwrap();
    assert_eq!((&terms[0]["term"], &terms[0]["towards_a"]), (&json!("回家"), &json!([])));
    let call = terms.iter().find(|term| term["term"] == "喊").unwrap();
    assert_eq!((&call["weight_a"], &call["weight_b"]), (&json!(6290), &json!(0)));
    assert_eq!(call["towards_b"], json!([55, 51, 45, 43, 11, 9, 7, 0]));
    assert_eq!(call["towards_a"], json!([49, 1]));
}

#[test]
fn documents_are_compared() {
    let worker = Worker::start("memory:", &[]);
    worker.post("/v1/documents", &json!({ "id": "a", "text": TEXT }));
    let a = json!({ "id": "a" });
    let (status, same) = worker.post("/v1/compare", &json!({ "a": a, "b": { "text": TEXT } }));
    assert_eq!((status, &same["distance"], &same["bits"]), (200, &json!(0), &json!([])), "{same}");
    assert_eq!((&same["is_near"], &same["a"]["n_terms"]), (&json!(true), &same["b"]["n_terms"]));
    assert_eq!((&same["similarity"], &same["numbers_differ"]), (&json!(1.0), &json!(false)));
    let (_, other) = worker.post("/v1/compare", &json!({ "a": a, "b": { "text": A } }));
    assert_eq!(other["bits"].as_array().unwrap().len(), other["distance"].as_u64().unwrap() as usize);
    assert!(other["bits"][0]["margin_a"].is_f64() && other["bits"][0]["margin_b"].is_f64(), "{other}");
    let none = json!({ "id": "b" });
    is_problem(worker.post("/v1/compare", &json!({ "a": a, "b": none })), 404, "no-such-document");
    for (b, status, kind) in [
        (json!({}), 400, "bad-request"),
        (json!({ "id": "a", "text": TEXT }), 400, "bad-request"),
        (json!({ "id": "" }), 400, "bad-request"),
        (json!({ "text": " " }), 422, "no-features"),
    ] {
        is_problem(worker.post("/v1/compare", &json!({ "a": a, "b": b })), status, kind);
    }
    let too_many = json!({ "a": a, "b": a, "terms": 1001 });
    is_problem(worker.post("/v1/compare", &too_many), 400, "bad-request");
}

/// N-grams do not distinguish 1000 from 10000, and readers would.
#[test]
fn numbers_are_compared() {
    let worker = Worker::start("memory:", &[]);
    let compare = |b: &str| {
        let pair = json!({ "a": { "text": "The fine is 1000 crowns." }, "b": { "text": b } });
        worker.post("/v1/compare", &pair).1
    };
    let more = compare("The fine is 10000 crowns.");
    assert_eq!((&more["similarity"], &more["numbers_differ"]), (&json!(1.0), &json!(true)), "{more}");
    let part = compare("The fine is 1000 crowns. It is to be paid at the harbour office before noon.");
    assert_eq!((&part["numbers_differ"], &part["is_near"]), (&json!(false), &json!(false)), "{part}");
    let [of_a, of_b] = ["a", "b"].map(|side| part[side]["share"].as_f64().unwrap());
    assert!(of_a > 0.9 && of_b < 0.5, "{part}");
}

#[test]
fn a_text_is_taken_apart() {
    let worker = Worker::start("memory:", &[]);
    let (status, analyzed) = worker.post("/v1/analyze", &json!({ "text": A }));
    assert_eq!((status, &analyzed["n_terms"]), (200, &json!(7)), "{analyzed}");
    let heaviest = &analyzed["terms"][0];
    assert_eq!((&heaviest["term"], &heaviest["tf"]), (&json!("回家"), &json!(3)));
    assert_eq!(heaviest["weight"], 19023);
    assert_eq!(heaviest["hash"].as_str().map(str::len), Some(16));
    let (_, compared) = worker.post("/v1/compare", &json!({ "a": { "text": A }, "b": { "text": A } }));
    assert_eq!(analyzed["fingerprint"], compared["a"]["fingerprint"]);
    let (_, cut) = worker.post("/v1/analyze", &json!({ "text": A, "limit": 1 }));
    assert_eq!((&cut["n_terms"], &cut["terms"]), (&json!(7), &json!([heaviest])));
    let nothing = json!({ "fingerprint": null, "n_terms": 0, "terms": [] });
    assert_eq!(worker.post("/v1/analyze", &json!({ "text": "……" })), (200, nothing));
    is_problem(worker.post("/v1/analyze", &json!({ "text": A, "limit": 10_001 })), 400, "bad-request");
    is_problem(worker.post("/v1/analyze", &json!({ "txt": A })), 400, "bad-request");
}
