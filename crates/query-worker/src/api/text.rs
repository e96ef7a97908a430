//! `GET /v1/documents/{id}/text`: the text of a document, if the index or this worker has it.

use std::sync::Arc;

use axum::Json as Answer;
use axum::extract::State;
use index::{DocumentId, StoredDocument, TextKeeping};
use serde::Serialize;
use utoipa::ToSchema;

use super::PathId;
use crate::problem::Problem;
use crate::worker::Worker;

/// Text of a document.
#[derive(Serialize, ToSchema)]
pub(super) struct DocumentText {
    id: String,
    /// Fingerprint of the text, which is the one in the index.
    fingerprint: String,
    /// The text as posted.
    text: String,
}

/// Returns the text of a document.
///
/// An index made with texts keeps it. Of other indexes the worker keeps in memory the texts posted
/// to it lately, as long as it has room. With `--recent-texts-bytes-max 0` it gives out no text.
#[utoipa::path(
    get,
    path = "/v1/documents/{id}/text",
    tag = "documents",
    params(("id" = String, Path, description = "Percent-encoded; it may hold any characters but control characters", min_length = 1, max_length = 4096, pattern = "^[^\\x00-\\x1f\\x7f-\\x9f]*$", example = "a1")),
    responses(
        (status = 200, description = "It is there", body = DocumentText, example = json!({ "id": "a1", "fingerprint": "8f451e680053652b", "text": "insert this if it is new" })),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn text(
    State(worker): State<Arc<Worker>>,
    PathId(id): PathId,
) -> Result<Answer<DocumentText>, Problem> {
    let permit = worker.admit().await?;
    let find = move |worker: &Worker| {
        let texts = worker.recent_texts();
        let Some(stored) = worker.index().get(std::slice::from_ref(&id))?.pop().flatten() else {
            // Removed by another program, or expired.
            texts.forget(&id);
            return Err(Problem::no_such_document());
        };
        let text = at_hand(worker, &stored)?;
        let text = text.ok_or_else(|| Problem::no_text(keeps_texts(worker), texts.bytes_max() > 0))?;
        let fingerprint = stored.document.sketch.fingerprint().to_string();
        Ok(DocumentText { id: id.to_string(), fingerprint, text })
    };
    worker.work(permit, find).await.map(Answer)
}

/// Returns the text of a document that this worker may give out: the text that the index keeps, or
/// else the one posted to this worker lately. The latter may be another text with the same
/// features.
pub(super) fn at_hand(worker: &Worker, stored: &StoredDocument) -> Result<Option<String>, Problem> {
    let (texts, document) = (worker.recent_texts(), &stored.document);
    if texts.bytes_max() == 0 {
        return Ok(None);
    }
    let kept = kept(worker, &document.id)?;
    Ok(kept.or_else(|| texts.get(&document.id, document.sketch.features())))
}

/// The text that the index keeps of a document.
fn kept(worker: &Worker, id: &DocumentId) -> Result<Option<String>, Problem> {
    if !keeps_texts(worker) {
        return Ok(None);
    }
    let text = worker.index().texts(std::slice::from_ref(id))?.pop().flatten();
    Ok(text.map(|text| text.to_string()))
}

fn keeps_texts(worker: &Worker) -> bool {
    worker.index().metadata().texts != TextKeeping::None
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use engine::Engine;
    use features::{Dictionaries, Recipe};
    use index::{Index, MemoryStore, NewDocument, OpenOptions};

    use super::*;
    use crate::config::Config;

    const STORED: &str = "The ferry terminal on the east side of the harbour reopened on Monday.";
    const RECENT: &str = "THE FERRY TERMINAL on the east side of the harbour reopened on Monday.";

    /// Regression: a worker gave out the text posted to it, although the index kept another one.
    #[test]
    fn the_text_in_the_index_goes_before_a_recent_one() {
        for (texts, has_text, expected) in [
            (TextKeeping::Zstd, true, STORED),
            (TextKeeping::Zstd, false, RECENT),
            (TextKeeping::None, true, RECENT),
        ] {
            let recipe_default = Recipe::default().fields();
            let options = OpenOptions { texts: Some(texts), recipe_default, ..OpenOptions::default() };
            let index = Index::over(Box::new(MemoryStore::new()), &options).unwrap();
            let engine = Engine::over(index, &Dictionaries::default()).unwrap();
            let limits = Config::parse_from(["query-worker"]).limits;
            let worker = Worker::over(engine, &"memory:".parse().unwrap(), limits);
            let id = DocumentId::new("a").unwrap();
            let mut features = worker.features(STORED).unwrap();
            features.text = features.text.filter(|_| has_text);
            let recent = worker.recent_texts().pack(RECENT).unwrap();
            worker.recent_texts().keep(id.clone(), &features, recent);
            worker.index().insert(&[NewDocument { id: id.clone(), features, source: None }]).unwrap();
            let stored = worker.index().get(&[id]).unwrap().pop().flatten().unwrap();
            assert_eq!(at_hand(&worker, &stored).unwrap().as_deref(), Some(expected));
        }
    }
}
