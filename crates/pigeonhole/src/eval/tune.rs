//! `pigeonhole tune`: the profile that suits a corpus, by what each finds in a sample of it, as a file of settings.

mod settings;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use corpus::cli::{FileArgs, IdArgs, RecordArgs};
use evaluation::confidence;
use features::Fingerprinter;
use features::cli::RecipeArgs;
use minhash::Similarity;

use self::settings::Settings;
use super::profile::Profile;
use super::texts::{Texts, What};
use super::{Evaluated, Ground, MIN_SIMILARITY, share};
use crate::progress::{Progress, complain};

/// A profile is about as good as the best where its recall and its strict precision are not further below.
const ABOUT: f64 = 0.01;

/// Simhashes are not chosen where their recall may be below this, with 95 % confidence: by fewer than 35 pairs they
/// never are.
const LEAST_RECALL: f64 = 0.9;

/// Below it a pair that is called a near-duplicate is strictly wrong, unless less is asked for.
const FLOOR: f64 = 0.5;

/// What the programs can be told to use.
const PROFILES: [Profile; 3] = [Profile::Classic, Profile::Minhash, Profile::Full];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    ids: IdArgs,
    /// How many documents are looked at, chosen at random
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    sample: usize,
    /// The least Jaccard similarity of near-duplicates, above 0 and at most 1
    #[arg(long, value_name = "SHARE", default_value = MIN_SIMILARITY, value_parser = share)]
    min_similarity: Similarity,
    /// Write the settings to this file, which must not be there yet [default: print them]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    ensure!(args.min_similarity > Similarity::ZERO, "--min-similarity is above 0");
    ensure!(args.sample > 1, "--sample is at least 2: near-duplicates are pairs");
    if let Some(path) = &args.output {
        // Said before anything is measured.
        ensure!(!path.exists(), "{}", is_there(path));
    }
    let mut progress = Progress::start(args.quiet);
    let inputs = args.files.clone().options(args.records.clone(), args.ids);
    let dictionaries = args.recipe.dictionaries()?;
    let fingerprinter = Fingerprinter::new(args.recipe.recipe(&dictionaries), &dictionaries)?;
    let what = What { families: None, n_max: Some(args.sample) };
    let texts = Texts::read(&inputs, what, &fingerprinter, &mut progress)?;
    ensure!(texts.len() > 0, "there is no document in what was named: see what was rejected above");
    let floor = Similarity::clamped(FLOOR).min(args.min_similarity);
    let ground = Ground::new(&texts, false, args.min_similarity, floor);
    let evaluated = PROFILES.into_iter().map(|profile| {
        progress.show(format_args!("{profile}: looking for what it finds"));
        ground.evaluate(profile)
    });
    let evaluated = evaluated.collect::<anyhow::Result<Vec<_>>>()?;
    let choice = choose(&ground, &evaluated);
    let text =
        Settings { ground: &ground, evaluated: &evaluated, choice, recipe: &args.recipe }.toml(&dictionaries);
    match &args.output {
        None => write!(out, "{text}")?,
        Some(path) => {
            write_new(path, &text)?;
            writeln!(out, "profile         {choice}")?;
            writeln!(out, "min similarity  {}", args.min_similarity.get())?;
            writeln!(out, "written to      {}", path.display())?;
        }
    }
    if texts.n_rejected > 0 {
        complain(format_args!("{} records were rejected and are in no figure", texts.n_rejected));
    }
    Ok(())
}

/// The one with the fewest rows of those that are about as good as the best; where nothing was there to find, the one that
/// promises most for its rows.
fn choose(ground: &Ground<'_>, evaluated: &[Evaluated]) -> Profile {
    if ground.pairs.is_empty() {
        return Profile::Minhash;
    }
    let recall = |one: &Evaluated| one.scores.whole.recall().unwrap_or(0.0);
    // What calls nothing a near-duplicate is never wrong.
    let precision = |one: &Evaluated| one.scores.whole.strict_precision().unwrap_or(1.0);
    let best = |of: &dyn Fn(&Evaluated) -> f64| evaluated.iter().map(of).fold(0.0, f64::max);
    let (best_recall, best_precision) = (best(&recall), best(&precision));
    let is_good = |one: &&Evaluated| {
        recall(one) >= best_recall - ABOUT && precision(one) >= best_precision - ABOUT && is_sure(one)
    };
    let cheapest = evaluated.iter().filter(is_good).min_by_key(|one| (one.found.n_rows, one.found.n_bytes));
    // None is good where one has the recall and another the precision.
    cheapest.map_or(Profile::Full, |one| one.profile)
}

/// Bands promise what they find; of simhashes only what was found speaks, and of a few pairs it says little.
fn is_sure(one: &Evaluated) -> bool {
    let whole = &one.scores.whole;
    let least = confidence(whole.n_found, whole.n_true).map_or(0.0, |(least, _)| least);
    one.profile != Profile::Classic || least >= LEAST_RECALL
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
