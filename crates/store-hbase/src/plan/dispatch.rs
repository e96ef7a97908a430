//! Sends calls over as many connections as are to be had.

use std::collections::VecDeque;

use index::Result;

use super::{Attempt, Call, FailureOf, Lanes, Plan, Until};

/// Calls to be done, in any order.
pub(crate) struct Dispatch<'a, L, C> {
    lanes: &'a L,
    queue: VecDeque<C>,
    n_done: usize,
    done: &'a mut dyn FnMut(C) -> Result<()>,
}

impl<'a, L: Lanes<C>, C: Call> Dispatch<'a, L, C> {
    /// `done` gets each call once it is done. An error of `done` ends the plan.
    pub(crate) fn new(lanes: &'a L, calls: Vec<C>, done: &'a mut dyn FnMut(C) -> Result<()>) -> Self {
        Self { lanes, queue: calls.into(), n_done: 0, done }
    }

    /// Puts the calls in place of a failed one at the beginning of the queue.
    fn put_back(&mut self, call: C, failure: &FailureOf<C>) {
        for call in self.lanes.again(call, failure).into_iter().rev() {
            self.queue.push_front(call);
        }
    }

    /// Takes the next call that can go over `lane`.
    fn next_for(&mut self, lane: &L::Lane<'a>) -> Option<C> {
        let at = self.queue.iter().position(|call| self.lanes.serves(lane, call))?;
        self.queue.remove(at)
    }
}

impl<'a, L: Lanes<C>, C: Call> Plan for Dispatch<'a, L, C> {
    type Failure = FailureOf<C>;

    fn n_left(&self) -> usize {
        self.queue.len()
    }

    fn n_done(&self) -> usize {
        self.n_done
    }

    fn has_connected(&self) -> bool {
        self.lanes.has_connected()
    }

    /// Does calls until none are left or one fails; a failed call goes back into the queue. On
    /// failure the calls under way are finished, because the server would keep the scanners that
    /// they have opened.
    fn attempt(&mut self, until: Until) -> Result<Attempt<FailureOf<C>>> {
        let Some(first) = self.queue.front() else { return Ok(Attempt::Went) };
        let first = match self.lanes.take(first, until) {
            Ok(Ok(first)) => first,
            Ok(Err(failure)) => return Ok(Attempt::Failed(failure)),
            Err(super::Exhausted) => return Ok(Attempt::Exhausted),
        };
        let mut failure = None;
        let mut outcome = Ok(());
        let mut under_way: VecDeque<(L::Lane<'a>, C)> = VecDeque::new();
        let mut next = Some(first);
        while let Some(mut lane) = next {
            let Some(mut call) = self.queue.pop_front() else { break };
            match call.start(&mut lane) {
                Ok(()) => under_way.push_back((lane, call)),
                Err(error) => {
                    self.put_back(call, &error);
                    failure = Some(error);
                    break;
                }
            }
            next = self.queue.front().and_then(|call| self.lanes.try_take(call, until));
        }
        while let Some((mut lane, mut call)) = under_way.pop_front() {
            let mut step = call.go_on(&mut lane);
            if let Ok(true) = step {
                self.n_done += 1;
                if outcome.is_ok() {
                    outcome = (self.done)(call);
                }
                if failure.is_some() || outcome.is_err() {
                    continue;
                }
                let Some(another) = self.next_for(&lane) else { continue };
                call = another;
                step = call.start(&mut lane).map(|()| false);
            }
            match step {
                Ok(_) => under_way.push_back((lane, call)),
                Err(error) => {
                    self.put_back(call, &error);
                    failure = Some(error);
                }
            }
        }
        outcome.map(|()| failure.map_or(Attempt::Went, Attempt::Failed))
    }
}
