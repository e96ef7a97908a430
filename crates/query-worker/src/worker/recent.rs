//! Texts of documents inserted lately, for people who want to see the differences. Stores need not
//! keep texts.
//!
//! The texts are in memory only, within a bound in bytes, and are never authoritative: a text is
//! given out only if its features are those that the index has for the id at that moment.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use index::{DocumentId, Features};
use lru::LruCache;
use zstd::bulk::{Compressor, decompress};

/// Bytes of an entry beside its id and text: two allocations, two links, and a slot in the table.
const ENTRY_BYTES: usize = 160;

/// Least bytes of a text to compress: shorter ones hardly shrink.
const PACKED_FROM_BYTES: usize = 512;

/// zstd level: the fastest except for the negative ones, at a few percent of the fingerprint's
/// time.
const LEVEL: i32 = 1;

/// A kept text, compressed if this saves bytes.
#[derive(Debug)]
pub(crate) enum Text {
    Plain(Box<str>),
    Packed { bytes: Box<[u8]>, n_bytes: usize },
}

impl Text {
    /// Compresses a text of sufficient length. Blocks for a time proportional to the length.
    fn new(text: &str) -> Self {
        thread_local! {
            static COMPRESSOR: RefCell<Option<Compressor<'static>>> = RefCell::new(Compressor::new(LEVEL).ok());
        }
        let pack =
            |compressor: &mut Option<Compressor<'_>>| compressor.as_mut()?.compress(text.as_bytes()).ok();
        let packed = if text.len() < PACKED_FROM_BYTES { None } else { COMPRESSOR.with_borrow_mut(pack) };
        match packed {
            Some(packed) if packed.len() < text.len() => {
                Self::Packed { bytes: packed.into_boxed_slice(), n_bytes: text.len() }
            }
            _ => Self::Plain(text.into()),
        }
    }

    fn n_bytes_kept(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Packed { bytes, .. } => bytes.len(),
        }
    }

    fn unpacked(&self) -> Option<String> {
        match self {
            Self::Plain(text) => Some(text.to_string()),
            Self::Packed { bytes, n_bytes } => String::from_utf8(decompress(bytes, *n_bytes).ok()?).ok(),
        }
    }
}

/// Texts by the ids of their documents. The least recently used are evicted first.
pub(crate) struct RecentTexts {
    bytes_max: usize,
    hasher: RandomState,
    kept: Mutex<Kept>,
}

struct Kept {
    /// With each text a hash of its features.
    texts: LruCache<DocumentId, (u64, Text)>,
    n_bytes: usize,
}

impl Kept {
    fn drop_text(&mut self, id: &DocumentId) {
        if let Some((_, text)) = self.texts.pop(id) {
            self.n_bytes -= cost(id, &text);
        }
    }
}

fn cost(id: &DocumentId, text: &Text) -> usize {
    ENTRY_BYTES + id.as_ref().len() + text.n_bytes_kept()
}

