//! The recipe of a fingerprint, down to the dictionaries: two fingerprints may be compared only
//! where the two recipes are equal.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use minhash::hash_words;

use crate::document_frequencies::Header;
use crate::field::{self, RECIPE_VERSION, RECIPE_VERSIONS};
use crate::{Dictionaries, Digest, NormalForm, RecipeError, Segmenter, Weights, built_in};

/// The number of heaviest terms kept by default.
pub(crate) const DEFAULT_TOP_TERMS: u32 = 200;

/// The value of a stored field for "no dictionary", and for diacritics kept.
pub(crate) const NONE: &str = "none";

/// The value of the field [`field::FOLD`] for folded diacritics.
const DIACRITICS: &str = "diacritics";

/// Everything that a fingerprint depends on besides the text.
///
/// The digests follow from the other fields and the dictionaries: [`Recipe::with_dictionaries`]
/// fills them in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// Version of the pipeline, up to [`RECIPE_VERSION`].
    pub version: u32,
    /// True if traditional Chinese is converted to simplified.
    pub simplify: bool,
    /// True if diacritics are left out: see [`NormalForm::fold_diacritics`]. Recipes of version 1
    /// keep them.
    pub fold_diacritics: bool,
    /// The method to cut a text into terms.
    pub segmenter: Segmenter,
    /// The method to weigh terms.
    pub weights: Weights,
    /// The number of heaviest terms that count; 0 for all.
    pub top_terms: u32,
    /// Seed of the hash of terms, and from version 2 on of n-grams.
    pub seed: u32,
    /// The built-in segmentation dictionary, where the segmenter uses one.
    pub dictionary: Option<Digest>,
    /// The user's additions to the segmentation dictionary.
    pub user_dictionary: Option<Digest>,
    /// Terms that never count.
    pub stop_words: Option<Digest>,
    /// The inverse document frequencies, built in or the user's, where the weights use them.
    pub idf: Option<Digest>,
}

impl Default for Recipe {
    /// jieba with its model for unknown words, tf-idf with jieba's idf, the 200 heaviest terms,
    /// seed 0, no dictionaries of the user's.
    fn default() -> Self {
        Self {
            version: RECIPE_VERSION,
            simplify: true,
            fold_diacritics: false,
            segmenter: Segmenter::Jieba { hmm: true },
            weights: Weights::TfIdf,
            top_terms: DEFAULT_TOP_TERMS,
            seed: 0,
            dictionary: None,
            user_dictionary: None,
            stop_words: None,
            idf: None,
        }
        .with_dictionaries(&Dictionaries::default())
    }
}

impl Recipe {
    /// Returns the form into which texts are brought.
    #[must_use]
    pub fn normal_form(&self) -> NormalForm {
        NormalForm { version: self.version, fold_diacritics: self.fold_diacritics && self.version > 1 }
    }

    /// Returns the key of the n-gram hash, derived from the [seed](Self::seed).
    #[must_use]
    pub fn ngram_key(&self) -> [u64; 2] {
        match self.seed {
            seed if seed > 0 && self.version > 1 => [1, 2].map(|word| hash_words(seed.into(), word)),
            _ => [0; 2],
        }
    }

    /// Returns the same recipe with the four digests that follow from `segmenter`, `weights` and
    /// `dictionaries`.
    ///
    /// ```
    /// use pigeonhole_features::{Dictionaries, Recipe, Segmenter, Weights};
    /// let plain =
    ///     Recipe { segmenter: Segmenter::Words, weights: Weights::Uniform, ..Recipe::default() };
    /// let plain = plain.with_dictionaries(&Dictionaries::default());
    /// assert_eq!((plain.dictionary, plain.idf), (None, None));
    /// ```
    #[must_use]
    pub fn with_dictionaries(self, dictionaries: &Dictionaries) -> Self {
        let digest =
            |content: &Option<String>| content.as_ref().map(|content| Digest::of(content.as_bytes()));
        Self {
            dictionary: self.segmenter.uses_dictionary().then_some(built_in::DICTIONARY_DIGEST),
            user_dictionary: digest(&dictionaries.user_dictionary),
            stop_words: digest(&dictionaries.stop_words),
            idf: digest(&dictionaries.idf)
                .or_else(|| self.weights.uses_idf().then_some(built_in::IDF_DIGEST)),
            ..self
        }
    }

