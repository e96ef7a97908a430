//! `pigeonhole eval`: compares the near-duplicates found by the programs in a corpus with the exact
//! truth.

mod figures;
mod labels;
mod page;
mod pairs_file;
mod report;
mod sample;
mod texts;
mod truth;
pub(crate) mod tune;
mod variant;
mod window;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use corpus::{FieldPath, PageText};
use engine::in_common;
use evaluation::{Audit, Bin, FamilyScore, Fate, Pair, Scores, Truth, audit, curve, families, score};
use index::{Profile, TextKeeping};
use minhash::Similarity;
use program::flags::RecipeArgs;
use program::flags::parse_similarity;
use program::flags::{FileArgs, IdArgs, PageArgs, RecordArgs, page_text};

use self::labels::{Agreement, Labels};
use self::texts::{Texts, What};
use self::truth::{Related, related};
use self::variant::{Asked, Bands, Found, Variant};
use crate::progress::{Progress, complain};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    ids: IdArgs,
    /// Text that is taken of HTML pages: what --html is to the indexer
    #[arg(long, value_name = "TEXT", default_value = PageText::default().name(), value_parser = page_text())]
    page_text: PageText,
    /// Only indexes of this profile; may be given several times [default: full, minhash and
    /// classic]
    #[arg(
        long,
        value_name = "PROFILE",
        value_parser = PossibleValuesParser::new(Profile::ALL.map(|(_, name)| name)).try_map(|name| name.parse::<Profile>())
    )]
    profile: Vec<Profile>,
    /// Keep texts in the indexes: zstd, by which similarities are counted, or none, by which they
    /// are estimated
    ///
    /// Given twice, each profile is evaluated both ways.
    #[arg(
        long,
        value_name = "KEPT",
        default_value = "zstd",
        env = "PIGEONHOLE_TEXTS",
        value_parser = PossibleValuesParser::new(TextKeeping::ALL.map(|(_, name)| name)).try_map(|name| name.parse::<TextKeeping>())
    )]
    texts: Vec<TextKeeping>,
    /// Evaluate `classic --verify off` too, which takes all that simhashes propose for
    /// near-duplicates
    #[arg(long)]
    unverified: bool,
    /// The least Jaccard similarity of near-duplicates, .5 to 1
    #[arg(long, value_name = "SHARE", default_value = MIN_SIMILARITY, value_parser = parse_similarity)]
    min_similarity: Similarity,
    /// Evaluate so many documents, chosen at random [default: all, or as many as fit in half of the
    /// free memory]
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Another number draws another sample; the same one draws the same of the same input [default:
    /// 1]
    #[arg(long, value_name = "N")]
    sample_seed: Option<u64>,
    /// Hold so many pairs in memory; where there are more, curves begin at --min-similarity, then
    /// fewer documents are evaluated
    #[arg(long, value_name = "N", default_value_t = truth::PAIRS_MAX)]
    pairs_max: usize,
    /// Number of the worst misses and mistakes to show of each profile, with their texts
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    /// The field that names the family of a document, where it is known which are versions of one
    ///
    /// A string of any length or an integer. Recall and precision against families are shown beside
    /// those of the exact truth; a document without the field is of no known family.
    #[arg(long, value_name = "FIELD")]
    families: Option<FieldPath>,
    /// Hold verdicts of people on pairs, lines of JSON with a, b and same, beside those of the
    /// programs
    ///
    /// The pages of `eval --html` and `indexer dedup --report FILE.html` download them. Told is how
    /// many labels each profile agrees with, and how many each --min-similarity would.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page to this file: the figures, curves, and misses and mistakes with their texts
    /// side by side
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write all pairs that are called near-duplicates to this file, as lines of JSON
    ///
    /// Each has profile, a, b and similarity as `indexer dedup --pairs` tells them, exact where
    /// that was counted, and counted, the similarity that the two truly have.
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Default least similarity of near-duplicates.
const MIN_SIMILARITY: &str = "0.8";

/// Default profiles, that of a new index first.
const PROFILES: [Profile; 3] = [Profile::Full, Profile::Minhash, Profile::Classic];

/// Results of an index, and their quality.
struct Evaluated {
    variant: Variant,
    found: Found,
    /// The pairs called near-duplicates, with their true similarities.
    called: Vec<Pair>,
    /// Called pairs with different numbers.
    n_numbers_differ: u64,
    scores: Scores,
    /// All pairs of the ground, by similarity.
    curve: Vec<Bin>,
    /// `None` without families.
    families: Option<FamilyScore>,
    audit: Audit,
}

impl Evaluated {
    /// The labels that agree with what is called.
    fn agreement(&self, labels: &Labels) -> Agreement {
        labels.agreement(|pair| self.called.binary_search_by_key(&numbers(pair), numbers).is_ok())
    }
}

/// The data for all figures.
struct Ground<'a> {
    texts: &'a Texts,
    /// All near-duplicates.
    pairs: Vec<Pair>,
    /// Near-duplicates and the less similar pairs of the curves, ascending by their numbers.
    related: Related,
    /// Agreement of the exact truth with the families; `None` without families.
    families: Option<FamilyScore>,
    /// Verdicts of people; `None` without --labels.
    labels: Option<Labels>,
    asked: Asked,
    /// For each called pair: true if the numbers in its texts differ.
    numbers: RefCell<HashMap<(usize, usize), bool>>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    ensure!(args.sample.is_none_or(|n| n > 1), "--sample is at least 2: near-duplicates are pairs");
    let mut progress = Progress::start(args.quiet);
    let inputs =
        args.files.clone().options(PageArgs { html: args.page_text }.options(args.records.clone()), args.ids);
    let asked = asked(&args.recipe, args.min_similarity, args.pairs_max)?;
    let variants = args.variants();
    // Invalid options are refused before any input is read.
    variants.iter().try_for_each(|variant| variant.open(&asked).map(drop))?;
    let what = What {
        families: args.families.as_ref(),
        n_max: args.sample,
        seed: args.sample_seed,
        form: asked.recipe.normal_form(),
    };
    let mut texts = read(&inputs, what, &mut progress)?;
    progress.show(format_args!("the exact join of {} documents", texts.len()));
    let related = related(&mut texts, args.min_similarity.get(), args.pairs_max);
    let labels = args.labels.as_deref().map(|path| Labels::read(path, &texts)).transpose()?;
    let ground = Ground { labels, ..Ground::new(&texts, related, args.families.is_some(), asked) };
    let evaluated = variants.iter().map(|&variant| {
        progress.show(format_args!("{variant}: looking for what it finds"));
        ground.evaluate(variant)
    });
    let evaluated = evaluated.collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(path) = &args.json {
        write(path, &serde_json::to_vec_pretty(&figures::json(&ground, &evaluated, args.examples))?)?;
    }
    if let Some(path) = &args.html {
        write(path, page::page(&ground, &evaluated, args.examples).as_bytes())?;
    }
    if let Some(path) = &args.pairs {
        pairs_file::write(path, &ground, &evaluated)?;
    }
    report::print(out, &ground, &evaluated, args.examples)?;
    say_rejected(&texts);
    Ok(())
}

