//! `pigeonhole eval`: what of a corpus's near-duplicates each profile finds, held against the exact truth.

mod figures;
mod page;
mod profile;
mod report;
mod texts;
mod truth;
pub(crate) mod tune;
mod window;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use corpus::FieldPath;
use corpus::cli::{FileArgs, IdArgs, RecordArgs};
use evaluation::{Audit, Bin, FamilyScore, Fate, Pair, Scores, Truth, audit, curve, families, score};
use features::Fingerprinter;
use features::cli::RecipeArgs;
use features::shingles::ShingleSets;
use minhash::Similarity;

use self::profile::{Found, Profile};
use self::texts::{Texts, What};
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
    #[arg(long, value_name = "SHARE", default_value = MIN_SIMILARITY, value_parser = share)]
    min_similarity: Similarity,
    /// A pair below this similarity that is called a near-duplicate is strictly wrong
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    floor: Similarity,
    /// How many of the worst misses and mistakes to show of each profile, with their texts
    #[arg(long, value_name = "N", default_value_t = 3)]
    examples: usize,
    /// The field that names the family of a document, where it is known which are versions of one
    ///
    /// A string or an integer. Recall and precision against families are shown beside those of the exact truth; a document
    /// without the field is of no known family.
    #[arg(long, value_name = "FIELD")]
    families: Option<FieldPath>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page to this file: the figures, curves, and misses and mistakes with their texts side by side
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    recipe: RecipeArgs,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

/// Near-duplicates, where nothing else is asked for.
const MIN_SIMILARITY: &str = "0.8";

/// Curves begin here, or at --min-similarity where that is lower: further below, pairs are too many to be joined.
const CURVES_FROM: f64 = 0.5;

/// What a profile found, and how good that is.
struct Evaluated {
    profile: Profile,
    found: Found,
    scores: Scores,
    /// All pairs of the ground, by similarity.
    curve: Vec<Bin>,
    /// Where families are known.
    families: Option<FamilyScore>,
    audit: Audit,
}

/// What the figures are about.
struct Ground<'a> {
    texts: &'a Texts,
    /// All near-duplicates.
    pairs: Vec<Pair>,
    /// These and the less similar pairs of which there is a curve, ascending by their numbers.
    related: Vec<Pair>,
    /// The least similarity of those.
    curves_from: f64,
    /// How the exact truth agrees with families, where those are known.
    families: Option<FamilyScore>,
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
    let what = What { families: args.families.as_ref(), n_max: None };
    let texts = Texts::read(&inputs, what, &fingerprinter, &mut progress)?;
    ensure!(texts.len() > 0, "there is no document in what was named: see what was rejected above");
    if let Some(field) = &args.families {
        ensure!(
            texts.families.iter().any(Option::is_some),
            "no document has the field {field}: name another by --families"
        );
    }
    let ground = Ground::new(&texts, args.families.is_some(), args.min_similarity, args.floor);
    let wanted = if args.profile.is_empty() { &Profile::ALL[..] } else { &args.profile };
    let evaluated = wanted.iter().map(|&profile| {
        progress.show(format_args!("{profile}: looking for what it finds"));
        ground.evaluate(profile)
    });
    let evaluated = evaluated.collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(path) = &args.json {
        write(path, &serde_json::to_vec_pretty(&figures::json(&ground, &evaluated, args.examples))?)?;
    }
    if let Some(path) = &args.html {
        write(path, page::page(&ground, &evaluated, args.examples).as_bytes())?;
    }
    report::print(out, &ground, &evaluated, args.examples)?;
    if texts.n_rejected > 0 {
        complain(format_args!("{} records were rejected and are in no figure", texts.n_rejected));
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    fs::write(path, content).with_context(|| format!("failed to write {}", path.display()))
}

impl<'a> Ground<'a> {
    fn new(texts: &'a Texts, has_families: bool, min_similarity: Similarity, floor: Similarity) -> Self {
        let curves_from = CURVES_FROM.min(min_similarity.get());
        let related = truth::pairs(texts, Similarity::clamped(curves_from));
        let is_near = |pair: &&Pair| pair.similarity >= min_similarity.get();
        let pairs: Vec<Pair> = related.iter().filter(is_near).copied().collect();
        let families = has_families.then(|| families(&texts.families, &pairs));
        Self { texts, pairs, related, curves_from, families, min_similarity, floor }
    }

    fn evaluate(&self, profile: Profile) -> anyhow::Result<Evaluated> {
        let found = profile.find(self.texts, &self.related, self.min_similarity)?;
        let similarity = |a: usize, b: usize| {
            ShingleSets::compare(&self.texts.sets[a], &self.texts.sets[b]).similarity.get()
        };
        let called: Vec<Pair> = found
            .called
            .iter()
            .map(|called| Pair { a: called.a, b: called.b, similarity: similarity(called.a, called.b) })
            .collect();
        let floor = self.floor.get();
        let truth = Truth { pairs: &self.pairs, lengths: &self.texts.lengths, floor };
        let scores = score(&truth, &called);
        let fate = |place: usize| {
            let pair = &self.related[place];
            let is_called = called.binary_search_by_key(&(pair.a, pair.b), |pair| (pair.a, pair.b)).is_ok();
            let promised = profile::promised(self.texts, pair);
            Fate { is_proposed: found.is_proposed[place], is_called, promised }
        };
        let curve = curve(&self.related, self.curves_from, fate);
        let families = self.families.is_some().then(|| families(&self.texts.families, &called));
        let audit = audit(&found.dropped_for(self.texts), &self.pairs, floor, similarity);
        Ok(Evaluated { profile, found, scores, curve, families, audit })
    }
}

fn share(text: &str) -> Result<Similarity, String> {
    let share = text.parse().ok().and_then(Similarity::new);
    share.ok_or_else(|| "a share from 0 to 1, as 0.8".to_owned())
}
