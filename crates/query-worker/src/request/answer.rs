//! Body of an answer. Its memory stays counted and its request under way until the client has read
//! it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;

use super::{Ending, HEAD};
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
    /// True once the connection has asked for more and been told that there is none.
    has_ended: bool,
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
        Self { body, rest: Bytes::new(), has_ended: false, ending, _pass: pass, _room: room }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // The connection does not ask for the end of a body that it knows to be at its end, nor for
        // the body of an answer to HEAD.
        if !(self.has_ended || self.is_end_stream() || self.ending.method == HEAD) {
            self.ending.break_off();
        }
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
                end => {
                    this.has_ended = end.is_none();
                    return Poll::Ready(end);
                }
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use axum::extract::Request;
    use axum::http::StatusCode;
    use clap::Parser;
    use engine::Engine;
    use features::{Dictionaries, Recipe};
    use index::{Index, MemoryStore, OpenOptions};
    use tokio_stream::StreamExt;
    use tracing::Span;

    use super::*;
    use crate::config::Config;

    /// Regression: an answer that was not read to its end counted as one that was.
    #[tokio::test]
    async fn an_answer_that_breaks_off_is_counted_as_gone() {
        let long = || Body::from("x".repeat(PIECE_BYTES + 1));
        let stream = || Body::from_stream(tokio_stream::iter([Ok::<_, Infallible>("x")]));
        for (method, body, n_polls, expected) in [
            ("GET", Body::empty(), 0, "200"),
            ("GET", long(), 0, "gone"),
            ("GET", long(), 1, "gone"),
            ("GET", long(), 2, "200"),
            ("HEAD", long(), 0, "200"),
            ("POST", stream(), 1, "gone"),
            ("POST", stream(), 2, "200"),
        ] {
            let options =
                OpenOptions { recipe_default: Recipe::default().fields(), ..OpenOptions::default() };
            let index = Index::over(Box::new(MemoryStore::new()), &options).unwrap();
            let engine = Engine::over(index, &Dictionaries::default()).unwrap();
            let limits = Config::parse_from(["query-worker"]).limits;
            let worker = Arc::new(Worker::over(engine, &"memory:".parse().unwrap(), limits));
            let request = Request::builder().method(method).body(Body::empty()).unwrap();
            let mut ending = Ending::of(Arc::clone(&worker), &request, Span::none());
            ending.status = Some(StatusCode::OK);
            let mut pieces = Body::new(Answer::new(body, ending, None, None)).into_data_stream();
            for _ in 0..n_polls {
                pieces.next().await;
            }
            drop(pieces);
            let figures = worker.figures().await;
            let counted = format!("method=\"{method}\",status=\"{expected}\"}} 1");
            assert!(figures.contains(&counted), "{method} after {n_polls} pieces: {figures}");
        }
    }
}
