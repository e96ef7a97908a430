//! `pigeonhole compare`: the similarity of two texts, the verdict of an index, and its reasons.

mod why;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, ensure};
use engine::{Buffers, Engine, Extractor, in_common};
use features::Analysis;
use index::{Features, Index, MemoryStore, OpenOptions, Rule, SketchKind, Text};
use minhash::{Basis, Comparison, SetKind, Signature, Similarity};
use program::flags::RecipeArgs;

use crate::stored::StoredArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A text, or a file that holds one
    a: String,
    /// Another text, or a file
    b: String,
    /// Take A and B as texts even where files of these names exist
    #[arg(long)]
    literal: bool,
    /// Decide as this index does, for example embedded:./news-index [default: as a new index does]
    #[arg(long, value_name = "URL", help_heading = "Index")]
    store: Option<String>,
    /// Least similarity of near-duplicates, .5 to 1 [default: that of the index, 0.8 without one]
    #[arg(long, value_name = "SHARE", value_parser = program::flags::parse_similarity, help_heading = "Index")]
    min_similarity: Option<Similarity>,
    /// Show the bits in which the simhashes differ, too, and the heaviest terms, which decide them
    #[arg(long)]
    why: bool,
    /// Number of terms that --why shows, the heaviest first
    #[arg(long, value_name = "N", default_value_t = 15)]
    terms: usize,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// The rule of a verdict: that of an existing index, or of a new one.
struct Judge {
    engine: Engine,
    rule: Rule,
}

