//! Work on many threads whose results come in the order of the input, with a bound on every queue.

use std::ops::Range;
use std::panic;
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded, select};
use index::Features;

use crate::load::{Load, UnderWay};
use crate::{Buffers, Extractor};

/// Chunks under way for each thread: one at work, one waiting, and room to hide uneven ones.
const CHUNKS_PER_THREAD: usize = 4;

/// Texts whose features one thread makes at a time.
const CHUNK_TEXTS: usize = 64;

/// Calls `work` with each chunk on one of `n_threads` threads, and `consume` with the results in
/// the order of the chunks, on the calling thread.
///
/// `load` bounds the chunks that are taken and not consumed yet, by their bytes; their number is
/// bounded anyway. `start` makes the state of a thread: buffers, mostly. One more thread makes the
/// iterator and takes the chunks, for reading and work to overlap. `consume` sees the progress; an
/// error of `consume` ends the work.
///
/// # Errors
/// The first error of `consume`. The iterator may still wait for its next chunk then, and is left
/// to its thread.
///
/// # Panics
/// Where the iterator or `work` panics.
pub fn in_order<C: Send + 'static, I: Iterator<Item = C>, S, R: Send + 'static, E>(
    chunks: impl FnOnce() -> I + Send + 'static,
    load: Load<C>,
    n_threads: usize,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, C) -> R + Sync,
    mut consume: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let n_threads = n_threads.max(1);
    // Each chunk goes to a free thread. In the order of the input, the receiver of its result goes
    // to the caller.
    let (to_threads, waiting) = bounded::<(C, Sender<R>)>(n_threads);
    let (to_caller, in_order) = bounded::<(usize, Receiver<R>)>(n_threads * CHUNKS_PER_THREAD);
    let under_way = UnderWay::default();
    // The reader is not in the scope: it may wait for input that never comes, and an error must not
    // wait with it.
    let reader = thread::spawn({
        let under_way = under_way.clone();
        move || {
            for chunk in chunks() {
                let n_bytes = (load.n_bytes)(&chunk);
                let (done, result) = bounded(1);
                let is_taken = under_way.enter(n_bytes, load.n_bytes_max)
                    && to_caller.send((n_bytes, result)).is_ok()
                    && to_threads.send((chunk, done)).is_ok();
                if !is_taken {
                    break;
                }
            }
        }
    });
    // Closed once no more results are taken. The reader may wait for its next chunk then.
    let (stop, stopped) = bounded::<()>(0);
    let (start, work) = (&start, &work);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads)
            .map(|_| {
                let (waiting, stopped) = (waiting.clone(), stopped.clone());
                scope.spawn(move || {
                    let mut state = start();
                    loop {
                        let (chunk, done) = select! {
                            recv(waiting) -> next => match next {
                                Ok(next) => next,
                                Err(_) => break,
                            },
                            recv(stopped) -> _ => break,
                        };
                        // The caller takes no more results once `consume` has failed.
                        if done.send(work(&mut state, chunk)).is_err() {
                            break;
                        }
                    }
                })
            })
            .collect();
        drop(waiting);
        let mut outcome = Ok(());
        for (n_bytes, result) in &in_order {
            // A missing result means a panic in its thread, which is resumed below.
            let Ok(result) = result.recv() else { break };
            outcome = consume(result);
            if outcome.is_err() {
                break;
            }
            under_way.leave(n_bytes);
        }
        // The workers end now, the reader at its next chunk: no receiver is left.
        drop((in_order, stop, under_way));
        for thread in threads {
            if let Err(payload) = thread.join() {
                panic::resume_unwind(payload);
            }
        }
        if outcome.is_ok()
            && let Err(payload) = reader.join()
        {
            panic::resume_unwind(payload);
        }
        outcome
    })
}

