//! What hyper itself refuses: bytes that are no HTTP, and heads that are too large.
//!
//! It answers these with a bare status, and there is no hook for another answer. So the stream below it tells hyper's own
//! answers from those to requests and writes a problem in their place.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::timed::Turns;

/// How a client of HTTP/2 begins (RFC 9113, 3.4).
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n";

/// A stream that says `refusal(status)` where hyper says a status by itself.
pub(super) struct Refusing<S, F> {
    stream: S,
    turns: Arc<Turns>,
    /// How many turns there had been when all answers so far were written.
    n_answered: u64,
    /// Whether nothing has been read.
    is_new: bool,
    refusal: F,
    /// What is still to be written of it.
    unwritten: Bytes,
}

impl<S, F: Fn(StatusCode) -> Bytes> Refusing<S, F> {
    pub(super) fn new(stream: S, turns: Arc<Turns>, refusal: F) -> Self {
        Self { stream, turns, n_answered: 0, is_new: true, refusal, unwritten: Bytes::new() }
    }

    /// Takes what hyper says by itself. No request has come since all answers were written, so it can be nothing else;
    /// and it comes whole, because nothing was waiting to be written before it.
    fn takes(&mut self, written: &[u8]) -> bool {
        if self.turns.n() != self.n_answered {
            return false;
        }
        let status = written.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3));
        let Some(status) = status.and_then(|status| StatusCode::from_bytes(status).ok()) else {
            return false;
        };
        self.unwritten = (self.refusal)(status);
        true
    }
}

impl<S: AsyncWrite + Unpin, F> Refusing<S, F> {
    fn poll_unwritten(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unwritten.is_empty() {
            let n = ready!(Pin::new(&mut self.stream).poll_write(context, &self.unwritten))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            drop(self.unwritten.split_to(n));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin, F: Unpin> AsyncRead for Refusing<S, F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = &mut buffer.filled_mut()[n_before..];
        if std::mem::take(&mut self.is_new) && read.starts_with(HTTP2) {
            // hyper knows these bytes, and closes without a word. What is no method it refuses.
            read[0] = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin, F: Fn(StatusCode) -> Bytes + Unpin> AsyncWrite for Refusing<S, F> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.takes(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if bytes.first().is_some_and(|first| self.takes(first)) {
            return Poll::Ready(Ok(bytes.iter().map(|bytes| bytes.len()).sum()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unwritten(context))?;
        // hyper flushes when it has written all that it had. What it writes in the client's turn is the end of an answer,
        // and none is left after this.
        let n_turns = self.turns.n();
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        if n_turns.is_multiple_of(2) {
            self.n_answered = n_turns;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_unwritten(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
