//! A corpus in memory, or a sample of it, with the sets for the exact truth.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::thread;

use anyhow::ensure;
use corpus::{FieldPath, Fields, Grouped, InputOptions, Inputs};
use engine::{Load, in_order};
use features::NormalForm;
use features::shingles::{ShingleSets, TextSketcher};
use minhash::hash_words;

use super::sample::{Chosen, SEED, Sample, text_bytes_max};
use crate::progress::{Progress, complain};

/// Rejected records named on stderr; further ones are only counted.
const NAMED_MAX: u64 = 10;

/// Texts that one thread reads at a time.
const PART_TEXTS: usize = 64;

/// Copies of one text that are evaluated: m copies are m² / 2 pairs.
const COPIES_MAX: u32 = 100;

/// Documents by number, in the order of the input.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) ids: Vec<String>,
    pub(super) texts: Vec<String>,
    /// In characters.
    pub(super) lengths: Vec<usize>,
    pub(super) sets: Vec<ShingleSets>,
    /// The number of each document's family; `None` if its record names none, or without
    /// `--families`.
    pub(super) families: Vec<Option<u32>>,
    /// Documents read, of which these are all or a sample.
    pub(super) n_read: u64,
    pub(super) n_rejected: u64,
    /// Copies left out beyond [`COPIES_MAX`].
    n_copies_left_out: u64,
    cut: Option<Cut>,
    seed: u64,
}

/// The reason for a sample instead of all documents.
#[derive(Clone, Copy)]
enum Cut {
    Asked,
    Memory,
    Pairs { n_max: usize },
}

/// Options of reading a corpus.
#[derive(Clone, Copy)]
pub(super) struct What<'a> {
    /// The field with the name of a document's family.
    pub(super) families: Option<&'a FieldPath>,
    /// Bound on the documents, each chosen with the same chance.
    pub(super) n_max: Option<usize>,
    /// Seed of the sample.
    pub(super) seed: Option<u64>,
    /// The normal form in which texts are compared.
    pub(super) form: NormalForm,
}

impl Texts {
    /// Reads a corpus, or a sample of it.
    pub(super) fn read(
        options: &InputOptions,
        what: What<'_>,
        progress: &mut Progress,
    ) -> anyhow::Result<Self> {
        let seed = what.seed.unwrap_or(SEED);
        let mut texts = Self { seed, ..Self::default() };
        let mut sample = Sample::new(seed, what.n_max, text_bytes_max());
        let fields = Fields::of(options);
        let fields = match what.families {
            Some(path) => fields.labelled(path.clone()),
            None => fields,
        };
        for document in Inputs::open(options)?.documents(fields) {
            match document {
                Ok(document) => {
                    sample.offer(document.id.as_str(), document.text, document.label);
                    progress.show(format_args!("{} documents read", sample.n_seen));
                }
                Err(rejected) => {
                    texts.n_rejected += 1;
                    if texts.n_rejected <= NAMED_MAX {
                        let reason =
                            rejected.to_string().replace("as label; name", "as family; --families names");
                        complain(format_args!("rejected {}", program::line(&reason)));
                    }
                }
            }
        }
        texts.n_read = sample.n_seen;
        let is_cut = sample.is_cut;
        let mut numbers: HashMap<String, u32> = HashMap::new();
        for Chosen { id, text, family, .. } in sample.into_chosen() {
            let next = numbers.len() as u32;
            texts.ids.push(id);
            texts.texts.push(text);
            texts.families.push(family.map(|name| *numbers.entry(name).or_insert(next)));
        }
        texts.cut = match texts.n_read > texts.len() as u64 {
            true if is_cut => Some(Cut::Memory),
            true => Some(Cut::Asked),
            false => None,
        };
        texts.sketch(what.form)?;
        texts.leave_out_copies();
        Ok(texts)
    }

