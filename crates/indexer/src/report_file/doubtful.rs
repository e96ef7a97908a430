//! The most doubtful dropped documents, with their texts, for the top of a report.

use std::collections::HashMap;

use engine::dedup::Original;
use features::numbers;
use index::{DocumentId, Index, Nearness, Text};
use minhash::Similarity;
use program::page::{Part, item_windows, windows};

use super::biggest::Biggest;
use super::{Doubtful, Numbers, Pair, Worst};
use crate::pipeline::Fingerprinted;
use crate::report::Deduplicated;

/// Pairs of each kind in a report.
const SHOWN: usize = 5;

/// Bytes of a text that are held until the end of the run and compared.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Numbers of a text in the JSON, from the first difference on.
const NUMBERS_MAX: usize = 100;

/// The most doubtful pairs of each kind so far.
#[derive(Default)]
pub(super) struct Doubts {
    least_similar: Most,
    numbers_differ: Most,
    text_lost: Most,
    contained: Most,
}

/// Oddities of a dropped document.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HowDropped {
    /// True if a fifth or more of its text is in no document that stays.
    pub(crate) loses_text: bool,
    /// True if the document that stays contains it, but is not similar to it.
    pub(crate) is_contained: bool,
}

/// The most doubtful pairs, at most one of each kept document, in descending order of doubt.
#[derive(Default)]
struct Most(Vec<Doubt>);

#[derive(Clone)]
struct Doubt {
    /// The lesser, the more doubtful.
    rank: f64,
    kept: DocumentId,
    dropped: DocumentId,
    nearness: Nearness,
    /// The text of the dropped document, if available.
    text: Option<Text>,
    excerpt: Box<str>,
}

impl Most {
    /// Returns true if a pair of a kept document would be held.
    fn admits(&self, rank: f64, kept: &DocumentId) -> bool {
        match self.0.iter().find(|doubt| doubt.kept == *kept) {
            Some(held) => rank < held.rank,
            None => self.0.len() < SHOWN || self.0.last().is_some_and(|last| rank < last.rank),
        }
    }

    fn add(&mut self, doubt: Doubt) {
        self.0.retain(|held| held.kept != doubt.kept);
        let at = self.0.partition_point(|held| held.rank <= doubt.rank);
        self.0.insert(at, doubt);
        self.0.truncate(SHOWN);
    }
}

impl Doubts {
    /// Notes a dropped document and its oddities.
    pub(super) fn add(&mut self, document: &Fingerprinted, of: &Original, how: HowDropped) {
        let nearness = of.nearness;
        let n_bytes = document.n_text_bytes as f64;
        // Without a similarity, the distance of the simhashes decides.
        let near = nearness.similarity.map_or(-f64::from(nearness.distance.as_bits()), Similarity::get);
        // The approximate number of differing bytes; of equal numbers, the shorter text is the more
        // doubtful.
        let differing = (1.0 - nearness.similarity.map_or(0.0, Similarity::get)) * n_bytes + n_bytes * 1e-6;
        let share = nearness.shares.map_or(1.0, |[of_this, _]| of_this.get());
        let lost = (1.0 - share) * n_bytes;
        let HowDropped { loses_text, is_contained } = how;
        let is_same = nearness.similarity == Some(Similarity::ONE);
        let numbers_differ = nearness.numbers_differ == Some(true);
        let kinds = [
            (&mut self.least_similar, near, !is_same && !is_contained),
            (&mut self.numbers_differ, differing, numbers_differ),
            (&mut self.text_lost, -lost, loses_text),
            (&mut self.contained, share, is_contained),
        ];
        for (most, rank, is_one) in kinds {
            if is_one && most.admits(rank, &of.id) {
                most.add(Doubt {
                    rank,
                    kept: of.id.clone(),
                    dropped: document.id.clone(),
                    nearness,
                    text: document.features.as_ref().and_then(|features| features.text.clone()).map(cut),
                    excerpt: document.excerpt.clone(),
                });
            }
        }
    }

    /// The kept documents whose texts the report shows.
    pub(super) fn kept(&self) -> Vec<DocumentId> {
        let mut kept: Vec<DocumentId> = self.all().map(|doubt| doubt.kept.clone()).collect();
        kept.sort_unstable();
        kept.dedup();
        kept
    }

