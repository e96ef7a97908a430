//! From a text to the sets by which it is compared, and their sketches: character n-grams, hashed.
//!
//! 1. **Characters.** The text in [normal form](crate::NormalForm). Letters, digits and marks stay.
//!    Everything between them becomes one space, and none beside Han, kana and hangul. White space
//!    and punctuation do not count, and of the symbols only those [with a meaning](#symbols). A
//!    text of symbols alone is compared by these, for equality only: three and more of a kind in a
//!    row are two.
//! 2. **Short kind**, up to [`SHORT_MAX`] different bigrams: the set of bigrams, compared exactly.
//!    A text of one bigram, or of one character, is filed by its hash; beside a longer text of this
//!    kind it is a set of one.
//! 3. **Long kind**, from [`LONG_MIN`] different bigrams on: the set of n-grams, compared by
//!    estimate. An n-gram has four characters if it starts at Han, kana or hangul, else five.
//!    Symbols do not count here: one more or less among a thousand letters changes nothing of the
//!    subject of a text.
//!
//! A text with [`LONG_MIN`] to [`SHORT_MAX`] is of both kinds. Two texts with a Jaccard similarity
//! of bigrams of .8 or more have at least .8 as many bigrams as each other. If one has at most 40,
//! the other has at most 50, and the two meet as short ones. Otherwise both have more than 40, and
//! meet as long ones.
//!
//! Sets, not multisets: `哈哈哈` equals `哈哈哈哈哈哈`, and `1000` equals `10000`. The [numbers] of a text
//! tell the latter apart, and a signature of version 2 has their digest. Two texts with equal
//! [`codes`](TextSketcher::codes) are the same in normal form.
//!
//! # Symbols
//!
//! These are rules of the normal form's version 2. One or two symbols in a row are looked at
//! together, three and more are decoration. Symbols stand *beside* the nearest letter or digit in
//! their line, if only white space and punctuation are between the two, and *at* it where nothing
//! is. Symbols count, without a space beside them,
//!
//! | symbols | where |
//! |---|---|
//! | `+` `#` `%` `‰` | at the end of a digit, or of a letter that is not CJK: `C++`, `C#`, `100%` |
//! | `%` `‰` and signs of currencies | beside a digit: `5 %`, `$5`, `5 €` |
//! | `<` `>` `=` | at the start of a digit: `<5` |
//! | `+` `*` `&` `@` `^` `=` | between two letters or digits, at both or at none: `12 + 7`, `Q&A` |
//! | `<` `>` | the same, but not between two CJK characters, where they are brackets: `a<b` |
//! | `/` | between two digits, at both or at none |
//! | other operators (`×`, `÷`, `±`, `≤`, `≠`, `∈`, U+2200 to U+22FF and so on) | everywhere |
//!
//! All other punctuation and symbols do not: quotes, dashes (the minus among them), brackets,
//! bullets, `|`, `~`, arrows of Unicode and pictures. Nor do symbols that begin or end a line with
//! white space beside them, as bullets and the signs of quoted mail do.

pub(crate) mod characters;
mod count;
mod grams;
mod occurrences;
mod sets;
mod symbols;
#[cfg(test)]
mod tests;

use minhash::{Signature, SignatureMaker, Sketcher};

use crate::NormalForm;
use crate::normalize::Normalizer;
use crate::numbers;

pub use characters::Code;
use characters::{Characters, Classes};
pub use count::Grams;
pub use sets::ShingleSets;

/// Most different bigrams of a text of the short kind.
pub const SHORT_MAX: usize = 50;

/// Fewest different bigrams of a text of the long kind.
pub const LONG_MIN: usize = 41;

/// The version of the method from texts to sketches: only sketches of one version may be compared.
pub const SHINGLES_VERSION: u32 = 1;

/// The most bytes of a buffer kept for the next text; a larger buffer is given back.
const BUFFER_KEPT_MAX: usize = 4 << 20;

