//! Lines of a batch as they arrive, ahead of the calls that answer them.

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

/// Bytes of waiting lines at which reading pauses until a call takes some.
const READ_BYTES_MAX: usize = 1 << 20;

/// The most bytes read of a batch that is given up, before its connection is closed.
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
    /// Deadline of the line that is arriving. Single bytes do not extend it.
    until: Instant,
    /// End of the body, once it has ended.
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

    /// Returns the lines of the next call, after a wait for at least one. After the last line,
    /// returns the end of the body with its line number.
    pub(super) async fn call(&mut self) -> Result<Vec<Line>, (u64, Result<(), Problem>)> {
        while self.ready.is_empty() {
            if let Some(end) = &self.end {
                return Err((self.next_number(), end.clone()));
            }
            self.read(Some(self.until)).await;
        }
        let call: Vec<Line> = self.ready.drain(..self.ready.len().min(CALL_LINES_MAX)).collect();
        self.n_ready_bytes -= call.iter().map(Line::n_bytes).sum::<usize>();
        Ok(call)
    }

    /// Returns the number of the next line that no call has taken.
    pub(super) fn next_number(&self) -> u64 {
        // Lines past `batch_lines_max` do not count.
        let last = self.limits.batch_lines_max.saturating_add(1);
        self.ready.front().map_or_else(|| self.lines.number().min(last), |line| line.number)
    }

    /// Returns true if the body has come to its end and calls have taken all of its lines.
    pub(super) fn is_done(&self) -> bool {
        self.ready.is_empty() && matches!(self.end, Some(Ok(())))
    }

    /// Reads the rest of the body, up to a bound, and drops it.
    pub(super) async fn drop_rest(&mut self) {
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

    /// Returns true if batches are to end between two lines.
    pub(super) fn is_ending(&self) -> bool {
        *self.stage.borrow() == Stage::Ending
    }

    /// Returns true if there is more to read, and room for it.
    pub(super) fn has_room(&self) -> bool {
        self.end.is_none() && self.ready.len() < CALL_LINES_MAX && self.n_ready_bytes < READ_BYTES_MAX
    }

    /// Restarts the deadline: the client has been answered, and may have waited for the answer.
    pub(super) fn wait_anew(&mut self) {
        self.until = Instant::now() + self.limits.body_seconds_max;
    }

    /// Waits for one more piece of the body, without a deadline, while the worker works.
    pub(super) async fn read_ahead(&mut self) {
        self.read(None).await;
    }

    /// Waits for one more piece of the body. Cancelling loses no input.
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
