//! From a text to the sets by which it is compared, and their sketches: character n-grams, hashed.
//!
//! 1. **Characters.** The text in normal form: NFKC, lower case, simplified Chinese. Letters, digits and marks stay; what is
//!    between them becomes one space, and none beside Han, kana and hangul. So white space, punctuation and symbols do not
//!    count. Where nothing stays, symbols do, of three and more of a kind in a row two, and only equality counts.
//! 2. **Short kind**, up to [`SHORT_MAX`] different bigrams: the set of bigrams, compared exactly. A text of one bigram, or of one
//!    character, equals another or does not.
//! 3. **Long kind**, from [`LONG_MIN`] different bigrams on: the set of n-grams, of four characters where they start at Han, kana
//!    or hangul, else of five, compared by estimate.
//!
//! A text with [`LONG_MIN`] to [`SHORT_MAX`] is of both kinds. Two texts with a Jaccard similarity of bigrams of .8 or more have
//! at least .8 as many bigrams as each other; so the one has at most 50 where the other has at most 40, and they meet as short
//! ones. Beyond that both have more than 40, and meet as long ones.
//!
//! Sets, not multisets: `哈哈哈` equals `哈哈哈哈哈哈`, and `1000` equals `10000`.

mod characters;
mod grams;
mod sets;
#[cfg(test)]
mod tests;

use minhash::{Signature, Sketcher};

use crate::normalize::Normalizer;

use characters::{Characters, Classes};
pub use sets::ShingleSets;

/// Most different bigrams of a text of the short kind.
pub const SHORT_MAX: usize = 50;

/// Fewest different bigrams of a text of the long kind.
pub const LONG_MIN: usize = 41;

/// How texts become sketches. Two sketches may be compared only where this is equal.
pub const SHINGLES_VERSION: u32 = 1;

/// Bytes of a buffer that are kept for the next text; more than that is given back.
const BUFFER_KEPT_MAX: usize = 4 << 20;

/// Makes sketches of texts, one after the other, in buffers that it keeps: one a thread.
///
/// ```
/// use pigeonhole_features::shingles::TextSketcher;
/// use minhash::Signature;
///
/// let mut sketcher = TextSketcher::new();
/// let mut signature = |text| sketcher.signature(text).expect("it has characters");
/// let (a, b) = (signature("一目了然的鸽巢原理"), signature("一目瞭然的鴿巢原理！"));
/// let comparison = Signature::compare(&a, &b);
/// assert_eq!(comparison.similarity.to_string(), "1.0000");
/// assert!(comparison.is_exact());
/// ```
pub struct TextSketcher {
    normalizer: Normalizer,
    classes: &'static Classes,
    normalized: String,
    characters: Characters,
    bigrams: grams::FewDistinct,
    long: Sketcher<{ minhash::LONG_BINS }>,
}

impl Default for TextSketcher {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for TextSketcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextSketcher").finish_non_exhaustive()
    }
}

impl TextSketcher {
    /// Empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self {
            normalizer: Normalizer::new(true),
            classes: Classes::get(),
            normalized: String::new(),
            characters: Characters::default(),
            bigrams: grams::FewDistinct::default(),
            long: Sketcher::new(),
        }
    }

    /// The signature of a text of any length: what it is filed under follows from it. `None` of one that is empty or white
    /// space only, which has nothing to be compared by.
    pub fn signature(&mut self, text: &str) -> Option<Signature> {
        let mut normal_form = std::mem::take(&mut self.normalized);
        self.normalizer.normalize(text, &mut normal_form);
        let signature = self.signature_of_normal_form(&normal_form);
        self.normalized = normal_form;
        self.give_back();
        signature
    }

    /// The same of a text that is in normal form, as the normalizer that simplifies writes it.
    pub(crate) fn signature_of_normal_form(&mut self, normal_form: &str) -> Option<Signature> {
        self.read(normal_form);
        let codes = self.characters.codes();
        if codes.is_empty() {
            return symbols(normal_form, self.classes).map(Signature::equality);
        }
        let few = self.bigrams.of(codes, SHORT_MAX);
        let is_long = few.is_none_or(|few| few.len() >= LONG_MIN);
        let long = is_long.then(|| {
            grams::for_each_chunk(codes, |hashes| self.long.extend(hashes));
            self.long.finish()
        });
        let signature = match (few, long.flatten()) {
            (Some(&[only]), _) => Some(Signature::equality(only)),
            (Some(few), Some(long)) => Signature::both(&long.bins, long.size, few),
            (Some(few), None) => Signature::short(few),
            (None, long) => long.map(|long| Signature::long(&long.bins, long.size)),
        };
        self.characters.shrink_to(BUFFER_KEPT_MAX / size_of::<characters::Code>());
        signature
    }

    /// The sets themselves, for an exact comparison where the texts are at hand.
    pub fn sets(&mut self, text: &str) -> ShingleSets {
        self.normalizer.normalize(text, &mut self.normalized);
        let normal_form = std::mem::take(&mut self.normalized);
        self.read(&normal_form);
        let codes = self.characters.codes();
        let mut sets = ShingleSets::default();
        if codes.is_empty() {
            sets.equality = symbols(&normal_form, self.classes);
        } else {
            grams::bigrams(codes, |hash| sets.bigrams.push(hash));
            grams::for_each_chunk(codes, |hashes| sets.ngrams.extend_from_slice(hashes));
            for set in [&mut sets.bigrams, &mut sets.ngrams] {
                set.sort_unstable();
                set.dedup();
            }
        }
        self.normalized = normal_form;
        self.give_back();
        sets
    }

    /// Leaves the characters of a text in normal form in `self.characters`.
    fn read(&mut self, normal_form: &str) {
        self.characters.clear();
        normal_form.chars().for_each(|c| self.characters.push(self.classes, c));
    }

    fn give_back(&mut self) {
        self.normalized.shrink_to(BUFFER_KEPT_MAX);
        self.characters.shrink_to(BUFFER_KEPT_MAX / size_of::<characters::Code>());
    }
}

/// What a text without letters is compared by, by its normal form.
fn symbols(normal_form: &str, classes: &Classes) -> Option<u64> {
    let symbols = characters::symbols(normal_form, classes);
    (!symbols.is_empty()).then(|| grams::hash_all(&symbols))
}
