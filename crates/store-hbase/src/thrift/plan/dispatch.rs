//! Sends calls over as many connections as are to be had.

use std::collections::VecDeque;

use index::Result;

use super::pool::{Pool, Pooled};
use super::{Attempt, Call, FailureOf, Until};

/// Calls to be done, in any order.
pub(crate) struct Dispatch<'a, C: Call> {
    pool: &'a Pool<C::Connection>,
    queue: VecDeque<C>,
    n_done: usize,
    done: &'a mut dyn FnMut(C) -> Result<()>,
}

impl<'a, C: Call> Dispatch<'a, C> {
    /// `done` gets each call once it is done. An error of `done` ends the plan.
    pub(crate) fn new(
        pool: &'a Pool<C::Connection>,
        calls: Vec<C>,
        done: &'a mut dyn FnMut(C) -> Result<()>,
    ) -> Self {
        Self { pool, queue: calls.into(), n_done: 0, done }
    }

    /// Returns the number of calls still to be done.
    pub(super) fn n_left(&self) -> usize {
        self.queue.len()
    }

    /// Returns the number of calls that were done.
    pub(super) fn n_done(&self) -> usize {
        self.n_done
    }

    /// Returns true once the gateway has been reached.
    pub(super) fn has_connected(&self) -> bool {
        self.pool.has_connected()
    }

    /// Does calls until none are left or one fails; a failed call goes back into the queue. On
    /// failure the calls under way are finished, because the server would keep the scanners that
    /// they have opened.
    pub(super) fn attempt(&mut self, until: Until) -> Result<Attempt<FailureOf<C>>> {
        if self.queue.is_empty() {
            return Ok(Attempt::Went);
        }
        let first = match self.pool.take(until) {
            Ok(Ok(first)) => first,
            Ok(Err(failure)) => return Ok(Attempt::Failed(failure)),
            Err(super::Exhausted) => return Ok(Attempt::Exhausted),
        };
        let mut failure = None;
        let mut outcome = Ok(());
        let mut under_way: VecDeque<(Pooled<'a, C::Connection>, C)> = VecDeque::new();
        let mut next = Some(first);
        while let Some(mut connection) = next {
            let Some(mut call) = self.queue.pop_front() else { break };
            match call.start(&mut connection) {
                Ok(()) => under_way.push_back((connection, call)),
                Err(error) => {
                    self.queue.push_front(call);
                    failure = Some(error);
                    break;
                }
            }
            next = if self.queue.is_empty() { None } else { self.pool.try_take(until) };
        }
        while let Some((mut connection, mut call)) = under_way.pop_front() {
            let mut step = call.go_on(&mut connection);
            if let Ok(true) = step {
                self.n_done += 1;
                if outcome.is_ok() {
                    outcome = (self.done)(call);
                }
                if failure.is_some() || outcome.is_err() {
                    continue;
                }
                let Some(another) = self.queue.pop_front() else { continue };
                call = another;
                step = call.start(&mut connection).map(|()| false);
            }
            match step {
                Ok(_) => under_way.push_back((connection, call)),
                Err(error) => {
                    self.queue.push_front(call);
                    failure = Some(error);
                }
            }
        }
        outcome.map(|()| failure.map_or(Attempt::Went, Attempt::Failed))
    }
}
