//! Exact counts of the n-grams that two texts have in common, over the texts themselves.

use std::cell::OnceCell;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use minhash::{Basis, Comparison, Similarity};

use super::characters::Code;
use super::occurrences::Occurrences;
use super::{LONG_MIN, SHORT_MAX, grams, symbols};

/// The n-grams of one text, for [comparison](Self::compare) with those of other texts.
///
/// The n-grams themselves are compared. Hashes only locate them, with a random key of this process:
/// no text can be made that takes long to count.
///
/// Memory: 4 bytes a character, twice as much for a text with symbols, and 16 to 28 more once its
/// n-grams were looked up.
#[derive(Debug)]
pub struct Grams {
    codes: Box<[Code]>,
    /// The codes without symbols, from which n-grams are made; `None` if there are no symbols.
    letters: Option<Box<[Code]>>,
    /// The symbols of a text without letters.
    symbols: Box<[Code]>,
    /// The different bigrams, or the only character, ascending; `None` for more than [`SHORT_MAX`].
    few: Option<Box<[u64]>>,
    n_grams: OnceCell<Occurrences>,
}

impl Grams {
    /// Creates the n-grams of a text: of its codes, or of its symbols if there are none.
    pub(super) fn new(codes: &[Code], symbols: Vec<Code>) -> Self {
        let mut letters = Vec::new();
        let letters = symbols::leave_out(codes, &mut letters).then(|| letters.into());
        let few = few_bigrams(codes);
        Self { codes: codes.into(), letters, symbols: symbols.into(), few, n_grams: OnceCell::new() }
    }

    /// Returns the bytes of the characters, and of the n-grams once they were looked up.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let n_grams = self.n_grams.get().map_or(0, Occurrences::heap_bytes);
        let letters = self.letters.as_ref().map_or(0, |letters| size_of_val(&**letters));
        let symbols = size_of_val(&*self.symbols) + self.few.as_ref().map_or(0, |few| size_of_val(&**few));
        size_of_val(&*self.codes) + letters + n_grams + symbols
    }

    /// Counts the similarity of two texts: of their bigrams if both have at most [`SHORT_MAX`]
    /// different ones, else of their n-grams. If one has fewer than [`LONG_MIN`] bigrams and the
    /// other more than [`SHORT_MAX`], no index takes the two for near, and the basis is
    /// [`Basis::NoCommonKind`]. Two texts of one bigram, or without letters, are equal or not.
    #[must_use]
    pub fn compare(a: &Self, b: &Self) -> Comparison {
        if Self::are_copies(a, b) {
            return counted(1, 1, 1);
        }
        match (&a.few, &b.few) {
            (Some(of_a), Some(of_b)) if of_a.len().max(of_b.len()) <= 1 => {
                counted(usize::from(of_a == of_b && !of_a.is_empty()), 1, 1)
            }
            (Some(of_a), Some(of_b)) => counted(n_common(of_a, of_b), of_a.len(), of_b.len()),
            (few_a, few_b) => {
                let is_long = |few: &Option<Box<[u64]>>| few.as_ref().is_none_or(|few| few.len() >= LONG_MIN);
                let compared = Self::compare_long(a, b);
                let is_of_a_kind = is_long(few_a) && is_long(few_b);
                Comparison {
                    basis: if is_of_a_kind { compared.basis } else { Basis::NoCommonKind },
                    ..compared
                }
            }
        }
    }

    /// Returns true if two texts are the same in normal form.
    #[must_use]
    pub fn are_copies(a: &Self, b: &Self) -> bool {
        a.codes == b.codes && a.symbols == b.symbols
    }

    /// Compares the n-grams of two long texts. Those of one text are arranged and kept: of the one
    /// arranged already, else of `b`. The n-grams of the other are only looked up there, which
    /// takes a small part of the time.
    fn compare_long(a: &Self, b: &Self) -> Comparison {
        if a.n_grams.get().is_some() && b.n_grams.get().is_none() {
            let (n_common, size_b) = a.n_grams().met_by(a.letters(), b.letters(), key());
            counted(n_common, a.n_grams().n_distinct(), size_b)
        } else {
            let (n_common, size_a) = b.n_grams().met_by(b.letters(), a.letters(), key());
            counted(n_common, size_a, b.n_grams().n_distinct())
        }
    }

    fn n_grams(&self) -> &Occurrences {
        self.n_grams.get_or_init(|| Occurrences::of(self.letters(), key()))
    }

    fn letters(&self) -> &[Code] {
        self.letters.as_ref().unwrap_or(&self.codes)
    }
}

/// Returns the different bigrams, ascending, of a text with at most [`SHORT_MAX`].
fn few_bigrams(codes: &[Code]) -> Option<Box<[u64]>> {
    if codes.len() > SHORT_MAX && grams::are_more_distinct(codes, key(), SHORT_MAX) {
        return None;
    }
    let mut few: Vec<u64> = Vec::with_capacity(SHORT_MAX + 1);
    let mut is_few = true;
    grams::packed_bigrams(codes, |bigram| {
        if let Err(at) = few.binary_search(&bigram) {
            is_few = few.len() < SHORT_MAX;
            few.insert(at, bigram);
        }
        is_few
    });
    is_few.then(|| few.into())
}

