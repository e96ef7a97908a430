//! Many requests, one call of the store: what arrives while a call is under way goes into the next one.
//!
//! In a store with one writer a durable write costs a wait for the disk, however much is written; so documents that are
//! posted one by one, by many clients, are committed together (group commit). Searches go together because that saves
//! round trips and changes of thread. Nobody waits for company: where fewer calls than allowed are under way, one begins
//! at once.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use tokio::task;
use tracing::{Span, error};

/// What a call that breaks off is logged under. It is a name that operators filter by, and outlives where the code lies.
const CALL_TARGET: &str = "query_worker::gather";

/// Does some items at once; an answer for each, in their order.
type Call<T, R> = Box<dyn Fn(Vec<T>) -> Vec<R> + Send + Sync>;

/// Where items wait for the next call.
pub(crate) struct Gather<T, R> {
    call: Call<T, R>,
    /// Calls that may be under way at once.
    n_calls_max: usize,
    /// Items of one call.
    n_items_max: usize,
    waiting: Mutex<Waiting<T, R>>,
}

/// Who waits for an answer: the span of the request, and where the answer goes.
type Asker<R> = (Span, oneshot::Sender<R>);

struct Waiting<T, R> {
    items: VecDeque<(T, Asker<R>)>,
    /// Threads that make calls, until nothing waits.
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

    /// Has `item` done in one of the next calls; its answer comes from there, or none where the call broke off. Does not
    /// block. Must be called within the runtime.
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
            // What is logged of a call is under the first of its requests.
            let _in_span = askers.first().map(|(span, _)| span.clone().entered());
            match catch_unwind(AssertUnwindSafe(|| (self.call)(items))) {
                // Whoever asked may have gone away.
                Ok(answers) => askers.into_iter().zip(answers).for_each(|((_, sender), answer)| {
                    let _ = sender.send(answer);
                }),
                Err(_) => error!(target: CALL_TARGET, "a call for {} requests broke off", askers.len()),
            }
        }
    }

    /// What goes into the next call. Whoever is told that there is nothing is not counted any more.
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
        // Nothing in here panics halfway.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of those that make calls. It is counted before it has a thread, and no more where the system gives it none: the
/// calls would else wait for it for ever.
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

    /// It was counted as one that makes calls, so that none was ever made again. Outside of a runtime there are no
    /// threads.
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
