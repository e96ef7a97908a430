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

/// The outcome of adding an item.
pub(crate) enum Joined<R> {
    /// This thread made a call for the item. `None` if the call gave no answer.
    Answered(Option<R>),
    /// Another thread calls. The answer arrives on the channel, which closes without one if the
    /// call broke off.
    Waiting(oneshot::Receiver<R>),
}

/// Recipient of an answer: the span of its request, and the channel.
type Asker<R> = (Span, oneshot::Sender<R>);

struct Waiting<T, R> {
    /// Empty unless as many threads call as may.
    items: VecDeque<(T, Asker<R>)>,
    /// Threads that make calls.
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

    /// Calls for `item` on this thread, or adds the item to one of the next calls if as many are
    /// under way as may be. Must be called on a blocking thread of the runtime.
    pub(crate) fn join(self: &Arc<Self>, item: T) -> Joined<R> {
        let mut waiting = self.waiting();
        if waiting.n_callers >= self.n_calls_max {
            let (sender, receiver) = oneshot::channel();
            waiting.items.push_back((item, (Span::current(), sender)));
            return Joined::Waiting(receiver);
        }
        waiting.n_callers += 1;
        drop(waiting);
        let _caller = Caller(Arc::clone(self));
        Joined::Answered((self.call)(vec![item]).pop())
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

/// A thread that has called for its own item. Dropped, even by a panic of the call, it hands the
/// items that wait to a thread of their own, because its request is to be answered.
struct Caller<T: Send + 'static, R: Send + 'static>(Arc<Gather<T, R>>);

impl<T: Send + 'static, R: Send + 'static> Drop for Caller<T, R> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        if waiting.items.is_empty() {
            waiting.n_callers -= 1;
            return;
        }
        drop(waiting);
        let successor = Successor(Some(Arc::clone(&self.0)));
        task::spawn_blocking(move || {
            successor.run();
            engine::forget_long_texts();
        });
    }
}

/// A thread that calls for the items of others. It is counted before the thread starts, and no
/// longer if the system starts none: otherwise items would wait for the missing thread for ever.
struct Successor<T, R>(Option<Arc<Gather<T, R>>>);

impl<T: Send + 'static, R: Send + 'static> Successor<T, R> {
    fn run(mut self) {
        if let Some(gather) = self.0.take() {
            gather.call_until_nothing_waits();
        }
    }
}

impl<T, R> Drop for Successor<T, R> {
    fn drop(&mut self) {
        if let Some(gather) = self.0.take() {
            gather.waiting().n_callers -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use tokio::runtime::{Builder, Runtime};

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(2).build().unwrap()
    }

    /// Joins as a request does: on a blocking thread.
    async fn answer<T: Send + 'static, R: Send + 'static>(gather: &Arc<Gather<T, R>>, item: T) -> Option<R> {
        let gather = Arc::clone(gather);
        match task::spawn_blocking(move || gather.join(item)).await.ok()? {
            Joined::Answered(answer) => answer,
            Joined::Waiting(answer) => answer.await.ok(),
        }
    }

    #[test]
    fn each_gets_its_own_answer() {
        for (n_calls_max, n_items_max) in [(1, 1), (1, 7), (3, 4), (64, 100)] {
            let gather = Gather::new(n_calls_max, n_items_max, move |items: Vec<u32>| {
                assert!((1..=n_items_max).contains(&items.len()));
                items.into_iter().map(|item| item * 2).collect()
            });
            runtime().block_on(async {
                let asked = (0..1_000).map(|item| {
                    let gather = Arc::clone(&gather);
                    (item, tokio::spawn(async move { answer(&gather, item).await }))
                });
                for (item, answer) in asked.collect::<Vec<_>>() {
                    assert_eq!(answer.await.unwrap(), Some(item * 2));
                }
            });
            assert_eq!(gather.waiting().items.len(), 0);
        }
    }

    #[test]
    fn an_item_alone_is_called_for_on_its_own_thread() {
        let gather =
            Gather::new(1, 100, |items: Vec<()>| items.iter().map(|()| thread::current().id()).collect());
        // No runtime is here, so no other thread can be asked.
        assert!(matches!(gather.join(()), Joined::Answered(Some(id)) if id == thread::current().id()));
        assert_eq!(gather.waiting().n_callers, 0);
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
        let first = {
            let gather = Arc::clone(&gather);
            runtime.spawn(async move { answer(&gather, 0).await })
        };
        assert_eq!(begun.recv(), Ok(1));
        let later: Vec<_> = (1..=50).map(|item| gather.join(item)).collect();
        go_on.send(()).unwrap();
        // The first is answered, whatever becomes of the others.
        assert_eq!(runtime.block_on(first).unwrap(), Some(0));
        assert_eq!(begun.recv(), Ok(50));
        go_on.send(()).unwrap();
        for (item, joined) in (1..).zip(later) {
            let Joined::Waiting(answer) = joined else { panic!("two calls at once") };
            assert_eq!(answer.blocking_recv(), Ok(item));
        }
    }

    /// Regression: the caller stayed counted without a thread, so no call was ever made again.
    #[test]
    fn a_successor_that_gets_no_thread() {
        let gather = Gather::new(1, 1, |items: Vec<u32>| items);
        gather.waiting().n_callers += 1;
        drop(Successor(Some(Arc::clone(&gather))));
        assert_eq!(gather.waiting().n_callers, 0);
        assert!(matches!(gather.join(2), Joined::Answered(Some(2))));
    }

    #[test]
    fn a_call_that_breaks_off_is_that_call_alone() {
        let gather = Gather::new(1, 1, |items: Vec<u32>| {
            assert!(items[0] % 10 != 3, "on purpose");
            items
        });
        runtime().block_on(async {
            for (item, expected) in [(3, None), (4, Some(4)), (13, None), (5, Some(5))] {
                assert_eq!(answer(&gather, item).await, expected);
            }
            // The same in calls for the items of others.
            gather.waiting().n_callers += 1;
            let waiting = [3, 4, 13, 5].map(|item| gather.join(item));
            let caller = Caller(Arc::clone(&gather));
            drop(caller);
            let mut answers = Vec::new();
            for joined in waiting {
                let Joined::Waiting(answer) = joined else { panic!("more calls than may be") };
                answers.push(answer.await.ok());
            }
            assert_eq!(answers, [None, Some(4), None, Some(5)]);
        });
    }
}
