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
mod table;
#[cfg(test)]
mod tests;

use minhash::{Signature, SignatureMaker, Sketcher};

use crate::NormalForm;
use crate::normalize::Normalizer;
use crate::numbers;

use characters::Characters;
pub use characters::Code;
pub use count::Grams;
pub use sets::ShingleSets;
use table::Table;

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
    /// The codes of texts, and of texts in normal form.
    of_texts: &'static Table,
    of_normal_forms: &'static Table,
    normalized: String,
    characters: Characters,
    /// The characters of a long text without its symbols, if it has symbols.
    letters: Vec<Code>,
    numbers: numbers::Digest,
    bigrams: grams::FewDistinct,
    chunk: grams::Chunk,
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
            of_texts: Table::of_texts(form),
            of_normal_forms: Table::of_normal_forms(form),
            normalized: String::new(),
            characters: Characters::default(),
            letters: Vec::new(),
            numbers: numbers::Digest::default(),
            bigrams: grams::FewDistinct::default(),
            chunk: grams::Chunk::default(),
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
            self.normalizer = Normalizer::new(form, true);
            (self.of_texts, self.of_normal_forms) = (Table::of_texts(form), Table::of_normal_forms(form));
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
        self.read(text);
        self.give_back();
        self.characters.codes()
    }

    /// Returns [`codes`](Self::codes) of a text that is in this normal form.
    pub fn codes_of_normal_form(&mut self, normal_form: &str) -> &[Code] {
        self.read_normal_form(normal_form);
        self.characters.codes()
    }

    /// Returns the signature of a text of any length, from which its filings follow. `None` for an
    /// empty text or one of white space only, which has nothing to compare.
    pub fn signature(&mut self, text: &str) -> Option<Signature> {
        self.read(text);
        let signature = if self.characters.codes().is_empty() {
            let symbols = self.symbols(text);
            self.signature_of_symbols(&symbols)
        } else {
            self.signature_of_codes()
        };
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
        self.read_normal_form(normal_form);
        let signature = if self.characters.codes().is_empty() {
            self.signature_of_symbols(&characters::symbols_of(normal_form, self.of_normal_forms))
        } else {
            self.signature_of_codes()
        };
        self.give_back();
        signature
    }

    fn signature_of_symbols(&self, symbols: &[Code]) -> Option<Signature> {
        hash_of_symbols(symbols, self.key).map(|hash| self.maker().equality(hash))
    }

    fn maker(&self) -> SignatureMaker {
        // The first version has no numbers.
        SignatureMaker { numbers: (!self.form().is_first()).then(|| self.numbers.get()) }
    }

    /// Makes the signature of the text that was read, which has codes.
    fn signature_of_codes(&mut self) -> Option<Signature> {
        let (maker, codes) = (self.maker(), self.characters.codes());
        let few = self.bigrams.of(codes, self.key, SHORT_MAX);
        let is_long = few.is_none_or(|few| few.len() >= LONG_MIN);
        let long = is_long.then(|| {
            let has_symbols = symbols::leave_out(codes, &mut self.letters);
            let letters = if has_symbols { &self.letters } else { codes };
            grams::for_each_chunk(letters, self.key, &mut self.chunk, |hashes| self.long.extend(hashes));
            self.long.finish()
        });
        match (few, long.flatten()) {
            (Some(&[only]), _) => Some(maker.equality(only)),
            (Some(few), Some(long)) => maker.both(&long.bins, long.size, few),
            (Some(few), None) => maker.short(few),
            (None, long) => long.map(|long| maker.long(&long.bins, long.size)),
        }
    }

    /// Returns the n-grams themselves, for exact counts where the texts are at hand.
    pub fn grams(&mut self, text: &str) -> Grams {
        self.read(text);
        let symbols = if self.characters.codes().is_empty() { self.symbols(text) } else { Vec::new() };
        let grams = Grams::new(self.characters.codes(), symbols);
        self.give_back();
        grams
    }

    /// Returns [`grams`](Self::grams) of a text in this form from its [`reduced`](Self::reduced).
    pub fn grams_of_reduced(&mut self, reduced: &str) -> Grams {
        self.characters.read_text(self.of_normal_forms, reduced);
        Grams::new(self.characters.codes(), Vec::new())
    }

    /// Returns the sets of hashes, for exact joins of whole corpora.
    pub fn sets(&mut self, text: &str) -> ShingleSets {
        self.read(text);
        let codes = self.characters.codes();
        let mut sets = ShingleSets::default();
        if codes.is_empty() {
            sets.equality = hash_of_symbols(&self.symbols(text), self.key);
        } else {
            grams::bigrams(codes, self.key, |hash| sets.bigrams.push(hash));
            let has_symbols = symbols::leave_out(codes, &mut self.letters);
            let letters = if has_symbols { &self.letters } else { codes };
            grams::for_each_chunk(letters, self.key, &mut self.chunk, |hashes| {
                sets.ngrams.extend_from_slice(hashes);
            });
            for set in [&mut sets.bigrams, &mut sets.ngrams] {
                set.sort_unstable();
                set.dedup();
            }
        }
        self.give_back();
        sets
    }

    /// Leaves the characters of a text in `self.characters`, and its numbers in `self.numbers`.
    fn read(&mut self, text: &str) {
        self.numbers.clear();
        if !self.characters.read(self.of_texts, text, &mut self.numbers) {
            let mut normal_form = std::mem::take(&mut self.normalized);
            self.normalizer.normalize(text, &mut normal_form);
            self.read_normal_form(&normal_form);
            self.normalized = normal_form;
        }
    }

    /// Does as [`read`](Self::read) with a text that is in normal form.
    fn read_normal_form(&mut self, normal_form: &str) {
        self.numbers.clear();
        let knows_all = self.characters.read(self.of_normal_forms, normal_form, &mut self.numbers);
        debug_assert!(knows_all, "its table has all characters");
    }

    /// Returns the symbols of a text without letters.
    fn symbols(&mut self, text: &str) -> Vec<Code> {
        self.normalizer.normalize(text, &mut self.normalized);
        characters::symbols_of(&self.normalized, self.of_normal_forms)
    }

    fn give_back(&mut self) {
        self.normalized.shrink_to(BUFFER_KEPT_MAX);
        self.characters.shrink_to(BUFFER_KEPT_MAX / size_of::<Code>());
        self.letters.shrink_to(BUFFER_KEPT_MAX / size_of::<Code>());
    }
}

/// Returns the hash by which a text without letters is compared.
fn hash_of_symbols(symbols: &[Code], key: grams::Key) -> Option<u64> {
    (!symbols.is_empty()).then(|| grams::hash_all(symbols, key))
}
