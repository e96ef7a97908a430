//! The recipe on a command line: the same arguments for every program that makes fingerprints.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use features::{Choices, Dictionaries, LineError, Recipe, RecipeError, Segmenter, Weights, field};

/// The part of a letter that does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fold {
    /// Marks on letters and strokes through them.
    Diacritics,
    /// Nothing but the case.
    None,
}

/// The part of [`RecipeArgs`] that decides the terms of a text.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Text to fingerprint")]
pub struct TermArgs {
    /// Segmenter that cuts texts into terms
    ///
    /// `jieba` for texts with Chinese in them (other scripts are cut at Unicode word boundaries);
    /// `jieba-no-hmm` is faster and joins only words that the dictionary has; `words` cuts all
    /// scripts there, Chinese, Thai and most of Japanese into single characters; `chars:N` takes
    /// every N characters in a row; `shingles:N` takes every N words in a row and notices their
    /// order. It is for simhashes alone: bands and signatures are of character n-grams in any
    /// language, Japanese, Korean and Thai too, so that with the default profile nothing needs to
    /// be given here. Where simhashes decide (--verify off), `chars:N` and `shingles:N` find fewer
    /// near-duplicates than words do, in most texts. [default: jieba, or what --idf was counted
    /// with]
    #[arg(long, env = "PIGEONHOLE_SEGMENTER", value_name = "HOW")]
    pub segmenter: Option<Segmenter>,

    /// Count traditional Chinese as its simplified form [default: true, or what --idf was counted
    /// with]
    #[arg(long, env = "PIGEONHOLE_SIMPLIFY", value_name = "true|false")]
    pub simplify: Option<bool>,

    /// Part of a letter that does not count, besides its case: `diacritics`, or `none` [default:
    /// none]
    ///
    /// With `diacritics`, text that was typed without them equals text with them: Vietnamese with
    /// đ, Czech, Greek with its tonos. In most languages they tell words apart, so it is for
    /// corpora that have both.
    #[arg(long, env = "PIGEONHOLE_FOLD", value_name = "WHAT")]
    pub fold: Option<Fold>,

    /// Words that jieba should know: `word [frequency] [tag]` a line, in UTF-8
    ///
    /// Without a frequency the word gets one that makes it win. A word of jieba's with a new
    /// frequency keeps the new one.
    #[arg(long, env = "PIGEONHOLE_USER_DICT", value_name = "FILE")]
    pub user_dict: Option<PathBuf>,

    /// Terms that never count, one a line, in UTF-8 [default: none]
    ///
    /// They are for simhashes, as --segmenter is. jieba's idf knows the frequent words of Chinese
    /// only, so that in other languages those weigh most: without them simhashes take fewer
    /// unrelated texts for near, and find somewhat fewer near ones. With the default profile
    /// signatures refuse what is unrelated.
    #[arg(long, env = "PIGEONHOLE_STOP_WORDS", value_name = "FILE")]
    pub stop_words: Option<PathBuf>,
}

/// The recipe of fingerprints, as arguments. All are optional: one that is given must agree with
/// the recipe of an existing index, and one left out has its default in a new index.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Text to fingerprint")]
pub struct RecipeArgs {
    /// The arguments that decide the terms of a text.
    #[command(flatten)]
    pub terms: TermArgs,

    /// Weights of terms: `tf-idf`, `levels` or `uniform`
    ///
    /// `tf-idf`: occurrences × inverse document frequency; `levels`: grades 1 to 5, by the tf-idf
    /// weight held against the heaviest of the text; `uniform`: every distinct term weighs the
    /// same. [default: tf-idf]
    #[arg(long, env = "PIGEONHOLE_WEIGHTS", value_name = "HOW")]
    pub weights: Option<Weights>,

    /// Number of a text's heaviest terms that count; 0 for all [default: 200]
    #[arg(long, env = "PIGEONHOLE_TOP_TERMS", value_name = "N")]
    pub top_terms: Option<u32>,

