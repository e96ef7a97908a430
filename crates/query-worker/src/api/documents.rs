//! `POST /v1/documents`: insert a document if none like it is there.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use index::{DocumentId, Insertion, Source};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Json, Problem, answer};
use crate::server::Worker;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NewDocument {
    id: String,
    text: String,
    /// Where it came from; `pigeonhole remove --source` removes all of one.
    source: Option<String>,
}

pub(super) async fn insert_if_new(
    State(worker): State<Arc<Worker>>,
    Json(document, permit): Json<NewDocument>,
) -> Result<impl IntoResponse, Problem> {
    let (status, body) = worker.work(permit, move |worker| insert(worker, document)).await?;
    Ok(answer(status, body))
}

/// 201 where something was written, 200 where the document, or one like it, was there.
fn insert(worker: &Worker, document: NewDocument) -> Result<(StatusCode, Value), Problem> {
    let id = DocumentId::new(document.id).map_err(|error| Problem::bad_request(&error.to_string()))?;
    let source = document.source.map(Source::new).transpose();
    let source = source.map_err(|error| Problem::bad_request(&error.to_string()))?;
    let fingerprint = worker.fingerprint(&document.text).ok_or_else(Problem::no_features)?;
    let new = index::NewDocument { id: id.clone(), fingerprint, source };
    let insertion = worker.index().insert_if_new(&[new])?.pop().ok_or_else(Problem::internal)?;
    let (status, outcome) = match &insertion {
        Insertion::Inserted => (StatusCode::CREATED, "inserted"),
        Insertion::Replaced => (StatusCode::CREATED, "replaced"),
        Insertion::Unchanged => (StatusCode::OK, "unchanged"),
        Insertion::Duplicate(_) => (StatusCode::OK, "duplicate"),
    };
    let mut body = json!({ "outcome": outcome, "id": id.as_str(), "fingerprint": fingerprint.to_string() });
    if let Insertion::Duplicate(found) = insertion {
        body["duplicate_of"] = json!({
            "id": found.id.as_str(),
            "fingerprint": found.fingerprint.to_string(),
            "distance": found.distance,
        });
    }
    Ok((status, body))
}