fn n_common(a: &[u64], b: &[u64]) -> usize {
    a.iter().filter(|element| b.binary_search(element).is_ok()).count()
}

fn counted(n_common: usize, size_a: usize, size_b: usize) -> Comparison {
    let share = |size: usize| Similarity::clamped(n_common as f64 / size.max(1) as f64);
    Comparison {
        similarity: Similarity::of_sets(n_common, size_a, size_b),
        share_of_a: share(size_a),
        share_of_b: share(size_b),
        basis: Basis::Counted,
    }
}

/// Returns the random key of this process, against which no text can be made.
fn key() -> [u64; 2] {
    static KEY: OnceLock<[u64; 2]> = OnceLock::new();
    *KEY.get_or_init(|| [0_u8, 1].map(|n| RandomState::new().hash_one(n)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{ShingleSets, TextSketcher};
    use super::*;
    use crate::NormalForm;

    fn both(a: &str, b: &str) -> (Comparison, Comparison) {
        let mut sketcher = TextSketcher::default();
        let [of_a, of_b] = [a, b].map(|text| sketcher.grams(text));
        let [sets_a, sets_b] = [a, b].map(|text| sketcher.sets(text));
        (Grams::compare(&of_a, &of_b), ShingleSets::compare(&sets_a, &sets_b))
    }

    #[test]
    fn examples() {
        for (a, b, similarity) in [
            ("同意", "不同意", "0.5000"),
            ("The office closes.", "the OFFICE closes", "1.0000"),
            ("😂😂", "😂", "0.0000"),
            ("😂😂😂", "😂😂😂😂", "1.0000"),
            ("", "", "1.0000"),
            ("a", "", "0.0000"),
            ("a", "b", "0.0000"),
            ("ab", "b", "0.0000"),
            ("哈哈哈", "哈哈哈哈", "1.0000"),
        ] {
            let mut sketcher = TextSketcher::default();
            let [a, b] = [a, b].map(|text| sketcher.grams(text));
            assert_eq!(Grams::compare(&a, &b).similarity.to_string(), similarity, "{a:?} {b:?}");
        }
    }

    /// A long text that holds a short one whole.
    #[test]
    fn contained() {
        let part = "The harbour office closes at noon.";
        let whole = format!("{part} {}", "Ferries leave every ninety minutes, to both islands. ".repeat(9));
        let mut sketcher = TextSketcher::default();
        let [a, b] = [part, &whole].map(|text| sketcher.grams(text));
        let Comparison { share_of_a, share_of_b, basis, .. } = Grams::compare(&a, &b);
        assert_eq!(basis, Basis::NoCommonKind);
        assert!(share_of_a == Similarity::ONE && share_of_b.get() < 0.6, "{share_of_a} {share_of_b}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// The reduced text counts as the text itself, symbols and variants of characters included.
        #[test]
        fn reduced_texts_count_as_the_texts_do(text in "([a-cß沈沉枱一的1٣+#<>= \\n]|\\PC){0,90}") {
            for form in [NormalForm::FIRST, NormalForm::default()] {
                let mut sketcher = TextSketcher::new(form);
                if sketcher.signature(&text).is_some()
                    && let Some(reduced) = sketcher.reduced()
                {
                    let [given, reduced] = [sketcher.grams(&text), sketcher.grams_of_reduced(&reduced)];
                    prop_assert!(Grams::are_copies(&given, &reduced));
                    prop_assert_eq!(given.letters(), reduced.letters());
                }
            }
        }

        /// The sets of hashes give the same counts, but where a text of one bigram meets a longer
        /// one.
        #[test]
        fn it_counts_as_the_sets_do(
            words in proptest::collection::vec("[a-d中国的一]{1,9}", 0..60),
            other in proptest::collection::vec("[a-d中国的一]{1,9}", 0..60),
            n_shared in 0_usize..60,
        ) {
            let a = words.join(" ");
            let b = [&words[..n_shared.min(words.len())], &other[..]].concat().join(" ");
            let (counted, by_sets) = both(&a, &b);
            let n_few = |text| TextSketcher::default().sets(text).bigrams.len().min(2);
            // A signature of one bigram is a hash of it, and is compared only with its like.
            prop_assume!(n_few(&a) == n_few(&b));
            prop_assert_eq!(counted.basis == Basis::NoCommonKind, by_sets.basis == Basis::NoCommonKind);
            if by_sets.basis != Basis::NoCommonKind {
                prop_assert_eq!(counted.similarity, by_sets.similarity);
            }
            if by_sets.basis == Basis::Sets {
                prop_assert_eq!(counted.share_of_a, by_sets.share_of_a);
                prop_assert_eq!(counted.share_of_b, by_sets.share_of_b);
            }
        }
    }
}
