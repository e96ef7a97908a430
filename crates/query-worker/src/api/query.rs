//! `POST /v1/query`: which documents are near this text, or this fingerprint?

use std::sync::Arc;

use axum::Extension;
use axum::Json as Answer;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use index::{NearDocuments, StoredDocument};
use serde::{Deserialize, Serialize};
use simhash::{Distance, Fingerprint};
use utoipa::ToSchema;

use super::documents::Stored;
use super::{Json, batch, whole};
use crate::access::Pass;
use crate::problem::Problem;
use crate::worker::Worker;
use crate::worker::calls::{self, Search};

const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 1000;

/// What a batch is answered, as an example.
const FOUND_LINES: &str = r#"{"line":1,"status":200,"fingerprint":"8f451e680053652b","matches":[],"n_matches":1,"cost":{"n_buckets":10,"n_candidates":10}}
{"line":2,"status":200,"fingerprint":"8f451e680053652b","matches":[{"distance":0,"id":"a1","fingerprint":"8f451e680053652b","source":"wire-7","inserted_at":"2026-01-31T18:00:00.000Z"}],"n_matches":1,"cost":{"n_buckets":10,"n_candidates":10}}
"#;

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
    #[serde(default, deserialize_with = "whole")]
    max_distance: Option<u32>,
    /// At most this many matches; with 0 they are only counted.
    #[schema(maximum = 1000, default = 10)]
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
}

impl batch::Asks for Query {
    fn n_answers_max(&self) -> usize {
        self.limit.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX)
    }
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
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn query(
    State(worker): State<Arc<Worker>>,
    Json(query, permit): Json<Query>,
) -> Result<Answer<Found>, Problem> {
    let (max_distance, limit) = bounds(&worker, &query)?;
    let (fingerprint, permit) = match what(&worker, query)? {
        What::Fingerprint(fingerprint) => (fingerprint, permit),
        What::Text(text) => {
            let fingerprint = move |worker: &Worker| {
                Ok((worker.fingerprint(&text).ok_or_else(Problem::no_features)?, permit))
            };
            Arc::clone(&worker).work((), fingerprint).await?
        }
    };
    let found = worker.calls().search(Search { fingerprint, max_distance, limit }, permit).await?;
    Ok(Answer(answer(fingerprint, found)))
}

/// Answers queries, one a line; an answer a line.
#[utoipa::path(
    post,
    path = "/v1/query:batch",
    tag = "search",
    request_body(content = Option<String>, content_type = "application/x-ndjson", example = "{\"text\": \"insert this if it is new\", \"limit\": 0}\n{\"fingerprint\": \"8f451e680053652b\", \"limit\": 1}\n"),
    responses(
        (status = 200, description = "An answer a line: `line`, the number of the line, `status`, which it would have had as a query of its own, and the fields of that query's answer, `Found` or `Problem`", body = String, content_type = "application/x-ndjson", example = json!(FOUND_LINES)),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn query_batch(
    State(worker): State<Arc<Worker>>,
    pass: Option<Extension<Pass>>,
    lines: Body,
) -> Result<Response, Problem> {
    let permit = worker.admit_batch()?;
    Ok(batch::answer(worker, permit, pass, lines, find_all))
}

/// Answers queries in their order.
fn find_all(worker: &Worker, queries: Vec<Query>) -> Vec<Result<(StatusCode, Found), Problem>> {
    let searches: Vec<_> = queries.into_iter().map(|query| search_for(worker, query)).collect();
    let good: Vec<_> = searches.iter().filter_map(|search| search.as_ref().ok().copied()).collect();
    let mut found = calls::search_all(worker.index(), &good).into_iter();
    let answer = |search: Search| {
        let found = found.next().unwrap_or_else(|| Err(Problem::internal()))?;
        Ok((StatusCode::OK, answer(search.fingerprint, found)))
    };
    let mut answer = answer;
    searches.into_iter().map(|search| search.and_then(&mut answer)).collect()
}

fn search_for(worker: &Worker, query: Query) -> Result<Search, Problem> {
    let (max_distance, limit) = bounds(worker, &query)?;
    let fingerprint = match what(worker, query)? {
        What::Fingerprint(fingerprint) => fingerprint,
        What::Text(text) => worker.fingerprint(&text).ok_or_else(Problem::no_features)?,
    };
    Ok(Search { fingerprint, max_distance, limit })
}

/// How far to look, and with how many matches to answer.
fn bounds(worker: &Worker, query: &Query) -> Result<(Distance, usize), Problem> {
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    if limit > LIMIT_MAX {
        return Err(Problem::bad_request(&format!("limit may be {LIMIT_MAX} at most, got {limit}")));
    }
    let own = worker.index().max_distance();
    let Some(n_bits) = query.max_distance else { return Ok((own, limit)) };
    match Distance::new(n_bits) {
        Ok(max_distance) if max_distance <= own => Ok((max_distance, limit)),
        _ => Err(Problem::bad_request(&format!(
            "max_distance {n_bits} is above the {own} that this index finds; ask for less"
        ))),
    }
}

/// What a query looks for.
enum What {
    Text(String),
    Fingerprint(Fingerprint),
}

fn what(worker: &Worker, query: Query) -> Result<What, Problem> {
    match (query.text, query.fingerprint) {
        (Some(text), None) => worker.check_text(&text).map(|()| What::Text(text)),
        (None, Some(digits)) => match digits.parse() {
            Ok(fingerprint) => Ok(What::Fingerprint(fingerprint)),
            Err(error) => Err(Problem::bad_request(&format!("{error}"))),
        },
        _ => Err(Problem::bad_request("give either \"text\" or \"fingerprint\"")),
    }
}

fn answer(query: Fingerprint, found: NearDocuments) -> Found {
    let NearDocuments { documents, n_matches, cost } = found;
    let near = |(distance, stored): (Distance, StoredDocument)| Near {
        distance: distance.as_bits(),
        document: stored.into(),
    };
    Found {
        fingerprint: query.to_string(),
        matches: documents.into_iter().map(near).collect(),
        n_matches,
        cost: Cost { n_buckets: cost.n_buckets, n_candidates: cost.n_candidates },
    }
}
