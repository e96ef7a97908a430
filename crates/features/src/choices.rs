//! The fields of a recipe that a user has chosen.

use std::collections::BTreeMap;

use crate::recipe::NONE;
use crate::{Dictionaries, Recipe, Segmenter, Weights, field};

/// Choices for a recipe; a field without a choice has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// See [`Recipe::segmenter`].
    pub segmenter: Option<Segmenter>,
    /// See [`Recipe::simplify`].
    pub simplify: Option<bool>,
    /// See [`Recipe::fold_diacritics`].
    pub fold_diacritics: Option<bool>,
    /// See [`Recipe::weights`].
    pub weights: Option<Weights>,
    /// See [`Recipe::top_terms`].
    pub top_terms: Option<u32>,
    /// See [`Recipe::seed`].
    pub seed: Option<u32>,
}

impl Choices {
    /// The recipe of these choices and dictionaries. Counted document frequencies give the defaults
    /// of the fields that make terms: the counts are of terms made that way.
    #[must_use]
    pub fn recipe(&self, dictionaries: &Dictionaries) -> Recipe {
        let default = Recipe::default();
        let counted = dictionaries.idf_header();
        let counted = |field| counted.as_ref().and_then(|header| header.term_field(field));
        let simplify = || counted(field::SIMPLIFY)?.parse().ok();
        let folds = || counted(field::FOLD).is_some_and(|fold| fold != NONE);
        let segmenter = || counted(field::SEGMENTER)?.parse().ok();
        Recipe {
            simplify: self.simplify.or_else(simplify).unwrap_or(default.simplify),
            fold_diacritics: self.fold_diacritics.unwrap_or_else(folds),
            segmenter: self.segmenter.or_else(segmenter).unwrap_or(default.segmenter),
            weights: self.weights.unwrap_or(default.weights),
            top_terms: self.top_terms.unwrap_or(default.top_terms),
            seed: self.seed.unwrap_or(default.seed),
            ..default
        }
        .with_dictionaries(dictionaries)
    }

    /// The chosen fields by their names, with the fields of dictionaries: a stored recipe must
    /// agree with them.
    #[must_use]
    pub fn fields(&self, dictionaries: &Dictionaries) -> BTreeMap<String, String> {
        let chosen = [
            (field::SEGMENTER, self.segmenter.is_some()),
            (field::WEIGHTS, self.weights.is_some()),
            (field::TOP_TERMS, self.top_terms.is_some()),
            (field::SEED, self.seed.is_some()),
            (field::SIMPLIFY, self.simplify.is_some()),
            (field::FOLD, self.fold_diacritics.is_some()),
            (field::USER_DICTIONARY, dictionaries.user_dictionary.is_some()),
            (field::STOP_WORDS, dictionaries.stop_words.is_some()),
            (field::IDF, dictionaries.idf.is_some()),
        ];
        let mut fields = self.recipe(dictionaries).fields();
        fields.retain(|name, _| chosen.contains(&(name, true)));
        fields
    }
}
