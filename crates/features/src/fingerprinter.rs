//! The whole way from a text to its fingerprint.

use std::collections::HashMap;

use minhash::Signature;
use simhash::{Accumulator, Fingerprint, Weight};

use crate::analysis::{Analysis, Term};
use crate::dictionaries::{self, Dictionaries};
use crate::field::{self, RECIPE_VERSIONS};
use crate::hash::term_hash;
use crate::normalize::Normalizer;
use crate::recipe::Recipe;
use crate::segment::jieba::{CutBuffers, Jieba, UserWords};
use crate::segment::{Segmenter, jieba, ngrams, shingles, words};
use crate::shingles::TextSketcher;
use crate::terms::{self, TermCounts, WeighedTerm};
use crate::weight::idf::{self, IdfTable};
use crate::{Digest, RecipeError, built_in};

/// A maker of fingerprints by one recipe. Share it between threads; give each thread its own
/// [`Scratch`].
pub struct Fingerprinter {
    recipe: Recipe,
    normalizer: Normalizer,
    /// jieba with the user's words, if there are any.
    with_user_words: Option<Box<Jieba>>,
    /// Hashes of the stop words.
    stop_words: std::collections::HashSet<u64>,
    idf: IdfTable,
}

/// Buffers of one thread, reused for every text.
#[derive(Default)]
pub struct Scratch {
    normalized: String,
    cut: CutBuffers,
    counts: TermCounts,
    terms: Vec<WeighedTerm>,
}

/// The most bytes of a buffer kept for the next text; a larger buffer is given back.
const BUFFER_KEPT_MAX: usize = 4 << 20;

impl Scratch {
    /// Empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Fingerprinter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fingerprinter").field("recipe", &self.recipe).finish_non_exhaustive()
    }
}

