//! The look ahead at pairs of documents, on a thread of its own: reads the earlier document of each
//! pair and finds its promise, while the documents before are decided.
//!
//! Nothing here depends on the decisions but how much is read in vain, so the outcome is the same
//! however far the thread is ahead.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::vec;

use index::{Features, Promise, Rule, Sketch, SketchKind};
use runs::SortedWords;

use super::documents::{Documents, Reading};
use super::proposals::promise;
use super::turns::{Order, halves};

/// The pairs whose earlier documents are read side by side.
const AHEAD: usize = 4 << 10;

/// The pairs handed over at a time.
const HANDED: usize = 1 << 10;

/// The batches that wait to be taken.
const WAITING: usize = 2;

/// The bytes of the thread's stack.
const STACK_BYTES: usize = 256 << 10;

/// A pair with a promise, and the features of its earlier document.
pub(super) struct Met {
    /// The turn of the later document.
    pub(super) turn: u32,
    pub(super) earlier: u32,
    pub(super) promise: Promise,
    pub(super) features: Features,
}

/// The kept documents, and how far the decisions are.
pub(super) struct KeptSoFar {
    /// A bit for each document.
    kept: Vec<AtomicU64>,
    /// The turn that is decided now.
    turn: AtomicU32,
}

impl KeptSoFar {
    pub(super) fn new(n_documents: u32) -> Self {
        let kept = (0..n_documents.div_ceil(u64::BITS)).map(|_| AtomicU64::new(0)).collect();
        Self { kept, turn: AtomicU32::new(0) }
    }

    pub(super) fn keep(&self, number: u32) {
        self.kept[(number / u64::BITS) as usize].fetch_or(1 << (number % u64::BITS), Ordering::Relaxed);
    }

    pub(super) fn is_kept(&self, number: u32) -> bool {
        self.kept[(number / u64::BITS) as usize].load(Ordering::Relaxed) >> (number % u64::BITS) & 1 == 1
    }

    /// Notes that all documents before this turn are decided.
    pub(super) fn open(&self, turn: u32) {
        self.turn.store(turn, Ordering::Release);
    }

    /// Returns true if a document, whose turn is given, is known not to be kept.
    fn is_dropped(&self, number: u32, turn: u32) -> bool {
        turn < self.turn.load(Ordering::Acquire) && !self.is_kept(number)
    }
}

/// The pairs with promises, as a thread finds them, in the order of their later documents.
pub(super) struct Scout {
    /// `None` once the thread has ended.
    found: Option<Receiver<io::Result<Vec<Met>>>>,
    batch: vec::IntoIter<Met>,
    /// True after a failed read or a panic: the pairs behind it are not known.
    has_failed: bool,
    thread: Option<JoinHandle<()>>,
}

/// The ground of a look ahead.
pub(super) struct Ground {
    pub(super) documents: Arc<Documents>,
    pub(super) order: Option<Arc<Order>>,
    pub(super) kept: Arc<KeptSoFar>,
    pub(super) rule: Rule,
    pub(super) kind: SketchKind,
}

impl Scout {
    /// Starts a thread. A pair has the turn of the later document in the upper half of its word,
    /// and the earlier document in the lower half.
    pub(super) fn start(pairs: SortedWords, ground: Ground) -> io::Result<Self> {
        let (sender, found) = sync_channel(WAITING);
        let thread = Builder::new().name("scout".to_owned()).stack_size(STACK_BYTES).spawn(move || {
            let looking = Looking { ground, pairs, ahead: VecDeque::new(), last: None, later: None };
            looking.run(&sender);
        })?;
        let batch = Vec::new().into_iter();
        Ok(Self { found: Some(found), batch, has_failed: false, thread: Some(thread) })
    }

