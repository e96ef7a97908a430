//! Shared store calls: items that arrive during a call go into the next one.
//!
//! In a store with one writer a durable write costs one wait for the disk, however much is written.
//! Documents posted one by one by many clients are therefore committed together (group commit).
//! Searches share calls to save round trips and changes of thread. No item waits for company: while
//! fewer calls than allowed are under way, a call begins at once.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::task;
use tracing::{Span, error};

/// Log target of calls that break off. Operators filter by this name, so it stays when the code
/// moves.
const CALL_TARGET: &str = "query_worker::gather";

/// Processes items together; returns one answer for each, in order.
type Call<T, R> = Box<dyn Fn(Vec<T>) -> Vec<R> + Send + Sync>;

/// Queue of items that wait for the next call.
pub(crate) struct Gather<T, R> {
    call: Call<T, R>,
    /// The most calls under way at once.
    n_calls_max: usize,
    /// The most items of one call.
    n_items_max: usize,
    waiting: Mutex<Waiting<T, R>>,
}

/// Recipient of an answer: the span of its request, and the channel.
type Asker<R> = (Span, oneshot::Sender<R>);

struct Waiting<T, R> {
    items: VecDeque<(T, Asker<R>)>,
    /// Threads that make calls until no item waits.
    n_callers: usize,
}

impl<T: Send + 'static, R: Send + 'static> Gather<T, R> {
    pub(crate) fn new(
        n_calls_max: usize,
        n_items_max: usize,
        call: impl Fn(Vec<T>) -> Vec<R> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let waiting = Mutex::new(Waiting { items: VecDeque::new(), n_callers: 0 });
        Arc::new(Self { call: Box::new(call), n_calls_max, n_items_max, waiting })
    }

    /// Adds `item` to one of the next calls; its answer arrives on the channel, which closes
    /// without one if the call broke off. Does not block. Must be called within the runtime.
    pub(crate) fn join(self: &Arc<Self>, item: T) -> oneshot::Receiver<R> {
        let (sender, receiver) = oneshot::channel();
        let mut waiting = self.waiting();
        waiting.items.push_back((item, (Span::current(), sender)));
        let begins = waiting.n_callers < self.n_calls_max;
        waiting.n_callers += usize::from(begins);
        drop(waiting);
        if begins {
            let caller = Caller(Some(Arc::clone(self)));
            task::spawn_blocking(move || {
                caller.run();
                engine::forget_long_texts();
            });
        }
        receiver
    }

    fn call_until_nothing_waits(&self) {
        while let Some((items, askers)) = self.next() {
            // Log lines of a call are in the span of its first request.
            let _in_span = askers.first().map(|(span, _)| span.clone().entered());
            match catch_unwind(AssertUnwindSafe(|| (self.call)(items))) {
                // The recipient may have gone away.
                Ok(answers) => askers.into_iter().zip(answers).for_each(|((_, sender), answer)| {
                    let _ = sender.send(answer);
                }),
                Err(_) => error!(target: CALL_TARGET, "a call for {} requests broke off", askers.len()),
            }
        }
    }

    /// Takes the items of the next call. A caller that receives `None` is no longer counted.
    fn next(&self) -> Option<(Vec<T>, Vec<Asker<R>>)> {
        let mut waiting = self.waiting();
        if waiting.items.is_empty() {
            waiting.n_callers -= 1;
            return None;
        }
        let n_items = waiting.items.len().min(self.n_items_max);
        Some(waiting.items.drain(..n_items).unzip())
    }
}

impl<T, R> Gather<T, R> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<T, R>> {
        // Nothing panics while the lock is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that makes calls. It is counted before the thread starts, and no longer if the system
/// starts none: otherwise items would wait for the missing thread for ever.
struct Caller<T, R>(Option<Arc<Gather<T, R>>>);

impl<T: Send + 'static, R: Send + 'static> Caller<T, R> {
    fn run(mut self) {
        if let Some(gather) = self.0.take() {
            gather.call_until_nothing_waits();
        }
    }
}

impl<T, R> Drop for Caller<T, R> {
    fn drop(&mut self) {
        if let Some(gather) = self.0.take() {
            gather.waiting().n_callers -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tokio::runtime::{Builder, Runtime};

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(2).build().unwrap()
    }

    #[test]
    fn each_gets_its_own_answer() {
        for (n_calls_max, n_items_max) in [(1, 1), (1, 7), (3, 4), (64, 100)] {
            let gather = Gather::new(n_calls_max, n_items_max, move |items: Vec<u32>| {
                assert!((1..=n_items_max).contains(&items.len()));
                items.into_iter().map(|item| item * 2).collect()
            });
            runtime().block_on(async {
                let joined: Vec<_> = (0..1_000).map(|item| (item, gather.join(item))).collect();
                for (item, answer) in joined {
                    assert_eq!(answer.await, Ok(item * 2));
                }
            });
        }
    }

    #[test]
    fn what_arrives_during_a_call_goes_into_the_next() {
        let (begin, begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        let may_go_on = Mutex::new(may_go_on);
        let gather = Gather::new(1, 100, move |items: Vec<u32>| {
            begin.send(items.len()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
            items
        });
        let runtime = runtime();
        let _entered = runtime.enter();
        let first = gather.join(0);
        assert_eq!(begun.recv(), Ok(1));
        let later: Vec<_> = (1..=50).map(|item| gather.join(item)).collect();
        go_on.send(()).unwrap();
        assert_eq!(begun.recv(), Ok(50));
        go_on.send(()).unwrap();
        assert_eq!(first.blocking_recv(), Ok(0));
        for (item, answer) in (1..).zip(later) {
            assert_eq!(answer.blocking_recv(), Ok(item));
        }
    }

    /// Regression: the caller stayed counted without a thread, so no call was ever made again.
    /// Outside of a runtime no thread starts.
    #[test]
    fn a_caller_that_gets_no_thread() {
        let gather = Gather::new(1, 1, |items: Vec<u32>| items);
        assert!(catch_unwind(AssertUnwindSafe(|| gather.join(1))).is_err());
        assert_eq!(gather.waiting().n_callers, 0);
        let runtime = runtime();
        let _entered = runtime.enter();
        assert_eq!(gather.join(2).blocking_recv(), Ok(2));
    }

    #[test]
    fn a_call_that_breaks_off_is_that_call_alone() {
        let gather = Gather::new(1, 1, |items: Vec<u32>| {
            assert!(items[0] % 10 != 3, "on purpose");
            items
        });
        let runtime = runtime();
        let _entered = runtime.enter();
        let answers = [3, 4, 13, 5].map(|item| gather.join(item)).map(|answer| answer.blocking_recv().ok());
        assert_eq!(answers, [None, Some(4), None, Some(5)]);
    }
}
