//! `POST /v1/query`: finds the documents near a text, a fingerprint or a document.

mod subject;

use std::sync::Arc;

use axum::Extension;
use axum::Json as Answer;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use index::{DocumentId, Features, NearDocuments, Nearness, Rule, StoredDocument};
use minhash::Similarity;
use serde::{Deserialize, Serialize};
use simhash::Distance;
use utoipa::ToSchema;

use self::subject::{Subject, subject};
use super::documents::Stored;
use super::{Json, batch, given_id, id_or_integer, whole};
use crate::access::Pass;
use crate::problem::Problem;
use crate::worker::calls::{self, Search};
use crate::worker::{Caller, Worker};

const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 1000;
const BELOW_MAX: usize = 10;

/// Example of the answer to a batch.
const FOUND_LINES: &str = r#"{"line":1,"status":200,"fingerprint":"8f451e680053652b","matches":[],"n_matches":1,"cost":{"n_buckets":26,"n_candidates":26}}
{"line":2,"status":200,"fingerprint":"8f451e680053652b","matches":[{"distance":0,"id":"a1","fingerprint":"8f451e680053652b","source":"wire-7","inserted_at":"2026-01-31T18:00:00.000Z"}],"n_matches":1,"cost":{"n_buckets":10,"n_candidates":10}}
"#;

/// A query: one of `text`, `fingerprint` and `id`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// Text to find near documents for.
    text: Option<String>,
    /// A simhash in 16 hexadecimal digits. An index of profile `minhash` takes none.
    #[schema(pattern = "^[0-9a-fA-F]{16}$")]
    fingerprint: Option<String>,
    /// A document of the index, to find those near it. It is no match of itself.
    #[schema(schema_with = given_id, required = false)]
    #[serde(default, deserialize_with = "id_or_integer")]
    id: Option<String>,
    /// The most bits in which simhashes of near documents may differ: at most the index's own
    /// bound, the default. In an index that verifies it narrows the candidates, and the similarity
    /// decides.
    #[serde(default, deserialize_with = "whole")]
    max_distance: Option<u32>,
    /// The least similarity of near documents: at least the index's own bound, the default. Only in
    /// an index that verifies, and not with `fingerprint`.
    #[schema(minimum = 0, maximum = 1)]
    min_similarity: Option<f64>,
    /// The most matches to return; with 0 matches are only counted.
    #[schema(maximum = 1000, default = 10)]
    #[serde(default, deserialize_with = "whole")]
    limit: Option<usize>,
    /// The most documents to return of those that were compared and are not near, if none is. An
    /// index that does not verify compares none.
    #[schema(maximum = 10, default = 0)]
    #[serde(default, deserialize_with = "whole")]
    below: Option<usize>,
}

