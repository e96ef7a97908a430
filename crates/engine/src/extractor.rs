//! From a text to what it is filed and compared by.

use std::sync::LazyLock;

use features::shingles::TextSketcher;
use features::{Dictionaries, Fingerprinter, Recipe, RecipeError, Scratch};
use index::{Features, Metadata, Profile};

/// Makes the features that documents of an index have: a simhash, a signature or both. Share it between threads; give each
/// thread [`Buffers`] of its own.
#[derive(Debug)]
pub struct Extractor {
    fingerprinter: LazyLock<Fingerprinter, Build>,
    profile: Profile,
    signs: bool,
}

type Build = Box<dyn FnOnce() -> Fingerprinter + Send>;

/// Buffers that one thread uses again for every text.
#[derive(Default)]
pub struct Buffers {
    words: Scratch,
    ngrams: Option<Box<TextSketcher>>,
}

impl Buffers {
    /// Empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of the fingerprinter.
    pub fn words(&mut self) -> &mut Scratch {
        &mut self.words
    }
}

impl From<Fingerprinter> for Extractor {
    /// Simhashes alone.
    fn from(fingerprinter: Fingerprinter) -> Self {
        Self { fingerprinter: built(fingerprinter), profile: Profile::Classic, signs: false }
    }
}

fn built(fingerprinter: Fingerprinter) -> LazyLock<Fingerprinter, Build> {
    let fingerprinter: LazyLock<Fingerprinter, Build> = LazyLock::new(Box::new(|| fingerprinter));
    LazyLock::force(&fingerprinter);
    fingerprinter
}

impl Extractor {
    /// What an index needs, by the simhashes of its recipe.
    #[must_use]
    pub fn new(fingerprinter: Fingerprinter, metadata: &Metadata) -> Self {
        Self::over(built(fingerprinter), metadata)
    }

    /// The same, by its recipe and these dictionaries. Where an index files by n-grams alone, jieba's dictionary and
    /// idf are read when [`fingerprinter`](Self::fingerprinter) is first called.
    ///
    /// # Errors
    /// Where the recipe is no recipe of this version, or needs other dictionaries.
    pub fn of_index(metadata: &Metadata, dictionaries: &Dictionaries) -> Result<Self, RecipeError> {
        let recipe = Recipe::from_fields(&metadata.recipe)?;
        // What comes with the program is whole; what a user gave is read now, as that may fail.
        if metadata.kind.files_by_simhash() || *dictionaries != Dictionaries::default() {
            return Ok(Self::new(Fingerprinter::new(recipe, dictionaries)?, metadata));
        }
        Fingerprinter::check(&recipe, dictionaries)?;
        let build = || {
            Fingerprinter::new(recipe, &Dictionaries::default())
                .expect("it was checked, and needs no other dictionaries")
        };
        Ok(Self::over(LazyLock::new(Box::new(build)), metadata))
    }

    fn over(fingerprinter: LazyLock<Fingerprinter, Build>, metadata: &Metadata) -> Self {
        Self { fingerprinter, profile: metadata.kind.profile(), signs: metadata.min_similarity.is_some() }
    }

    /// How simhashes are made.
    #[must_use]
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// The features of a text, or `None` of one by which it would never be found: of white space only, and in an index that
    /// files by simhashes alone of one without words.
    #[must_use]
    pub fn features(&self, buffers: &mut Buffers, text: &str) -> Option<Features> {
        let Buffers { words, ngrams } = buffers;
        let (simhash, signature) = match (self.profile, self.signs) {
            (Profile::Minhash, _) => (None, ngrams.get_or_insert_default().signature(text)),
            (Profile::Classic | Profile::Full, false) => {
                (self.fingerprinter.fingerprint_with(words, text), None)
            }
            (Profile::Classic | Profile::Full, true) => {
                let ngrams = ngrams.get_or_insert_default();
                self.fingerprinter.fingerprint_and_signature(words, ngrams, text)
            }
        };
        if self.profile == Profile::Classic {
            simhash?;
        }
        // What has words has n-grams.
        (simhash.is_some() || signature.is_some()).then_some(Features { simhash, signature })
    }
}

#[cfg(test)]
mod tests {
    use features::{Dictionaries, Recipe};
    use index::OpenOptions;

    use super::*;

    #[test]
    fn each_profile_makes_what_it_needs() {
        let texts = ["The harbour office closes at noon.", "😂😂", " \n"];
        for (profile, verify, expected) in [
            (Profile::Classic, Some(false), ["s", "", ""]),
            (Profile::Classic, None, ["sn", "", ""]),
            (Profile::Minhash, None, ["n", "n", ""]),
            (Profile::Full, None, ["sn", "n", ""]),
        ] {
            let options = OpenOptions { profile: Some(profile), verify, ..OpenOptions::default() };
            let options = OpenOptions { recipe_default: Recipe::default().fields(), ..options };
            let extractor =
                Extractor::of_index(&options.new_metadata().unwrap(), &Dictionaries::default()).unwrap();
            let mut buffers = Buffers::new();
            let made = texts.map(|text| match extractor.features(&mut buffers, text) {
                None => String::new(),
                Some(Features { simhash, signature }) => ["s", "n"]
                    .iter()
                    .zip([simhash.is_some(), signature.is_some()])
                    .filter(|(_, made)| *made)
                    .map(|(name, _)| *name)
                    .collect(),
            });
            assert_eq!(made, expected, "{profile} {verify:?}");
            // Also where no document needs it.
            assert!(extractor.fingerprinter().fingerprint(texts[0]).is_some());
        }
    }
}
