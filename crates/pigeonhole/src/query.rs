//! `pigeonhole query`: which documents are near?

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, ensure};
use features::cli::RecipeArgs;
use simhash::{Distance, Fingerprint};

use crate::stored::StoredArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    stored: StoredArgs,
    /// The text to look for, unless --fingerprint is given; put -- before one that starts with a dash
    #[arg(required_unless_present = "fingerprint", conflicts_with = "fingerprint")]
    text: Option<String>,
    /// Look for a fingerprint instead of a text, given as 16 hex digits
    #[arg(long, value_name = "HEX")]
    fingerprint: Option<Fingerprint>,
    /// Bits that may differ [default: the index's own max distance, which is also the most]
    #[arg(long, value_name = "N")]
    max_distance: Option<Distance>,
    /// How many matches to show, the nearest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// One line a match: distance, fingerprint, id, set apart by tabs.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let (index, fingerprint) = match (&args.text, args.fingerprint) {
        (_, Some(fingerprint)) => (args.stored.open(BTreeMap::new())?, fingerprint),
        (text, None) => {
            let (index, fingerprinter) = args.stored.open_with_recipe(&args.recipe)?;
            let fingerprint = fingerprinter.fingerprint(text.as_deref().unwrap_or_default());
            let why = "the text has no features: it is empty, or holds only punctuation or stop words";
            (index, fingerprint.context(why)?)
        }
    };
    let max_distance = args.max_distance.unwrap_or(index.max_distance());
    let found = index.near(&[fingerprint], max_distance, args.limit)?;
    ensure!(found.len() == 1, "the store answered {} queries instead of 1", found.len());
    for found in found {
        for found in &found.matches {
            writeln!(out, "{}\t{}\t{}", found.distance, found.fingerprint, found.id)?;
        }
        let shown = found.matches.len() as u64;
        writeln!(
            out,
            "# {fingerprint}: {} within {max_distance} bits{}; read {} candidates in {} buckets",
            found.n_matches,
            if shown < found.n_matches { format!(", {shown} shown (--limit)") } else { String::new() },
            found.cost.n_candidates,
            found.cost.n_buckets,
        )?;
    }
    Ok(())
}
