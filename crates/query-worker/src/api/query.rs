//! `POST /v1/query`: which documents are near this text, or this fingerprint?

use std::sync::Arc;

use axum::extract::State;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use simhash::Fingerprint;

use super::{Json, Problem};
use crate::server::Worker;

const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 1000;

/// Either `text` or `fingerprint`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    text: Option<String>,
    fingerprint: Option<String>,
    /// At most the index's own, which is the default.
    max_distance: Option<u32>,
    limit: Option<usize>,
}

pub(super) async fn query(
    State(worker): State<Arc<Worker>>,
    Json(query, permit): Json<Query>,
) -> Result<impl IntoResponse, Problem> {
    Ok(axum::Json(worker.work(permit, move |worker| find(worker, &query)).await?))
}

fn find(worker: &Worker, query: &Query) -> Result<Value, Problem> {
    let fingerprint: Fingerprint = match (&query.text, &query.fingerprint) {
        (Some(text), None) => worker.fingerprint(text).ok_or_else(Problem::no_features)?,
        (None, Some(digits)) => digits.parse().map_err(|error| Problem::bad_request(&format!("{error}")))?,
        _ => return Err(Problem::bad_request("give either \"text\" or \"fingerprint\"")),
    };
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    if limit > LIMIT_MAX {
        return Err(Problem::bad_request(&format!("limit may be {LIMIT_MAX} at most, got {limit}")));
    }
    let max_distance = query.max_distance.unwrap_or(worker.index().max_distance());
    let found =
        worker.index().near(&[fingerprint], max_distance, limit)?.pop().ok_or_else(Problem::internal)?;
    let matches: Vec<Value> = found
        .matches
        .iter()
        .map(|m| json!({ "id": m.id.as_str(), "fingerprint": m.fingerprint.to_string(), "distance": m.distance }))
        .collect();
    Ok(json!({
        "fingerprint": fingerprint.to_string(),
        "matches": matches,
        "n_matches": found.n_matches,
        "cost": { "n_buckets": found.cost.n_buckets, "n_candidates": found.cost.n_candidates },
    }))
}