impl Fingerprinter {
    /// Checks that [`new`](Self::new) can follow the recipe with these dictionaries, without the
    /// time of building: for a caller that first makes something lasting of the recipe.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn check(recipe: &Recipe, dictionaries: &Dictionaries) -> Result<(), RecipeError> {
        if !RECIPE_VERSIONS.contains(&recipe.version) {
            return Err(RecipeError::Version(recipe.version));
        }
        if dictionaries.user_dictionary.is_some() && !recipe.segmenter.uses_dictionary() {
            return Err(RecipeError::Unused {
                field: field::USER_DICTIONARY,
                read_by: "the segmenter `jieba`",
            });
        }
        if dictionaries.idf.is_some() && !recipe.weights.uses_idf() {
            return Err(RecipeError::Unused {
                field: field::IDF,
                read_by: "the weights `tf-idf` and `levels`",
            });
        }
        dictionaries.check().map_err(|(field, source)| RecipeError::Dictionary { field, source })?;
        let available = recipe.clone().with_dictionaries(dictionaries);
        let same = |field, recipe: Option<Digest>, given: Option<Digest>| match (recipe, given) {
            (Some(recipe), Some(given)) if recipe != given => {
                Err(RecipeError::Mismatch { field, recipe, given })
            }
            (Some(recipe), None) => Err(RecipeError::NotGiven { field, recipe }),
            (None, Some(_)) => Err(RecipeError::NotExpected { field }),
            _ => Ok(()),
        };
        same(field::DICTIONARY, recipe.dictionary, available.dictionary)?;
        same(field::USER_DICTIONARY, recipe.user_dictionary, available.user_dictionary)?;
        same(field::STOP_WORDS, recipe.stop_words, available.stop_words)?;
        match recipe.idf {
            // A built-in dictionary is there without being given.
            Some(idf) if dictionaries.idf.is_none() && available.idf != Some(idf) => {
                Err(RecipeError::NotGiven { field: field::IDF, recipe: idf })
            }
            _ => same(field::IDF, recipe.idf, available.idf),
        }?;
        recipe.check_counts(dictionaries)
    }

    /// Builds the fingerprinter of a recipe: reads the dictionaries that the recipe needs, and no
    /// others.
    ///
    /// # Errors
    /// A dictionary with another digest than the recipe's, one that is missing, malformed, not
    /// expected or never read, and an unknown version of the recipe; each error names the field.
    pub fn new(recipe: Recipe, dictionaries: &Dictionaries) -> Result<Self, RecipeError> {
        Self::check(&recipe, dictionaries)?;
        let normalizer = Normalizer::new(recipe.normal_form(), recipe.simplify);
        // `check` allows the user's words for jieba alone.
        let user_words = dictionaries.user_dictionary.as_ref();
        let with_user_words =
            user_words.map(|text| with_user_words(text, &normalizer).map(Box::new)).transpose()?;
        let mut normalized = String::new();
        let mut hash = |term: &str, is_normal: bool| {
            if is_normal {
                return term_hash(term.as_bytes(), recipe.seed);
            }
            normalizer.normalize(term, &mut normalized);
            term_hash(normalized.as_bytes(), recipe.seed)
        };
        let stop_words = dictionaries.stop_words.as_deref().map_or("", |text| text);
        let stop_words = dictionaries::stop_words(stop_words).map(|term| hash(term, false)).collect();
        let idf = if recipe.weights.uses_idf() {
            match &dictionaries.idf {
                Some(text) => idf_table(text, hash)?,
                None => idf_table(&built_in::idf(), hash)?,
            }
        } else {
            IdfTable::default()
        };
        Ok(Self { recipe, normalizer, with_user_words, stop_words, idf })
    }

    /// Returns the recipe of the fingerprints.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Returns the fingerprint of a text, or `None` for a text without features: an empty one, or
    /// one of punctuation only.
    #[must_use]
    pub fn fingerprint(&self, text: &str) -> Option<Fingerprint> {
        self.fingerprint_with(&mut Scratch::new(), text)
    }

    /// Returns [`fingerprint`](Self::fingerprint), made in buffers that the caller keeps.
    #[must_use]
    pub fn fingerprint_with(&self, scratch: &mut Scratch, text: &str) -> Option<Fingerprint> {
        self.weigh(scratch, text, |_, _| {});
        accumulate(&scratch.terms).fingerprint()
    }

    /// Returns the fingerprint and the signature of a text, each equal to the one made alone, in
    /// the recipe's form and with the sketcher's key. A normal form that both share is made once.
    #[must_use]
    pub fn fingerprint_and_signature(
        &self,
        scratch: &mut Scratch,
        sketcher: &mut TextSketcher,
        text: &str,
    ) -> (Option<Fingerprint>, Option<Signature>) {
        let fingerprint = self.fingerprint_with(scratch, text);
        sketcher.set_form(self.recipe.normal_form());
        let signature = if self.recipe.simplify {
            sketcher.signature_of_normal_form(&scratch.normalized)
        } else {
            sketcher.signature(text)
        };
        (fingerprint, signature)
    }

    /// Returns the terms that decide the fingerprint of a text, heaviest first, and the margin of
    /// each bit.
    #[must_use]
    pub fn analyze(&self, text: &str) -> Analysis {
        let mut scratch = Scratch::new();
        let mut texts: HashMap<u64, String> = HashMap::new();
        self.weigh(&mut scratch, text, |hash, term| {
            texts.entry(hash).or_insert_with(|| term.to_owned());
        });
        scratch.terms.sort_unstable_by_key(terms::heaviest_first);
        let sums = accumulate(&scratch.terms);
        let term = |&WeighedTerm { hash, count, weight }: &WeighedTerm| Term {
            text: texts.remove(&hash).unwrap_or_default(),
            count,
            idf: self.idf.get(hash).map(idf::to_float),
            weight: Weight(weight),
            hash,
        };
        Analysis {
            terms: scratch.terms.iter().map(term).collect(),
            fingerprint: sums.fingerprint(),
            margins: sums.margins(),
        }
    }

    /// Hands each distinct term of a text to `emit`, in normal form: the terms whose idf decides
    /// the text's fingerprint.
    pub fn for_each_term(&self, scratch: &mut Scratch, text: &str, mut emit: impl FnMut(&str)) {
        self.count(scratch, text, |_, term, is_first| {
            if is_first {
                emit(term);
            }
        });
    }

    /// Leaves the terms that count in `scratch.terms`. `note` sees every occurrence of every term.
    fn weigh(&self, scratch: &mut Scratch, text: &str, mut note: impl FnMut(u64, &str)) {
        self.count(scratch, text, |hash, term, _| note(hash, term));
        let Scratch { counts, terms, .. } = scratch;
        let top = self.recipe.top_terms as usize;
        terms::weigh(counts, self.recipe.weights, &self.idf, top, terms);
    }

    /// Leaves the terms in `scratch.counts`. `note` sees every occurrence, with true for the first
    /// one of a term.
    fn count(&self, scratch: &mut Scratch, text: &str, mut note: impl FnMut(u64, &str, bool)) {
        let Scratch { normalized, cut, counts, .. } = scratch;
        if normalized.capacity() > BUFFER_KEPT_MAX {
            *normalized = String::new();
        }
        self.normalizer.normalize(text, normalized);
        counts.clear();
        let mut count = |term: &str| {
            let hash = term_hash(term.as_bytes(), self.recipe.seed);
            let is_first = counts.add(hash);
            note(hash, term, is_first);
        };
        let is_kept = |term: &str| {
            self.stop_words.is_empty()
                || !self.stop_words.contains(&term_hash(term.as_bytes(), self.recipe.seed))
        };
        let mut count_kept = |term: &str| {
            if is_kept(term) {
                count(term);
            }
        };
        match self.recipe.segmenter {
            Segmenter::Jieba { hmm } => {
                jieba::for_each_word(|| self.jieba(), hmm, normalized, cut, &mut count_kept);
            }
            Segmenter::CharNgrams(n) if normalized.contains('\n') => {
                // Line ends do not count.
                ngrams::for_each_ngram(&normalized.replace('\n', " "), n.into(), &mut count_kept);
            }
            Segmenter::CharNgrams(n) => {
                ngrams::for_each_ngram(normalized, n.into(), &mut count_kept);
            }
            Segmenter::Shingles(n) => {
                shingles::for_each_shingle(normalized, n.into(), is_kept, &mut count);
            }
            Segmenter::Words => words::for_each_word(normalized, &mut count_kept),
        }
    }

    fn jieba(&self) -> &Jieba {
        self.with_user_words.as_deref().unwrap_or_else(|| built_in::jieba())
    }
}

fn accumulate(terms: &[WeighedTerm]) -> Accumulator {
    let mut sums = Accumulator::new();
    for term in terms {
        sums.add(term.hash, Weight(term.weight));
    }
    sums
}

fn with_user_words(text: &str, normalizer: &Normalizer) -> Result<Jieba, RecipeError> {
    let mut words = UserWords::new(built_in::jieba());
    let mut normalized = String::new();
    for word in dictionaries::user_words(text) {
        let word =
            word.map_err(|source| RecipeError::Dictionary { field: field::USER_DICTIONARY, source })?;
        normalizer.normalize(word.word, &mut normalized);
        words.add(&normalized, word.frequency);
    }
    Ok(words.build(&built_in::words(&built_in::dictionary())))
}

fn idf_table(text: &str, mut hash: impl FnMut(&str, bool) -> u64) -> Result<IdfTable, RecipeError> {
    let mut entries = Vec::new();
    dictionaries::for_each_idf(text, |term, idf, is_normal| entries.push((hash(term, is_normal), idf)))
        .map_err(|source| RecipeError::Dictionary { field: field::IDF, source })?;
    Ok(IdfTable::new(&entries))
}
