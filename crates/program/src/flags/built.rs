//! Flags with the settings of a new index.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use engine::Options;
use index::{
    InvalidRetention, Key, Mode, OpenOptions, Profile, Retention, STRANGERS_A_MILLION, SketchKind,
    TextKeeping,
};
use minhash::Similarity;
use simhash::Distance;

use super::{DictionaryFileError, RecipeArgs, count};

/// Settings of a new index, with which an existing index must agree.
#[derive(Args, Clone, Debug, Default)]
pub struct BuiltArgs {
    /// The table scheme: which blocks of the fingerprint must agree. Profile minhash has none.
    ///
    /// An index keeps the scheme that it was made with, so this is for a new one [default: 5c2];
    /// for an existing one leave it out, or the program refuses where it differs.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(SketchKind::NAMES), help_heading = "Index")]
    scheme: Option<String>,

    /// Documents that a new index is to hold: 250M, 1e10.
    ///
    /// Sets --profile and --scheme to what is recommended for as many: full with 5c2 up to some
    /// 150 million, and classic beyond, with t11 from 5 billion on, so that a query reads few rows
    /// of unlike documents. `pigeonhole plan --documents N` shows what that costs.
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_expected,
        conflicts_with_all = ["profile", "scheme"],
        help_heading = "Index"
    )]
    expect_documents: Option<f64>,

    /// By what documents are found: classic, minhash or full.
    ///
    /// classic files each by its simhash, in ten rows; minhash by bands of its character n-grams,
    /// in 16 and a few more; full by both. What is found is confirmed by the n-grams in each of
    /// them. classic misses near-duplicates of short texts and of texts with scattered changes;
    /// minhash and full miss next to none. An index keeps the profile that it was made with, so
    /// this is for a new one [default: full, and in `dedup` without --store minhash, unless another
    /// flag is about words or tables]; for an existing one leave it out. `pigeonhole eval` shows
    /// what each finds in texts of yours.
    #[arg(
        long,
        value_name = "PROFILE",
        env = "PIGEONHOLE_PROFILE",
        value_parser = PossibleValuesParser::new(Profile::ALL.map(|(_, name)| name)),
        help_heading = "Index"
    )]
    profile: Option<String>,

    /// Confirm near-duplicates: on or off.
    ///
    /// off takes every pair for near-duplicates whose simhashes are within --max-distance: of
    /// short texts most are not. It saves 130 bytes a document, and only profile classic can do
    /// without. An index keeps what it was made with, so this is for a new one [default: on].
    #[arg(
        long,
        value_name = "STATE",
        env = "PIGEONHOLE_VERIFY",
        value_parser = PossibleValuesParser::new(["on", "off"]),
        help_heading = "Index"
    )]
    verify: Option<String>,

    /// Least similarity of near-duplicates: the share of n-grams in both texts of those in either,
    /// .5 to 1.
    ///
    /// An index keeps the one that it was made with, so this is for a new one [default: 0.8]. Where
    /// the index keeps texts the similarity is counted, and nothing below this is called a
    /// near-duplicate. Else that of texts of more than some 50 characters is estimated, with a
    /// standard deviation of .03. The bands follow from it: they propose .998 of the pairs at it
    /// from .8 on and .99 below, and at 1 equal texts alone, by one key
    /// (`pigeonhole scheme minhash`). Example: --min-similarity 0.9
    #[arg(long, value_name = "SHARE", value_parser = parse_similarity, help_heading = "Index")]
    min_similarity: Option<Similarity>,

    /// Keep the texts of the documents in the index: none or zstd.
    ///
    /// With texts every pair is counted before it is called near-duplicates. Without them an
    /// estimate by signatures decides, which errs for pairs close to --min-similarity. zstd takes a
    /// third to a half of the bytes of the texts, and everyone who can read the index can read
    /// them. An index keeps what it was made with, so this is for a new one [default: zstd where
    /// documents come with texts, none in redis:]; for an existing one leave it out.
    #[arg(
        long,
        value_name = "KEPT",
        env = "PIGEONHOLE_TEXTS",
        value_parser = PossibleValuesParser::new(TextKeeping::ALL.map(|(_, name)| name)),
        help_heading = "Index"
    )]
    texts: Option<String>,

    /// Take documents with other numbers for other documents, however similar they are.
    ///
    /// `26 dead` and `28 dead`, an invoice over 1,000 and one over 9,000: without this they are
    /// near-duplicates where all else is the same, and every output says that the numbers differ.
    /// Numbers are digits of any script and Chinese numerals, in their order. An index keeps what
    /// it was made with, so this is for a new one.
    #[arg(long, env = "PIGEONHOLE_SAME_NUMBERS", help_heading = "Index")]
    same_numbers: bool,

    /// Hash the n-grams of the documents with a secret key.
    ///
    /// Without it signatures are made alike everywhere, and a stranger who knows a document can
    /// make another text with its signature, so that the one keeps the other out. That matters
    /// where strangers choose the texts and the index keeps none: where it keeps them, they are
    /// counted. The key is drawn when an index is made and stands in its metadata: who can read the
    /// index can read it. `pigeonhole info --key` prints it, for --key-file.
    #[arg(long, env = "PIGEONHOLE_KEYED", help_heading = "Index")]
    keyed: bool,

    /// A file with the key of a new index, for documents that come with signatures of another index
    ///
    /// It is 32 hexadecimal digits, as `pigeonhole info --key` prints them.
    #[arg(
        long,
        value_name = "FILE",
        env = "PIGEONHOLE_KEY_FILE",
        value_parser = read_key,
        conflicts_with = "keyed",
        help_heading = "Index"
    )]
    key_file: Option<Key>,

    /// In how many of the 64 bits the simhashes of near-duplicates may differ.
    ///
    /// An index keeps the distance that it was made with, so this is for a new one [default: 3, the
    /// most that the schemes find]; a smaller one proposes fewer documents. Example: --max-distance
    /// 2
    #[arg(long, value_name = "BITS", help_heading = "Index")]
    max_distance: Option<Distance>,

    /// Time that documents stay after their insertion: a number with s, m, h, d or w, as in 36h or
    /// 1d12h.
    ///
    /// Past that they are found no more, keep no other document out, and their room is used again.
    /// An index keeps the retention that it was made with, so this is for a new one [default:
    /// documents stay until they are removed]. Example: --retain 2d
    #[arg(long, value_name = "DURATION", help_heading = "Index")]
    retain: Option<Retention>,

    #[command(flatten)]
    clock: ClockArgs,
}

