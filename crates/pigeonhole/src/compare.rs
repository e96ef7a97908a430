//! `pigeonhole compare`: why two texts match, or do not.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use features::cli::RecipeArgs;
use features::{Analysis, ComparedTerm, Comparison, Fingerprinter, Push};
use index::SketchKind;
use simhash::{Distance, Fingerprint};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A text, or a file that holds one
    a: String,
    /// Another text, or a file
    b: String,
    /// Take A and B as texts even where files of these names exist
    #[arg(long)]
    literal: bool,
    /// How many terms to show, the heaviest first
    #[arg(long, value_name = "N", default_value_t = 15)]
    terms: usize,
    #[command(flatten)]
    recipe: RecipeArgs,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let dictionaries = args.recipe.dictionaries()?;
    let fingerprinter = Fingerprinter::new(args.recipe.recipe(&dictionaries), &dictionaries)?;
    let a = Side::new(&fingerprinter, &args.a, args.literal)?;
    let b = Side::new(&fingerprinter, &args.b, args.literal)?;
    for (name, side) in [("a", &a), ("b", &b)] {
        let n_terms = side.analysis.terms.len();
        writeln!(
            out,
            "{name}  {}  {n_terms} terms, {} bytes, {}",
            side.fingerprint, side.n_bytes, side.origin
        )?;
    }
    let differing = a.fingerprint.0 ^ b.fingerprint.0;
    let max_distance = SketchKind::default().max_distance();
    let verdict = if Distance::of_differing(differing) <= max_distance {
        "near-duplicates"
    } else {
        "not near-duplicates"
    };
    writeln!(out, "\ndistance {} of 64 bits: {verdict} (at most {max_distance})", differing.count_ones())?;
    let Comparison { bits, terms } =
        Comparison::new(&a.analysis, &b.analysis).context("both sides have features")?;
    if !bits.is_empty() {
        writeln!(out, "\nbits that differ (63 is the first), and how clearly each side decided them")?;
        for &bit in &bits {
            writeln!(out, "  bit {bit:>2}   a {}   b {}", a.decision(bit), b.decision(bit))?;
        }
    }
    writeln!(out, "\nheaviest terms; + pushes a differing bit from a's side to b's, - the other way")?;
    writeln!(out, "  weight a  weight b  term")?;
    for ComparedTerm { text, weight_a, weight_b, pushes, .. } in terms.iter().take(args.terms) {
        write!(out, "  {:>8}  {:>8}  {}", weight_a.0, weight_b.0, printable(text))?;
        let moved: Vec<String> = pushes.iter().map(pushed).collect();
        writeln!(out, "{}{}", if moved.is_empty() { "" } else { "  " }, moved.join(" "))?;
    }
    if terms.len() > args.terms {
        writeln!(out, "  … {} more (--terms N)", terms.len() - args.terms)?;
    }
    Ok(())
}

struct Side {
    /// What was compared: a mistyped file name is a text.
    origin: String,
    n_bytes: usize,
    analysis: Analysis,
    fingerprint: Fingerprint,
    /// The sum of all weights, which is what a bit's margin is at most.
    mass: i128,
}

impl Side {
    fn new(fingerprinter: &Fingerprinter, argument: &str, literal: bool) -> anyhow::Result<Self> {
        let path = Path::new(argument);
        ensure!(literal || !path.is_dir(), "{argument} is a folder; name a file, or give --literal");
        let is_file = !literal && fs::metadata(path).is_ok_and(|metadata| !metadata.is_dir());
        let text = if is_file {
            let bytes = fs::read(path).with_context(|| format!("failed to read {argument}"))?;
            String::from_utf8(bytes).with_context(|| format!("{argument} is not UTF-8 text"))?
        } else {
            argument.to_owned()
        };
        let analysis = fingerprinter.analyze(&text);
        let Some(fingerprint) = analysis.fingerprint else {
            bail!("{argument:?} has no features: it is empty, or holds only punctuation or stop words");
        };
        let mass = analysis.terms.iter().map(|term| i128::from(term.weight.0)).sum();
        let origin = if is_file {
            format!("file {}", program::line(argument))
        } else {
            "the argument itself".to_owned()
        };
        Ok(Self { origin, n_bytes: text.len(), analysis, fingerprint, mass })
    }

    /// The bit, and by how much of all weight it was decided.
    fn decision(&self, bit: u32) -> String {
        let margin = self.analysis.margins[bit as usize];
        let value = self.fingerprint.0 >> bit & 1;
        format!("{value} by {:>4.1} %", margin.unsigned_abs() as f64 / self.mass as f64 * 100.0)
    }
}

/// `+bit` or `-bit`.
fn pushed(&Push { bit, towards_b }: &Push) -> String {
    format!("{}{bit}", if towards_b { '+' } else { '-' })
}

/// A term as it can be printed: n-grams may hold white space and control characters.
fn printable(term: &str) -> String {
    term.chars().map(|c| if c.is_control() { '�' } else { c }).collect()
}
