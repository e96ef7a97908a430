//! `/v1/documents`: inserts a document if no near one is in the index; looks up and removes
//! documents.

use std::sync::Arc;

use axum::Extension;
use axum::Json as Answer;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use index::{DocumentId, Features, Insertion, Source, StoredDocument};
use minhash::Similarity;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use simhash::{Distance, Fingerprint};
use utoipa::ToSchema;
use uuid::Uuid;

use super::query::Evidence;
use super::{Json, PathId, batch, document_id, given_id, id_or_integer, text};
use crate::access::Pass;
use crate::problem::Problem;
use crate::worker::calls;
use crate::worker::recent::Text;
use crate::worker::{Caller, Worker, features_bytes};

/// Characters to encode in a path: all but the unreserved ones (RFC 3986).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Example of the answer to a batch.
const INSERTED_LINES: &str = r#"{"line":1,"status":200,"outcome":"duplicate","id":"a2","fingerprint":"8f451e680053652b","duplicate_of":{"id":"a1","fingerprint":"8f451e680053652b","similarity":1.0,"exact":true,"share_of_a":1.0,"share_of_b":1.0,"numbers_differ":false,"distance":0,"differing_bits":[]}}
{"line":2,"status":201,"outcome":"inserted","id":"019c1551-86ad-7372-9aa1-89dc47c6dbe5","fingerprint":"3aa79a4260656422"}
"#;

/// A document to insert if it is new.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewDocument {
    /// The client's id for the document; without one the worker makes an id. Only with an id of its
    /// own can a client whose answer got lost repeat the request and tell its own document from
    /// another's. At most 4,096 bytes of UTF-8; an integer is its digits, as in the batch job.
    #[schema(schema_with = given_id, required = false)]
    #[serde(default, deserialize_with = "id_or_integer")]
    id: Option<String>,
    /// The text to compare. The worker may keep it for a while, see `GET /v1/documents/{id}/text`;
    /// the index keeps it if `GET /v1/index` says `texts` is `zstd`.
    #[schema(min_length = 1)]
    text: String,
    /// Origin of the document; `pigeonhole remove --source` removes all documents of one. At most
    /// 255 bytes of UTF-8.
    #[schema(min_length = 1, max_length = 255, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*$")]
    source: Option<String>,
}

impl batch::Asks for NewDocument {
    fn n_answers_max(&self) -> usize {
        1
    }
}

/// Effect of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    /// The document is new.
    Inserted,
    /// The id was there with another text, which is gone.
    Replaced,
    /// The id is there with the same features; nothing was written.
    Unchanged,
    /// A document under another id is near; nothing was written.
    Duplicate,
}

/// Result of an insertion.
#[derive(Serialize, ToSchema)]
pub(super) struct Inserted {
    outcome: Outcome,
    /// The client's id, or the one made here. A duplicate is not kept, and has an id only if the
    /// client gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    fingerprint: String,
    /// For a duplicate: the nearest document, by similarity if the index verifies, then by
    /// distance, then by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate_of: Option<DuplicateOf>,
}

/// The document that an insertion duplicates, with the evidence.
#[derive(Serialize, ToSchema)]
pub(super) struct DuplicateOf {
    id: String,
    fingerprint: String,
    /// Share of the character n-grams of either text that both have, from 0 to 1, rounded down to
    /// four decimals. Present if the index verifies.
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    #[serde(flatten)]
    evidence: Evidence,
    distance: u32,
    /// Bits in which the two fingerprints differ, the most significant (63) first; all others
    /// agree. Empty if only one of the documents has a simhash.
    differing_bits: Vec<u32>,
}

/// A document of the index.
#[derive(Serialize, ToSchema)]
pub(super) struct Stored {
    id: String,
    fingerprint: String,
    /// Origin of the document, if its inserter gave one.
    source: Option<String>,
    /// RFC 3339, by the clock of the program that inserted the document.
    inserted_at: String,
}

/// A document that was looked up.
#[derive(Serialize, ToSchema)]
pub(super) struct LookedUp {
    #[serde(flatten)]
    document: Stored,
    /// True if `GET /v1/documents/{id}/text` has its text.
    has_text: bool,
}

