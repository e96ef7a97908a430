//! The formula of the band schemes of a table: the cheapest one that finds the promised share.
//!
//! The cost of a query is counted in rows read: for each band a range, which costs as much as
//! [`RANGE_ROWS`] rows; the strangers met in the bands; and for each stranger that the suffix keeps
//! the cost of another range, as its signature must be fetched.

use super::*;
use crate::curve::{SUFFIX_BITS, kept_by_suffix};

/// The rows that are read in about the time of a request for a range, or for a record.
const RANGE_ROWS: f64 = 50.0;

/// The number of documents that a query does not look for.
const N_STRANGERS: f64 = 1e6;

/// The similarity of strangers: about .05 for news, .13 for specifications with a common frame
/// (measured: at this similarity the bands would read as many rows as the strangers did).
const OF_STRANGERS: f64 = 0.1;

fn cost<const BINS: usize>(scheme: &BandScheme<BINS>) -> f64 {
    let bands = f64::from(scheme.bands());
    let strangers = N_STRANGERS * bands * OF_STRANGERS.powf(f64::from(scheme.rows()));
    let kept = strangers * kept_by_suffix(scheme.suffix_distance_max(), at(OF_STRANGERS));
    RANGE_ROWS * (bands + kept) + strangers
}

/// Returns the cheapest of the schemes of at most [`BANDS_MAX`] bands [over](BandScheme::over) the
/// first `band_bins` bins that find the promised share of the pairs of a similarity.
pub(super) fn cheapest<const BINS: usize>(
    similarity: Similarity,
    first_flag: u8,
    band_bins: usize,
) -> BandScheme<BINS> {
    let recall = FilingScheme::promise(similarity);
    let scheme = |bands, rows, distance| {
        BandScheme::<BINS>::over(first_flag, band_bins as u32, bands, rows, distance).ok()
    };
    let mut cheapest: Option<(f64, BandScheme<BINS>)> = None;
    for rows in 1..=BINS as u32 {
        let schemes = (1..=BANDS_MAX.min(BINS as u32)).map_while(|bands| scheme(bands, rows, 0));
        let met: Vec<(u32, f64)> =
            schemes.map(|scheme| (scheme.bands(), scheme.met_in_a_band(similarity))).collect();
        for distance in 0..=SUFFIX_BITS as u32 {
            let kept = kept_by_suffix(distance, similarity);
            // The fewest bands that suffice; more would only cost more.
            let fewest = met.iter().find(|(_, met)| met * kept >= recall);
            if let Some(scheme) = fewest.and_then(|&(bands, _)| scheme(bands, rows, distance)) {
                let cost = cost(&scheme);
                if cheapest.is_none_or(|(least, _)| cost < least) {
                    cheapest = Some((cost, scheme));
                }
            }
        }
    }
    cheapest.expect("some scheme finds the share").1
}
