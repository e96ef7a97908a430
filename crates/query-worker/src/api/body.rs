//! Body of a request, within bounds of size, time and memory.

use axum::extract::{FromRequest, Request};
use hyper::body::Body as _;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio_stream::StreamExt;

use super::parse;
use crate::problem::Problem;
use crate::request::Client;
use crate::worker::{Permit, Worker, is_heavy};

/// JSON body of an admitted request of any content type; a fault of the body is a [`Problem`].
///
/// The place is taken after the body has arrived: slow clients hold none.
pub(super) struct Json<T>(pub(super) T, pub(super) Admitted);

/// A request that holds a place, before its work is admitted.
pub(super) struct Admitted {
    permit: Permit,
    client: Client,
}

impl Admitted {
    /// Adds more room.
    pub(super) fn with_room(self, room: OwnedSemaphorePermit) -> Self {
        Self { permit: self.permit.with_room(room), ..self }
    }

    /// Admits work that takes `n_bytes` of memory. Heavy work waits for its turn, and ends with its
    /// client.
    pub(super) async fn for_work(self, worker: &Worker, n_bytes: usize) -> Result<Permit, Problem> {
        if is_heavy(n_bytes) {
            self.client.ends_the_work();
        }
        worker.admit_work(self.permit, n_bytes).await
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<Worker>> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, worker: &Arc<Worker>) -> Result<Self, Problem> {
        let wait_max = worker.limits().body_seconds_max;
        let client = request.extensions().get().cloned().unwrap_or_default();
        let read = tokio::time::timeout(wait_max, read(request, worker));
        let (body, room) = read.await.map_err(|_| Problem::too_slow(wait_max))??;
        let permit = worker.admit().await?;
        let admitted = Admitted { permit: permit.with_room(room), client };
        parse(&body).map(|value| Self(value, admitted))
    }
}

async fn read(request: Request, worker: &Worker) -> Result<(Vec<u8>, OwnedSemaphorePermit), Problem> {
    let bytes_max = worker.limits().body_bytes_max;
    let body = request.into_body();
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(Problem::too_large(bytes_max));
    }
    let mut pieces = body.into_data_stream();
    let (mut whole, mut room) = (Vec::new(), worker.room(0)?);
    while let Some(piece) = pieces.next().await {
        let piece =
            piece.map_err(|_| Problem::bad_request("the request body could not be read to its end"))?;
        if piece.len() > bytes_max - whole.len() {
            return Err(Problem::too_large(bytes_max));
        }
        // Room is taken as bytes arrive: announced bytes that never arrive would keep others out.
        room.merge(worker.room(piece.len())?);
        whole.extend_from_slice(&piece);
    }
    Ok((whole, room))
}
