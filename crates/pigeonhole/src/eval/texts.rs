//! A corpus in memory, with all that verdicts and the truth are made of.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use corpus::{FieldNames, FieldPath, Fields, InputOptions, Inputs};
use features::shingles::{ShingleSets, TextSketcher};
use features::{Fingerprinter, Scratch};
use minhash::{Filing, Signature, hash_words};
use simhash::Fingerprint;

use crate::progress::{Progress, complain};

/// So many rejected records are named; the others are counted.
const NAMED_MAX: u64 = 10;

/// A text that needs all there is.
const WARM_UP: &str = "今天天氣很好 and no bridge is near";

/// Of samples; any number would do.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Documents by number, in the order of the input.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) ids: Vec<String>,
    pub(super) texts: Vec<String>,
    /// In characters.
    pub(super) lengths: Vec<usize>,
    pub(super) sets: Vec<ShingleSets>,
    /// `None` where a text has no features.
    pub(super) fingerprints: Vec<Option<Fingerprint>>,
    /// Where each is filed by its bands.
    pub(super) rows: Vec<Vec<Filing>>,
    /// `None` where a text has nothing to be compared by.
    pub(super) signatures: Vec<Option<Signature>>,
    /// Of which family each is, by a number; `None` where its record names none, or nobody asks.
    pub(super) families: Vec<Option<u32>>,
    /// Documents that were read, of which these are all or a sample.
    pub(super) n_read: u64,
    pub(super) n_rejected: u64,
    /// What fingerprints took, of all threads together.
    pub(super) fingerprinting: Duration,
    /// What bands and signatures took.
    pub(super) sketching: Duration,
}

/// What is read of a corpus.
#[derive(Clone, Copy, Default)]
pub(super) struct What<'a> {
    /// The field that names the family of a document.
    pub(super) families: Option<&'a FieldPath>,
    /// Not more documents than this, each with the same chance.
    pub(super) n_max: Option<usize>,
}

/// A document that is in the sample so far.
struct Chosen {
    number: u64,
    id: String,
    text: String,
    family: Option<u32>,
}

/// Where among those chosen the next document goes, `n_before` of them being read: past their end while there is room, then in
/// place of any of them, or nowhere (Vitter 1985, "Random sampling with a reservoir", algorithm R). The same documents give the
/// same sample.
fn place(n_before: u64, n_max: Option<usize>) -> Option<usize> {
    let Some(n_max) = n_max else { return Some(usize::MAX) };
    if n_before < n_max as u64 {
        return Some(usize::MAX);
    }
    let place = hash_words(SEED, n_before) % (n_before + 1);
    usize::try_from(place).ok().filter(|&place| place < n_max)
}

/// What one text gave.
struct Read {
    length: usize,
    sets: ShingleSets,
    fingerprint: Option<Fingerprint>,
    rows: Vec<Filing>,
    signature: Option<Signature>,
    fingerprinting: Duration,
    sketching: Duration,
}

impl Texts {
    /// Reads a corpus, or a sample of it.
    pub(super) fn read(
        options: &InputOptions,
        what: What<'_>,
        fingerprinter: &Fingerprinter,
        progress: &mut Progress,
    ) -> anyhow::Result<Self> {
        let mut texts = Self::default();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut chosen: Vec<Chosen> = Vec::new();
        // A family is read as the source of a document is: a short string, or an integer.
        let fields = Fields::new(FieldNames { source: what.families.cloned(), ..FieldNames::of(options) });
        for document in Inputs::open(options)?.documents(fields) {
            match document {
                Ok(document) => {
                    let next = numbers.len() as u32;
                    let mut number = |name: &str| *numbers.entry(name.to_owned()).or_insert(next);
                    let family = document.source.as_ref().map(|source| number(source.as_str()));
                    let place = place(texts.n_read, what.n_max);
                    texts.n_read += 1;
                    let new = Chosen {
                        number: texts.n_read,
                        id: document.id.as_str().to_owned(),
                        text: document.text,
                        family,
                    };
                    match place.map(|place| chosen.get_mut(place)) {
                        Some(Some(old)) => *old = new,
                        Some(None) => chosen.push(new),
                        None => {}
                    }
                    progress.show(format_args!("{} documents read", texts.n_read));
                }
                Err(rejected) => {
                    texts.n_rejected += 1;
                    if texts.n_rejected <= NAMED_MAX {
                        let reason = rejected.to_string().replace("--source-field", "--families");
                        complain(format_args!("rejected {}", program::line(&reason)));
                    }
                }
            }
        }
        chosen.sort_unstable_by_key(|chosen| chosen.number);
        for Chosen { id, text, family, .. } in chosen {
            texts.ids.push(id);
            texts.texts.push(text);
            texts.families.push(family);
        }
        texts.sketch(fingerprinter)?;
        Ok(texts)
    }