impl RecentTexts {
    /// Makes an empty cache; with `bytes_max` 0 it keeps nothing.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let kept = Mutex::new(Kept { texts: LruCache::unbounded(), n_bytes: 0 });
        Self { bytes_max, hasher: RandomState::new(), kept }
    }

    pub(crate) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Packs a text for [`Self::keep`]; `None` if nothing is kept. Blocks for a time proportional
    /// to the length, so call it without the lock.
    pub(crate) fn pack(&self, text: &str) -> Option<Text> {
        (self.bytes_max > 0).then(|| Text::new(text))
    }

    /// Keeps the text of a document in the index, in place of an older text.
    pub(crate) fn keep(&self, id: DocumentId, features: &Features, text: Text) {
        let more = cost(&id, &text);
        let mut kept = self.lock();
        kept.drop_text(&id);
        if more > self.bytes_max {
            return;
        }
        kept.n_bytes += more;
        kept.texts.put(id, (self.hasher.hash_one(features), text));
        while kept.n_bytes > self.bytes_max {
            let Some((id, (_, text))) = kept.texts.pop_lru() else { break };
            kept.n_bytes -= cost(&id, &text);
        }
    }

    /// Returns the text of a document whose features are now `features`. A text with other features
    /// is of an older version, and is dropped.
    pub(crate) fn get(&self, id: &DocumentId, features: &Features) -> Option<String> {
        let mut kept = self.lock();
        match kept.texts.get(id) {
            Some((of, text)) if *of == self.hasher.hash_one(features) => text.unpacked(),
            Some(_) => {
                kept.drop_text(id);
                None
            }
            None => None,
        }
    }

    /// Drops the text of a removed document.
    pub(crate) fn forget(&self, id: &DocumentId) {
        self.lock().drop_text(id);
    }

    /// Returns the number of texts and their bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        let kept = self.lock();
        (kept.texts.len(), kept.n_bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing panics while the lock is held, and a lost text does no harm.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use simhash::Fingerprint;

    use super::*;

    /// Features of the test texts.
    const F: &Features = &Features { simhash: Some(Fingerprint(7)), signature: None, text: None };

    fn id(name: &str) -> DocumentId {
        DocumentId::new(name).unwrap()
    }

    fn keep(texts: &RecentTexts, name: &str, text: &str) {
        if let Some(text) = texts.pack(text) {
            texts.keep(id(name), F, text);
        }
    }

    #[test]
    fn what_is_kept_comes_back() {
        let texts = RecentTexts::new(1 << 20);
        let long = "回家吃饭 and some more 🐦 ".repeat(400);
        for text in ["", "short", "回家", &long] {
            keep(&texts, "a", text);
            assert_eq!(texts.get(&id("a"), F).as_deref(), Some(text));
        }
        let (n, n_bytes) = texts.size();
        assert_eq!(n, 1);
        assert!(n_bytes < long.len() / 10, "{n_bytes} bytes for {}", long.len());
        assert_eq!(texts.get(&id("b"), F), None);
        texts.forget(&id("a"));
        texts.forget(&id("a"));
        assert_eq!((texts.get(&id("a"), F), texts.size()), (None, (0, 0)));
    }

    #[test]
    fn an_older_version_is_not_believed_and_dropped() {
        let texts = RecentTexts::new(1 << 20);
        keep(&texts, "a", "as it was");
        assert_eq!(texts.get(&id("a"), &Fingerprint(8).into()), None);
        assert_eq!(texts.size(), (0, 0));
    }

    #[test]
    fn the_bound_holds_and_who_was_asked_for_stays() {
        let texts = RecentTexts::new(1000);
        for name in ["a", "b", "c"] {
            keep(&texts, name, &"x".repeat(100));
        }
        assert_eq!(texts.size(), (3, 3 * (ENTRY_BYTES + 101)));
        assert!(texts.get(&id("a"), F).is_some());
        keep(&texts, "d", &"x".repeat(100));
        assert!(texts.size().1 <= 1000);
        let there = ["a", "b", "c", "d"].map(|name| texts.get(&id(name), F).is_some());
        assert_eq!(there, [true, false, true, true]);
    }

    /// A text that is too large evicts no other, only its own older version.
    #[test]
    fn one_text_larger_than_all_the_room() {
        let texts = RecentTexts::new(600);
        keep(&texts, "a", "small");
        keep(&texts, "b", "small");
        let large = "x".repeat(2000);
        texts.keep(id("a"), F, Text::Plain(large.into()));
        assert_eq!(texts.get(&id("a"), F), None);
        assert_eq!(texts.get(&id("b"), F).as_deref(), Some("small"));
    }

    #[test]
    fn none_at_all() {
        let texts = RecentTexts::new(0);
        keep(&texts, "a", "text");
        assert_eq!((texts.get(&id("a"), F), texts.size()), (None, (0, 0)));
    }
}