impl Args {
    fn variants(&self) -> Vec<Variant> {
        let profiles = if self.profile.is_empty() { &PROFILES[..] } else { &self.profile };
        let of_profile = |&profile| self.texts.iter().map(move |&texts| Variant::verified(profile, texts));
        let mut variants: Vec<Variant> = profiles.iter().flat_map(of_profile).collect();
        variants.extend(self.unverified.then(Variant::unverified));
        variants
    }
}

fn asked(recipe: &RecipeArgs, min_similarity: Similarity, pairs_max: usize) -> anyhow::Result<Asked> {
    let dictionaries = recipe.dictionaries()?;
    Ok(Asked { min_similarity, recipe: recipe.recipe(&dictionaries), dictionaries, pairs_max })
}

fn read(inputs: &corpus::InputOptions, what: What<'_>, progress: &mut Progress) -> anyhow::Result<Texts> {
    let texts = Texts::read(inputs, what, progress)?;
    let rejected = if texts.n_rejected > 0 { ": see what was rejected above" } else { "" };
    ensure!(texts.len() > 0, "there is no document in what was named{rejected}");
    if let Some(field) = what.families {
        ensure!(
            texts.families.iter().any(Option::is_some),
            "no document has the field {field}: name another by --families"
        );
    }
    Ok(texts)
}

