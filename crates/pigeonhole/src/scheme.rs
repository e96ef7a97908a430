//! `pigeonhole scheme`: prints the keys of documents, the share of near pairs found, the cost of a
//! query, and the splits of a table.

mod bands;
mod steps;

use std::io::Write;

use anyhow::Context;
use clap::builder::PossibleValuesParser;
use index::{Profile, SketchKind};
use simhash::{Fingerprint, SCHEME_NAMES, TableScheme};

/// Powers of ten: corpus sizes for which the expected candidates are printed.
const SIZES: [i32; 5] = [6, 7, 8, 9, 10];

/// The bands of n-grams, beside the table schemes of simhashes.
const BANDS: &str = "minhash";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One scheme in full; without it, one line for each
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(SCHEME_NAMES.into_iter().chain([BANDS])))]
    name: Option<String>,
    /// Print where an HBase table of this many regions is split: the segments, in hex, at which all
    /// but the first begin
    ///
    /// Of an index of profile classic with a table scheme, of profile minhash with `minhash`.
    /// schema/create.rb makes those of a profile full, too.
    #[arg(long, value_name = "N", requires = "name")]
    regions: Option<u32>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let is_bands = args.name.as_deref() == Some(BANDS);
    match (&args.name, args.regions) {
        (Some(name), Some(n_regions)) => splits(name, n_regions, out),
        (Some(_), None) if is_bands => bands::run(out),
        (Some(name), None) => one(&name.parse()?, out),
        (None, _) => overview(out),
    }
}

fn overview(out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "                          candidates a query among this many uniform fingerprints")?;
    write!(out, "scheme  tables  key bits")?;
    for size in SIZES {
        write!(out, "  {:>9}", format!("10^{size}"))?;
    }
    writeln!(out)?;
    for name in SCHEME_NAMES {
        let scheme: TableScheme = name.parse()?;
        write!(out, "{name:<6}  {:>6}  {:>8}", scheme.tables().len(), key_bits(&scheme))?;
        for size in SIZES {
            write!(out, "  {:>9}", candidates(&scheme, size))?;
        }
        writeln!(out)?;
    }
    writeln!(out)?;
    bands::overview(out)?;
    writeln!(
        out,
        "\n`pigeonhole scheme NAME` shows the masks and the proof, `pigeonhole scheme {BANDS}` what the bands find."
    )?;
    Ok(())
}

fn one(scheme: &TableScheme, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{}: {} tables, max distance {}\n",
        scheme.name(),
        scheme.tables().len(),
        scheme.max_distance()
    )?;
    writeln!(out, "flag  key bits  mask")?;
    for table in scheme.tables() {
        let bits = format!("{:064b}", table.mask()).replace('0', "·").replace('1', "█");
        writeln!(out, "{:>4}  {:>8}  {}  {bits}", table.flag(), table.key_bits(), Fingerprint(table.mask()))?;
    }
    writeln!(
        out,
        "\nproved in {} steps: every one of the {} sets of {} bits misses at least one mask, so any two\n\
         fingerprints that differ in at most {} bits share a bucket\n",
        scheme.proof_steps(),
        binomial(Fingerprint::BITS, scheme.max_distance().as_bits()),
        scheme.max_distance(),
        scheme.max_distance(),
    )?;
    writeln!(out, "fingerprints  candidates a query, expected for uniform fingerprints")?;
    for size in SIZES {
        writeln!(out, "10^{size:<9}  {}", candidates(scheme, size))?;
    }
    Ok(())
}

/// Prints one line a split, and no more, for scripts.
fn splits(name: &str, n_regions: u32, out: &mut dyn Write) -> anyhow::Result<()> {
    let kind = match name {
        BANDS => SketchKind::default().of_profile(Profile::Minhash)?,
        name => name.parse()?,
    };
    let splits = kind.splits(n_regions).with_context(|| format!("scheme {name}"))?;
    for segment in splits {
        writeln!(out, "{segment:08x}")?;
    }
    Ok(())
}

/// Expected candidates among 10^`size` fingerprints, with as many digits as are significant.
fn candidates(scheme: &TableScheme, size: i32) -> String {
    let candidates = scheme.expected_candidates(10_f64.powi(size));
    let decimals = if candidates < 100.0 { 2 } else { 0 };
    format!("{candidates:.decimals$}")
}

fn key_bits(scheme: &TableScheme) -> String {
    let bits = scheme.tables().iter().map(simhash::Table::key_bits);
    match (bits.clone().min(), bits.max()) {
        (Some(min), Some(max)) if min != max => format!("{min}–{max}"),
        (min, _) => min.unwrap_or_default().to_string(),
    }
}

fn binomial(n: u32, k: u32) -> u64 {
    (0..u64::from(k)).fold(1, |product, i| product * (u64::from(n) - i) / (i + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binomials() {
        for (k, expected) in [(0, 1), (1, 64), (3, 41_664), (7, 621_216_192)] {
            assert_eq!(binomial(64, k), expected);
        }
    }
}
