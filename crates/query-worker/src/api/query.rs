//! `POST /v1/query`: finds the documents near a text or a fingerprint.

use std::sync::Arc;

use axum::Extension;
use axum::Json as Answer;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use index::{NearDocuments, Nearness, Rule, StoredDocument};
use minhash::Similarity;
use serde::{Deserialize, Serialize};
use simhash::{Distance, Fingerprint};
use utoipa::ToSchema;

use super::documents::Stored;
use super::{Json, batch, whole};
use crate::access::Pass;
use crate::problem::Problem;
use crate::worker::calls::{self, Search};
use crate::worker::{Caller, Worker, features_bytes};

const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 1000;

/// Example of the answer to a batch.
const FOUND_LINES: &str = r#"{"line":1,"status":200,"fingerprint":"8f451e680053652b","matches":[],"n_matches":1,"cost":{"n_buckets":26,"n_candidates":26}}
{"line":2,"status":200,"fingerprint":"8f451e680053652b","matches":[{"distance":0,"id":"a1","fingerprint":"8f451e680053652b","source":"wire-7","inserted_at":"2026-01-31T18:00:00.000Z"}],"n_matches":1,"cost":{"n_buckets":10,"n_candidates":10}}
"#;

/// A query: either `text` or `fingerprint`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// Text to find near documents for.
    text: Option<String>,
    /// A simhash in 16 hexadecimal digits. An index of profile `minhash` takes none.
    #[schema(pattern = "^[0-9a-fA-F]{16}$")]
    fingerprint: Option<String>,
    /// The most bits in which simhashes of near documents may differ: at most the index's own
    /// bound, the default. In an index that verifies it narrows the candidates, and the similarity
    /// decides.
    #[serde(default, deserialize_with = "whole")]
    max_distance: Option<u32>,
    /// The least similarity of near documents: at least the index's own bound, the default. Only
    /// with `text`, and in an index that verifies.
    #[schema(minimum = 0, maximum = 1)]
    min_similarity: Option<f64>,
    /// The most matches to return; with 0 matches are only counted.
    #[schema(maximum = 1000, default = 10)]
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
}

impl batch::Asks for Query {
    fn n_answers_max(&self) -> usize {
        self.limit.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX)
    }
}

