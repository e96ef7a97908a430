//! Bodies of answers and requests that tell the turns of their connection.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::turns::Turn;
use crate::request::Client;

/// Body of an answer, with whose end the worker's turn ends.
pub(super) struct InTurn {
    body: Body,
    _turn: Turn,
}

impl InTurn {
    pub(super) fn new(body: Body, turn: Turn) -> Self {
        Self { body, _turn: turn }
    }
}

impl HttpBody for InTurn {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Body of a request, which reports polls for input that has not come.
pub(super) struct Asking<B> {
    body: B,
    client: Client,
}

impl<B: HttpBody> Asking<B> {
    pub(super) fn new(body: B, client: Client) -> Self {
        Self { body, client }
    }
}

impl<B: HttpBody + Unpin> HttpBody for Asking<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() {
            self.client.wants_more(context.waker());
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