/// A maker of sketches of texts, one after the other, in buffers of its own: one a thread.
///
/// ```
/// use pigeonhole_features::shingles::TextSketcher;
/// use minhash::Signature;
///
/// let mut sketcher = TextSketcher::default();
/// let mut signature = |text| sketcher.signature(text).expect("it has characters");
/// let (a, b) = (signature("一目了然的鸽巢原理"), signature("一目瞭然的鴿巢原理！"));
/// let comparison = Signature::compare(&a, &b);
/// assert_eq!(comparison.similarity.to_string(), "1.0000");
/// assert!(comparison.is_exact());
/// ```
pub struct TextSketcher {
    normalizer: Normalizer,
    key: grams::Key,
    classes: &'static Classes,
    normalized: String,
    characters: Characters,
    /// The characters of a long text without its symbols, if it has symbols.
    letters: Vec<Code>,
    numbers: numbers::Digest,
    bigrams: grams::FewDistinct,
    long: Sketcher<{ minhash::LONG_BINS }>,
}

impl Default for TextSketcher {
    /// A sketcher to the newest form.
    fn default() -> Self {
        Self::new(NormalForm::default())
    }
}

impl std::fmt::Debug for TextSketcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextSketcher").finish_non_exhaustive()
    }
}

impl TextSketcher {
    /// Creates a sketcher that brings texts into this form.
    #[must_use]
    pub fn new(form: NormalForm) -> Self {
        Self {
            normalizer: Normalizer::new(form, true),
            key: grams::PUBLIC,
            classes: Classes::get(form),
            normalized: String::new(),
            characters: Characters::default(),
            letters: Vec::new(),
            numbers: numbers::Digest::default(),
            bigrams: grams::FewDistinct::default(),
            long: Sketcher::new(),
        }
    }

    /// Returns the form into which texts are brought.
    #[must_use]
    pub fn form(&self) -> NormalForm {
        self.normalizer.form()
    }

    /// Sets the form of the texts from now on; the buffers stay.
    pub fn set_form(&mut self, form: NormalForm) {
        if form != self.form() {
            (self.normalizer, self.classes) = (Normalizer::new(form, true), Classes::get(form));
        }
    }

    /// Sets the key of the n-gram hash from now on: signatures made with different keys have
    /// nothing in common. The key of a new sketcher is 0, which is public. Counts of n-grams, and
    /// the digest of numbers, depend on no key.
    pub fn set_key(&mut self, key: [u64; 2]) {
        self.key = key;
    }

    /// Replaces `out` by the normal form of a text, for
    /// [`codes_of_normal_form`](Self::codes_of_normal_form).
    pub fn normal_form(&mut self, text: &str, out: &mut String) {
        self.normalizer.normalize(text, out);
    }

    /// Returns the characters of a text that are compared. Two texts with equal codes, of which
    /// there must be some, are the same in normal form. A text without codes is compared by the
    /// hash of its symbols, [`ShingleSets::equality`].
    pub fn codes(&mut self, text: &str) -> &[Code] {
        let mut normal_form = std::mem::take(&mut self.normalized);
        self.normalizer.normalize(text, &mut normal_form);
        self.read(&normal_form);
        self.normalized = normal_form;
        self.give_back();
        self.characters.codes()
    }

    /// Returns [`codes`](Self::codes) of a text that is in this normal form.
    pub fn codes_of_normal_form(&mut self, normal_form: &str) -> &[Code] {
        self.read(normal_form);
        self.characters.codes()
    }

    /// Returns the signature of a text of any length, from which its filings follow. `None` for an
    /// empty text or one of white space only, which has nothing to compare.
    pub fn signature(&mut self, text: &str) -> Option<Signature> {
        let mut normal_form = std::mem::take(&mut self.normalized);
        self.normalizer.normalize(text, &mut normal_form);
        let signature = self.signature_of_normal_form(&normal_form);
        self.normalized = normal_form;
        self.give_back();
        signature
    }

