//! Memory of long texts is given back by the threads that have worked on them.
#![expect(unsafe_code, reason = "an allocator that counts")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use clap::Parser;
use engine::{Engine, counter, forget_long_texts};
use features::{Dictionaries, Recipe};
use index::{Index, MemoryStore, OpenOptions, Text};
use query_worker::config::Config;
use query_worker::worker::Worker;

struct Counting;

thread_local! {
    /// Bytes that this thread has taken and not given back.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.set(HELD.get() + layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.set(HELD.get() - layout.size() as isize);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that a thread keeps of long texts, tables that are made once included.
const KEPT_MAX: isize = 256 << 10;

/// Returns the bytes by which `work` lets this thread hold more than before.
fn held_more(work: impl FnOnce()) -> isize {
    let before = HELD.get();
    work();
    HELD.get() - before
}

/// Two different texts of some 600 KB that are near.
fn long_texts() -> [String; 2] {
    let text: String = (0..60_000).map(|n| format!("ferry {} ", n * 7)).collect();
    [format!("{text} leaves"), text]
}

fn count(texts: &[String; 2]) {
    let counter = counter(&Recipe::default().fields()).unwrap();
    let [a, b] = texts.each_ref().map(|text| Text::from(text.as_str()));
    assert!(counter.compare(&a, &b).similarity.get() > 0.9);
}

fn worker() -> Worker {
    let options = OpenOptions { recipe_default: Recipe::default().fields(), ..OpenOptions::default() };
    let index = Index::over(Box::new(MemoryStore::new()), &options).unwrap();
    let engine = Engine::over(index, &Dictionaries::default()).unwrap();
    Worker::over(engine, &"memory:".parse().unwrap(), Config::parse_from(["query-worker"]).limits)
}

#[test]
fn what_was_counted() {
    let texts = long_texts();
    // Tables that all threads share are made by the first text.
    count(&["a short one".into(), "a short one".into()]);
    let held = held_more(|| count(&texts));
    assert!(held > 4 * KEPT_MAX, "only {held} bytes are held: the texts are too short for this test");
    let kept = held + held_more(forget_long_texts);
    assert!(kept < KEPT_MAX, "{kept} bytes are kept of {held}");
    // Short texts stay, since they are met again.
    count(&["a short one".into(), "a short one".into()]);
    assert_eq!(held_more(forget_long_texts), 0);
}

#[test]
fn what_features_were_made_of() {
    let (texts, worker) = (long_texts(), worker());
    drop(worker.features("a short one"));
    let kept = held_more(|| drop(worker.features(&texts[0]).unwrap()));
    assert!(kept < KEPT_MAX, "{kept} bytes are kept");
}

/// Blocking threads are kept for the next request.
#[test]
fn what_a_request_has_counted() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    // Made and freed here, so that no other thread gives them back.
    let (texts, worker) = (Arc::new(long_texts()), Arc::new(worker()));
    let counted = Arc::clone(&texts);
    let held = |work: Box<dyn FnOnce() + Send>| {
        let work = Arc::clone(&worker).work((), move |_| {
            let held = HELD.get();
            work();
            Ok(held)
        });
        runtime.block_on(work).unwrap()
    };
    held(Box::new(|| count(&["a short one".into(), "a short one".into()])));
    let before = held(Box::new(move || count(&counted)));
    let kept = held(Box::new(|| ())) - before;
    assert!(kept < KEPT_MAX, "{kept} bytes are kept");
}