/// Formats a number of things, whose name is of one of them.
fn counted(number: impl fmt::Display, name: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {name}{plural}")
}

fn say_rejected(texts: &Texts) {
    if texts.n_rejected > 0 {
        complain(format_args!("{} records were rejected and are in no figure", texts.n_rejected));
    }
}

fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    fs::write(path, content).with_context(|| format!("failed to write {}", path.display()))
}

impl<'a> Ground<'a> {
    fn new(texts: &'a Texts, related: Related, has_families: bool, asked: Asked) -> Self {
        let mut pairs = truth::at_least(&related.pairs, asked.min_similarity);
        if asked.min_similarity == Similarity::ONE {
            truth::retain_copies(&mut pairs, texts, asked.recipe.normal_form());
        }
        let families = has_families.then(|| families(&texts.families, &pairs));
        Self { texts, pairs, related, families, labels: None, asked, numbers: RefCell::default() }
    }

    fn min_similarity(&self) -> f64 {
        self.asked.min_similarity.get()
    }

    fn evaluate(&self, variant: Variant) -> anyhow::Result<Evaluated> {
        let related = &self.related.pairs;
        let found = variant.find(self.texts, related, &self.asked)?;
        let similarity = |a: usize, b: usize| match related.binary_search_by_key(&(a, b), numbers) {
            Ok(place) => related[place].similarity,
            Err(_) => truth::similarity(self.texts, a, b),
        };
        let called: Vec<Pair> = found
            .called
            .iter()
            .map(|called| Pair { a: called.a, b: called.b, similarity: similarity(called.a, called.b) })
            .collect();
        let least = self.min_similarity();
        let scores = score(&Truth { pairs: &self.pairs, lengths: &self.texts.lengths, least }, &called);
        let bands = Bands::of(self.asked.min_similarity);
        let fate = |place: usize| {
            let pair = &related[place];
            Fate {
                is_proposed: found.is_proposed[place],
                is_called: called.binary_search_by_key(&numbers(pair), numbers).is_ok(),
                promised: variant::promised(&bands, self.texts, pair),
            }
        };
        let curve = curve(related, self.related.from, fate);
        let families = self.families.is_some().then(|| families(&self.texts.families, &called));
        let audit = audit(&found.dropped_for, &self.pairs, similarity);
        let n_numbers_differ = called.iter().filter(|pair| self.numbers_differ(pair)).count() as u64;
        Ok(Evaluated { variant, found, called, n_numbers_differ, scores, curve, families, audit })
    }

    fn numbers_differ(&self, pair: &Pair) -> bool {
        let [a, b] = [pair.a, pair.b].map(|number| self.texts.texts[number].as_str());
        *self.numbers.borrow_mut().entry(numbers(pair)).or_insert_with(|| in_common::numbers_differ(a, b))
    }

    /// Sentences about the documents and pairs in no figure, with the reasons.
    fn left_out(&self) -> Vec<String> {
        let mut left_out = self.texts.left_out();
        left_out.extend(self.related.is_cut.then(|| {
            format!(
                "left out of the curves: pairs below {}, which are more than {}",
                self.related.from,
                corpus::Grouped(self.asked.pairs_max as u64)
            )
        }));
        left_out
    }
}

fn numbers(pair: &Pair) -> (usize, usize) {
    (pair.a, pair.b)
}
