//! Information about the worker: `GET /v1/index`, `/healthz`, `/readyz` and `/metrics`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::{Extension, Json};
use index::Retention;
use minhash::Similarity;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Pass;
use crate::access::keys::Scope;
use crate::metrics;
use crate::problem::Problem;
use crate::worker::Worker;

/// Health of the service.
#[derive(Serialize, ToSchema)]
pub(super) struct Health {
    status: &'static str,
    /// Faults that do not stop answers: keys or a certificate that cannot be read again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The index behind this worker, and the worker's bounds.
#[derive(Serialize, ToSchema)]
pub(super) struct About {
    /// Address of the store, without passwords or the files of them.
    store: String,
    /// Features by which documents are filed: `classic`, their simhashes; `minhash`, their
    /// character n-grams; `full`, both.
    profile: String,
    /// The least similarity of near-duplicates, from 0 to 1; null if the index does not verify.
    min_similarity: Option<f64>,
    /// Keeping of texts: `zstd` if the index keeps them and counts similarities, or `none`.
    texts: String,
    /// True if documents with other numbers are never near, however similar they are.
    same_numbers: bool,
    /// True if n-grams are hashed with a secret key: without the key no signature can be made to
    /// order.
    keyed: bool,
    /// Table scheme: the bits of simhashes that must agree; `none` if documents are filed by
    /// n-grams alone.
    scheme: String,
    /// Number of tables of the scheme; a query reads one bucket of each.
    n_tables: usize,
    /// Number of all buckets that a query reads for most texts: those of the tables, and those of
    /// the n-grams.
    n_buckets: usize,
    /// The most bits in which simhashes that propose near-duplicates may differ.
    max_distance: u32,
    /// For each table the bits that must agree, in 16 hexadecimal digits.
    tables: Vec<String>,
    /// Time that documents stay after their insertion; null if they stay until removed.
    retain_seconds: Option<u32>,
    /// Settings by which texts become fingerprints.
    recipe: BTreeMap<String, String>,
    /// Version of the stored bytes.
    format_version: u32,
    /// Identity of the index in 32 hexadecimal digits: an index made anew in the same place has
    /// another.
    identity: String,
    /// Null if the store does not count its documents.
    n_documents: Option<u64>,
    /// The largest request body, and the longest line of a batch, in bytes.
    body_bytes_max: usize,
    /// The largest text, in bytes.
    text_bytes_max: usize,
    /// The most lines of a batch.
    batch_lines_max: u64,
    /// Number of texts of documents that this worker keeps; its bound in bytes is
    /// `recent_texts_bytes_max`.
    n_recent_texts: usize,
    recent_texts_bytes_max: usize,
    /// Where people find a document: `{id}` stands for its percent-encoded id. Null without
    /// `--document-url`.
    document_url: Option<String>,
    /// Scopes of the key of this request; all of them where there are no keys.
    scopes: Vec<&'static str>,
}

/// Answers while the process runs.
///
/// The answer does not depend on the store, whose failure a new process would not repair.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "service",
    responses(
        (status = 200, description = "The process runs", body = Health),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn alive() -> Json<Health> {
    Json(Health { status: "ok", warnings: Vec::new() })
}

/// Answers 200 while the store can be searched and written to.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "service",
    responses(
        (status = 200, description = "The store can be searched and written to", body = Health),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn ready(State(worker): State<Arc<Worker>>) -> Result<Json<Health>, Problem> {
    let warnings = worker.outdated().warnings();
    worker.ready().await?;
    Ok(Json(Health { status: "ready", warnings }))
}

/// Returns counters and timers for Prometheus. The request takes none of the places for work.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "service",
    responses(
        (status = 200, description = "Figures in the OpenMetrics text format", body = String, content_type = "application/openmetrics-text"),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn metrics(State(worker): State<Arc<Worker>>) -> impl IntoResponse {
    ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], worker.figures().await)
}

/// Describes the index.
#[utoipa::path(
    get,
    path = "/v1/index",
    tag = "service",
    responses(
        (status = 200, description = "The index", body = About),
        (status = "default", description = "What went wrong, and what to do", body = crate::problem::Body, content_type = "application/problem+json")
    )
)]
pub(super) async fn index(
    State(worker): State<Arc<Worker>>,
    pass: Option<Extension<Pass>>,
) -> Result<Json<About>, Problem> {
    let permit = worker.admit().await?;
    let scopes = pass.map_or_else(|| Scope::ALL.to_vec(), |Extension(pass)| pass.scopes().to_vec());
    worker.work(permit, move |worker| about(worker, &scopes)).await.map(Json)
}

fn about(worker: &Worker, scopes: &[Scope]) -> Result<About, Problem> {
    let metadata = worker.index().metadata();
    let masks = metadata.kind.masks();
    Ok(About {
        store: worker.store().to_owned(),
        profile: metadata.kind.profile().to_string(),
        min_similarity: metadata.min_similarity.map(Similarity::get),
        texts: metadata.texts.to_string(),
        same_numbers: metadata.same_numbers,
        keyed: metadata.key.is_some(),
        scheme: metadata.kind.name().to_owned(),
        n_tables: masks.len(),
        n_buckets: metadata.kind.n_keys(),
        max_distance: metadata.max_distance.as_bits(),
        tables: masks.iter().map(|mask| format!("{mask:016x}")).collect(),
        retain_seconds: metadata.retain.map(Retention::as_seconds),
        recipe: metadata.recipe.clone(),
        format_version: metadata.format_version,
        identity: metadata.identity.to_string(),
        n_documents: worker.index().status()?.n_documents,
        body_bytes_max: worker.limits().body_bytes_max,
        text_bytes_max: worker.limits().text_bytes_max,
        batch_lines_max: worker.limits().batch_lines_max,
        n_recent_texts: worker.recent_texts().size().0,
        recent_texts_bytes_max: worker.recent_texts().bytes_max(),
        document_url: worker.document_url().map(str::to_owned),
        scopes: scopes.iter().map(|scope| scope.name()).collect(),
    })
}
