//! The way from a text to the features by which it is filed and compared.

use std::sync::LazyLock;

use features::shingles::TextSketcher;
use features::{Dictionaries, Fingerprinter, NormalForm, Recipe, RecipeError, Scratch};
use index::{Features, Metadata, Profile, Text, TextKeeping};

/// Makes the features of documents: a simhash, a signature or both. Threads share one extractor;
/// each thread needs [`Buffers`] of its own.
#[derive(Debug)]
pub struct Extractor {
    fingerprinter: LazyLock<Fingerprinter, Build>,
    form: NormalForm,
    /// The key that n-grams are hashed with.
    key: [u64; 2],
    profile: Profile,
    signs: bool,
    texts: Texts,
}

/// The text that features carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Texts {
    /// No text: nothing is counted.
    None,
    /// The text as it was given.
    Given,
    /// The characters of the text that are compared.
    Reduced,
}

type Build = Box<dyn FnOnce() -> Fingerprinter + Send>;

/// Buffers that a thread reuses for every text.
#[derive(Default)]
pub struct Buffers {
    words: Scratch,
    ngrams: Option<Box<TextSketcher>>,
}

impl Buffers {
    /// Makes empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The buffers of the fingerprinter.
    pub fn words(&mut self) -> &mut Scratch {
        &mut self.words
    }
}

impl From<Fingerprinter> for Extractor {
    /// Makes an extractor of simhashes alone.
    fn from(fingerprinter: Fingerprinter) -> Self {
        let recipe = fingerprinter.recipe();
        let (form, key) = (recipe.normal_form(), recipe.ngram_key());
        Self {
            fingerprinter: built(fingerprinter),
            form,
            key,
            profile: Profile::Classic,
            signs: false,
            texts: Texts::None,
        }
    }
}

fn built(fingerprinter: Fingerprinter) -> LazyLock<Fingerprinter, Build> {
    let fingerprinter: LazyLock<Fingerprinter, Build> = LazyLock::new(Box::new(|| fingerprinter));
    LazyLock::force(&fingerprinter);
    fingerprinter
}

impl Extractor {
    /// Makes the extractor of an index, with a fingerprinter of the index's recipe.
    #[must_use]
    pub fn new(fingerprinter: Fingerprinter, metadata: &Metadata) -> Self {
        let recipe = fingerprinter.recipe().clone();
        Self::over(built(fingerprinter), &recipe, metadata)
    }

    /// As [`new`](Self::new), with a fingerprinter made from the index's recipe and these
    /// dictionaries. For an index that files by n-grams alone, jieba's dictionary and idf are read
    /// at the first call of [`fingerprinter`](Self::fingerprinter).
    ///
    /// # Errors
    /// Where the recipe is no recipe of this version, or needs other dictionaries.
    pub fn of_index(metadata: &Metadata, dictionaries: &Dictionaries) -> Result<Self, RecipeError> {
        let recipe = Recipe::from_fields(&metadata.recipe)?;
        // Built-in dictionaries are intact; a user's files are read now, because reading may fail.
        if metadata.kind.files_by_simhash() || *dictionaries != Dictionaries::default() {
            return Ok(Self::new(Fingerprinter::new(recipe, dictionaries)?, metadata));
        }
        Fingerprinter::check(&recipe, dictionaries)?;
        let of_build = recipe.clone();
        let build = move || {
            Fingerprinter::new(of_build, &Dictionaries::default())
                .expect("it was checked, and needs no other dictionaries")
        };
        Ok(Self::over(LazyLock::new(Box::new(build)), &recipe, metadata))
    }

    fn over(fingerprinter: LazyLock<Fingerprinter, Build>, recipe: &Recipe, metadata: &Metadata) -> Self {
        let (secret, seed) = (metadata.key.map_or([0; 2], |key| key.words()), recipe.ngram_key());
        Self {
            fingerprinter,
            form: recipe.normal_form(),
            key: [secret[0] ^ seed[0], secret[1] ^ seed[1]],
            profile: metadata.kind.profile(),
            signs: metadata.min_similarity.is_some(),
            texts: if metadata.texts == TextKeeping::None { Texts::None } else { Texts::Given },
        }
    }

    /// The same extractor for an index whose texts are counted and never shown: features carry the
    /// compared characters, which the signature needs anyway.
    #[must_use]
    pub fn with_reduced_texts(self) -> Self {
        Self { texts: if self.texts == Texts::None { Texts::None } else { Texts::Reduced }, ..self }
    }

    /// The normal form in which texts are compared.
    #[must_use]
    pub fn form(&self) -> NormalForm {
        self.form
    }