/// Documents near a query.
#[derive(Serialize, ToSchema)]
pub(super) struct Found {
    /// Fingerprint of the query.
    fingerprint: String,
    /// Nearest first: descending by similarity if the index verifies, then ascending by distance,
    /// then by id.
    matches: Vec<Near>,
    /// Number of all matches, so that a cut is never silent.
    n_matches: u64,
    cost: Cost,
    /// A reason for which a text may have no match although documents are near. Present if there is
    /// one.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

/// Said where a text has no match in an index of fingerprints alone.
const MAY_BE_FOREIGN: &str = "the index has fingerprints alone, so it cannot tell who made them: those that another \
    program made (`indexer import`) have nothing in common with that of a text; ask by \"fingerprint\"";

/// A near document.
#[derive(Serialize, ToSchema)]
pub(super) struct Near {
    /// Share of the character n-grams of either text that both have, from 0 to 1, rounded down to
    /// four decimals. Present if the index verifies and the query is a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    #[serde(flatten)]
    evidence: Evidence,
    /// Number of bits in which the document's fingerprint differs from the query's.
    distance: u32,
    #[serde(flatten)]
    document: Stored,
}

/// Evidence behind a similarity. Each field is present if it is known.
#[derive(Default, Serialize, ToSchema)]
pub(super) struct Evidence {
    /// True if the similarity was counted over both texts. Otherwise it is an estimate by
    /// signatures, with a standard deviation of .03 for texts of more than 50 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    /// Share of the asked text that is in the document, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_a: Option<f64>,
    /// Share of the document that is in the asked text, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_b: Option<f64>,
    /// True if the two have other numbers, or the same in another order.
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers_differ: Option<bool>,
}

impl From<Nearness> for Evidence {
    fn from(Nearness { similarity, exact, shares, numbers_differ, .. }: Nearness) -> Self {
        let [share_of_a, share_of_b] = [0, 1].map(|side| shares.map(|shares| shares[side].four_decimals()));
        Self { exact: similarity.map(|_| exact), share_of_a, share_of_b, numbers_differ }
    }
}

/// Buckets and candidates read for an answer.
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
        (status = 200, description = "What is near", body = Found, example = json!({ "fingerprint": "8f451e680053652b", "matches": [{ "similarity": 1.0, "exact": true, "share_of_a": 1.0, "share_of_b": 1.0, "numbers_differ": false, "distance": 0, "id": "a1", "fingerprint": "8f451e680053652b", "source": "wire-7", "inserted_at": "2026-01-31T18:00:00.000Z" }], "n_matches": 1, "cost": { "n_buckets": 26, "n_candidates": 26 } })),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn query(
    State(worker): State<Arc<Worker>>,
    Json(query, admitted): Json<Query>,
) -> Result<Answer<Found>, Problem> {
    let (rule, limit) = bounds(&worker, &query)?;
    let what = what(&worker, query)?;
    let n_bytes = match &what {
        What::Fingerprint(_) => 0,
        What::Text(text) => features_bytes(text),
    };
    let permit = admitted.for_work(&worker, n_bytes).await?;
    let is_text = matches!(what, What::Text(_));
    let search = move |worker: &Worker, caller: &Caller| {
        let features = match what {
            What::Fingerprint(fingerprint) => fingerprint.into(),
            What::Text(text) => worker.features(&text).ok_or_else(Problem::no_features)?,
        };
        caller.is_there()?;
        let fingerprint = features.fingerprint();
        Ok((fingerprint, worker.calls().search(Search { features, rule, limit }, permit)))
    };
    let (fingerprint, called) = Arc::clone(&worker).work_for((), search).await?;
    let found = worker.calls().answer(called).await?;
    Ok(Answer(answer(&worker, fingerprint, is_text, found)))
}

/// Answers queries, one a line; one line for each, in order.
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

/// Answers queries, in order.
fn find_all(worker: &Worker, queries: Vec<Query>) -> Vec<Result<(StatusCode, Found), Problem>> {
    let are_texts: Vec<_> = queries.iter().map(|query| query.text.is_some()).collect();
    let searches: Vec<_> = queries.into_iter().map(|query| search_for(worker, query)).collect();
    let good: Vec<_> = searches.iter().flatten().cloned().collect();
    let mut found = calls::search_all(worker.index(), &good).into_iter();
    let mut answer = |search: Search, is_text| {
        let found = found.next().unwrap_or_else(|| Err(Problem::internal()))?;
        Ok((StatusCode::OK, answer(worker, search.features.fingerprint(), is_text, found)))
    };
    let answers = searches.into_iter().zip(are_texts);
    answers.map(|(search, is_text)| search.and_then(|search| answer(search, is_text))).collect()
}

fn search_for(worker: &Worker, query: Query) -> Result<Search, Problem> {
    let (rule, limit) = bounds(worker, &query)?;
    let features = match what(worker, query)? {
        What::Fingerprint(fingerprint) => fingerprint.into(),
        What::Text(text) => {
            let _memory = worker.memory_for(&text)?;
            worker.features(&text).ok_or_else(Problem::no_features)?
        }
    };
    Ok(Search { features, rule, limit })
}

/// Checks the bounds of a query; returns the rule of nearness and the limit on matches.
fn bounds(worker: &Worker, query: &Query) -> Result<(Rule, usize), Problem> {
    let limit = query.limit.unwrap_or(LIMIT_DEFAULT);
    if limit > LIMIT_MAX {
        return Err(Problem::bad_request(&format!("limit may be {LIMIT_MAX} at most, got {limit}")));
    }
    let own = worker.index().rule();
    let max_distance = query.max_distance.map_or(Ok(own.max_distance), |n| max_distance(own, n))?;
    let min_similarity = match query.min_similarity {
        Some(_) if query.fingerprint.is_some() => {
            return Err(Problem::bad_request("give min_similarity with \"text\": a fingerprint has none"));
        }
        Some(share) => Some(min_similarity(own, share)?),
        None => own.min_similarity,
    };
    Ok((Rule { max_distance, min_similarity, ..own }, limit))
}

fn max_distance(own: Rule, n_bits: u32) -> Result<Distance, Problem> {
    let own = own.max_distance;
    let asked = Distance::new(n_bits).ok().filter(|&asked| asked <= own);
    asked.ok_or_else(|| {
        Problem::bad_request(&format!(
            "max_distance {n_bits} is above the {own} that this index finds; ask for less"
        ))
    })
}

fn min_similarity(own: Rule, share: f64) -> Result<Similarity, Problem> {
    let Some(own) = own.min_similarity else {
        return Err(Problem::bad_request(
            "this index has no signatures to tell similarities by; leave min_similarity out",
        ));
    };
    let Some(asked) = Similarity::new(share) else {
        return Err(Problem::bad_request(&format!("min_similarity is from 0 to 1, got {share}")));
    };
    if asked < own {
        return Err(Problem::bad_request(&format!(
            "min_similarity {share} is below the {} that this index finds; ask for more",
            own.get()
        )));
    }
    Ok(asked)
}

/// Subject of a query.
enum What {
    Text(String),
    Fingerprint(Fingerprint),
}

fn what(worker: &Worker, query: Query) -> Result<What, Problem> {
    match (query.text, query.fingerprint) {
        (Some(text), None) => worker.check_text(&text).map(|()| What::Text(text)),
        (None, Some(_)) if !worker.index().kind().files_by_simhash() => Err(Problem::bad_request(
            "this index finds documents by their n-grams, and not by fingerprints; give \"text\"",
        )),
        (None, Some(digits)) => match digits.parse() {
            Ok(fingerprint) => Ok(What::Fingerprint(fingerprint)),
            Err(error) => Err(Problem::bad_request(&format!("{error}"))),
        },
        _ => Err(Problem::bad_request("give either \"text\" or \"fingerprint\"")),
    }
}

fn answer(worker: &Worker, query: Fingerprint, is_text: bool, found: NearDocuments) -> Found {
    let NearDocuments { documents, n_matches, cost } = found;
    let near = |(nearness, stored): (Nearness, StoredDocument)| Near {
        similarity: nearness.similarity.map(Similarity::four_decimals),
        evidence: nearness.into(),
        distance: nearness.distance.as_bits(),
        document: stored.into(),
    };
    Found {
        fingerprint: query.to_string(),
        matches: documents.into_iter().map(near).collect(),
        n_matches,
        cost: Cost { n_buckets: cost.n_buckets, n_candidates: cost.n_candidates },
        note: (is_text && n_matches == 0 && worker.index().may_be_foreign()).then_some(MAY_BE_FOREIGN),
    }
}
