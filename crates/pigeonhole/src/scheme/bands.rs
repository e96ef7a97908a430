//! `pigeonhole scheme minhash`: the bands of n-grams and their S-curve.

use std::io::Write;

use features::shingles::{LONG_MIN, SHORT_MAX};
use minhash::{BandScheme, FilingScheme, SetKind, Similarity, kept_by_suffix, met_by_bands};
use simhash::{Fingerprint, ROW_KEY_LEN};

/// Similarities of the curve.
const SIMILARITIES: [f64; 14] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];

/// Similarities of the curve in one line.
const FEW: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];

/// Named bands.
struct Bands {
    name: &'static str,
    bands: u32,
    rows: u32,
    distance: u32,
}

impl Bands {
    fn of<const N: usize>(name: &'static str, scheme: &BandScheme<N>) -> Self {
        let (bands, rows, distance) = (scheme.bands(), scheme.rows(), scheme.suffix_distance_max());
        Self { name, bands, rows, distance }
    }

    /// The bands of the default least similarity, for long and for short texts.
    fn built_in() -> [Self; 2] {
        [Self::of("long", &BandScheme::long()), Self::of("short", &BandScheme::short())]
    }

    fn in_a_band(&self, similarity: Similarity) -> f64 {
        met_by_bands(self.bands, self.rows, similarity)
    }

    fn kept(&self, similarity: Similarity) -> f64 {
        kept_by_suffix(self.distance, similarity)
    }

    fn found(&self, similarity: Similarity) -> f64 {
        self.in_a_band(similarity) * self.kept(similarity)
    }
}

/// Prints a line for each.
pub(super) fn overview(out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "                                      share found of the pairs of similarity")?;
    write!(out, "bands    texts  bands  rows  suffix")?;
    for similarity in FEW {
        write!(out, "  {similarity:>6}")?;
    }
    writeln!(out)?;
    for bands in Bands::built_in() {
        let Bands { name, bands: n, rows, distance } = bands;
        write!(out, "minhash  {name:<5}  {n:>5}  {rows:>4}  {distance:>6}")?;
        for similarity in FEW.map(Similarity::clamped) {
            write!(out, "  {}", Similarity::clamped(bands.found(similarity)))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Prints the bands of the default least similarity.
pub(super) fn run(out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "minhash: bands of character n-grams, by which profiles minhash and full file documents\n"
    )?;
    writeln!(out, "texts  different bigrams  bands  rows  suffix     flags  rows of the index  bytes")?;
    let of_text = [
        (SetKind::Long, format!("{LONG_MIN} and more"), Some(BandScheme::long().rows())),
        (SetKind::Short, format!("2 to {SHORT_MAX}"), Some(BandScheme::short().rows())),
        (SetKind::Whole, "1 or none".to_owned(), None),
    ];
    let scheme = FilingScheme::default();
    for ((kind, bigrams, rows), name) in of_text.into_iter().zip(["long", "short", "whole"]) {
        let flags: Vec<u8> = (0..=u8::MAX).filter(|&flag| scheme.kind_of_flag(flag) == Some(kind)).collect();
        let n = flags.len();
        let flags = match flags[..] {
            [first, .., last] => format!("{first}–{last}"),
            _ => flags.first().map(u8::to_string).unwrap_or_default(),
        };
        let (rows, distance) =
            (rows.map_or("–".to_owned(), |rows| rows.to_string()), scheme.suffix_distance_max(kind));
        writeln!(
            out,
            "{name:<5}  {bigrams:>17}  {n:>5}  {rows:>4}  {distance:>6}  {flags:>8}  {n:>17}  {:>5}",
            n * ROW_KEY_LEN
        )?;
    }
    writeln!(
        out,
        "\nTwo texts meet where all rows of some band agree, a byte of a bin each, and their suffixes differ in at\n\
         most so many of {} bits. A text of {LONG_MIN} to {SHORT_MAX} different bigrams is filed as long and as short; one of a\n\
         single bigram or character, or without letters, meets the same text only. Bytes are of row keys.\n",
        Fingerprint::BITS
    )?;
    curves(&Bands::built_in(), out)?;
    super::steps::table(out)?;
    writeln!(out, "\nAll above the steps is for 0.8, the default.")?;
    Ok(())
}

/// Prints the shares found by similarity, side by side.
fn curves(of: &[Bands; 2], out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "found: (1 − (1 − s^rows)^bands) · P(Bin(64, (1 − s) / 2) ≤ suffix) of the pairs of similarity s\n"
    )?;
    let [first, second] = of.each_ref().map(|bands| bands.name);
    writeln!(out, "{:<10}  {first:<39}  {second}", "")?;
    write!(out, "similarity")?;
    for _ in of {
        write!(out, "  in a band  left by the suffix     found")?;
    }
    writeln!(out)?;
    for similarity in SIMILARITIES.map(Similarity::clamped) {
        write!(out, "{:>10}", similarity.get())?;
        for bands in of {
            let (in_a_band, kept) = (bands.in_a_band(similarity), bands.kept(similarity));
            write!(out, "  {in_a_band:>9.6}  {kept:>18.6}  {:>8.6}", bands.found(similarity))?;
        }
        writeln!(out)?;
    }
    Ok(())
}
