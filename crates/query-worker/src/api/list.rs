//! `GET /v1/documents`: some documents of the index, the latest first where the store knows them.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use index::{Cursor, Index, StoredDocument};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::documents::Stored;
use super::text;
use crate::problem::Problem;
use crate::worker::Worker;

const LIMIT_DEFAULT: usize = 10;
const LIMIT_MAX: usize = 100;

/// Documents read for an answer, which also shows their sources.
const READ: usize = 1000;

/// Characters of a text that are shown.
const BEGINNING_CHARS: usize = 300;

/// Bounds of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bounds {
    limit: Option<usize>,
}

/// Some documents of the index, to begin with.
#[derive(Serialize, ToSchema)]
pub(super) struct Listed {
    documents: Vec<ListedDocument>,
    /// True if these are the latest of the index, the latest first. A store that does not know the
    /// order of its documents returns the first of its own order, if it has more than `n_read`.
    are_latest: bool,
    /// Number of documents read for this answer.
    n_read: usize,
    /// Sources of the documents read, in the order of their names.
    sources: Vec<String>,
}

/// A document of the index, with the beginning of its text.
#[derive(Serialize, ToSchema)]
pub(super) struct ListedDocument {
    #[serde(flatten)]
    document: Stored,
    /// The first 300 characters of the text; null if neither the index nor this worker has it.
    beginning: Option<String>,
}

/// Lists some documents: the latest where the store knows which these are.
#[utoipa::path(
    get,
    path = "/v1/documents",
    tag = "documents",
    params(("limit" = Option<usize>, Query, description = "The most documents to return; 10 without it", minimum = 1, maximum = 100)),
    responses(
        (status = 200, description = "Some documents", body = Listed, example = json!({ "documents": [{ "id": "a1", "fingerprint": "8f451e680053652b", "source": "wire-7", "inserted_at": "2026-01-31T18:00:00.000Z", "beginning": "insert this if it is new" }], "are_latest": true, "n_read": 1, "sources": ["wire-7"] })),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn list(
    State(worker): State<Arc<Worker>>,
    bounds: Result<Query<Bounds>, QueryRejection>,
) -> Result<Answer<Listed>, Problem> {
    let Query(Bounds { limit }) =
        bounds.map_err(|error| Problem::bad_request(&format!("{}; give ?limit=10", error.body_text())))?;
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(Problem::bad_request(&format!("limit is from 1 to {LIMIT_MAX}, got {limit}")));
    }
    let permit = worker.admit().await?;
    worker.work(permit, move |worker| listed(worker, limit)).await.map(Answer)
}

fn listed(worker: &Worker, limit: usize) -> Result<Listed, Problem> {
    let (read, are_latest) = some(worker.index(), limit)?;
    let sources: BTreeSet<_> = read.iter().filter_map(|stored| stored.document.source.as_ref()).collect();
    let sources = sources.into_iter().map(ToString::to_string).collect();
    let n_read = read.len();
    let with_beginning = |stored: StoredDocument| {
        let text = text::at_hand(worker, &stored)?;
        let beginning = text.map(|text| text.chars().take(BEGINNING_CHARS).collect());
        Ok(ListedDocument { document: stored.into(), beginning })
    };
    let documents: Result<_, Problem> = read.into_iter().take(limit).map(with_beginning).collect();
    Ok(Listed { documents: documents?, are_latest, n_read, sources })
}

/// Reads some documents, at least `limit` if there are; true if they are the latest, in order.
fn some(index: &Index, limit: usize) -> Result<(Vec<StoredDocument>, bool), Problem> {
    if let Some(last) = index.last_write()? {
        // Writes that removed or replaced documents leave gaps between the numbers.
        for n_writes in [READ, index::MAX_BATCH] {
            let after = Cursor::after(last.number.saturating_sub(n_writes as u64));
            let mut read = index.scan(after, n_writes)?.documents;
            if read.len() >= limit || n_writes as u64 >= last.number {
                read.reverse();
                read.truncate(READ);
                return Ok((read, true));
            }
        }
    }
    let page = index.scan(Cursor::start(), READ)?;
    let (mut read, is_all) = (page.documents, page.next.is_none());
    if is_all {
        read.sort_by(|a, b| (b.inserted_at, &a.document.id).cmp(&(a.inserted_at, &b.document.id)));
    }
    Ok((read, is_all))
}