impl Extractor {
    /// Makes the features of `texts` on `n_threads` threads, and calls `consume` with parts of
    /// `texts` and their features, in order. `consume` sees the progress; an error from it ends the
    /// work.
    ///
    /// # Errors
    /// The first error of `consume`.
    pub fn extract<T: Sync, E>(
        &self,
        texts: &[T],
        n_threads: usize,
        text_of: impl Fn(&T) -> &str + Sync,
        mut consume: impl FnMut(&[T], Vec<Option<Features>>) -> Result<(), E>,
    ) -> Result<(), E> {
        let n_texts = texts.len();
        let mut parts =
            (0..n_texts).step_by(CHUNK_TEXTS).map(move |from| from..n_texts.min(from + CHUNK_TEXTS));
        let made = |buffers: &mut Buffers, part: Range<usize>| {
            let of = |text| self.features(buffers, text_of(text));
            let features: Vec<_> = texts[part.clone()].iter().map(of).collect();
            (part, features)
        };
        let mut consume = |(part, features): (Range<usize>, Vec<_>)| consume(&texts[part], features);
        if n_texts <= CHUNK_TEXTS || n_threads <= 1 {
            let mut buffers = Buffers::new();
            return parts.try_for_each(|part| consume(made(&mut buffers, part)));
        }
        in_order(move || parts, Load::any(), n_threads, Buffers::new, made, consume)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crossbeam_channel::RecvTimeoutError;

    use super::*;

    fn all(n_chunks: usize, n_threads: usize) -> Vec<usize> {
        let mut results = Vec::new();
        let uneven =
            |n_spins: usize| (0..n_spins % 7 * 1_000).fold(0, |sum, n| std::hint::black_box(sum ^ n));
        let work = |n_done: &mut usize, n: usize| {
            *n_done += 1;
            assert!(*n_done <= n_chunks);
            uneven(n);
            n * 2
        };
        let consume = |result| {
            results.push(result);
            Ok::<_, ()>(())
        };
        in_order(move || 0..n_chunks, Load::any(), n_threads, || 0, work, consume).unwrap();
        results
    }

    #[test]
    fn results_come_in_order() {
        for n_threads in [0, 1, 2, 7] {
            for n_chunks in [0, 1, 2, 1_000] {
                let expected: Vec<usize> = (0..n_chunks).map(|n| n * 2).collect();
                assert_eq!(all(n_chunks, n_threads), expected, "{n_chunks} chunks, {n_threads} threads");
            }
        }
    }

    /// An endless input ends with the first error of the consumer, and no queue runs ahead of it.
    #[test]
    fn an_error_ends_the_work() {
        let n_worked = AtomicUsize::new(0);
        let work = |_: &mut (), n: usize| {
            n_worked.fetch_add(1, Ordering::Relaxed);
            n
        };
        let consume = |n| if n < 100 { Ok(()) } else { Err(n) };
        assert_eq!(in_order(|| 0.., Load::any(), 3, || (), work, consume), Err(100));
        let n_ahead_max = 3 * CHUNKS_PER_THREAD + 2 * 3 + 2;
        assert!(n_worked.into_inner() <= 101 + n_ahead_max);
    }

    /// Chunks of more bytes than the bound go one by one, lighter ones up to it, and an error is
    /// returned while the input waits for room.
    #[test]
    fn chunks_under_way_are_bounded_by_their_bytes() {
        static N_BYTES: AtomicUsize = AtomicUsize::new(0);
        const MAX: usize = 100;
        let load = || Load { n_bytes: |&n: &usize| n, n_bytes_max: MAX };
        let work = |_: &mut (), n: usize| {
            let before = N_BYTES.fetch_add(n, Ordering::SeqCst);
            assert!(before == 0 || before + n <= MAX, "{n} beside {before}");
            n
        };
        let consume = |n: usize| {
            N_BYTES.fetch_sub(n, Ordering::SeqCst);
            Ok::<_, ()>(())
        };
        let chunks = || (0..3_000).map(|n| n * 7919 % 130 + 1);
        in_order(chunks, load(), 4, || (), work, consume).unwrap();
        assert_eq!(N_BYTES.load(Ordering::SeqCst), 0);
        // The input goes once its thread waits no longer.
        let (held, gone) = bounded::<()>(0);
        let endless = || std::iter::repeat_with(move || (&held, MAX).1);
        assert_eq!(in_order(endless, load(), 2, || (), |(), n| n, Err::<(), _>), Err(MAX));
        let patience = std::time::Duration::from_secs(60);
        assert_eq!(gone.recv_timeout(patience), Err(RecvTimeoutError::Disconnected));
    }

    /// An error is returned while the input gives nothing, as a pipe does.
    #[test]
    fn an_error_does_not_wait_for_input() {
        let (never, input) = bounded::<usize>(2);
        never.send(1).unwrap();
        never.send(2).unwrap();
        let (told, ended) = bounded(1);
        thread::spawn(move || {
            let outcome = in_order(
                move || input.into_iter(),
                Load::any(),
                2,
                || (),
                |(), n| n,
                |n| if n < 2 { Ok(()) } else { Err(n) },
            );
            told.send(outcome).unwrap();
        });
        // `never` is open all the while.
        assert_eq!(ended.recv_timeout(std::time::Duration::from_secs(60)), Ok(Err(2)));
        drop(never);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        for at in [0, 50, 99] {
            let work = |_: &mut (), n: usize| assert!(n != at);
            let caught =
                panic::catch_unwind(|| in_order(|| 0..100, Load::any(), 2, || (), work, Ok::<_, ()>));
            assert!(caught.is_err(), "at {at}");
            let chunks = move || (0..100).inspect(move |n| assert!(*n != at));
            let caught = panic::catch_unwind(|| {
                in_order(chunks, Load::any(), 2, || (), |(), n| n, |_| Ok::<_, ()>(()))
            });
            assert!(caught.is_err(), "of the input at {at}");
        }
    }
}
