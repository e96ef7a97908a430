//! Stream with a bound on each wait for its client: for a request, for the rest of its head, and
//! for the client to read the answer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant, Sleep};

use super::turns::Turns;
use crate::limits::Limits;

/// The least bytes that a client must read in the time for reading. A bound on each write alone
/// would let a client take one byte at a time.
const ANSWER_BYTES_MIN: usize = 64 << 10;

/// Longest time that a client may go on sending after its last answer.
const LINGER_MAX: Duration = Duration::from_secs(1);

/// Stream with a bound on each wait for the client. The wait for a request's body is not bounded
/// here.
pub(super) struct Timed<S> {
    stream: S,
    turns: Arc<Turns>,
    /// Turn of the last read.
    turn: u64,
    /// True if a part of a request has come in this turn.
    has_begun: bool,
    reading: Wait,
    writing: Wait,
    /// Bytes that the client has taken since the wait for reading began.
    written: usize,
    /// True if bytes came since the last try to write: a client that sends a long request may read
    /// afterwards.
    has_sent: bool,
    /// True if the client has had its last answer, and all that it sent was read.
    is_over: bool,
    is_shut: bool,
    idle: Duration,
    header: Duration,
    answer: Duration,
}

impl<S> Timed<S> {
    pub(super) fn new(stream: S, limits: &Limits, turns: Arc<Turns>) -> Self {
        Self {
            stream,
            turns,
            turn: 0,
            has_begun: false,
            reading: Wait::default(),
            writing: Wait::default(),
            written: 0,
            has_sent: false,
            is_over: false,
            is_shut: false,
            idle: limits.idle_seconds_max,
            header: limits.header_seconds_max,
            answer: limits.answer_seconds_max,
        }
    }

    /// Returns true if the stream waits for nothing but the next request. Notices a change of turn.
    fn is_clients_turn(&mut self) -> bool {
        let turn = self.turns.n();
        if turn != self.turn {
            (self.turn, self.has_begun) = (turn, false);
            self.reading.end();
        }
        turn.is_multiple_of(2) && !self.writing.has_begun()
    }

    /// Returns true if the connection ends instead of waiting for a request or the rest of a head.
    fn is_last(&self) -> bool {
        self.turns.is_last(self.has_begun)
    }

    /// Applies the bound on reading to the result of a write.
    fn wrote(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(written) => {
                self.written += written.as_ref().map_or(0, |&n| n);
                if self.written >= ANSWER_BYTES_MIN {
                    self.all_read();
                }
                Poll::Ready(written)
            }
            Poll::Pending => {
                if std::mem::take(&mut self.has_sent) {
                    self.all_read();
                }
                ready!(self.writing.poll(self.answer, context));
                Poll::Ready(Err(timed_out("the client does not read what it is answered")))
            }
        }
    }

    fn all_read(&mut self) {
        self.written = 0;
        self.writing.end();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let is_clients_turn = this.is_clients_turn();
        let filled = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if matches!(read, Poll::Ready(Ok(()))) && buffer.filled().len() == filled && !is_clients_turn
            // hyper would take it for the end of the connection, and of the answer.
            && !this.turns.client.is_cut(context.waker())
        {
            this.turns.client.leaves();
            return Poll::Pending;
        }
        this.has_sent |= buffer.filled().len() > filled;
        if read.is_ready() {
            if is_clients_turn && !this.has_begun && buffer.filled().len() > filled {
                this.has_begun = true;
                this.reading.begin(this.header);
            }
            return read;
        }
        if !is_clients_turn {
            return Poll::Pending;
        }
        if this.is_last() {
            // As if the client had closed the connection.
            this.is_over = true;
            return Poll::Ready(Ok(()));
        }
        ready!(this.reading.poll(this.idle, context));
        match this.has_begun {
            true => Poll::Ready(Err(timed_out("the head of a request is too slow"))),
            false => {
                this.is_over = true;
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.wrote(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.wrote(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        // hyper flushes after it has written everything.
        if flushed.is_ready() {
            self.all_read();
            // With the answer gone it may be the client's turn, in which hyper does not always read
            // at once. The next read decides what an expired wait means.
            if !self.is_shut && self.is_clients_turn() {
                let (idle, is_last) = (self.idle, self.is_last());
                if is_last || self.turns.client.has_left() || self.reading.poll(idle, context).is_ready() {
                    context.waker().wake_by_ref();
                }
            }
        }
        self.wrote(context, flushed.map_ok(|()| 0)).map_ok(|_| ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut {
            let shut = Pin::new(&mut self.stream).poll_shutdown(context);
            ready!(self.wrote(context, shut.map_ok(|()| 0)))?;
            self.is_shut = true;
            self.reading.end();
        }
        // Closing with unread bytes would reset the connection, and hide from the client why its
        // request was refused half-way.
        while !self.is_over && self.reading.poll(LINGER_MAX, context).is_pending() {
            let mut unread = [0; 4096];
            let mut unread = ReadBuf::new(&mut unread);
            match Pin::new(&mut self.stream).poll_read(context, &mut unread) {
                Poll::Ready(Ok(())) if !unread.filled().is_empty() => {}
                Poll::Ready(_) => self.is_over = true,
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// A wait with a time limit. Its timer is kept for reuse, because each request has two waits.
#[derive(Default)]
struct Wait {
    until: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Wait {
    fn has_begun(&self) -> bool {
        self.until.is_some()
    }

    fn begin(&mut self, wait_max: Duration) {
        self.until = Some(Instant::now() + wait_max);
    }

    fn end(&mut self) {
        self.until = None;
    }

    /// Resolves when the time is over. The wait begins now unless it has begun.
    fn poll(&mut self, wait_max: Duration, context: &mut Context<'_>) -> Poll<()> {
        let until = *self.until.get_or_insert_with(|| Instant::now() + wait_max);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if timer.deadline() != until {
            timer.as_mut().reset(until);
        }
        timer.as_mut().poll(context)
    }
}

fn timed_out(message: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, message)
}
