//! `pigeonhole scheme minhash`: the bands of n-grams, their S-curve, and the cheapest bands for a
//! wish.

use std::io::Write;

use features::shingles::{LONG_MIN, SHORT_MAX};
use minhash::{BandScheme, FilingScheme, SetKind, Similarity, Wish, kept_by_suffix, met_by_bands};
use simhash::{Fingerprint, ROW_KEY_LEN};

/// Similarities of the curve.
const SIMILARITIES: [f64; 14] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95];

/// Similarities of the curve in one line.
const FEW: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];

/// Bins of a sketch of a long text.
const BINS: usize = minhash::LONG_BINS;

#[derive(Debug, clap::Args)]
pub(super) struct BandArgs {
    /// The cheapest bands that find this share of the pairs of --similarity, below 1 [default:
    /// 0.998]
    ///
    /// The cost is in rows that a query reads: fifty for each band, those of other documents that
    /// are met in the bands, and fifty for each of these that its suffix does not rule out. It is a
    /// calculation: an index is made with the bands of its least similarity; those of 0.8 are what
    /// it finds for a recall of 0.998 there.
    #[arg(long, value_name = "SHARE", help_heading = "The cheapest bands")]
    recall: Option<f64>,
    /// From which similarity on pairs are to be found, above 0 [default: 0.8]
    #[arg(long, value_name = "SHARE", value_parser = program::flags::parse_similarity, help_heading = "The cheapest bands")]
    similarity: Option<Similarity>,
    /// At most so many bands, which are rows of the index for each document [default: as many as
    /// are cheapest]
    #[arg(long, value_name = "N", help_heading = "The cheapest bands")]
    bands_max: Option<u32>,
    /// Number of other documents in the index [default: 1000000]
    #[arg(long, value_name = "N", help_heading = "The cheapest bands")]
    documents: Option<u64>,
    /// Similarity of those to the document looked for [default: 0.1]
    ///
    /// About 0.05 in news, and 0.13 in specifications that share a frame.
    #[arg(long, value_name = "SHARE", value_parser = program::flags::parse_similarity, help_heading = "The cheapest bands")]
    others_similarity: Option<Similarity>,
    /// The curve of so many bands …
    #[arg(long, value_name = "N", requires_all = ["rows", "distance"], help_heading = "Other bands")]
    #[arg(conflicts_with_all = ["recall", "similarity", "bands_max", "documents", "others_similarity"])]
    bands: Option<u32>,
    /// … of so many rows each, which must all agree …
    #[arg(long, value_name = "N", requires = "bands", help_heading = "Other bands")]
    rows: Option<u32>,
    /// … with suffixes that differ in at most so many of 64 bits
    #[arg(long, value_name = "BITS", requires = "bands", help_heading = "Other bands")]
    distance: Option<u32>,
}

impl BandArgs {
    pub(super) fn is_given(&self) -> bool {
        self.bands.is_some() || self.wish().is_some()
    }

    fn wish(&self) -> Option<Wish> {
        let default = Wish::default();
        let wish = Wish {
            recall: self.recall.unwrap_or(default.recall),
            similarity: self.similarity.unwrap_or(default.similarity),
            n_strangers: self.documents.map_or(default.n_strangers, |n| n as f64),
            stranger_similarity: self.others_similarity.unwrap_or(default.stranger_similarity),
            bands_max: self.bands_max.unwrap_or(default.bands_max),
        };
        let is_given = self.recall.is_some()
            || self.similarity.is_some()
            || self.documents.is_some()
            || self.others_similarity.is_some()
            || self.bands_max.is_some();
        is_given.then_some(wish)
    }

    fn other(&self) -> Option<(u32, u32, u32)> {
        Some((self.bands?, self.rows?, self.distance?))
    }
}

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

pub(super) fn run(args: &BandArgs, out: &mut dyn Write) -> anyhow::Result<()> {
    match (args.other(), args.wish()) {
        (Some((bands, rows, distance)), _) => {
            let scheme = BandScheme::<BINS>::new(1, bands, rows, distance)?;
            beside_the_built_in("asked for", &scheme, &Wish::default(), out)
        }
        (None, Some(wish)) => beside_the_built_in("cheapest", &wish.cheapest(1)?, &wish, out),
        (None, None) => built_in(out),
    }
}

/// Prints the bands of the default least similarity.
fn built_in(out: &mut dyn Write) -> anyhow::Result<()> {
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
    writeln!(
        out,
        "\nWhat is above the steps is of 0.8, the default. `--recall` and `--similarity` show how bands and rows\n\
         follow from a wish."
    )?;
    Ok(())
}

/// Prints other bands beside the built-in ones, with their costs.
fn beside_the_built_in(
    name: &'static str,
    scheme: &BandScheme<BINS>,
    wish: &Wish,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Wish { similarity, n_strangers, stranger_similarity, .. } = wish;
    writeln!(
        out,
        "among {n_strangers} other documents of similarity {}; bytes are of row keys, a document's, and the cost is in\n\
         rows that a query reads\n",
        stranger_similarity.get()
    )?;
    let at = format!("found at {}", similarity.get());
    writeln!(out, "{:<14}  bands  rows  suffix  bytes  {at:>13}  cost", "")?;
    for (name, scheme) in [(name, *scheme), ("built in, long", BandScheme::long())] {
        let bands = Bands::of(name, &scheme);
        let bytes = scheme.bands() as usize * ROW_KEY_LEN;
        writeln!(
            out,
            "{name:<14}  {:>5}  {:>4}  {:>6}  {bytes:>5}  {:>13.6}  {:.0}",
            bands.bands,
            bands.rows,
            bands.distance,
            bands.found(*similarity),
            wish.cost(&scheme)
        )?;
    }
    writeln!(out)?;
    curves(&[Bands::of(name, scheme), Bands::of("built in, long", &BandScheme::long())], out)?;
    writeln!(
        out,
        "\nThis is a calculation: an index is made with the bands that `pigeonhole scheme minhash` lists."
    )?;
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