    /// Makes the sets of all texts, with a thread for each processor.
    fn sketch(&mut self, form: NormalForm) -> anyhow::Result<()> {
        ensure!(u32::try_from(self.len()).is_ok(), "a corpus to evaluate has fewer than 2^32 documents");
        let texts = &self.texts;
        let read = |sketcher: &mut TextSketcher, part: Range<usize>| -> Vec<_> {
            texts[part].iter().map(|text| (text.chars().count(), sketcher.sets(text))).collect()
        };
        let (lengths, sets) = (&mut self.lengths, &mut self.sets);
        for_each_part(
            texts.len(),
            || TextSketcher::new(form),
            read,
            |read| {
                for (length, of_text) in read {
                    lengths.push(length);
                    sets.push(of_text);
                }
                Ok(())
            },
        )
    }

    /// Leaves out texts that came [`COPIES_MAX`] times before.
    fn leave_out_copies(&mut self) {
        let hash = |sets: &ShingleSets| {
            let mut hasher = DefaultHasher::new();
            (&sets.bigrams, &sets.ngrams, sets.equality).hash(&mut hasher);
            hasher.finish()
        };
        let mut first: HashMap<u64, Vec<(usize, u32)>> = HashMap::new();
        let mut stays = Vec::with_capacity(self.len());
        for (number, sets) in self.sets.iter().enumerate() {
            let alike = first.entry(hash(sets)).or_default();
            let n_before = match alike.iter_mut().find(|(first, _)| self.sets[*first] == *sets) {
                Some((_, n)) => {
                    *n += 1;
                    *n - 1
                }
                None => {
                    alike.push((number, 1));
                    0
                }
            };
            // Texts without any sets are no copies of each other.
            stays.push(n_before < COPIES_MAX || *sets == ShingleSets::default());
        }
        self.n_copies_left_out = stays.iter().filter(|stays| !**stays).count() as u64;
        self.retain(&stays);
    }

    /// Leaves half of the documents, chosen at random, because all have more than `n_max` pairs.
    pub(super) fn halve(&mut self, n_max: usize) {
        let n = self.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_unstable_by_key(|&number| hash_words(self.seed ^ n as u64, number as u64));
        let mut stays = vec![false; n];
        order[..n / 2].iter().for_each(|&number| stays[number] = true);
        self.retain(&stays);
        self.cut = Some(Cut::Pairs { n_max });
    }

    fn retain(&mut self, stays: &[bool]) {
        fn retain<T>(all: &mut Vec<T>, stays: &[bool]) {
            let mut stays = stays.iter();
            all.retain(|_| stays.next().is_some_and(|stays| *stays));
        }
        retain(&mut self.ids, stays);
        retain(&mut self.texts, stays);
        retain(&mut self.lengths, stays);
        retain(&mut self.sets, stays);
        retain(&mut self.families, stays);
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The median of the lengths in characters.
    pub(super) fn median_length(&self) -> usize {
        let mut lengths = self.lengths.clone();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).copied().unwrap_or_default()
    }

    /// Sentences about the documents left out, with the reasons.
    pub(super) fn left_out(&self) -> Vec<String> {
        let why = |cut| {
            let why = match cut {
                Cut::Asked => "as --sample asks".to_owned(),
                Cut::Memory => "as more do not fit in memory".to_owned(),
                Cut::Pairs { n_max } => {
                    format!("as more of them have more than {} pairs", Grouped(n_max as u64))
                }
            };
            let (n, n_read) = (Grouped(self.len() as u64 + self.n_copies_left_out), Grouped(self.n_read));
            format!("{n} of {n_read} documents, chosen at random by the seed {}, {why}", self.seed)
        };
        let copies = (self.n_copies_left_out > 0).then(|| {
            format!(
                "left out: {} documents that are copies of one that came {COPIES_MAX} times before",
                Grouped(self.n_copies_left_out)
            )
        });
        self.cut.map(why).into_iter().chain(copies).collect()
    }
}

/// Calls `work` with ranges of `0..n_texts` on as many threads as there are processors, each with a
/// state of its own, and `consume` with the results in order.
pub(super) fn for_each_part<S, R: Send + 'static>(
    n_texts: usize,
    start: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, Range<usize>) -> R + Sync,
    consume: impl FnMut(R) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let n_threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let parts = (0..n_texts).step_by(PART_TEXTS).map(move |from| from..n_texts.min(from + PART_TEXTS));
    in_order(move || parts, Load::any(), n_threads, start, work, consume)
}
