//! Findings for a report, gathered from the verdicts of a run.

use std::collections::{BTreeMap, HashMap};

use engine::dedup::{Original, Verdict};
use index::{DocumentId, Index, Text, leap_bytes};
use minhash::Similarity;

use super::biggest::Biggest;
use super::doubtful::{Doubts, HowDropped, texts_of};
use super::{Distance, Doubtful, Groups, Rejected, Repeat, Repeats, Similar};
use crate::pipeline::Item;
use crate::reasons::Reasons;
use crate::report::Deduplicated;
use crate::top::Top;

/// Columns of an excerpt in a report: as many letters, or half as many Chinese characters.
pub(crate) const EXCERPT_COLUMNS: usize = 300;

/// Lengths of the lists in a report.
const GROUPS_SHOWN: usize = 20;
const REPEATS_SHOWN: usize = 20;
const REASONS_SHOWN: usize = 50;

/// Bounds on memory: sources whose names are held, and pairs of them counted at once.
const PLACES_MAX: usize = 100_000;
const PAIRS_MAX: usize = 100_000;

/// The place of documents that an earlier run has put into the index, and of those from sources
/// beyond the bound.
const IN_INDEX: Place = Place(0);
const ELSEWHERE: Place = Place(1);

pub(crate) struct Findings {
    /// Duplicates by distance: from 0 to the index's distance, or the greatest distance of a
    /// confirmed pair.
    n_duplicates: Vec<u64>,
    /// Confirmed duplicates by similarity, in steps of .05.
    n_similar: BTreeMap<u8, u64>,
    pub(crate) n_text_bytes_dropped: u64,
    places: Places,
    /// Places of the kept documents.
    kept: HashMap<DocumentId, Place>,
    /// Places of duplicates, by a kept document of this run that is yet to come.
    waiting: HashMap<DocumentId, Vec<Place>>,
    /// Pairs of the places of a kept document and its duplicate.
    pairs: Top<(Place, Place)>,
    biggest: Biggest,
    doubts: Doubts,
    /// Texts of doubtful kept documents, if the index keeps texts.
    texts: HashMap<DocumentId, Text>,
    reasons: Reasons,
}

/// A source or, for records without one, the file.
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

    /// The bytes of memory that `n` more documents may take at once.
    pub(crate) fn leap_bytes(&self, n: usize) -> u64 {
        leap_bytes(self.kept.capacity(), self.kept.len(), n, size_of::<(DocumentId, Place)>())
    }

    /// Notes a document, its verdict and its oddities. No other document is a duplicate of one that
    /// `is_alone`.
    pub(crate) fn add(&mut self, item: &Item, verdict: &Verdict, how: HowDropped, is_alone: bool) {
        let place = self.places.of(item);
        match verdict {
            Verdict::Kept => {
                if item.document.features.is_some() {
                    for duplicate in self.waiting.remove(&item.document.id).unwrap_or_default() {
                        self.pairs.add((place, duplicate));
                    }
                    if !is_alone {
                        self.kept.insert(item.document.id.clone(), place);
                    }
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

    /// Reads the texts of kept documents for the report.
    ///
    /// # Errors
    /// Those of the index.
    pub(crate) fn read_texts(&mut self, index: &Index) -> index::Result<()> {
        self.texts = texts_of(index, &self.doubts.kept())?;
        Ok(())
    }

    /// Sets the reasons of all rejections.
    pub(crate) fn add_reasons(&mut self, reasons: &Reasons) {
        self.reasons = reasons.clone();
    }

    /// The most doubtful pairs, with the signs of a wrong run. `contained` is true for a run with
    /// `--contained`.
    pub(super) fn doubtful(&self, counts: &Deduplicated, contained: bool, signs: &[String]) -> Doubtful {
        self.doubts.shown(counts, contained, signs, &self.texts, &self.biggest)
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

/// The step of .05 in which a similarity lies: 20 for equal texts.
pub(super) fn step(similarity: Similarity) -> u8 {
    (similarity.get() * 20.0 + 1e-9).floor() as u8
}

impl Places {
    fn new() -> Self {
        // In the order of `IN_INDEX` and `ELSEWHERE`.
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
