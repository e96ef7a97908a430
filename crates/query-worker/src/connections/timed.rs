//! Stream with a bound on each wait for its client: for a request, for the rest of its head, and
//! for the client to read the answer.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Duration, Instant, Sleep};

use super::seats::{Rank, Seats};
use crate::limits::Limits;
use crate::request::Client;

/// The least bytes that a client must read in the time for reading. A bound on each write alone
/// would let a client take one byte at a time.
const ANSWER_BYTES_MIN: usize = 64 << 10;

/// Longest time that a client may go on sending after its last answer.
const LINGER_MAX: Duration = Duration::from_secs(1);

/// Turns of a connection: the client's, and the worker's while it answers a request.
pub(super) struct Turns {
    /// Number of turns so far; even in the client's turn.
    n: AtomicU64,
    closes_when_idle: AtomicBool,
    closes_in_heads: AtomicBool,
    seats: Arc<Seats>,
    /// Seat among the connections that wait for their clients; `None` after the end.
    seat: Mutex<Option<Rank>>,
    /// Notifies that the connection is to give way to another.
    called: Notify,
    client: Client,
}

impl Turns {
    /// Starts with the client's first turn, on a seat.
    pub(super) fn seated(seats: &Arc<Seats>) -> Arc<Self> {
        let turns = Arc::new(Self {
            n: AtomicU64::new(0),
            closes_when_idle: AtomicBool::new(false),
            closes_in_heads: AtomicBool::new(false),
            seats: Arc::clone(seats),
            seat: Mutex::new(None),
            called: Notify::new(),
            client: Client::default(),
        });
        *turns.seat() = Some(seats.sit(None, false, &turns));
        turns
    }

    /// Starts the worker's turn, until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Turn {
        self.n.fetch_add(1, Ordering::Relaxed);
        self.client.begins();
        Turn(Arc::clone(self))
    }

    /// Returns the client of the connection.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns true in the client's turn.
    pub(super) fn is_clients(&self) -> bool {
        self.n().is_multiple_of(2)
    }

    /// Tells the connection to give way as soon as it is idle.
    pub(super) fn call(&self) {
        self.called.notify_one();
    }

    /// Resolves when the connection is to give way.
    pub(super) async fn called(&self) {
        self.called.notified().await;
    }

    /// Leaves the seat at the end of the connection.
    pub(super) fn leave(&self) {
        if let Some(rank) = self.seat().take() {
            self.seats.leave(rank);
        }
    }

    fn seat(&self) -> MutexGuard<'_, Option<Rank>> {
        // Nothing panics while the lock is held.
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of turns so far, which is even in the client's turn.
    pub(super) fn n(&self) -> u64 {
        self.n.load(Ordering::Relaxed)
    }

    /// Ends the connection once no byte of a request has arrived and no byte of an answer is left
    /// to read. Only a poll of the connection notices.
    pub(super) fn close_when_idle(&self) {
        self.closes_when_idle.store(true, Ordering::Relaxed);
    }

    /// Also ends the connection in the middle of a request's head, which is no request yet.
    pub(super) fn close_in_heads(&self) {
        self.closes_in_heads.store(true, Ordering::Relaxed);
    }

    fn is_last(&self, has_begun: bool) -> bool {
        let closes = if has_begun { &self.closes_in_heads } else { &self.closes_when_idle };
        closes.load(Ordering::Relaxed)
    }
}

/// Guard of the worker's turn.
pub(super) struct Turn(Arc<Turns>);

impl Drop for Turn {
    fn drop(&mut self) {
        let turns = &self.0;
        turns.n.fetch_add(1, Ordering::Relaxed);
        let mut seat = turns.seat();
        if seat.is_some() {
            *seat = Some(turns.seats.sit(*seat, true, turns));
        }
    }
}

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
