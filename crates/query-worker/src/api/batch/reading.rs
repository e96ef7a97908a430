//! The lines of a batch as they arrive, ahead of the calls that answer them.

use std::collections::VecDeque;

use axum::body::{Body, BodyDataStream};
use tokio_stream::StreamExt;

use super::lines::{Line, Lines};
use crate::api::{BODY_WAIT_MAX, Problem};

/// The most lines that go to the store in one call.
const CALL_LINES_MAX: usize = 1024;

/// Once this many bytes of lines wait, no more are read until a call has taken some.
const READ_BYTES_MAX: usize = 1 << 20;

/// A body of lines.
pub(super) struct Reading {
    pieces: BodyDataStream,
    lines: Lines,
    /// Whole lines that no call has taken yet.
    ready: VecDeque<Line>,
    n_ready_bytes: usize,
    /// How the body ended, once it has.
    end: Option<Result<(), Problem>>,
}

impl Reading {
    pub(super) fn new(body: Body, line_bytes_max: usize) -> Self {
        Self {
            pieces: body.into_data_stream(),
            lines: Lines::new(line_bytes_max),
            ready: VecDeque::new(),
            n_ready_bytes: 0,
            end: None,
        }
    }

    /// The lines of the next call, waiting for one at least; what the body ended with, and where, after the last.
    pub(super) async fn call(&mut self) -> Result<Vec<Line>, (u64, Result<(), Problem>)> {
        while self.ready.is_empty() {
            if let Some(end) = &self.end {
                return Err((self.lines.number(), end.clone()));
            }
            self.read().await;
        }
        let call: Vec<Line> = self.ready.drain(..self.ready.len().min(CALL_LINES_MAX)).collect();
        self.n_ready_bytes -= call.iter().map(Line::n_bytes).sum::<usize>();
        Ok(call)
    }

    /// Whether there is more to read, and room for it.
    pub(super) fn has_room(&self) -> bool {
        self.end.is_none() && self.ready.len() < CALL_LINES_MAX && self.n_ready_bytes < READ_BYTES_MAX
    }

    /// Waits for one more piece of the body. Nothing is lost where the caller does not wait to the end.
    pub(super) async fn read(&mut self) {
        let read = match tokio::time::timeout(BODY_WAIT_MAX, self.pieces.next()).await {
            Ok(Some(Ok(piece))) => self.lines.push(&piece),
            Ok(None) => {
                self.end = Some(Ok(()));
                self.lines.end().into_iter().collect()
            }
            Ok(Some(Err(_))) => {
                let problem = Problem::bad_request("the request body could not be read to its end");
                self.end = Some(Err(problem));
                return;
            }
            Err(_) => {
                self.end = Some(Err(Problem::too_slow(BODY_WAIT_MAX)));
                return;
            }
        };
        self.n_ready_bytes += read.iter().map(Line::n_bytes).sum::<usize>();
        self.ready.extend(read);
    }
}