/// Inserts a document if the index has none near it.
#[utoipa::path(
    post,
    path = "/v1/documents",
    tag = "documents",
    request_body(content = NewDocument, example = json!({ "id": "a1", "text": "insert this if it is new", "source": "wire-7" })),
    responses(
        (status = 201, description = "It was written", body = Inserted, example = json!({ "outcome": "inserted", "id": "a1", "fingerprint": "8f451e680053652b" })),
        (status = 200, description = "It, or one like it, was there", body = Inserted, example = json!({ "outcome": "duplicate", "id": "a2", "fingerprint": "8f451e680053652b", "duplicate_of": { "id": "a1", "fingerprint": "8f451e680053652b", "similarity": 1.0, "exact": true, "share_of_a": 1.0, "share_of_b": 1.0, "numbers_differ": false, "distance": 0, "differing_bits": [] } })),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn insert_if_new(
    State(worker): State<Arc<Worker>>,
    Json(document, admitted): Json<NewDocument>,
) -> Result<Response, Problem> {
    worker.check_text(&document.text)?;
    let permit = admitted.for_work(&worker, features_bytes(&document.text)).await?;
    let is_named = document.id.is_some();
    let insert = move |worker: &Worker, caller: &Caller| {
        let (new, text) = check(worker, document)?;
        caller.is_there()?;
        let (id, features) = (new.id.clone(), new.features.clone());
        Ok((id, features, text, worker.calls().insert_if_new(new, permit)))
    };
    let (id, features, text, called) = Arc::clone(&worker).work_for((), insert).await?;
    let insertion = worker.calls().answer(called).await?;
    keep(&worker, &id, &features, text, &insertion);
    let (status, inserted) = inserted(&id, is_named, features.fingerprint(), insertion);
    let location = inserted.id.as_deref().filter(|_| status == StatusCode::CREATED);
    let location = location.map(path_of);
    let mut response = (status, Answer(inserted)).into_response();
    if let Some(location) = location {
        let location = HeaderValue::try_from(location).map_err(|_| Problem::internal())?;
        response.headers_mut().insert(header::LOCATION, location);
    }
    Ok(response)
}

/// Returns the path of a document.
fn path_of(id: &str) -> String {
    let encoded = match id {
        // Unencoded, clients would take them for steps in the path (RFC 3986, 5.2.4).
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        id => utf8_percent_encode(id, ENCODED).to_string(),
    };
    format!("/v1/documents/{encoded}")
}

/// Inserts documents, one a line, in order; answers one line for each.
#[utoipa::path(
    post,
    path = "/v1/documents:batch",
    tag = "documents",
    request_body(content = Option<String>, content_type = "application/x-ndjson", example = "{\"id\": \"a2\", \"text\": \"Insert THIS, if it is new!\"}\n{\"text\": \"Another text, made of other words\"}\n"),
    responses(
        (status = 200, description = "An answer a line: `line`, the number of the line, `status`, which it would have had as an insertion of its own, and the fields of that insertion's answer, `Inserted` or `Problem`", body = String, content_type = "application/x-ndjson", example = json!(INSERTED_LINES)),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn insert_batch(
    State(worker): State<Arc<Worker>>,
    pass: Option<Extension<Pass>>,
    lines: Body,
) -> Result<Response, Problem> {
    let permit = worker.admit_batch()?;
    Ok(batch::answer(worker, permit, pass, lines, insert_all))
}

/// Looks up a document by its id.
#[utoipa::path(
    get,
    path = "/v1/documents/{id}",
    tag = "documents",
    params(("id" = String, Path, description = "Percent-encoded; it may hold any characters but control characters", min_length = 1, max_length = 4096, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*$", example = "a1")),
    responses(
        (status = 200, description = "It is there", body = LookedUp, example = json!({ "id": "a1", "fingerprint": "8f451e680053652b", "source": "wire-7", "inserted_at": "2026-01-31T18:00:00.000Z", "has_text": true })),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn get(
    State(worker): State<Arc<Worker>>,
    PathId(id): PathId,
) -> Result<Answer<LookedUp>, Problem> {
    let permit = worker.admit().await?;
    let find = move |worker: &Worker| {
        let stored = stored(worker, id)?;
        let has_text = text::at_hand(worker, &stored)?.is_some();
        Ok(LookedUp { document: stored.into(), has_text })
    };
    worker.work(permit, find).await.map(Answer)
}

/// Returns the document of an id.
pub(super) fn stored(worker: &Worker, id: DocumentId) -> Result<StoredDocument, Problem> {
    worker.index().get(&[id])?.pop().flatten().ok_or_else(Problem::no_such_document)
}

impl From<StoredDocument> for Stored {
    fn from(StoredDocument { document, inserted_at }: StoredDocument) -> Self {
        Self {
            id: document.id.to_string(),
            fingerprint: document.sketch.fingerprint().to_string(),
            source: document.source.map(|source| source.to_string()),
            inserted_at: inserted_at.to_string(),
        }
    }
}

/// Removes a document: no later search of any program finds it.
#[utoipa::path(
    delete,
    path = "/v1/documents/{id}",
    tag = "documents",
    params(("id" = String, Path, description = "Percent-encoded; it may hold any characters but control characters", min_length = 1, max_length = 4096, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*$", example = "a1")),
    responses(
        (status = 204, description = "It was there, and is gone"),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn remove(
    State(worker): State<Arc<Worker>>,
    PathId(id): PathId,
) -> Result<StatusCode, Problem> {
    let permit = worker.admit().await?;
    let remove = move |worker: &Worker| {
        let was_there = worker.index().remove(std::slice::from_ref(&id))?.pop();
        worker.recent_texts().forget(&id);
        Ok(was_there)
    };
    let was_there = worker.work(permit, remove).await?;
    match was_there {
        Some(true) => Ok(StatusCode::NO_CONTENT),
        _ => Err(Problem::no_such_document()),
    }
}

/// Inserts documents one after another, in order. The status is 201 if something was written, and
/// 200 if the document, or one like it, was there.
fn insert_all(worker: &Worker, documents: Vec<NewDocument>) -> Vec<Result<(StatusCode, Inserted), Problem>> {
    let named: Vec<bool> = documents.iter().map(|document| document.id.is_some()).collect();
    let checked = documents.into_iter().map(|document| {
        let _memory = worker.memory_for(&document.text)?;
        check(worker, document)
    });
    let checked: Vec<_> = checked.collect();
    let good = checked.iter().filter_map(|checked| checked.as_ref().ok());
    let new: Vec<_> = good.map(|(new, _)| new.clone()).collect();
    let mut insertions = calls::insert_all(worker.index(), &new).into_iter();
    let mut answer = |(new, text): (index::NewDocument, _), is_named| {
        let insertion = insertions.next().unwrap_or_else(|| Err(Problem::internal()))?;
        keep(worker, &new.id, &new.features, text, &insertion);
        Ok(inserted(&new.id, is_named, new.features.fingerprint(), insertion))
    };
    let checked = checked.into_iter().zip(named);
    checked.map(|(checked, is_named)| checked.and_then(|new| answer(new, is_named))).collect()
}

/// Checks a document; returns it for the index, and its text for the worker's cache.
fn check(worker: &Worker, document: NewDocument) -> Result<(index::NewDocument, Option<Text>), Problem> {
    // A time and random bits: unique among workers, and ordered by time.
    let id = document_id(document.id.unwrap_or_else(|| Uuid::now_v7().to_string()))?;
    let source = document.source.map(Source::new).transpose();
    let source = source.map_err(|error| Problem::bad_request(&error.to_string()))?;
    worker.check_text(&document.text)?;
    let features = worker.features(&document.text).ok_or_else(Problem::no_features)?;
    let text = worker.recent_texts().pack(&document.text);
    Ok((index::NewDocument { id, features, source }, text))
}

/// Keeps the text of a document that is now in the index.
fn keep(worker: &Worker, id: &DocumentId, features: &Features, text: Option<Text>, insertion: &Insertion) {
    if let (Some(text), Insertion::Inserted | Insertion::Replaced | Insertion::Unchanged) = (text, insertion)
    {
        worker.recent_texts().keep(id.clone(), features, text);
    }
}

fn inserted(
    id: &DocumentId,
    is_named: bool,
    fingerprint: Fingerprint,
    insertion: Insertion,
) -> (StatusCode, Inserted) {
    let (status, outcome) = match insertion {
        Insertion::Inserted => (StatusCode::CREATED, Outcome::Inserted),
        Insertion::Replaced => (StatusCode::CREATED, Outcome::Replaced),
        Insertion::Unchanged => (StatusCode::OK, Outcome::Unchanged),
        Insertion::Duplicate(_) => (StatusCode::OK, Outcome::Duplicate),
    };
    let duplicate_of = match insertion {
        Insertion::Duplicate(found) => Some(DuplicateOf {
            id: found.id.to_string(),
            fingerprint: found.fingerprint.to_string(),
            similarity: found.similarity().map(Similarity::four_decimals),
            evidence: found.nearness.into(),
            distance: found.distance().as_bits(),
            differing_bits: differing_bits(fingerprint, found.fingerprint, found.distance()),
        }),
        Insertion::Inserted | Insertion::Replaced | Insertion::Unchanged => None,
    };
    // An id made here for a duplicate is unknown to its client, and leads to no document.
    let id = (is_named || duplicate_of.is_none()).then(|| id.to_string());
    (status, Inserted { outcome, id, fingerprint: fingerprint.to_string(), duplicate_of })
}

/// Returns the bits in which two fingerprints differ, the most significant first; none if
/// `distance` is not that of the two, as with fingerprints of different kinds.
pub(super) fn differing_bits(a: Fingerprint, b: Fingerprint, distance: Distance) -> Vec<u32> {
    if a.distance(b) != distance {
        return Vec::new();
    }
    (0..Fingerprint::BITS).rev().filter(|bit| (a.0 ^ b.0) >> bit & 1 == 1).collect()
}