    /// Returns, as a text, the compared characters of the text whose signature was made last.
    /// `None` for a text without any, which is compared by its symbols.
    /// [`grams_of_reduced`](Self::grams_of_reduced) makes the same [`grams`](Self::grams) of them
    /// as of the text, in a small part of the time.
    #[must_use]
    pub fn reduced(&self) -> Option<String> {
        Some(self.characters.text()).filter(|text| !text.is_empty())
    }

    /// Returns [`signature`](Self::signature) of a text that is in this normal form, with
    /// simplified Chinese.
    pub fn signature_of_normal_form(&mut self, normal_form: &str) -> Option<Signature> {
        self.read(normal_form);
        // The first version has no numbers.
        let maker = SignatureMaker { numbers: (!self.form().is_first()).then(|| self.numbers.get()) };
        let codes = self.characters.codes();
        if codes.is_empty() {
            return symbols(normal_form, self.classes, self.key).map(|hash| maker.equality(hash));
        }
        let few = self.bigrams.of(codes, self.key, SHORT_MAX);
        let is_long = few.is_none_or(|few| few.len() >= LONG_MIN);
        let long = is_long.then(|| {
            let has_symbols = symbols::leave_out(codes, &mut self.letters);
            let letters = if has_symbols { &self.letters } else { codes };
            grams::for_each_chunk(letters, self.key, |hashes| self.long.extend(hashes));
            self.long.finish()
        });
        let signature = match (few, long.flatten()) {
            (Some(&[only]), _) => Some(maker.equality(only)),
            (Some(few), Some(long)) => maker.both(&long.bins, long.size, few),
            (Some(few), None) => maker.short(few),
            (None, long) => long.map(|long| maker.long(&long.bins, long.size)),
        };
        self.characters.shrink_to(BUFFER_KEPT_MAX / size_of::<Code>());
        self.letters.shrink_to(BUFFER_KEPT_MAX / size_of::<Code>());
        signature
    }

    /// Returns the n-grams themselves, for exact counts where the texts are at hand.
    pub fn grams(&mut self, text: &str) -> Grams {
        self.normalizer.normalize(text, &mut self.normalized);
        let normal_form = std::mem::take(&mut self.normalized);
        self.read(&normal_form);
        let grams = Grams::new(self.characters.codes(), &normal_form, self.classes);
        self.normalized = normal_form;
        self.give_back();
        grams
    }

    /// Returns [`grams`](Self::grams) of a text in this form from its [`reduced`](Self::reduced).
    pub fn grams_of_reduced(&mut self, reduced: &str) -> Grams {
        self.characters.read_text(self.classes, reduced);
        Grams::new(self.characters.codes(), "", self.classes)
    }

    /// Returns the sets of hashes, for exact joins of whole corpora.
    pub fn sets(&mut self, text: &str) -> ShingleSets {
        self.normalizer.normalize(text, &mut self.normalized);
        let normal_form = std::mem::take(&mut self.normalized);
        self.read(&normal_form);
        let codes = self.characters.codes();
        let mut sets = ShingleSets::default();
        if codes.is_empty() {
            sets.equality = symbols(&normal_form, self.classes, self.key);
        } else {
            grams::bigrams(codes, self.key, |hash| sets.bigrams.push(hash));
            let has_symbols = symbols::leave_out(codes, &mut self.letters);
            let letters = if has_symbols { &self.letters } else { codes };
            grams::for_each_chunk(letters, self.key, |hashes| sets.ngrams.extend_from_slice(hashes));
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
        self.numbers.clear();
        self.characters.read(self.classes, normal_form, &mut self.numbers);
    }

    fn give_back(&mut self) {
        self.normalized.shrink_to(BUFFER_KEPT_MAX);
        self.characters.shrink_to(BUFFER_KEPT_MAX / size_of::<Code>());
        self.letters.shrink_to(BUFFER_KEPT_MAX / size_of::<Code>());
    }
}

/// Returns the hash by which a text without letters is compared, from its normal form.
fn symbols(normal_form: &str, classes: &Classes, key: grams::Key) -> Option<u64> {
    let symbols = characters::symbols_of(normal_form, classes);
    (!symbols.is_empty()).then(|| grams::hash_all(&symbols, key))
}
