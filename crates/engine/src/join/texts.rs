//! Texts of documents, by id. Texts are read only for pairs that are worth a count, many in one
//! call.

use std::collections::{BTreeSet, HashMap};
use std::mem;
use std::sync::{Mutex, PoisonError};

use index::{DocumentId, Index, MAX_BATCH, Nearness, Result, Rule, Sketch, Text};

use crate::TextPace;

/// The most bytes of each of the two generations.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// The number of pairs whose texts are read together, of short texts.
const N_PAIRS_MAX: usize = 128;

/// The number of waiting pairs, with and without a count, since all are visited in order.
const N_WAITING_MAX: usize = 4_096;

/// Recently read texts, for all threads.
pub(super) struct KeptTexts {
    generations: Mutex<Generations>,
    /// The most bytes of each of the two generations.
    n_bytes_max: usize,
    pace: TextPace,
}

/// Two generations: when the young one is full it replaces the old one, which is forgotten.
#[derive(Default)]
struct Generations {
    young: HashMap<DocumentId, Text>,
    old: HashMap<DocumentId, Text>,
    n_young_bytes: usize,
}

/// Pairs found so far, the lesser id first, in order.
#[derive(Default)]
pub(super) struct Waiting<'a> {
    pairs: Vec<Pair<'a>>,
    n_to_count: usize,
}

struct Pair<'a> {
    a: (&'a DocumentId, &'a Sketch),
    b: (&'a DocumentId, &'a Sketch),
    /// `None` if the pair is to be counted.
    nearness: Option<Nearness>,
}

impl Generations {
    fn get(&mut self, id: &DocumentId, n_bytes_max: usize) -> Option<Text> {
        if let Some(text) = self.young.get(id) {
            return Some(text.clone());
        }
        let (id, text) = self.old.remove_entry(id)?;
        self.put(id, text.clone(), n_bytes_max);
        Some(text)
    }

    fn put(&mut self, id: DocumentId, text: Text, n_bytes_max: usize) {
        self.n_young_bytes += id.as_str().len() + text.len();
        self.young.insert(id, text);
        if self.n_young_bytes > n_bytes_max {
            self.old = mem::take(&mut self.young);
            self.n_young_bytes = 0;
        }
    }
}

impl KeptTexts {
    /// Keeps texts of at most `n_bytes`.
    pub(super) fn new(n_bytes: usize) -> Self {
        Self {
            generations: Mutex::default(),
            n_bytes_max: KEPT_BYTES_MAX.min(n_bytes / 2),
            pace: TextPace::default(),
        }
    }

    /// Returns the number of pairs whose texts are to be read together.
    fn n_pairs(&self) -> usize {
        (self.pace.n_texts() / 2).clamp(1, N_PAIRS_MAX)
    }

    fn read<'a>(
        &self,
        index: &Index,
        ids: BTreeSet<&'a DocumentId>,
    ) -> Result<HashMap<&'a DocumentId, Text>> {
        // A panic of another thread leaves the generations whole.
        let lock = || self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut known, mut missing) = (HashMap::new(), Vec::new());
        {
            let mut kept = lock();
            for id in ids {
                match kept.get(id, self.n_bytes_max) {
                    Some(text) => drop(known.insert(id, text)),
                    None => missing.push(id),
                }
            }
        }
        for ids in missing.chunks(MAX_BATCH) {
            let owned: Vec<DocumentId> = ids.iter().map(|&id| id.clone()).collect();
            let texts = index.texts(&owned)?;
            let mut kept = lock();
            for ((&id, owned), text) in ids.iter().zip(owned).zip(texts) {
                if let Some(text) = text {
                    kept.put(owned, text.clone(), self.n_bytes_max);
                    known.insert(id, text);
                }
            }
        }
        self.pace.note(known.values());
        Ok(known)
    }
}

impl<'a> Waiting<'a> {
    /// Takes a pair that is near, or one without a nearness, which a count decides.
    pub(super) fn push(
        &mut self,
        one: (&'a DocumentId, &'a Sketch),
        other: (&'a DocumentId, &'a Sketch),
        nearness: Option<Nearness>,
    ) {
        let (a, b) = if one.0 <= other.0 { (one, other) } else { (other, one) };
        self.n_to_count += usize::from(nearness.is_none());
        self.pairs.push(Pair { a, b, nearness });
    }

    /// Returns true if it is time to [settle](Self::settle) the pairs.
    pub(super) fn is_full(&self) -> bool {
        self.n_to_count >= N_PAIRS_MAX || self.pairs.len() >= N_WAITING_MAX
    }

    /// Counts the pairs to be counted, and calls `visit` for the near ones, in order. No pair waits
    /// afterwards.
    pub(super) fn settle<E: From<index::Error>>(
        &mut self,
        index: &Index,
        rule: &Rule,
        kept: &KeptTexts,
        visit: &mut dyn FnMut(&'a DocumentId, &'a DocumentId, Nearness) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.n_to_count = 0;
        let pairs = mem::take(&mut self.pairs);
        let mut rest = &pairs[..];
        while !rest.is_empty() {
            let to_count = |pair: &&Pair<'_>| pair.nearness.is_none();
            let n_pairs = kept.n_pairs();
            let mut places = (0..rest.len()).filter(|&place| to_count(&&rest[place]));
            let (some, more) = rest.split_at(places.nth(n_pairs).unwrap_or(rest.len()));
            rest = more;
            let to_count = some.iter().filter(to_count);
            let ids: BTreeSet<&DocumentId> = to_count.flat_map(|pair| [pair.a.0, pair.b.0]).collect();
            let texts = if ids.is_empty() { HashMap::new() } else { kept.read(index, ids)? };
            for &Pair { a, b, nearness } in some {
                let counted = || {
                    let [of_a, of_b] = [a, b].map(|(id, sketch)| (sketch.features(), texts.get(id)));
                    rule.count_texts(of_a, of_b)
                };
                if let Some(nearness) = nearness.or_else(counted) {
                    visit(a.0, b.0, nearness)?;
                }
            }
        }
        Ok(())
    }
}
