//! What a report needs to know of the verdicts, gathered while they are made.

use std::collections::{BTreeMap, HashMap};

use engine::dedup::{Original, Verdict};
use index::{DocumentId, Index, Text};
use minhash::Similarity;

use super::biggest::Biggest;
use super::doubtful::{Doubts, HowDropped, texts_of};
use super::{Distance, Doubtful, Groups, Rejected, Repeat, Repeats, Similar};
use crate::pipeline::Item;
use crate::reasons::Reasons;
use crate::report::Deduplicated;
use crate::top::Top;

/// What of a text a report shows, in columns of a terminal: so many letters, or half as many Chinese characters.
pub(crate) const EXCERPT_COLUMNS: usize = 300;

/// How many of each list a report shows.
const GROUPS_SHOWN: usize = 20;
const REPEATS_SHOWN: usize = 20;
const REASONS_SHOWN: usize = 50;

/// Sources whose names are held, and pairs of them that are counted at once: bounds on memory.
const PLACES_MAX: usize = 100_000;
const PAIRS_MAX: usize = 100_000;

/// The place of documents that an earlier run has put into the index, and of those from the sources beyond the bound.
const IN_INDEX: Place = Place(0);
const ELSEWHERE: Place = Place(1);

pub(crate) struct Findings {
    /// By distance: as far as the index looks, and as far as what was confirmed is apart.
    n_duplicates: Vec<u64>,
    /// By similarity, in steps of five in a hundred; only what was confirmed.
    n_similar: BTreeMap<u8, u64>,
    pub(crate) n_text_bytes_dropped: u64,
    places: Places,
    /// Where the kept documents come from.
    kept: HashMap<DocumentId, Place>,
    /// Where the duplicates come from of documents that this run keeps and that are yet to come.
    waiting: HashMap<DocumentId, Vec<Place>>,
    /// Of a kept document, and of its duplicate.
    pairs: Top<(Place, Place)>,
    biggest: Biggest,
    doubts: Doubts,
    /// Of kept documents that are in doubt, where the index keeps texts.
    texts: HashMap<DocumentId, Text>,
    reasons: Reasons,
}

/// A source or, of records without one, the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place(u32);

struct Places {
    names: Vec<String>,
    numbers: HashMap<String, Place>,
}

impl Findings {
    pub(crate) fn new(max_distance: simhash::Distance) -> Self {
        Self {
            n_duplicates: vec![0; max_distance.as_bits() as usize + 1],
            n_similar: BTreeMap::new(),
            n_text_bytes_dropped: 0,
            places: Places::new(),
            kept: HashMap::new(),
            waiting: HashMap::new(),
            pairs: Top::new(PAIRS_MAX),
            biggest: Biggest::new(),
            doubts: Doubts::default(),
            texts: HashMap::new(),
            reasons: Reasons::default(),
        }
    }

    /// Takes note of what became of a document, and how.
    pub(crate) fn add(&mut self, item: &Item, verdict: &Verdict, how: HowDropped) {
        let place = self.places.of(item);
        match verdict {
            Verdict::Kept => {
                if item.document.features.is_some() {
                    for duplicate in self.waiting.remove(&item.document.id).unwrap_or_default() {
                        self.pairs.add((place, duplicate));
                    }
                    self.kept.insert(item.document.id.clone(), place);
                    self.biggest.add_kept(&item.document);
                }
            }
            Verdict::Duplicate { of, .. } => {
                self.add_duplicate(item, place, of);
                self.doubts.add(&item.document, of, how);
            }
        }
    }

    fn add_duplicate(&mut self, item: &Item, place: Place, of: &Original) {
        let n_bits = of.nearness.distance.as_bits() as usize;
        if n_bits >= self.n_duplicates.len() {
            self.n_duplicates.resize(n_bits + 1, 0);
        }
        self.n_duplicates[n_bits] += 1;
        if let Some(similarity) = of.nearness.similarity {
            *self.n_similar.entry(step(similarity)).or_default() += 1;
        }
        self.n_text_bytes_dropped += item.document.n_text_bytes as u64;
        match self.kept.get(&of.id) {
            Some(&kept) => self.pairs.add((kept, place)),
            None if of.in_this_run => self.waiting.entry(of.id.clone()).or_default().push(place),
            None => self.pairs.add((IN_INDEX, place)),
        }
        self.biggest.add_duplicate(&item.document, of);
    }

    /// Reads the texts of kept documents that are to be shown.
    ///
    /// # Errors
    /// Those of the index.
    pub(crate) fn read_texts(&mut self, index: &Index) -> index::Result<()> {
        self.texts = texts_of(index, &self.doubts.kept())?;
        Ok(())
    }

    /// Takes note of what was rejected in all.
    pub(crate) fn add_reasons(&mut self, reasons: &Reasons) {
        self.reasons = reasons.clone();
    }

    /// What is most in doubt, with the signs that the run went wrong.
    pub(super) fn doubtful(&self, counts: &Deduplicated, signs: &[String]) -> Doubtful {
        self.doubts.shown(counts, signs, &self.texts, &self.biggest)
    }

    pub(crate) fn distances(&self) -> Vec<Distance> {
        (0..).zip(&self.n_duplicates).map(|(distance, &n)| Distance { distance, n }).collect()
    }

    /// The most similar first.
    pub(crate) fn similarities(&self) -> Vec<Similar> {
        let similar = |(&step, &n): (&u8, &u64)| Similar { from: f64::from(step) * 0.05, n };
        self.n_similar.iter().rev().map(similar).collect()
    }

    pub(crate) fn rejected(&self) -> Vec<Rejected> {
        self.reasons.first(REASONS_SHOWN).into_iter().map(|(reason, n)| Rejected { reason, n }).collect()
    }

    pub(crate) fn groups(&self) -> Groups {
        Groups { n: self.biggest.len() as u64, biggest: self.biggest.first(GROUPS_SHOWN) }
    }

    pub(crate) fn repeats(&self) -> Repeats {
        let repeat = |((kept, dropped), n)| Repeat {
            kept_from: self.places.name(kept).to_owned(),
            dropped_from: self.places.name(dropped).to_owned(),
            n,
        };
        let most = self.pairs.first(REPEATS_SHOWN).into_iter().map(repeat).collect();
        Repeats { is_exact: self.pairs.is_exact(), most }
    }
}

/// Which step of five in a hundred a similarity lies in: 20 for what is the same.
pub(super) fn step(similarity: Similarity) -> u8 {
    (similarity.get() * 20.0 + 1e-9).floor() as u8
}

impl Places {
    fn new() -> Self {
        // In the order of the constants.
        let names = vec!["(in the index before)".to_owned(), "(other sources)".to_owned()];
        Self { names, numbers: HashMap::new() }
    }

    fn of(&mut self, item: &Item) -> Place {
        let name = item.document.source.as_ref().map_or(item.origin.name(), |source| source.as_str());
        if let Some(&place) = self.numbers.get(name) {
            return place;
        }
        let place = Place(self.names.len() as u32);
        if self.names.len() >= PLACES_MAX {
            return ELSEWHERE;
        }
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), place);
        place
    }

    fn name(&self, place: Place) -> &str {
        &self.names[place.0 as usize]
    }
}