impl Judge {
    fn new(args: &Args) -> anyhow::Result<Self> {
        let min_similarity = args.min_similarity;
        let Some(store) = &args.store else {
            let dictionaries = args.recipe.dictionaries()?;
            let recipe_default = args.recipe.recipe(&dictionaries).fields();
            let options = OpenOptions { min_similarity, recipe_default, ..OpenOptions::default() };
            let index = Index::over(Box::new(MemoryStore::new()), &options)?;
            let rule = index.rule();
            return Ok(Self { engine: Engine::over(index, &dictionaries)?, rule });
        };
        let engine = StoredArgs::at(store.clone()).open_with_recipe(&args.recipe)?;
        let index = engine.index();
        let rule = Rule { min_similarity: min_similarity.or(index.min_similarity()), ..index.rule() };
        index.check_rule(&rule)?;
        Ok(Self { engine, rule })
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let judge = Judge::new(args)?;
    let mut buffers = Buffers::new();
    let a = Side::new(judge.engine.extractor(), &mut buffers, &args.a, args.literal)?;
    let b = Side::new(judge.engine.extractor(), &mut buffers, &args.b, args.literal)?;
    for (name, Side { text, origin, .. }) in [("a", &a), ("b", &b)] {
        let n = text.chars().count();
        writeln!(out, "{name}  {n} character{}, {origin}", if n == 1 { "" } else { "s" })?;
    }
    writeln!(out)?;
    verdict(&judge, &a, &b, out)?;
    if !args.why {
        return Ok(());
    }
    match (&a.analysis, &b.analysis) {
        (Some(a), Some(b)) => why::show(a, b, args.terms, out),
        _ => Ok(writeln!(out, "\nno terms and bits: {}", without_simhash(judge.engine.index().kind()))?),
    }
}

/// Returns true if an argument reads like the name of a file, so that a missing file is no text:
/// one word with a slash in it, or with an ending such as `.txt`.
fn looks_like_a_path(path: &Path) -> bool {
    let argument = path.to_string_lossy();
    let is_ending = |ending: &str| {
        (2..=8).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let has_ending = path.extension().and_then(OsStr::to_str).is_some_and(is_ending);
    !argument.contains(char::is_whitespace) && (argument.contains('/') || has_ending)
}

/// Prints the verdict and its evidence.
fn verdict(judge: &Judge, a: &Side, b: &Side, out: &mut dyn Write) -> anyhow::Result<()> {
    let Judge { engine, rule } = judge;
    let kind = engine.index().kind();
    let counted = in_common::by_texts(judge.engine.extractor().form(), &a.text, &b.text);
    let [of_a, of_b] = [a, b].map(|side| kind.sketch(side.features.clone()));
    let numbers_differ = in_common::numbers_differ(&a.text, &b.text);
    let are_copies = || {
        let [of_a, of_b] = [a, b].map(|side| Text::from(&*side.text));
        engine::counter(engine.index().recipe()).is_none_or(|counter| counter.are_copies(&of_a, &of_b))
    };
    let is_near = match rule.min_similarity {
        Some(least) => {
            counted.basis != Basis::NoCommonKind
                && counted.similarity >= least
                && !(rule.same_numbers && numbers_differ)
                && (least < Similarity::ONE || are_copies() && !numbers_differ)
        }
        None => rule.nearness(&of_a, &of_b).is_some(),
    };
    let distance = a.features.simhash.zip(b.features.simhash).map(|(a, b)| a.distance(b));
    write!(out, "{}: ", if is_near { "near-duplicates" } else { "not near-duplicates" })?;
    match (rule.min_similarity, distance) {
        (None, Some(distance)) => {
            writeln!(out, "distance {distance} of 64 bits (at most {})", rule.max_distance)?;
        }
        (least, _) => {
            let least = least.map(|least| format!(" (at least {})", least.get())).unwrap_or_default();
            writeln!(out, "similarity {}{least}", counted.similarity)?;
        }
    }
    let Comparison { similarity, share_of_a, share_of_b, .. } = counted;
    writeln!(
        out,
        "\nin common   {similarity} of the n-grams that either has: {share_of_a} of a, {share_of_b} of b"
    )?;
    let numbers = match numbers_differ {
        true => "differ, or stand in another order",
        false => "are the same",
    };
    writeln!(out, "numbers     {numbers}")?;
    if let Some(least) = rule.least_estimate() {
        let proposed =
            if rule.proposes(&of_a, &of_b) { "proposed" } else { "not proposed: they share no bucket" };
        writeln!(
            out,
            "an index    {}; {proposed}",
            estimated(least, rule.counter.is_some(), &a.features, &b.features)
        )?;
    }
    match distance {
        Some(distance) => writeln!(
            out,
            "simhashes   distance {distance} of 64 bits, {} and less propose a pair: {} {}",
            rule.max_distance,
            a.features.fingerprint(),
            b.features.fingerprint()
        )?,
        None => writeln!(out, "simhashes   none to compare: {}", without_simhash(kind))?,
    }
    Ok(())
}

/// A phrase for the similarity by stored features: estimated, compared or counted.
fn estimated(least: Similarity, counts: bool, a: &Features, b: &Features) -> String {
    match in_common::by_signatures(a, b) {
        Some(Comparison { similarity, basis: Basis::Estimate, .. }) => {
            format!(
                "estimates {similarity}, and {} from {least} on",
                if counts { "counts" } else { "confirms" }
            )
        }
        Some(Comparison { similarity, basis: Basis::Equality, .. }) => {
            let are = if similarity == Similarity::ONE { "are equal" } else { "are not equal" };
            format!("compares the two as wholes, which {are}")
        }
        Some(Comparison { similarity, .. }) => format!("counts {similarity} by its signatures"),
        None => format!("compares nothing: {}", incomparable(a, b)),
    }
}

/// The reason why the signatures of two texts cannot be compared.
fn incomparable(a: &Features, b: &Features) -> &'static str {
    let is_whole = |features: &Features| {
        let suffixes = features.signature.as_ref().map(Signature::suffixes).unwrap_or_default();
        suffixes.iter().any(|(kind, _)| *kind == SetKind::Whole)
    };
    match is_whole(a) || is_whole(b) {
        true => "a text of one or two characters, or without letters, is near to its equals alone",
        false => {
            "one text is short, with at most 40 different pairs of characters, and the other has more than 50"
        }
    }
}

fn without_simhash(kind: &SketchKind) -> &'static str {
    match kind.files_by_simhash() {
        true => "a text without words has none",
        false => "this index files by n-grams alone",
    }
}

struct Side {
    /// The source of the text: a mistyped file name counts as a text.
    origin: String,
    text: String,
    features: Features,
    /// `None` without a simhash.
    analysis: Option<Analysis>,
}

impl Side {
    fn new(
        extractor: &Extractor,
        buffers: &mut Buffers,
        argument: &str,
        literal: bool,
    ) -> anyhow::Result<Self> {
        let path = Path::new(argument);
        ensure!(literal || !path.is_dir(), "{argument} is a folder; name a file, or give --literal");
        let is_file = !literal && fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
        ensure!(
            literal || is_file || !looks_like_a_path(path),
            "there is no file {argument}; --literal takes the arguments as the texts themselves"
        );
        let text = if is_file {
            let bytes = fs::read(path).with_context(|| format!("failed to read {argument}"))?;
            String::from_utf8(bytes).with_context(|| format!("{argument} is not UTF-8 text"))?
        } else {
            argument.to_owned()
        };
        let features = extractor.features(buffers, &text).with_context(|| {
            format!(
                "{argument:?} has nothing to be compared by: it is empty or white space, or has no words and the index compares \
                 nothing else"
            )
        })?;
        let analysis = features.simhash.map(|_| extractor.fingerprinter().analyze(&text));
        let origin = if is_file {
            format!("file {}", program::line(argument))
        } else {
            "the argument itself".to_owned()
        };
        Ok(Self { origin, text, features, analysis })
    }
}
