//! `pigeonhole eval`: what of a corpus's near-duplicates each profile finds, held against the exact truth.

mod profile;
mod report;
mod texts;
mod truth;

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use corpus::cli::{FileArgs, IdArgs, RecordArgs};
use evaluation::{Audit, Pair, Scores, Truth, audit, score};
use features::Fingerprinter;
use features::cli::RecipeArgs;
use features::shingles::ShingleSets;
use minhash::Similarity;

use self::profile::{Found, Profile};
use self::texts::Texts;
use crate::progress::{Progress, complain};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    records: RecordArgs,
    #[command(flatten)]
    ids: IdArgs,
    /// Only this profile; may be given several times [default: all]
    #[arg(long, value_name = "PROFILE", value_enum)]
    profile: Vec<Profile>,
    /// The least Jaccard similarity of near-duplicates, above 0 and at most 1
    #[arg(long, value_name = "SHARE", default_value = "0.8", value_parser = share)]
    min_similarity: Similarity,
    /// A pair below this similarity that is called a near-duplicate is strictly wrong
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    floor: Similarity,
    /// How many of the worst misses and mistakes to show of each profile, with their texts
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// What a profile found, and how good that is.
struct Evaluated {
    profile: Profile,
    found: Found,
    scores: Scores,
    audit: Audit,
}

/// What the figures are about.
struct Ground<'a> {
    texts: &'a Texts,
    /// All near-duplicates.
    pairs: &'a [Pair],
    min_similarity: Similarity,
    floor: Similarity,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    ensure!(args.min_similarity > Similarity::ZERO, "--min-similarity is above 0");
    ensure!(args.floor <= args.min_similarity, "--floor is at most --min-similarity");
    let mut progress = Progress::start(args.quiet);
    let inputs = args.files.clone().options(args.records.clone(), args.ids);
    let dictionaries = args.recipe.dictionaries()?;
    let fingerprinter = Fingerprinter::new(args.recipe.recipe(&dictionaries), &dictionaries)?;
    let texts = Texts::read(&inputs, &fingerprinter, &mut progress)?;
    ensure!(texts.len() > 0, "there is no document in what was named: see what was rejected above");
    let pairs = truth::pairs(&texts, args.min_similarity);
    let ground =
        Ground { texts: &texts, pairs: &pairs, min_similarity: args.min_similarity, floor: args.floor };
    let wanted = if args.profile.is_empty() { &Profile::ALL[..] } else { &args.profile };
    let evaluated = wanted.iter().map(|&profile| {
        progress.show(format_args!("{profile}: looking for what it finds"));
        ground.evaluate(profile)
    });
    let evaluated = evaluated.collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(path) = &args.json {
        let json = serde_json::to_vec_pretty(&report::json(&ground, &evaluated, args.examples))?;
        fs::write(path, json).with_context(|| format!("failed to write {}", path.display()))?;
    }
    report::print(out, &ground, &evaluated, args.examples)?;
    if texts.n_rejected > 0 {
        complain(format_args!("{} records were rejected and are in no figure", texts.n_rejected));
    }
    Ok(())
}

impl Ground<'_> {
    fn evaluate(&self, profile: Profile) -> anyhow::Result<Evaluated> {
        let found = profile.find(self.texts, self.min_similarity)?;
        let similarity = |a: usize, b: usize| {
            ShingleSets::compare(&self.texts.sets[a], &self.texts.sets[b]).similarity.get()
        };
        let called: Vec<Pair> = found
            .called
            .iter()
            .map(|called| Pair { a: called.a, b: called.b, similarity: similarity(called.a, called.b) })
            .collect();
        let floor = self.floor.get();
        let truth = Truth { pairs: self.pairs, lengths: &self.texts.lengths, floor };
        let scores = score(&truth, &called);
        let audit = audit(&found.dropped_for(self.texts), self.pairs, floor, similarity);
        Ok(Evaluated { profile, found, scores, audit })
    }
}

fn share(text: &str) -> Result<Similarity, String> {
    let share = text.parse().ok().and_then(Similarity::new);
    share.ok_or_else(|| "a share from 0 to 1, as 0.8".to_owned())
}
