//! The body of an answer. Until its client has read it, it takes the memory that it takes, and its request is under way.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::Ending;
use crate::access::Pass;
use crate::problem::Problem;
use crate::worker::Worker;

/// How much is given to the connection at once. What is given to it is held by it, and is no longer seen from here.
const PIECE_BYTES: usize = 64 << 10;

/// Room for a body that is there as a whole, unless it is so small that the number of connections bounds it.
///
/// # Errors
/// [`Problem::busy`] where too much is held.
pub(super) fn room(worker: &Worker, body: &Body) -> Result<Option<OwnedSemaphorePermit>, Problem> {
    let n_bytes = body.size_hint().exact().map_or(0, |n| usize::try_from(n).unwrap_or(usize::MAX));
    // A limit that is less than one answer lets one through at a time.
    let n_bytes = n_bytes.min(worker.limits().bodies_bytes_max as usize);
    (n_bytes > PIECE_BYTES).then(|| worker.room(n_bytes)).transpose()
}

/// A body, with all that is held until it is read or given up.
pub(super) struct Answer {
    body: Body,
    /// What the body has given and the connection has not taken.
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
