//! The lines of a batch as they arrive, ahead of the calls that answer them.

use std::collections::VecDeque;

use axum::body::{Body, BodyDataStream};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_stream::StreamExt;

use super::lines::{Line, Lines};
use crate::limits::Limits;
use crate::problem::Problem;
use crate::worker::{Stage, Worker};

/// The most lines that go to the store in one call.
const CALL_LINES_MAX: usize = 1024;

/// Once this many bytes of lines wait, no more are read until a call has taken some.
const READ_BYTES_MAX: usize = 1 << 20;

/// So many bytes of a batch that is given up are read before its connection is closed.
const DROPPED_BYTES_MAX: usize = 256 << 20;

/// A body of lines.
pub(super) struct Reading {
    pieces: BodyDataStream,
    lines: Lines,
    /// Whole lines that no call has taken yet.
    ready: VecDeque<Line>,
    n_ready_bytes: usize,
    limits: Limits,
    stage: watch::Receiver<Stage>,
    /// When the line that is arriving must be whole. A byte now and then does not renew it.
    until: Instant,
    /// How the body ended, once it has.
    end: Option<Result<(), Problem>>,
}

impl Reading {
    pub(super) fn new(body: Body, worker: &Worker) -> Self {
        let limits = worker.limits().clone();
        Self {
            pieces: body.into_data_stream(),
            lines: Lines::new(limits.body_bytes_max),
            ready: VecDeque::new(),
            n_ready_bytes: 0,
            until: Instant::now() + limits.body_seconds_max,
            limits,
            stage: worker.stage(),
            end: None,
        }
    }

    /// The lines of the next call, waiting for one at least; what the body ended with, and where, after the last.
    pub(super) async fn call(&mut self) -> Result<Vec<Line>, (u64, Result<(), Problem>)> {
        while self.ready.is_empty() {
            if let Some(end) = &self.end {
                // Lines past the most that a batch may have are not counted.
                let last = self.limits.batch_lines_max.saturating_add(1);
                return Err((self.lines.number().min(last), end.clone()));
            }
            self.read(Some(self.until)).await;
        }
        let call: Vec<Line> = self.ready.drain(..self.ready.len().min(CALL_LINES_MAX)).collect();
        self.n_ready_bytes -= call.iter().map(Line::n_bytes).sum::<usize>();
        Ok(call)
    }

    /// The number of the next line that no call has taken.
    pub(super) fn next_number(&self) -> u64 {
        self.ready.front().map_or_else(|| self.lines.number(), |line| line.number)
    }

    /// Reads the rest of the body, up to a bound, and drops it.
    pub(super) async fn drop_rest(mut self) {
        let mut n_bytes = 0;
        while n_bytes < DROPPED_BYTES_MAX && self.end.is_none() {
            let piece = tokio::select! {
                piece = self.pieces.next() => piece,
                _ = self.stage.wait_for(|stage| *stage == Stage::Ending) => return,
            };
            match piece {
                Some(Ok(piece)) => n_bytes += piece.len(),
                Some(Err(_)) | None => return,
            }
        }
    }

    /// Whether batches are to end between two lines.
    pub(super) fn is_ending(&self) -> bool {
        *self.stage.borrow() == Stage::Ending
    }

    /// Whether there is more to read, and room for it.
    pub(super) fn has_room(&self) -> bool {
        self.end.is_none() && self.ready.len() < CALL_LINES_MAX && self.n_ready_bytes < READ_BYTES_MAX
    }

    /// The client has been answered, and may have waited for that.
    pub(super) fn wait_anew(&mut self) {
        self.until = Instant::now() + self.limits.body_seconds_max;
    }

    /// Waits for one more piece of the body, for any time while we work.
    pub(super) async fn read_ahead(&mut self) {
        self.read(None).await;
    }

    /// Waits for one more piece of the body. Nothing is lost where the caller does not wait to the end.
    async fn read(&mut self, until: Option<Instant>) {
        let piece = async {
            match until {
                Some(until) => tokio::time::timeout_at(until, self.pieces.next()).await,
                None => Ok(self.pieces.next().await),
            }
        };
        let piece = tokio::select! {
            piece = piece => piece,
            _ = self.stage.wait_for(|stage| *stage == Stage::Ending) => {
                self.end = Some(Err(Problem::stopping()));
                return;
            }
        };
        let lines_max = self.limits.batch_lines_max;
        let mut read = match piece {
            Ok(Some(Ok(piece))) => {
                let read = self.lines.push(&piece);
                if self.lines.number() > lines_max.saturating_add(1) {
                    self.end = Some(Err(Problem::too_many_lines(lines_max)));
                }
                read
            }
            Ok(None) => {
                let last = self.lines.end();
                let is_over = last.as_ref().is_some_and(|last| last.number > lines_max);
                self.end = Some(if is_over { Err(Problem::too_many_lines(lines_max)) } else { Ok(()) });
                last.into_iter().collect()
            }
            Ok(Some(Err(_))) => {
                let problem = Problem::bad_request("the request body could not be read to its end");
                self.end = Some(Err(problem));
                return;
            }
            Err(_) => {
                self.end = Some(Err(Problem::too_slow(self.limits.body_seconds_max)));
                return;
            }
        };
        read.retain(|line| line.number <= lines_max);
        if !read.is_empty() {
            self.wait_anew();
        }
        self.n_ready_bytes += read.iter().map(Line::n_bytes).sum::<usize>();
        self.ready.extend(read);
    }
}