    fn all(&self) -> impl Iterator<Item = &Doubt> {
        [&self.least_similar, &self.numbers_differ, &self.text_lost, &self.contained]
            .into_iter()
            .flat_map(|most| &most.0)
    }

    /// The content of a report, with the texts of kept documents. A kept document without a text
    /// shows its beginning, if that is in memory. `contained` is true for a run with `--contained`.
    pub(super) fn shown(
        &self,
        counts: &Deduplicated,
        contained: bool,
        signs: &[String],
        texts: &HashMap<DocumentId, Text>,
        biggest: &Biggest,
    ) -> Doubtful {
        let worst = |n, most: &Most| Worst {
            n,
            pairs: most.0.iter().map(|doubt| doubt.pair(texts.get(&doubt.kept), biggest)).collect(),
        };
        Doubtful {
            signs: signs.to_vec(),
            least_similar: worst(0, &self.least_similar).pairs,
            numbers_differ: worst(counts.n_numbers_differ, &self.numbers_differ),
            text_lost: worst(counts.n_text_lost, &self.text_lost),
            contained: contained.then(|| worst(counts.n_contained, &self.contained)),
        }
    }
}

/// The texts of documents in an index, if it keeps texts.
///
/// # Errors
/// Those of the index.
pub(super) fn texts_of(index: &Index, ids: &[DocumentId]) -> index::Result<HashMap<DocumentId, Text>> {
    if index.rule().counter.is_none() || ids.is_empty() {
        return Ok(HashMap::new());
    }
    let texts = ids.iter().cloned().zip(index.texts(ids)?);
    Ok(texts.filter_map(|(id, text)| Some((id, cut(text?)))).collect())
}

/// Cuts a text to its held part.
fn cut(text: Text) -> Text {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if end == text.len() { text } else { Text::from(&text[..end]) }
}

impl Doubt {
    fn pair(&self, of_kept: Option<&Text>, biggest: &Biggest) -> Pair {
        let Nearness { similarity, distance, exact, shares, numbers_differ } = self.nearness;
        let both = of_kept.zip(self.text.as_ref());
        let (kept, dropped) = match both {
            Some((kept, dropped)) => {
                let [kept, dropped] = windows(kept, dropped);
                (Some(kept), dropped)
            }
            None => match biggest.beginning(&self.kept) {
                Some(kept) => {
                    let [kept, dropped] = windows(kept, &self.excerpt);
                    (Some(kept), dropped)
                }
                None => (None, vec![Part { text: self.excerpt.to_string(), differs: false }]),
            },
        };
        let differing = both.filter(|_| numbers_differ == Some(true));
        Pair {
            kept: self.kept.as_str().to_owned(),
            dropped: self.dropped.as_str().to_owned(),
            similarity: similarity.map(Similarity::four_decimals),
            exact: similarity.map(|_| exact),
            distance: distance.as_bits(),
            share_of_kept: shares.map(|[_, of_kept]| of_kept.four_decimals()),
            share_of_dropped: shares.map(|[of_dropped, _]| of_dropped.four_decimals()),
            numbers_differ,
            numbers: differing.map(|(kept, dropped)| Numbers::of(kept, dropped)),
            text_kept: kept.as_deref().map(text_of),
            text_dropped: text_of(&dropped),
            parts: (kept, dropped),
        }
    }
}

fn text_of(parts: &[Part]) -> String {
    parts.iter().map(|part| part.text.as_str()).collect()
}

impl Numbers {
    fn of(kept: &str, dropped: &str) -> Self {
        let [kept, dropped] = [kept, dropped].map(numbers::sequence);
        let n_same = kept.iter().zip(&dropped).take_while(|(kept, dropped)| kept == dropped).count();
        let parts = item_windows(&kept, &dropped);
        let from = |numbers: Vec<String>| numbers.into_iter().skip(n_same).take(NUMBERS_MAX).collect();
        Self { n_same_before: n_same as u64, kept: from(kept), dropped: from(dropped), parts }
    }
}

#[cfg(test)]
mod tests {
    use simhash::{Distance, Fingerprint};

    use super::*;

    fn document(id: &str, n_text_bytes: usize) -> Fingerprinted {
        let document = Fingerprinted::of_features(id.parse().unwrap(), Some(Fingerprint(0).into()));
        Fingerprinted { n_text_bytes, excerpt: "beginning".into(), ..document }
    }