/// Bound on the trust in this machine's clock.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ClockArgs {
    /// Write nothing while this machine's clock is ahead of the last write to the index by more
    /// than this.
    ///
    /// It is for an index with a retention, in which a clock that has jumped ahead makes everything
    /// look expired. Without this option a clock that is more than a day ahead is warned of on
    /// stderr, and what has expired only by it is kept until writes have gone on by it for a day.
    /// So give it where the index never rests that long. In HBase nothing is expired by this
    /// machine's clock, and the option is refused. Example: --clock-ahead-max 1d
    #[arg(
        long,
        value_name = "DURATION",
        env = "PIGEONHOLE_CLOCK_AHEAD_MAX",
        value_parser = parse_duration,
        help_heading = "Index"
    )]
    pub clock_ahead_max: Option<Duration>,
}

/// Parses a share from 0 to 1.
///
/// # Errors
/// The expected form.
pub fn parse_similarity(text: &str) -> Result<Similarity, String> {
    text.parse()
        .ok()
        .and_then(Similarity::new)
        .ok_or_else(|| "it is a share from 0 to 1, as in 0.8".to_owned())
}

fn parse_expected(text: &str) -> Result<f64, String> {
    let n = count(text)?;
    if (1.0..=1e13).contains(&n) { Ok(n) } else { Err("it is from 1 to 1e13".to_owned()) }
}

/// More bytes than the file of a key has, with space around it.
const KEY_BYTES_MAX: u64 = 1 << 10;

fn read_key(path: &str) -> Result<Key, String> {
    let mut digits = String::new();
    // An endless file, such as a device, is not read to the end.
    let read =
        std::fs::File::open(path).and_then(|file| file.take(KEY_BYTES_MAX).read_to_string(&mut digits));
    read.map_err(|error| error.to_string())?;
    Key::parse(digits.trim()).ok_or_else(|| "a key is 32 hexadecimal digits, in lower case".to_owned())
}

fn parse_duration(text: &str) -> Result<Duration, InvalidRetention> {
    text.parse().map(|span: Retention| Duration::from_secs(span.as_seconds().into()))
}

impl BuiltArgs {
    /// The kind for the documents that are expected.
    fn expected(&self) -> Option<SketchKind> {
        self.expect_documents.map(|n| SketchKind::expected(n, STRANGERS_A_MILLION))
    }

    fn profile(&self) -> Option<Profile> {
        let expected = self.expected().map(|kind| kind.profile());
        expected.or_else(|| self.profile.as_ref().and_then(|name| name.parse().ok()))
    }

    fn scheme(&self) -> Option<String> {
        self.expected().map(|kind| kind.name().to_owned()).or_else(|| self.scheme.clone())
    }

    fn texts(&self) -> Option<TextKeeping> {
        self.texts.as_ref().and_then(|name| name.parse().ok())
    }

    fn verify(&self) -> Option<bool> {
        self.verify.as_ref().map(|state| state == "on")
    }

    /// The options for opening the index with its recipe.
    ///
    /// # Errors
    /// Where a dictionary file of the recipe cannot be used.
    pub fn options(&self, mode: Mode, recipe: &RecipeArgs) -> Result<Options, DictionaryFileError> {
        let dictionaries = recipe.dictionaries()?;
        Ok(Options {
            mode,
            scheme: self.scheme(),
            max_distance: self.max_distance,
            profile: self.profile(),
            verify: self.verify(),
            min_similarity: self.min_similarity,
            texts: self.texts(),
            same_numbers: self.same_numbers.then_some(true),
            keyed: self.keyed.then_some(true),
            key: self.key_file,
            without_texts: false,
            spool: None,
            is_for_run: false,
            spilled: None,
            retain: self.retain,
            clock_ahead_max: self.clock.clock_ahead_max,
            recipe: recipe.recipe(&dictionaries),
            insisted: recipe.explicit_fields(&dictionaries),
            dictionaries,
            patience: None,
            n_threads: None,
        })
    }

    /// The options of these flags, with the recipe fields demanded by the caller and the recipe of
    /// a new index.
    #[must_use]
    pub fn open_options(
        &self,
        mode: Mode,
        recipe: BTreeMap<String, String>,
        recipe_default: BTreeMap<String, String>,
    ) -> OpenOptions {
        OpenOptions {
            mode,
            scheme: self.scheme(),
            max_distance: self.max_distance,
            profile: self.profile(),
            verify: self.verify(),
            min_similarity: self.min_similarity,
            texts: self.texts(),
            same_numbers: self.same_numbers.then_some(true),
            keyed: self.keyed.then_some(true),
            key: self.key_file,
            texts_default: TextKeeping::None,
            retain: self.retain,
            clock_ahead_max: self.clock.clock_ahead_max,
            recipe,
            recipe_default,
        }
    }
}
