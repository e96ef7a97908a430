//! The bands of every threshold, side by side: keys, candidates, and the share found.

use std::io::Write;

use minhash::{BandScheme, FilingScheme, Similarity, kept_by_suffix};

/// The number of other texts of the index.
const N_STRANGERS: f64 = 1e6;

/// The similarity of other texts to a query.
const OF_STRANGERS: f64 = 0.1;

/// Prints a line for each similarity at which the bands change.
pub(super) fn table(out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "\nThe bands follow from the least similarity of an index (--min-similarity), rounded down to a step. Per step: bands,\n\
         rows and suffix of long and of short texts; keys of a long text; the share found of the pairs at the step, of long\n\
         and of short ones; and of {N_STRANGERS} other long texts of similarity {OF_STRANGERS}, those a query meets in its bands, and \
         those its\nsuffix leaves to be compared.\n"
    )?;
    writeln!(out, "from  long     short    keys     found  of short        met     left")?;
    for step in FilingScheme::steps() {
        let scheme = FilingScheme::for_similarity(step);
        let n_keys = scheme.n_keys();
        let Some((long, short)) = scheme.long().zip(scheme.short()) else {
            writeln!(
                out,
                "{:<4}  {scheme:<16}  {n_keys:>4}  {:>8.6}  {:>8.6}  {:>9}  {:>7}",
                step.get(),
                scheme.recall(step),
                scheme.recall(step),
                0,
                0
            )?;
            continue;
        };
        let met = met(long);
        let left = met * kept_by_suffix(long.suffix_distance_max(), Similarity::clamped(OF_STRANGERS));
        writeln!(
            out,
            "{:<4}  {:<7}  {:<7}  {n_keys:>4}  {:>8.6}  {:>8.6}  {met:>9.0}  {left:>7.0}",
            step.get(),
            long.to_string(),
            short.to_string(),
            long.recall(step),
            short.recall(step),
        )?;
    }
    Ok(())
}

/// The number of other documents met by a query, each counted once for every band.
fn met<const BINS: usize>(scheme: &BandScheme<BINS>) -> f64 {
    N_STRANGERS * f64::from(scheme.bands()) * OF_STRANGERS.powf(f64::from(scheme.rows()))
}