    /// All that is made of the texts, by as many threads as there are processors.
    fn sketch(&mut self, fingerprinter: &Fingerprinter) -> anyhow::Result<()> {
        ensure!(u32::try_from(self.len()).is_ok(), "a corpus to evaluate has fewer than 2^32 documents");
        let n_threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let n_each = self.len().div_ceil(n_threads).max(1);
        let parts: Vec<Vec<Read>> = thread::scope(|scope| {
            let parts: Vec<_> = self
                .texts
                .chunks(n_each)
                .map(|texts| scope.spawn(move || read_all(texts, fingerprinter)))
                .collect();
            parts.into_iter().map(|part| part.join().ok()).collect::<Option<_>>()
        })
        .context("a thread that sketches texts has ended early; report a bug")?;
        for read in parts.into_iter().flatten() {
            self.lengths.push(read.length);
            self.sets.push(read.sets);
            self.fingerprints.push(read.fingerprint);
            self.rows.push(read.rows);
            self.signatures.push(read.signature);
            self.fingerprinting += read.fingerprinting;
            self.sketching += read.sketching;
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Of the lengths in characters the one in the middle.
    pub(super) fn median_length(&self) -> usize {
        let mut lengths = self.lengths.clone();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).copied().unwrap_or_default()
    }
}

fn read_all(texts: &[String], fingerprinter: &Fingerprinter) -> Vec<Read> {
    let (mut sketcher, mut scratch) = (TextSketcher::new(), Scratch::new());
    // Dictionaries are read when they are first needed, which is not what a text takes.
    let _ = fingerprinter.fingerprint_with(&mut scratch, WARM_UP);
    let _ = sketcher.signature(WARM_UP);
    let read = |text: &String| {
        let start = Instant::now();
        let fingerprint = fingerprinter.fingerprint_with(&mut scratch, text);
        let fingerprinting = start.elapsed();
        let start = Instant::now();
        let signature = sketcher.signature(text);
        let rows = signature.as_ref().map(Signature::filings).unwrap_or_default();
        let sketching = start.elapsed();
        let (length, sets) = (text.chars().count(), sketcher.sets(text));
        Read { length, sets, fingerprint, rows, signature, fingerprinting, sketching }
    };
    texts.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of 1,000 documents is in a sample of 100 with the same chance: of each hundred about ten.
    #[test]
    fn a_sample_is_from_everywhere() {
        let mut chosen: Vec<u64> = Vec::new();
        for number in 0..1_000 {
            match place(number, Some(100)).map(|place| chosen.get_mut(place)) {
                Some(Some(old)) => *old = number,
                Some(None) => chosen.push(number),
                None => {}
            }
        }
        assert_eq!(chosen.len(), 100);
        for hundred in 0..10 {
            let n = chosen.iter().filter(|&&number| number / 100 == hundred).count();
            assert!((2..=20).contains(&n), "{n} of the hundred {hundred}");
        }
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), 100);
        assert_eq!(place(7, None), Some(usize::MAX));
    }
}