    /// Seed of the term hash; fingerprints of different seeds have nothing in common [default: 0]
    #[arg(long, env = "PIGEONHOLE_SEED", value_name = "N")]
    pub seed: Option<u32>,

    /// Inverse document frequencies: what `indexer idf` counted, or a term, a space or tab, and the
    /// value a line, in UTF-8 [default: jieba's]
    ///
    /// It is of use where simhashes alone decide (--profile classic --verify off): there counts of
    /// your own corpus make for fewer false duplicates where that is full of boilerplate, and find
    /// fewer true ones. With the default profile signatures refuse what is unrelated, and bands
    /// find what simhashes miss. A term that the file lacks has its median. What was counted goes
    /// with the terms that it was counted with: with others it is refused.
    #[arg(long, env = "PIGEONHOLE_IDF", value_name = "FILE")]
    pub idf: Option<PathBuf>,
}

impl RecipeArgs {
    /// Reads the files that the arguments name, every line of them.
    ///
    /// # Errors
    /// A file that cannot be read, is not UTF-8, or has a bad line; and document frequencies of
    /// terms that the arguments make otherwise.
    pub fn dictionaries(&self) -> Result<Dictionaries, DictionaryFileError> {
        let dictionaries = Dictionaries {
            user_dictionary: self.terms.user_dict.as_deref().map(read).transpose()?,
            stop_words: self.terms.stop_words.as_deref().map(read).transpose()?,
            idf: self.idf.as_deref().map(read).transpose()?,
        };
        dictionaries.check().map_err(|(field, source)| {
            let path = if field == field::IDF { &self.idf } else { &self.terms.user_dict };
            DictionaryFileError { path: path.clone().unwrap_or_default(), kind: Kind::Line(source) }
        })?;
        // An index agrees with the requested recipe, or is refused for it; so the counts are
        // checked here.
        self.recipe(&dictionaries).check_counts(&dictionaries).map_err(|source| DictionaryFileError {
            path: self.idf.clone().unwrap_or_default(),
            kind: Kind::CountedOtherwise(source),
        })?;
        Ok(dictionaries)
    }

    /// The fields of the recipe given as arguments: a stored recipe must agree with them.
    #[must_use]
    pub fn explicit_fields(&self, dictionaries: &Dictionaries) -> BTreeMap<String, String> {
        self.choices().fields(dictionaries)
    }

    /// The recipe of the arguments, with defaults for the others.
    #[must_use]
    pub fn recipe(&self, dictionaries: &Dictionaries) -> Recipe {
        self.choices().recipe(dictionaries)
    }

    fn choices(&self) -> Choices {
        let Self { terms: TermArgs { segmenter, simplify, fold, .. }, weights, top_terms, seed, .. } = *self;
        let fold_diacritics = fold.map(|fold| fold == Fold::Diacritics);
        Choices { segmenter, simplify, fold_diacritics, weights, top_terms, seed }
    }
}

fn read(path: &Path) -> Result<String, DictionaryFileError> {
    std::fs::read_to_string(path)
        .map_err(|source| DictionaryFileError { path: path.to_owned(), kind: Kind::Read(source) })
}

/// A dictionary file that cannot be used.
#[derive(Debug)]
pub struct DictionaryFileError {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Read(std::io::Error),
    Line(LineError),
    CountedOtherwise(RecipeError),
}

impl fmt::Display for DictionaryFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            Kind::Read(_) => write!(f, "failed to read dictionary `{path}`"),
            Kind::Line(_) => write!(f, "bad dictionary `{path}`"),
            Kind::CountedOtherwise(_) => write!(f, "dictionary `{path}` is of another recipe"),
        }
    }
}

impl std::error::Error for DictionaryFileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match &self.kind {
            Kind::Read(source) => source,
            Kind::Line(source) => source,
            Kind::CountedOtherwise(source) => source,
        })
    }
}