impl batch::Asks for Query {
    fn n_answers_max(&self) -> usize {
        self.limit.unwrap_or(LIMIT_DEFAULT).min(LIMIT_MAX) + self.below.unwrap_or(0).min(BELOW_MAX)
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
    /// With `below`, if nothing is near: the most similar of the documents that the index proposed
    /// and compared, in the order of matches, whatever their numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest_below: Option<Vec<Near>>,
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

/// Finds the documents near a text, a fingerprint or a document.
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
    let bounds = Bounds::of(&worker, &query)?;
    let mut subject = subject(&worker, query)?;
    if let Subject::Id(id) = subject {
        let look_up = move |worker: &Worker| Subject::looked_up(worker, id);
        subject = Arc::clone(&worker).work((), look_up).await?;
    }
    let room = worker.room(subject.n_bytes_read())?;
    let permit = admitted.with_room(room).for_work(&worker, subject.n_bytes()).await?;
    let search = move |worker: &Worker, caller: &Caller| {
        let (is_text, own) = (subject.is_text(), subject.own());
        let features = subject.features(worker)?;
        caller.is_there()?;
        let asked = Asked { features, bounds, is_text, own };
        let called = worker.calls().search(asked.search(), permit);
        Ok((asked, called))
    };
    let (asked, called) = Arc::clone(&worker).work_for((), search).await?;
    let found = asked.without_own(worker.calls().answer(called).await?);
    let Some(below) = asked.search_below(&worker, &found) else {
        return Ok(Answer(asked.answer(&worker, found, None)));
    };
    let permit = worker.admit().await?;
    let called = Arc::clone(&worker).work((), move |worker| Ok(worker.calls().search(below, permit))).await?;
    let below = worker.calls().answer(called).await?;
    Ok(Answer(asked.answer(&worker, found, Some(below))))
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
    let asked: Vec<_> = queries.into_iter().map(|query| Asked::of(worker, query)).collect();
    let searches: Vec<_> = asked.iter().flatten().map(Asked::search).collect();
    let mut found = calls::search_all(worker.index(), &searches).into_iter();
    let mut answer = |asked: Asked| {
        let found = found.next().unwrap_or_else(|| Err(Problem::internal()))?;
        let found = asked.without_own(found);
        let below = asked.search_below(worker, &found);
        let below = below.and_then(|below| calls::search_all(worker.index(), &[below]).pop()).transpose()?;
        Ok((StatusCode::OK, asked.answer(worker, found, below)))
    };
    asked.into_iter().map(|asked| asked.and_then(&mut answer)).collect()
}

/// The checked bounds of a query.
#[derive(Clone, Copy)]
struct Bounds {
    rule: Rule,
    limit: usize,
    below: usize,
}

impl Bounds {
    fn of(worker: &Worker, query: &Query) -> Result<Self, Problem> {
        let up_to = |name: &str, n: usize, max: usize| match n {
            n if n > max => Err(Problem::bad_request(&format!("{name} may be {max} at most, got {n}"))),
            n => Ok(n),
        };
        let limit = up_to("limit", query.limit.unwrap_or(LIMIT_DEFAULT), LIMIT_MAX)?;
        let below = up_to("below", query.below.unwrap_or(0), BELOW_MAX)?;
        let own = worker.index().rule();
        let max_distance = query.max_distance.map_or(Ok(own.max_distance), |n| max_distance(own, n))?;
        let min_similarity = match query.min_similarity {
            Some(_) if query.fingerprint.is_some() => {
                return Err(Problem::bad_request(
                    "a fingerprint has no similarity; leave min_similarity out",
                ));
            }
            Some(share) => Some(min_similarity(own, share)?),
            None => own.min_similarity,
        };
        Ok(Self { rule: Rule { max_distance, min_similarity, ..own }, limit, below })
    }
}

/// A query whose features are known.
struct Asked {
    features: Features,
    bounds: Bounds,
    is_text: bool,
    /// The document that is asked for, which is no match of itself.
    own: Option<DocumentId>,
}

impl Asked {
    fn of(worker: &Worker, query: Query) -> Result<Self, Problem> {
        let bounds = Bounds::of(worker, &query)?;
        let mut subject = subject(worker, query)?;
        if let Subject::Id(id) = subject {
            subject = Subject::looked_up(worker, id)?;
        }
        let (is_text, own) = (subject.is_text(), subject.own());
        Ok(Self { features: subject.features_in_batch(worker)?, bounds, is_text, own })
    }

    fn search(&self) -> Search {
        let Bounds { rule, limit, .. } = self.bounds;
        Search { features: self.features.clone(), rule, limit: limit + usize::from(self.own.is_some()) }
    }

    /// Takes the document itself out of what is near it.
    fn without_own(&self, mut found: NearDocuments) -> NearDocuments {
        let Some(own) = &self.own else { return found };
        let (n_found, limit) = (found.documents.len(), self.bounds.limit);
        found.documents.retain(|(_, stored)| stored.document.id != *own);
        // Nothing is nearer than itself: if it is not in a full list, its copies are all of that.
        let is_counted = found.documents.len() < n_found || n_found > limit;
        found.n_matches = found.n_matches.saturating_sub(u64::from(is_counted));
        found.documents.truncate(limit);
        found
    }

    /// Returns the search for what is below the bound, if it is asked for and nothing is near.
    fn search_below(&self, worker: &Worker, found: &NearDocuments) -> Option<Search> {
        let Bounds { rule, below, .. } = self.bounds;
        let verifies = worker.index().min_similarity().is_some() && self.features.signature.is_some();
        let (min_similarity, same_numbers) = (Some(Similarity::ZERO), false);
        let rule = Rule { min_similarity, same_numbers, ..rule }.of_insertion();
        let limit = below + usize::from(self.own.is_some());
        (below > 0 && found.n_matches == 0 && verifies).then(|| Search {
            features: self.features.clone(),
            rule,
            limit,
        })
    }

    fn answer(&self, worker: &Worker, found: NearDocuments, below: Option<NearDocuments>) -> Found {
        let NearDocuments { documents, n_matches, cost } = found;
        let near = |(nearness, stored): (Nearness, StoredDocument)| Near {
            similarity: nearness.similarity.map(Similarity::four_decimals),
            evidence: nearness.into(),
            distance: nearness.distance.as_bits(),
            document: stored.into(),
        };
        let below = below.map(|below| below.documents).unwrap_or_default().into_iter();
        let others = below.filter(|(_, stored)| self.own.as_ref() != Some(&stored.document.id));
        let nearest_below = others.take(self.bounds.below).map(near).collect();
        Found {
            fingerprint: self.features.fingerprint().to_string(),
            matches: documents.into_iter().map(near).collect(),
            n_matches,
            nearest_below: (self.bounds.below > 0 && n_matches == 0).then_some(nearest_below),
            cost: Cost { n_buckets: cost.n_buckets, n_candidates: cost.n_candidates },
            note: (self.is_text && n_matches == 0 && worker.index().may_be_foreign())
                .then_some(MAY_BE_FOREIGN),
        }
    }
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