    /// Returns the recipe as text, one entry a field: an index stores and compares these.
    #[must_use]
    pub fn fields(&self) -> BTreeMap<String, String> {
        let digest =
            |digest: Option<Digest>| digest.map_or_else(|| NONE.to_owned(), |digest| digest.to_string());
        [
            (field::VERSION, self.version.to_string()),
            (field::SIMPLIFY, self.simplify.to_string()),
            (field::FOLD, if self.fold_diacritics { DIACRITICS } else { NONE }.to_owned()),
            (field::SEGMENTER, self.segmenter.to_string()),
            (field::WEIGHTS, self.weights.to_string()),
            (field::TOP_TERMS, self.top_terms.to_string()),
            (field::SEED, self.seed.to_string()),
            (field::DICTIONARY, digest(self.dictionary)),
            (field::USER_DICTIONARY, digest(self.user_dictionary)),
            (field::STOP_WORDS, digest(self.stop_words)),
            (field::IDF, digest(self.idf)),
        ]
        .into_iter()
        .filter(|(field, _)| field::is_of(self.version, field))
        .map(|(field, value)| (field.to_owned(), value))
        .collect()
    }

    /// Returns the header of a file with the document frequencies of this recipe's terms, counted
    /// in `n_documents` documents. Terms of fewer documents than `min_df` are left out.
    #[must_use]
    pub fn counts_header(&self, n_documents: u64, min_df: u64) -> Header {
        Header::of_fields(&self.fields(), n_documents, min_df)
    }

    /// Refuses counts of terms that the recipe makes otherwise, or not at all.
    pub fn check_counts(&self, dictionaries: &Dictionaries) -> Result<(), RecipeError> {
        let Some(counted) = dictionaries.idf_header() else { return Ok(()) };
        match counted.difference(&self.counts_header(0, 0)) {
            None => Ok(()),
            Some((field, counted, recipe)) => Err(RecipeError::CountedOtherwise {
                field,
                counted: counted.to_owned(),
                recipe: recipe.to_owned(),
            }),
        }
    }

    /// Reads the output of [`Recipe::fields`].
    ///
    /// # Errors
    /// [`RecipeError::UnknownField`], [`RecipeError::MissingField`] and [`RecipeError::BadValue`],
    /// and [`RecipeError::Version`] for a version that this program does not make: its other fields
    /// may mean other things.
    pub fn from_fields(fields: &BTreeMap<String, String>) -> Result<Self, RecipeError> {
        let version = parse(fields, field::VERSION, "a whole number")?;
        if !RECIPE_VERSIONS.contains(&version) {
            return Err(RecipeError::Version(version));
        }
        let is_known = |name: &str| field::ALL.contains(&name) && field::is_of(version, name);
        if let Some(unknown) = fields.keys().find(|name| !is_known(name)) {
            return Err(RecipeError::UnknownField(unknown.clone()));
        }
        Ok(Self {
            version,
            simplify: parse(fields, field::SIMPLIFY, "true or false")?,
            fold_diacritics: field::is_of(version, field::FOLD) && folds_diacritics(fields)?,
            segmenter: parse(fields, field::SEGMENTER, Segmenter::EXPECTED)?,
            weights: parse(fields, field::WEIGHTS, Weights::EXPECTED)?,
            top_terms: parse(fields, field::TOP_TERMS, "a whole number")?,
            seed: parse(fields, field::SEED, "a whole number below 2^32")?,
            dictionary: digest(fields, field::DICTIONARY)?,
            user_dictionary: digest(fields, field::USER_DICTIONARY)?,
            stop_words: digest(fields, field::STOP_WORDS)?,
            idf: digest(fields, field::IDF)?,
        })
    }

    /// Returns the digest of the whole recipe: SHA-256 over `field=value` lines, sorted by field.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let lines: String = self.fields().iter().map(|(field, value)| format!("{field}={value}\n")).collect();
        Digest::of(lines.as_bytes())
    }
}

fn text<'f>(fields: &'f BTreeMap<String, String>, field: &'static str) -> Result<&'f str, RecipeError> {
    fields.get(field).map(String::as_str).ok_or(RecipeError::MissingField(field))
}