    fn of(id: &str, similarity: f64, share: f64, numbers_differ: bool) -> Original {
        let share = Similarity::clamped(share);
        let nearness = Nearness {
            similarity: Some(Similarity::clamped(similarity)),
            shares: Some([share, Similarity::ONE]),
            numbers_differ: Some(numbers_differ),
            exact: true,
            ..Nearness::by_distance(Distance::ZERO)
        };
        Original { id: id.parse().unwrap(), fingerprint: Fingerprint(0), nearness, in_this_run: true }
    }

    fn dropped(most: &Most) -> Vec<&str> {
        most.0.iter().map(|doubt| doubt.dropped.as_str()).collect()
    }

    #[test]
    fn the_worst_of_each_kind_are_held_one_for_each_kept_document() {
        let mut doubts = Doubts::default();
        for n in 0..20 {
            let similarity = 0.80 + f64::from(n) * 0.005;
            let (id, kept) = (format!("d{n}"), format!("k{}", n / 2));
            doubts.add(&document(&id, 1_000), &of(&kept, similarity, 1.0, false), HowDropped::default());
        }
        assert_eq!(dropped(&doubts.least_similar), ["d0", "d2", "d4", "d6", "d8"]);
        doubts.add(&document("near", 9), &of("k4", 0.8001, 1.0, false), HowDropped::default());
        assert_eq!(dropped(&doubts.least_similar), ["d0", "near", "d2", "d4", "d6"]);
        // A smaller difference is more doubtful, and then a shorter text.
        doubts.add(&document("long", 900), &of("a", 1.0, 1.0, true), HowDropped::default());
        doubts.add(&document("edited", 100), &of("b", 0.9, 1.0, true), HowDropped::default());
        doubts.add(&document("short", 90), &of("c", 1.0, 1.0, true), HowDropped::default());
        assert_eq!(dropped(&doubts.numbers_differ), ["short", "long", "edited"]);
        doubts.add(
            &document("a tenth", 10_000),
            &of("a", 0.9, 0.7, false),
            HowDropped { loses_text: true, ..HowDropped::default() },
        );
        doubts.add(
            &document("a half", 1_000),
            &of("b", 0.9, 0.5, false),
            HowDropped { loses_text: true, ..HowDropped::default() },
        );
        assert_eq!(dropped(&doubts.text_lost), ["a tenth", "a half"], "by how much of text is lost");
        assert_eq!(doubts.kept().len(), 8);
    }

    #[test]
    fn a_pair_has_what_differs_and_the_numbers() {
        let mut doubts = Doubts::default();
        let mut told = document("new", 20);
        told.features.as_mut().unwrap().text = Some("On 3 May 28 died.".into());
        doubts.add(&told, &of("old", 1.0, 1.0, true), HowDropped::default());
        let texts = HashMap::from([("old".parse().unwrap(), Text::from("On 3 May 26 died."))]);
        let counts = Deduplicated { n_numbers_differ: 1, ..Deduplicated::default() };
        let signs = ["odd".to_owned()];
        let shown = doubts.shown(&counts, false, &signs, &texts, &Biggest::new());
        assert!(shown.least_similar.is_empty(), "what is the same is far from the threshold");
        let pair = &shown.numbers_differ.pairs[0];
        assert_eq!(pair.text_kept.as_deref(), Some("On 3 May 26 died."));
        let numbers = pair.numbers.as_ref().unwrap();
        assert_eq!(
            (numbers.n_same_before, &*numbers.kept, &*numbers.dropped),
            (1, &["26".to_owned()][..], &["28".to_owned()][..])
        );
        let marked: Vec<&str> =
            pair.parts.1.iter().filter(|part| part.differs).map(|part| part.text.as_str()).collect();
        assert_eq!(marked, ["28"]);
        assert_eq!(shown.signs, signs);
        // Without the kept text its beginning, else none.
        let mut biggest = Biggest::new();
        assert_eq!(
            doubts.shown(&counts, false, &[], &HashMap::new(), &biggest).numbers_differ.pairs[0].text_kept,
            None
        );
        biggest.add_kept(&document("old", 5));
        let shown = doubts.shown(&counts, false, &[], &HashMap::new(), &biggest);
        assert_eq!(shown.numbers_differ.pairs[0].text_kept.as_deref(), Some("beginning"));
    }
}
