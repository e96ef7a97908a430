//! `pigeonhole tune`: chooses the threshold and the profile for a corpus by the results on a
//! sample, and writes them as a file of settings.

mod histogram;
mod settings;
mod thresholds;

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use corpus::FieldPath;
use evaluation::confidence;
use index::{Profile, TextKeeping};
use minhash::Similarity;
use program::flags::RecipeArgs;
use program::flags::parse_similarity;
use program::flags::{FileArgs, IdArgs, PageArgs, RecordArgs};

use self::settings::{Command, Settings};
use self::thresholds::Thresholds;
use super::texts::What;
use super::truth::{PAIRS_MAX, related};
use super::variant::Variant;
use super::{Evaluated, Ground, asked, read, say_rejected};
use crate::progress::Progress;

/// Greatest difference in recall from the best profile for one that is about as good.
const ABOUT: f64 = 0.01;

/// Least recall of simhashes, with 95 % confidence, for their choice: fewer than 35 pairs never
/// suffice.
const LEAST_RECALL: f64 = 0.9;

/// Default least similarity of near-duplicates.
const MIN_SIMILARITY: f64 = 0.8;

/// Verifying profiles, available in all programs.
const PROFILES: [Profile; 3] = [Profile::Classic, Profile::Minhash, Profile::Full];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    pages: PageArgs,
    #[command(flatten)]
    ids: IdArgs,
    /// Number of documents looked at, chosen at random
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    sample: usize,
    /// Another number draws another sample; the same one draws the same of the same input [default:
    /// 1]
    #[arg(long, value_name = "N")]
    sample_seed: Option<u64>,
    /// The least Jaccard similarity of near-duplicates, .5 to 1 [default: with --families the best
    /// by F1, else 0.8]
    #[arg(long, value_name = "SHARE", value_parser = parse_similarity)]
    min_similarity: Option<Similarity>,
    /// The field that names the family of a document, where it is known which are versions of one
    ///
    /// A string of any length or an integer. Each threshold from .5 to .95 is held against the
    /// families, and the one with the best F1 is taken. Without this, a histogram of the
    /// similarities that the sample has shows five pairs to read at each step.
    #[arg(long, value_name = "FIELD", visible_alias = "labels")]
    families: Option<FieldPath>,
    /// Write the settings to this file, which must not be there yet [default: print them]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// `words` are the arguments that name the inputs and say how they are read, for the command to run
/// with the settings.
pub(crate) fn run(args: &Args, words: &[OsString], out: &mut dyn Write) -> anyhow::Result<()> {
    ensure!(args.sample > 1, "--sample is at least 2: near-duplicates are pairs");
    if let Some(path) = &args.output {
        // Refused before any measurement.
        ensure!(!path.exists(), "{}", is_there(path));
    }
    let mut progress = Progress::start(args.quiet);
    let inputs = args.files.clone().options(args.pages.options(args.records.clone()), args.ids);
    let default = Similarity::clamped(MIN_SIMILARITY);
    let mut asked = asked(&args.recipe, args.min_similarity.unwrap_or(default), PAIRS_MAX)?;
    let variants = PROFILES.map(|profile| Variant::verified(profile, TextKeeping::Zstd));
    // Invalid options are refused before any input is read.
    variants[0].open(&asked)?;
    let what = What {
        families: args.families.as_ref(),
        n_max: Some(args.sample),
        seed: args.sample_seed,
        form: asked.recipe.normal_form(),
    };
    let mut texts = read(&inputs, what, &mut progress)?;
    progress.show(format_args!("the exact join of {} documents", texts.len()));
    let related = related(&mut texts, asked.min_similarity.get(), asked.pairs_max);
    let thresholds = args.families.is_some().then(|| Thresholds::new(&texts, &related));
    if let (None, Some(best)) = (args.min_similarity, thresholds.as_ref().and_then(Thresholds::best)) {
        asked.min_similarity = best;
    }
    let min_similarity = asked.min_similarity;
    let ground = Ground::new(&texts, related, args.families.is_some(), asked);
    let evaluated = variants.into_iter().map(|variant| {
        progress.show(format_args!("{variant}: looking for what it finds"));
        ground.evaluate(variant)
    });
    let evaluated = evaluated.collect::<anyhow::Result<Vec<_>>>()?;
    let choice = choose(&ground, &evaluated);
    let command = Command { inputs: words, output: args.output.as_deref() };
    let settings = Settings {
        ground: &ground,
        evaluated: &evaluated,
        choice,
        is_asked: args.min_similarity.is_some(),
        thresholds: thresholds.as_ref(),
        recipe: &args.recipe,
        command: &command,
    };
    let text = settings.toml();
    match &args.output {
        None => write!(out, "{text}")?,
        Some(path) => {
            write_new(path, &text)?;
            writeln!(out, "profile         {choice}")?;
            writeln!(out, "min similarity  {}", min_similarity.get())?;
            writeln!(out, "written to      {}", path.display())?;
            writeln!(out, "to run          {command}")?;
        }
    }
    say_rejected(&texts);
    Ok(())
}

/// The profile with the fewest rows among those about as good as the best. Without any pairs to
/// find, the one that promises most for its rows.
fn choose(ground: &Ground<'_>, evaluated: &[Evaluated]) -> Profile {
    if ground.pairs.is_empty() {
        return Profile::Minhash;
    }
    let recall = |one: &Evaluated| one.scores.whole.recall().unwrap_or(0.0);
    let best = evaluated.iter().map(recall).fold(0.0, f64::max);
    let is_good = |one: &&Evaluated| recall(one) >= best - ABOUT && is_sure(one);
    let cheapest = evaluated.iter().filter(is_good).min_by_key(|one| (one.found.n_rows, one.found.n_bytes));
    cheapest.map_or(Profile::Full, |one| one.variant.profile)
}

/// Returns true if the recall of a profile can be relied upon. Bands have a computed recall; the
/// recall of simhashes is only measured, and a few pairs say little about it.
fn is_sure(one: &Evaluated) -> bool {
    let whole = &one.scores.whole;
    let least = confidence(whole.n_found, whole.n_true).map_or(0.0, |(least, _)| least);
    one.variant.profile != Profile::Classic || least >= LEAST_RECALL
}

fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let file = match file {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(error).with_context(|| is_there(path))
        }
        other => other.with_context(|| format!("failed to write {}", path.display())),
    };
    file?.write_all(text.as_bytes()).with_context(|| format!("failed to write {}", path.display()))
}

fn is_there(path: &Path) -> String {
    format!("there is a file {} already: name another one by --output, or move it away", path.display())
}