/// Parses a field, which must equal the text form of its value: `+1`, `01` and the like would make
/// two texts of one recipe.
fn parse<T: FromStr + Display>(
    fields: &BTreeMap<String, String>,
    field: &'static str,
    expected: &'static str,
) -> Result<T, RecipeError> {
    let value = text(fields, field)?;
    value
        .parse::<T>()
        .ok()
        .filter(|parsed| parsed.to_string() == value)
        .ok_or_else(|| RecipeError::BadValue { field, value: value.to_owned(), expected })
}

fn folds_diacritics(fields: &BTreeMap<String, String>) -> Result<bool, RecipeError> {
    match text(fields, field::FOLD)? {
        NONE => Ok(false),
        DIACRITICS => Ok(true),
        value => Err(RecipeError::BadValue {
            field: field::FOLD,
            value: value.to_owned(),
            expected: "`none` or `diacritics`",
        }),
    }
}

fn digest(fields: &BTreeMap<String, String>, field: &'static str) -> Result<Option<Digest>, RecipeError> {
    match text(fields, field)? {
        NONE => Ok(None),
        _ => parse(fields, field, "`none` or 64 lower-case hexadecimal digits").map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_round_trip() {
        let dictionaries = Dictionaries {
            user_dictionary: Some("鸽巢 5".to_owned()),
            stop_words: Some("的\n".to_owned()),
            idf: None,
        };
        for segmenter in [
            Segmenter::Jieba { hmm: true },
            Segmenter::Jieba { hmm: false },
            Segmenter::Words,
            Segmenter::CharNgrams(5),
            Segmenter::Shingles(3),
        ] {
            for weights in [Weights::TfIdf, Weights::Levels, Weights::Uniform] {
                let recipe = Recipe {
                    simplify: false,
                    segmenter,
                    weights,
                    top_terms: 0,
                    seed: 7,
                    ..Recipe::default()
                };
                let recipe = recipe.with_dictionaries(&dictionaries);
                assert_eq!(Recipe::from_fields(&recipe.fields()), Ok(recipe.clone()));
                let folds = Recipe { fold_diacritics: true, ..recipe.clone() };
                assert_eq!(Recipe::from_fields(&folds.fields()), Ok(folds.clone()));
                assert_ne!(folds.digest(), recipe.digest());
                let first = Recipe { version: 1, ..recipe.clone() };
                assert_eq!(Recipe::from_fields(&first.fields()), Ok(first.clone()));
                assert_eq!(first.normal_form(), NormalForm::FIRST);
                assert!(!first.fields().contains_key(field::FOLD), "it had none");
                assert_ne!(recipe.digest(), Recipe::default().digest());
            }
        }
    }

    #[test]
    fn a_wrong_field_is_named() {
        let whole = Recipe::default().fields();
        for name in field::ALL {
            let mut fields = whole.clone();
            fields.remove(name);
            assert_eq!(Recipe::from_fields(&fields), Err(RecipeError::MissingField(name)));
            for bad in ["", "?", "-1", "+1", "01", "TRUE", "4294967296", "jieba ", "chars:0", "E3"] {
                fields.insert(name.to_owned(), bad.to_owned());
                match Recipe::from_fields(&fields) {
                    Err(RecipeError::BadValue { field, value, .. }) => {
                        assert_eq!((field, value.as_str()), (name, bad));
                    }
                    other => panic!("{name} = {bad:?}: {other:?}"),
                }
            }
        }
        let mut fields = whole;
        fields.insert("colour".to_owned(), "red".to_owned());
        assert_eq!(Recipe::from_fields(&fields), Err(RecipeError::UnknownField("colour".to_owned())));
        // Of an unknown version, nothing but the version is read.
        for version in [0, 3] {
            fields.insert(field::VERSION.to_owned(), version.to_string());
            assert_eq!(Recipe::from_fields(&fields), Err(RecipeError::Version(version)));
        }
        let mut fields = Recipe { version: 1, ..Recipe::default() }.fields();
        fields.insert(field::FOLD.to_owned(), NONE.to_owned());
        assert_eq!(Recipe::from_fields(&fields), Err(RecipeError::UnknownField(field::FOLD.to_owned())));
    }
}