    /// The fingerprinter, which makes the simhashes.
    #[must_use]
    pub fn fingerprinter(&self) -> &Fingerprinter {
        &self.fingerprinter
    }

    /// Makes the features of a text. `None` for a text beyond the reach of any search: one of white
    /// space alone, and, in an index filed by simhashes alone, one without words.
    #[must_use]
    pub fn features(&self, buffers: &mut Buffers, text: &str) -> Option<Features> {
        let Buffers { words, ngrams } = buffers;
        let ngrams = self.signs.then(|| {
            let ngrams = ngrams.get_or_insert_default();
            // Another index may have used the buffers.
            ngrams.set_form(self.form);
            ngrams.set_key(self.key);
            ngrams
        });
        let (simhash, signature) = match (self.profile, ngrams) {
            (Profile::Minhash, ngrams) => (None, ngrams.and_then(|ngrams| ngrams.signature(text))),
            (Profile::Classic | Profile::Full, None) => {
                (self.fingerprinter.fingerprint_with(words, text), None)
            }
            (Profile::Classic | Profile::Full, Some(ngrams)) => {
                self.fingerprinter.fingerprint_and_signature(words, ngrams, text)
            }
        };
        if self.profile == Profile::Classic {
            simhash?;
        }
        // A text with words has n-grams.
        (simhash.is_some() || signature.is_some()).then(|| Features {
            simhash,
            signature,
            text: self.text(buffers, text),
        })
    }

    /// The text that the features carry, from the buffers of the last signature.
    fn text(&self, Buffers { ngrams, .. }: &Buffers, text: &str) -> Option<Text> {
        let reduced = match self.texts {
            Texts::None => return None,
            Texts::Given => None,
            Texts::Reduced => ngrams.as_ref().and_then(|ngrams| ngrams.reduced()),
        };
        Some(reduced.map_or_else(|| text.into(), |reduced| Text::reduced(&reduced)))
    }
}

#[cfg(test)]
mod tests {
    use features::shingles::TextSketcher;
    use features::{Dictionaries, NormalForm, Recipe};
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
                Extractor::of_index(&options.clone().new_metadata().unwrap(), &Dictionaries::default())
                    .unwrap();
            let mut buffers = Buffers::new();
            let made = texts.map(|text| match extractor.features(&mut buffers, text) {
                None => String::new(),
                Some(Features { simhash, signature, .. }) => ["s", "n"]
                    .iter()
                    .zip([simhash.is_some(), signature.is_some()])
                    .filter(|(_, made)| *made)
                    .map(|(name, _)| *name)
                    .collect(),
            });
            assert_eq!(made, expected, "{profile} {verify:?}");
            // An index of version 1 of the recipe keeps its normal form, even in buffers that
            // another index used.
            let recipe_default = Recipe { version: 1, ..Recipe::default() }.fields();
            let first = OpenOptions { recipe_default, ..options.clone() }.new_metadata().unwrap();
            let first = Extractor::of_index(&first, &Dictionaries::default()).unwrap();
            let signature = |of: &Extractor, buffers: &mut Buffers, text: &str| {
                of.features(buffers, text).and_then(|features| features.signature)
            };
            for text in texts {
                let [old, new] = [&first, &extractor].map(|of| signature(of, &mut buffers, text));
                assert_eq!(
                    old,
                    TextSketcher::new(NormalForm::FIRST).signature(text).filter(|_| old.is_some())
                );
                assert_eq!(new, TextSketcher::default().signature(text).filter(|_| new.is_some()));
                assert!(old.is_none() || old != new, "one has a digest of its numbers");
            }
            // The seed and the secret key, which no other index has, both reach the n-grams.
            if verify.is_none() {
                let seeded = Recipe { seed: 7, ..Recipe::default() }.fields();
                let seeded = OpenOptions { recipe_default: seeded, ..options.clone() };
                let keyed = OpenOptions { keyed: Some(true), ..options.clone() };
                let made: Vec<_> = [&options, &seeded, &keyed, &keyed]
                    .map(|options| options.new_metadata().unwrap())
                    .iter()
                    .map(|metadata| Extractor::of_index(metadata, &Dictionaries::default()).unwrap())
                    .filter_map(|of| signature(&of, &mut buffers, texts[0]))
                    .collect();
                let differ = |a: usize| made[a + 1..].iter().all(|b| *b != made[a]);
                assert!(made.len() == 4 && (0..4).all(differ), "{profile}");
            }
            // The fingerprinter works even where no document needs it.
            assert!(extractor.fingerprinter().fingerprint(texts[0]).is_some());
        }
    }
}
