//! A stream that waits for its client so long and no longer: for a request, for the rest of its head, and for what it is
//! answered to be read.

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

/// How much a client reads at least in the time that it has for that. Only a bound on each write would let it take a byte
/// at a time.
const ANSWER_BYTES_MIN: usize = 64 << 10;

/// How long a client may go on sending after its last answer.
const LINGER_MAX: Duration = Duration::from_secs(1);

/// Whose turn it is on a connection: the client's, or ours while we answer a request.
pub(super) struct Turns {
    /// Grows with each turn.
    n: AtomicU64,
    closes_when_idle: AtomicBool,
    closes_in_heads: AtomicBool,
    seats: Arc<Seats>,
    /// Its seat among the connections that wait for their client; none once it has ended.
    seat: Mutex<Option<Rank>>,
    /// It is to make place for another connection.
    called: Notify,
    client: Client,
}

impl Turns {
    /// The client's first turn, on a seat.
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

    /// It is our turn until the guard is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Turn {
        self.n.fetch_add(1, Ordering::Relaxed);
        self.client.begins();
        Turn(Arc::clone(self))
    }

    /// Whose turn it is where it is not ours.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether it is the client's turn.
    pub(super) fn is_clients(&self) -> bool {
        self.n().is_multiple_of(2)
    }

    /// Has the connection make place as soon as it is idle.
    pub(super) fn call(&self) {
        self.called.notify_one();
    }

    /// Resolves when the connection is to make place.
    pub(super) async fn called(&self) {
        self.called.notified().await;
    }

    /// The connection has ended, and needs its seat no more.
    pub(super) fn leave(&self) {
        if let Some(rank) = self.seat().take() {
            self.seats.leave(rank);
        }
    }

    fn seat(&self) -> MutexGuard<'_, Option<Rank>> {
        // Nothing panics while it is held.
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many turns there have been. It is even while the client has its turn.
    pub(super) fn n(&self) -> u64 {
        self.n.load(Ordering::Relaxed)
    }

    /// The connection ends when nothing of a request has arrived and nothing of an answer is left to be read. It has to be
    /// polled to notice.
    pub(super) fn close_when_idle(&self) {
        self.closes_when_idle.store(true, Ordering::Relaxed);
    }

    /// It ends as well when a part of a request's head has arrived: that is no request yet.
    pub(super) fn close_in_heads(&self) {
        self.closes_in_heads.store(true, Ordering::Relaxed);
    }

    fn is_last(&self, has_begun: bool) -> bool {
        let closes = if has_begun { &self.closes_in_heads } else { &self.closes_when_idle };
        closes.load(Ordering::Relaxed)
    }
}

/// Our turn.
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

/// The body of an answer, with whose end our turn ends.
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

/// The body of a request, which tells when it is asked for more than has come.
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

/// A stream with a bound on each wait for the client. What the client may take for a request's body is not bounded here.
pub(super) struct Timed<S> {
    stream: S,
    turns: Arc<Turns>,
    /// The turn in which the last read was.
    turn: u64,
    /// Whether something of a request has come in this turn.
    has_begun: bool,
    reading: Wait,
    writing: Wait,
    /// What the client has taken since the wait for it began.
    written: usize,
    /// Whether anything came since the last try to write: a client that sends a long request may
    /// read after that.
    has_sent: bool,
    /// Whether the client has had its last answer, and all that it sent was read.
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

    /// Whether there is nothing to wait for but the client's next request. That a turn has changed is noticed here.
    fn is_clients_turn(&mut self) -> bool {
        let turn = self.turns.n();
        if turn != self.turn {
            (self.turn, self.has_begun) = (turn, false);
            self.reading.end();
        }
        turn.is_multiple_of(2) && !self.writing.has_begun()
    }

    /// Whether the connection is to end instead of waiting for a request, or the rest of its head.
    fn is_last(&self) -> bool {
        self.turns.is_last(self.has_begun)
    }

    /// What a write came to, within the time for it.
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
            // To hyper it were the end of the connection, and of the answer.
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
            // As if the client had closed it.
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
        // hyper flushes when it has written all that it had.
        if flushed.is_ready() {
            self.all_read();
            // With the answer gone it may be the client's turn, which hyper does not always try to read at once. The next
            // read sees to what has become of the time.
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
        // To close it with bytes unread would reset it, and the client might not see why its request was refused half-way.
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

/// A wait that may end by time. Its timer is made once and kept, since there are two for each request.
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

    /// Resolves when the time is over; it begins now unless it has begun.
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
