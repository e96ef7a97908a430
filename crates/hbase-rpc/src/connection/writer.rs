//! Requests on their way to a server. Callers write directly as much as the system takes at once,
//! which saves the wait for a task. The rest is left to a task, so no caller that goes away leaves
//! half a request.

use std::io;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task;

/// The bytes in the queue beyond which callers wait with their requests.
const QUEUE_LEN: usize = 1 << 20;

/// The write side of a connection.
type Sink = Box<dyn AsyncWrite + Send + Unpin>;

pub(super) struct Writer {
    state: Mutex<State>,
    /// Signals bytes left for the task.
    is_left: Notify,
    has_room: Notify,
}

struct State {
    /// `None` while the task writes, and after a failure.
    sink: Option<Sink>,
    queue: BytesMut,
}

impl Writer {
    pub(super) fn new(sink: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let state = State { sink: Some(Box::new(sink)), queue: BytesMut::new() };
        Self { state: Mutex::new(state), is_left: Notify::new(), has_room: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The guarded data is consistent between any two steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request, together with the requests of other callers in the queue by then.
    pub(super) async fn send(&self, request: Bytes) -> io::Result<()> {
        loop {
            let has_room = self.has_room.notified();
            if self.queue(&request) {
                break;
            }
            has_room.await;
        }
        let queued = Queued(Some(self));
        // Other requests of the same moment get into the queue first.
        task::yield_now().await;
        queued.write()
    }

    /// Puts a request into the queue, and returns false if there is no room.
    fn queue(&self, request: &Bytes) -> bool {
        let queue = &mut self.lock().queue;
        let has_room = queue.len() <= QUEUE_LEN;
        if has_room {
            queue.extend_from_slice(request);
        }
        has_room
    }

    /// Writes as much as the system takes, and leaves the rest to the task.
    fn write_now(&self) -> io::Result<()> {
        let mut state = self.lock();
        let State { sink: Some(sink), queue } = &mut *state else { return Ok(()) };
        if queue.is_empty() {
            return Ok(());
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut sink = Pin::new(sink);
        while !queue.is_empty() {
            match sink.as_mut().poll_write(&mut context, queue) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(n)) => queue.advance(n),
                Poll::Ready(Err(error)) => return Err(error),
                // The task makes room, too.
                Poll::Pending => {
                    self.is_left.notify_one();
                    return Ok(());
                }
            }
        }
        self.has_room.notify_waiters();
        match sink.poll_flush(&mut context) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => {
                self.is_left.notify_one();
                Ok(())
            }
        }
    }

    /// Writes the bytes left to the task, until that fails, and returns the error.
    pub(super) async fn run(&self) -> io::Error {
        loop {
            self.is_left.notified().await;
            let Some(mut sink) = self.lock().sink.take() else { continue };
            loop {
                let together = std::mem::take(&mut self.lock().queue);
                self.has_room.notify_waiters();
                let mut outcome = sink.write_all(&together).await;
                if outcome.is_ok() {
                    outcome = sink.flush().await;
                }
                if let Err(error) = outcome {
                    return error;
                }
                let mut state = self.lock();
                if state.queue.is_empty() {
                    state.sink = Some(sink);
                    break;
                }
            }
        }
    }
}

/// A request in the queue, which its caller is about to write.
struct Queued<'a>(Option<&'a Writer>);

impl Queued<'_> {
    fn write(mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), Writer::write_now)
    }
}

impl Drop for Queued<'_> {
    /// Leaves the request of a caller that goes away to the task.
    fn drop(&mut self) {
        if let Some(writer) = self.0 {
            writer.is_left.notify_one();
        }
    }
}
