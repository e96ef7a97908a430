//! Body of an answer. Its memory stays counted and its request under way until the client has read
//! it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::Ending;
use crate::access::Pass;
use crate::problem::Problem;
use crate::worker::Worker;

/// The most bytes given to the connection at once. The connection holds them, so they are no longer
/// counted here.
const PIECE_BYTES: usize = 64 << 10;

/// Takes room for a body that is in memory as a whole, unless the body is so small that the bound
/// on connections suffices.
///
/// # Errors
/// [`Problem::busy`] if too much is held.
pub(super) fn room(worker: &Worker, body: &Body) -> Result<Option<OwnedSemaphorePermit>, Problem> {
    let n_bytes = body.size_hint().exact().map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX));
    // An answer larger than the limit takes all room: one such answer at a time passes.
    let n_bytes = n_bytes.min(worker.limits().bodies_bytes_max as usize);
    (n_bytes > PIECE_BYTES).then(|| worker.room(n_bytes)).transpose()
}

/// A body, with all that is held until the client has read it or gone away.
pub(super) struct Answer {
    body: Body,
    /// Bytes that the body has given and the connection has not yet taken.
    rest: Bytes,
    ending: Ending,
    _pass: Option<Pass>,
    _room: Option<OwnedSemaphorePermit>,
}

impl Answer {
    pub(super) fn new(
        body: Body,
        ending: Ending,
        pass: Option<Pass>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self { body, rest: Bytes::new(), ending, _pass: pass, _room: room }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        while this.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                end => return Poll::Ready(end),
            };
            match frame.into_data() {
                Ok(data) => this.rest = data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        this.ending.add(piece.len() as u64);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let n_rest = self.rest.len() as u64;
        let hint = self.body.size_hint();
        let mut whole = SizeHint::new();
        whole.set_lower(hint.lower() + n_rest);
        if let Some(upper) = hint.upper() {
            whole.set_upper(upper + n_rest);
        }
        whole
    }
}