    /// The next pair, if its turn is not after `turn`.
    ///
    /// # Errors
    /// A failed read, from then on at each call.
    pub(super) fn next_until(&mut self, turn: u32) -> io::Result<Option<Met>> {
        while self.batch.len() == 0 {
            let Some(found) = self.found.as_ref().filter(|_| !self.has_failed) else { break };
            match found.recv() {
                Ok(Ok(batch)) => self.batch = batch.into_iter(),
                Ok(Err(error)) => {
                    self.has_failed = true;
                    return Err(error);
                }
                Err(_) => self.end()?,
            }
        }
        if self.has_failed && self.batch.len() == 0 {
            return Err(io::Error::other("an earlier read has failed"));
        }
        let is_due = self.batch.as_slice().first().is_some_and(|met| met.turn <= turn);
        Ok(if is_due { self.batch.next() } else { None })
    }

    fn end(&mut self) -> io::Result<()> {
        self.found = None;
        let ended = self.thread.take().map_or(Ok(()), JoinHandle::join);
        self.has_failed = ended.is_err();
        ended.map_err(|_| io::Error::other("the thread that looks ahead has panicked"))
    }
}

impl Drop for Scout {
    fn drop(&mut self) {
        // Without a receiver the thread ends at its next batch. A panic was printed by it.
        let _ = self.end();
    }
}

/// The state of the thread.
struct Looking {
    ground: Ground,
    pairs: SortedWords,
    /// The next pairs, whose earlier documents the system was asked to read.
    ahead: VecDeque<u64>,
    last: Option<u64>,
    /// The turn and the sketch of the later document at hand.
    later: Option<(u32, Sketch)>,
}

impl Looking {
    fn run(mut self, to: &SyncSender<io::Result<Vec<Met>>>) {
        let mut reading = Reading::default();
        loop {
            let batch = self.next_batch(&mut reading);
            let is_over = batch.as_ref().map_or(true, |_| self.ahead.is_empty());
            if to.send(batch).is_err() || is_over {
                return;
            }
        }
    }

    /// The pairs with promises among the next ones. No pair is ahead after the last batch.
    fn next_batch(&mut self, reading: &mut Reading) -> io::Result<Vec<Met>> {
        if self.ahead.len() < AHEAD / 2 {
            self.look_ahead()?;
        }
        let mut batch = Vec::new();
        for _ in 0..HANDED {
            let Some(pair) = self.ahead.pop_front() else { break };
            // Documents that share several buckets are several times a pair.
            if self.last.replace(pair) != Some(pair) {
                batch.extend(self.meet(pair, reading)?);
            }
        }
        Ok(batch)
    }

    /// Takes the next pairs, and has their earlier documents read.
    fn look_ahead(&mut self) -> io::Result<()> {
        let (mut earlier, mut often) = (Vec::new(), Vec::new());
        while self.ahead.len() < AHEAD
            && let Some(pair) = self.pairs.next_word()?
        {
            // Two that share several buckets are most often near, and then the text is read.
            let list = if self.ahead.back() == Some(&pair) { &mut often } else { &mut earlier };
            list.push(halves(pair).1);
            self.ahead.push_back(pair);
        }
        for numbers in [&mut earlier, &mut often] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        self.ground.documents.foresee(&earlier, &often);
        Ok(())
    }

    fn meet(&mut self, pair: u64, reading: &mut Reading) -> io::Result<Option<Met>> {
        let Ground { documents, order, kept, rule, kind } = &self.ground;
        let (turn, earlier) = halves(pair);
        let turn_of_earlier = order.as_ref().map_or(earlier, |order| order.turns[earlier as usize]);
        if kept.is_dropped(earlier, turn_of_earlier) {
            return Ok(None);
        }
        let later = match self.later.take().filter(|(of, _)| *of == turn) {
            Some(later) => later,
            None => {
                let features = match order {
                    Some(order) => documents.features_of(None, order.numbers[turn as usize])?,
                    None => documents.features_of(Some(reading), turn)?,
                };
                (turn, kind.sketch(features))
            }
        };
        let later = &self.later.insert(later).1;
        let features = documents.features_of(None, earlier)?;
        let promise = promise(later, &features, rule, kind);
        Ok(promise.map(|promise| Met { turn, earlier, promise, features }))
    }
}
