//! `POST /v1/analyze`: the terms of a text, and the fingerprint that they make.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Json, whole};
use crate::problem::Problem;
use crate::worker::{Worker, explained_bytes};

const LIMIT_DEFAULT: usize = 1000;
const LIMIT_MAX: usize = 10_000;

/// A text to analyze.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Text {
    text: String,
    /// The most terms to return, the heaviest first.
    #[schema(maximum = 10000, default = 1000)]
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
}

/// Terms of a text, by the recipe of the index.
#[derive(Serialize, ToSchema)]
pub(super) struct Analyzed {
    /// Null for a text without features.
    fingerprint: Option<String>,
    /// Number of terms that decide the fingerprint.
    n_terms: usize,
    /// The heaviest first.
    terms: Vec<AnalyzedTerm>,
}

/// A distinct term of a text.
#[derive(Serialize, ToSchema)]
pub(super) struct AnalyzedTerm {
    /// Normal form, as it was hashed.
    term: String,
    /// Number of occurrences in the text.
    tf: u32,
    /// Null if the dictionary lacks the term, which then has the median weight.
    idf: Option<f64>,
    /// Fixed point; only ratios matter.
    weight: u32,
    /// Bits that the term votes for, in hexadecimal digits.
    hash: String,
}

/// Returns the terms of a text, and its fingerprint.
///
/// A text without features has no terms, and is no error.
#[utoipa::path(
    post,
    path = "/v1/analyze",
    tag = "explanations",
    request_body(content = Text, example = json!({ "text": "insert this if it is new", "limit": 3 })),
    responses(
        (status = 200, description = "Its terms and its fingerprint", body = Analyzed, example = json!({ "fingerprint": "8f451e680053652b", "n_terms": 6, "terms": [{ "term": "it", "tf": 1, "idf": null, "weight": 12242, "hash": "f3573f79655b6deb" }, { "term": "if", "tf": 1, "idf": null, "weight": 12242, "hash": "8e30fcd41173d77b" }, { "term": "insert", "tf": 1, "idf": null, "weight": 12242, "hash": "8c464fe67490a18a" }] })),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn analyze(
    State(worker): State<Arc<Worker>>,
    Json(text, admitted): Json<Text>,
) -> Result<Answer<Analyzed>, Problem> {
    worker.check_text(&text.text)?;
    let permit = admitted.for_work(&worker, explained_bytes(&text.text)).await?;
    worker.work(permit, move |worker| take_apart(worker, &text)).await.map(Answer)
}

fn take_apart(worker: &Worker, asked: &Text) -> Result<Analyzed, Problem> {
    let limit = asked.limit.unwrap_or(LIMIT_DEFAULT);
    if limit > LIMIT_MAX {
        return Err(Problem::bad_request(&format!("limit may be {LIMIT_MAX} at most, got {limit}")));
    }
    let analysis = worker.analyze(&asked.text);
    let n_terms = analysis.terms.len();
    let terms = analysis.terms.into_iter().take(limit).map(|term| AnalyzedTerm {
        term: term.text,
        tf: term.count,
        idf: term.idf,
        weight: term.weight.0,
        hash: format!("{:016x}", term.hash),
    });
    let fingerprint = analysis.fingerprint.map(|fingerprint| fingerprint.to_string());
    Ok(Analyzed { fingerprint, n_terms, terms: terms.collect() })
}
