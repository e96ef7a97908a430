//! Problems in place of hyper's own refusals: of bytes that are no HTTP, and of heads that are too
//! large.
//!
//! hyper answers these with a bare status, and has no hook for another answer. The stream below
//! hyper therefore tells hyper's own answers from those to requests, and writes a problem instead.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::turns::Turns;

/// How a client of HTTP/2 begins (RFC 9113, 3.4).
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n";

/// Stream that writes `refusal(status)` in place of hyper's own answer with `status`.
pub(super) struct Refusing<S, F> {
    stream: S,
    turns: Arc<Turns>,
    /// Number of turns when the last answer was completely written.
    n_answered: u64,
    /// True until something has been read.
    is_new: bool,
    refusal: F,
    /// Bytes of the refusal that are not yet written.
    unwritten: Bytes,
}

impl<S, F: Fn(StatusCode) -> Bytes> Refusing<S, F> {
    pub(super) fn new(stream: S, turns: Arc<Turns>, refusal: F) -> Self {
        Self { stream, turns, n_answered: 0, is_new: true, refusal, unwritten: Bytes::new() }
    }

    /// Replaces an answer of hyper itself. No request has come since all answers were written, so
    /// the bytes can be nothing else. They come whole, because nothing was waiting before them.
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
        // hyper flushes after it has written everything. Bytes written in the client's turn are the
        // end of an answer, and none remains after this flush.
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
