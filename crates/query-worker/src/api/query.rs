//! `POST /v1/query`: which documents are near this text, or this fingerprint?

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json as Answer;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use index::{MAX_BATCH, Match, Neighbours, StoredDocument};
use serde::{Deserialize, Serialize};
use simhash::Fingerprint;
use utoipa::ToSchema;

use super::documents::Stored;
use super::{Json, Problem, batch, whole};
use crate::server::Worker;

const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 1000;

/// Either `text` or `fingerprint`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// What to look for documents near to.
    text: Option<String>,
    /// 16 hexadecimal digits.
    #[schema(pattern = "^[0-9a-fA-F]{16}$")]
    fingerprint: Option<String>,
    /// At most the index's own, which is the default.
    #[schema(maximum = 3)]
    #[serde(default, deserialize_with = "whole")]
    max_distance: Option<u32>,
    /// At most this many matches; with 0 they are only counted.
    #[schema(maximum = 1000, default = 10)]
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
}

/// What is near.
#[derive(Serialize, ToSchema)]
pub(super) struct Found {
    /// That of the query.
    fingerprint: String,
    /// Ascending by distance, then id.
    matches: Vec<Near>,
    /// How many there are in all, so that a cut is never silent.
    n_matches: u64,
    cost: Cost,
}

/// A document that is near.
#[derive(Serialize, ToSchema)]
pub(super) struct Near {
    /// In how many bits it differs from the query.
    distance: u32,
    #[serde(flatten)]
    document: Stored,
}

/// What was read for an answer.
#[derive(Serialize, ToSchema)]
pub(super) struct Cost {
    n_buckets: u64,
    n_candidates: u64,
}

/// Finds the documents near a text or a fingerprint.
#[utoipa::path(
    post,
    path = "/v1/query",
    tag = "search",
    request_body(content = Query, example = json!({ "text": "insert this if it is new" })),
    responses(
        (status = 200, description = "What is near", body = Found, example = json!({ "fingerprint": "8f451e680053652b", "matches": [{ "distance": 0, "id": "a1", "fingerprint": "8f451e680053652b", "source": "wire-7", "inserted_at": "2026-01-31T18:00:00.000Z" }], "n_matches": 1, "cost": { "n_buckets": 10, "n_candidates": 10 } })),
        (status = "default", description = "What went wrong, and what to do", body = super::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn query(
    State(worker): State<Arc<Worker>>,
    Json(query, permit): Json<Query>,
) -> Result<Answer<Found>, Problem> {
    let find = move |worker: &Worker| find_all(worker, vec![query]).pop().ok_or_else(Problem::internal)?;
    let (_, found) = worker.work(permit, find).await?;
    Ok(Answer(found))
}

/// Answers queries, one a line; an answer a line.
#[utoipa::path(
    post,
    path = "/v1/query:batch",
    tag = "search",
    request_body(content = Option<String>, content_type = "application/x-ndjson", example = "{\"text\": \"insert this if it is new\"}\n{\"fingerprint\": \"8f451e680053652b\", \"limit\": 1}\n"),
    responses(
        (status = 200, description = "An answer a line: that of a query of its own, with the number of the line and its status", body = String, content_type = "application/x-ndjson"),
        (status = "default", description = "What went wrong, and what to do", body = super::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn query_batch(State(worker): State<Arc<Worker>>, lines: Body) -> Result<Response, Problem> {
    let permit = worker.admit()?;
    Ok(batch::answer(worker, permit, lines, find_all))
}

/// Answers queries in their order. Those that ask for as much go to the store together.
pub(super) fn find_all(worker: &Worker, queries: Vec<Query>) -> Vec<Result<(StatusCode, Found), Problem>> {
    let mut answers = Vec::with_capacity(queries.len());
    let mut alike: BTreeMap<(u32, usize), Vec<(usize, Fingerprint)>> = BTreeMap::new();
    for (n, query) in queries.iter().enumerate() {
        answers.push(Err(Problem::internal()));
        match check(worker, query) {
            Ok((fingerprint, asked)) => alike.entry(asked).or_default().push((n, fingerprint)),
            Err(problem) => answers[n] = Err(problem),
        }
    }
    for ((max_distance, limit), queries) in alike {
        // The matches of one call are held, and looked up, together.
        for call in queries.chunks(MAX_BATCH / limit.max(1)) {
            let fingerprints: Vec<_> = call.iter().map(|&(_, fingerprint)| fingerprint).collect();
            match search(worker, &fingerprints, max_distance, limit) {
                Ok(found) => {
                    for (&(n, _), found) in call.iter().zip(found) {
                        answers[n] = Ok((StatusCode::OK, found));
                    }
                }
                Err(problem) => call.iter().for_each(|&(n, _)| answers[n] = Err(problem.clone())),
            }
        }
    }
    answers
}

/// What is looked for, and (distance, limit).
fn check(worker: &Worker, query: &Query) -> Result<(Fingerprint, (u32, usize)), Problem> {
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    if limit > LIMIT_MAX {
        return Err(Problem::bad_request(&format!("limit may be {LIMIT_MAX} at most, got {limit}")));
    }
    let own = worker.index().max_distance();
    let max_distance = query.max_distance.unwrap_or(own);
    if max_distance > own {
        return Err(Problem::bad_request(&format!(
            "max_distance {max_distance} is above the {own} that this index finds; ask for less"
        )));
    }
    let fingerprint: Fingerprint = match (&query.text, &query.fingerprint) {
        (Some(text), None) => worker.fingerprint(text).ok_or_else(Problem::no_features)?,
        (None, Some(digits)) => digits.parse().map_err(|error| Problem::bad_request(&format!("{error}")))?,
        _ => return Err(Problem::bad_request("give either \"text\" or \"fingerprint\"")),
    };
    Ok((fingerprint, (max_distance, limit)))
}

fn search(
    worker: &Worker,
    queries: &[Fingerprint],
    max_distance: u32,
    limit: usize,
) -> Result<Vec<Found>, Problem> {
    let found = worker.index().near(queries, max_distance, limit)?;
    let ids: Vec<_> = found.iter().flat_map(|found| &found.matches).map(|near| near.id.clone()).collect();
    let mut stored = worker.index().get(&ids)?.into_iter();
    Ok(queries.iter().zip(found).map(|(query, found)| answer(*query, found, &mut stored)).collect())
}

/// The answer to one query. `stored` has what is stored now under the ids of its matches.
fn answer(
    query: Fingerprint,
    found: Neighbours,
    stored: &mut impl Iterator<Item = Option<StoredDocument>>,
) -> Found {
    let Neighbours { matches, mut n_matches, cost } = found;
    let mut near = Vec::with_capacity(matches.len());
    for (Match { fingerprint, distance, .. }, stored) in matches.into_iter().zip(stored) {
        match stored {
            Some(stored) if stored.document.sketch.fingerprint() == fingerprint => {
                near.push(Near { distance, document: stored.into() });
            }
            // Removed or replaced since it was found: a search that began now would be without it.
            _ => n_matches -= 1,
        }
    }
    let cost = Cost { n_buckets: cost.n_buckets, n_candidates: cost.n_candidates };
    Found { fingerprint: query.to_string(), matches: near, n_matches, cost }
}
