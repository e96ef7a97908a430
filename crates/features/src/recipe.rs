//! What a fingerprint was made with, down to the dictionaries: two fingerprints may be compared only where the two
//! recipes are equal.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use crate::document_frequencies::Header;
use crate::field::{self, RECIPE_VERSION};
use crate::{Dictionaries, Digest, RecipeError, Segmenter, Weights, built_in};

/// How many of the heaviest terms are kept unless the recipe says otherwise.
pub(crate) const DEFAULT_TOP_TERMS: u32 = 200;

/// What stands for "no dictionary" in the stored fields.
pub(crate) const NONE: &str = "none";

/// Everything that a fingerprint depends on besides the text.
///
/// The digests follow from the other fields and the dictionaries: [`Recipe::with_dictionaries`] fills them in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// Version of the pipeline, [`RECIPE_VERSION`].
    pub version: u32,
    /// Whether traditional Chinese is converted to simplified.
    pub simplify: bool,
    /// How a text is cut into terms.
    pub segmenter: Segmenter,
    /// How a term is weighed.
    pub weights: Weights,
    /// How many of the heaviest terms count; 0 for all.
    pub top_terms: u32,
    /// Seed of the term hash.
    pub seed: u32,
    /// The built-in segmentation dictionary, where the segmenter uses one.
    pub dictionary: Option<Digest>,
    /// The user's additions to it.
    pub user_dictionary: Option<Digest>,
    /// Terms that never count.
    pub stop_words: Option<Digest>,
    /// The inverse document frequencies, built in or the user's, where the weights use them.
    pub idf: Option<Digest>,
}

impl Default for Recipe {
    /// jieba with its model for unknown words, tf-idf with jieba's idf, the 200 heaviest terms, seed 0, no dictionaries
    /// of the user's.
    fn default() -> Self {
        Self {
            version: RECIPE_VERSION,
            simplify: true,
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
    /// The same recipe with the four digests that follow from `segmenter`, `weights` and `dictionaries`.
    ///
    /// ```
    /// use pigeonhole_features::{Dictionaries, Recipe, Segmenter, Weights};
    /// let plain = Recipe { segmenter: Segmenter::Words, weights: Weights::Uniform, ..Recipe::default() };
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

    /// The recipe as text, one entry a field: what an index stores and compares.
    #[must_use]
    pub fn fields(&self) -> BTreeMap<String, String> {
        let digest =
            |digest: Option<Digest>| digest.map_or_else(|| NONE.to_owned(), |digest| digest.to_string());
        [
            (field::VERSION, self.version.to_string()),
            (field::SIMPLIFY, self.simplify.to_string()),
            (field::SEGMENTER, self.segmenter.to_string()),
            (field::WEIGHTS, self.weights.to_string()),
            (field::TOP_TERMS, self.top_terms.to_string()),
            (field::SEED, self.seed.to_string()),
            (field::DICTIONARY, digest(self.dictionary)),
            (field::USER_DICTIONARY, digest(self.user_dictionary)),
            (field::STOP_WORDS, digest(self.stop_words)),
            (field::IDF, digest(self.idf)),
        ]
        .map(|(field, value)| (field.to_owned(), value))
        .into()
    }

    /// The header of a file of the document frequencies of this recipe's terms, of which `n_documents` were counted. Terms of
    /// fewer documents than `min_df` are left out.
    #[must_use]
    pub fn counts_header(&self, n_documents: u64, min_df: u64) -> Header {
        Header::of_fields(&self.fields(), n_documents, min_df)
    }

    /// Refuses counts of terms that the recipe makes otherwise, or not at all.
    pub(crate) fn check_counts(&self, dictionaries: &Dictionaries) -> Result<(), RecipeError> {
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

    /// Reads what [`Recipe::fields`] wrote.
    ///
    /// # Errors
    /// [`RecipeError::UnknownField`], [`RecipeError::MissingField`] and [`RecipeError::BadValue`], and
    /// [`RecipeError::Version`] for a version that this program does not make: its other fields may mean other things.
    pub fn from_fields(fields: &BTreeMap<String, String>) -> Result<Self, RecipeError> {
        let version = parse(fields, field::VERSION, "a whole number")?;
        if version != RECIPE_VERSION {
            return Err(RecipeError::Version(version));
        }
        if let Some(unknown) = fields.keys().find(|name| !field::ALL.contains(&name.as_str())) {
            return Err(RecipeError::UnknownField(unknown.clone()));
        }
        Ok(Self {
            version,
            simplify: parse(fields, field::SIMPLIFY, "true or false")?,
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

    /// The digest of the whole recipe: SHA-256 over `field=value` lines, sorted by field.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let lines: String = self.fields().iter().map(|(field, value)| format!("{field}={value}\n")).collect();
        Digest::of(lines.as_bytes())
    }
}

fn text<'f>(fields: &'f BTreeMap<String, String>, field: &'static str) -> Result<&'f str, RecipeError> {
    fields.get(field).map(String::as_str).ok_or(RecipeError::MissingField(field))
}

/// A field is what its value prints as: `+1`, `01` and the like would make two texts of one recipe.
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
        // Of a later version nothing but the version is believed.
        fields.insert(field::VERSION.to_owned(), "2".to_owned());
        assert_eq!(Recipe::from_fields(&fields), Err(RecipeError::Version(2)));
    }
}
