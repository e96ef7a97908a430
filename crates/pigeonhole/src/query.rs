//! `pigeonhole query`: finds the documents near a text or a fingerprint.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, ensure};
use engine::Buffers;
use index::{Features, Index, Rule};
use minhash::Similarity;
use program::flags::RecipeArgs;
use program::settings::TASK;
use simhash::{Distance, Fingerprint};

use crate::stored::StoredArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    stored: StoredArgs,
    /// The text to look for, unless --fingerprint is given; put -- before one that starts with a
    /// dash
    #[arg(required_unless_present = "fingerprint", conflicts_with = "fingerprint")]
    text: Option<String>,
    /// Look for a fingerprint instead of a text, given as 16 hex digits
    #[arg(long, value_name = "HEX", help_heading = TASK)]
    fingerprint: Option<Fingerprint>,
    /// Bits of simhashes that may differ [default: the index's own max distance, which is also the
    /// most]
    #[arg(long, value_name = "N")]
    max_distance: Option<Distance>,
    /// Only what is at least so similar, .5 to 1 [default: the index's own least similarity, which
    /// is also the least]
    #[arg(long, value_name = "SHARE", value_parser = program::flags::parse_similarity)]
    min_similarity: Option<Similarity>,
    /// Number of matches to show, the nearest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// Prints one line a match, separated by tabs: the similarity, if the index verifies, then
/// distance, fingerprint and id.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    match (&args.text, args.fingerprint) {
        (_, Some(fingerprint)) => {
            let index = args.stored.open(BTreeMap::new())?;
            ensure!(
                index.kind().files_by_simhash(),
                "the documents of this index are not filed by their fingerprints; look for a text"
            );
            show(args, &index, Features::from(fingerprint), out)
        }
        (text, None) => {
            let engine = args.stored.open_with_recipe(&args.recipe)?;
            let features =
                engine.extractor().features(&mut Buffers::new(), text.as_deref().unwrap_or_default());
            let why = "the text has no features: it is empty, or holds only punctuation or stop words";
            show(args, engine.index(), features.context(why)?, out)
        }
    }
}

fn show(args: &Args, index: &Index, features: Features, out: &mut dyn Write) -> anyhow::Result<()> {
    let (fingerprint, has_signature) = (features.fingerprint(), features.signature.is_some());
    let max_distance = args.max_distance.unwrap_or(index.max_distance());
    // A lone fingerprint has no signature to confirm by: all proposed documents are shown.
    let min_similarity = args.min_similarity.or(index.min_similarity());
    let found =
        index.near(&[features], &Rule { max_distance, min_similarity, ..index.rule() }, args.limit)?;
    ensure!(found.len() == 1, "the store answered {} queries instead of 1", found.len());
    for found in found {
        for found in &found.matches {
            if let Some(similarity) = found.similarity() {
                write!(out, "{similarity}\t")?;
            }
            writeln!(out, "{}\t{}\t{}", found.distance(), found.fingerprint, found.id)?;
        }
        let shown = found.matches.len() as u64;
        writeln!(
            out,
            "# {fingerprint}: {} {}{}; read {} candidates in {} buckets",
            found.n_matches,
            match min_similarity.filter(|_| has_signature) {
                Some(min_similarity) => format!("with a similarity of {} and more", min_similarity.get()),
                None => format!("within {max_distance} bits"),
            },
            if shown < found.n_matches { format!(", {shown} shown (--limit)") } else { String::new() },
            found.cost.n_candidates,
            found.cost.n_buckets,
        )?;
        if args.text.is_some() && found.n_matches == 0 && index.may_be_foreign() {
            writeln!(
                out,
                "# the index has fingerprints alone, so it cannot tell who made them: those that another program made \
                 (`indexer import`) have nothing in common with that of a text, and are looked for with --fingerprint"
            )?;
        }
        if let (Some(asked), Some(own)) = (min_similarity, index.min_similarity())
            && asked < own
            && has_signature
            && index.kind().files_by_sets()
        {
            let share = 100.0 * index.kind().recall(asked);
            writeln!(
                out,
                "# the index is made for {} and more: of what is {} similar it proposes {share:.0} %",
                own.get(),
                asked.get()
            )?;
        }
    }
    Ok(())
}
