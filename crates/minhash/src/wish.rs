//! The cheapest scheme for a wish.

use std::fmt;

use crate::curve::{SUFFIX_BITS, kept_by_suffix};
use crate::{BandScheme, Similarity};

/// Requirements of a scheme.
///
/// Among the schemes that reach the recall, [`cheapest`](Self::cheapest) takes the one with the
/// least cost in rows read: for each band a range, which costs as much as
/// [`RANGE_ROWS`](Self::RANGE_ROWS) rows; the strangers met in the bands; and for each stranger
/// that the suffix keeps the cost of another range, as its signature must be fetched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// The least similarity of the pairs to find: above 0.
    pub similarity: Similarity,
    /// The least probability to find such a pair: below 1.
    pub recall: f64,
    /// The number of documents that a query does not look for.
    pub n_strangers: f64,
    /// The similarity of strangers: about .05 for news, .13 for specifications with a common frame
    /// (measured: at this similarity the bands would read as many rows as the strangers did).
    pub stranger_similarity: Similarity,
    /// The most bands: a document has a row in the index for each, and a query reads a range.
    pub bands_max: u32,
}

/// The reason why a wish cannot be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WishError {
    /// The recall is no probability below 1, or the similarity is 0.
    Impossible,
    /// The sketch has too few bins for the recall, or the bands are too few.
    TooFewBins,
}

impl fmt::Display for WishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Impossible => {
                write!(f, "ask for a similarity above 0 and a recall of at least 0 and below 1")
            }
            Self::TooFewBins => {
                write!(
                    f,
                    "no bands of these bins reach that recall: ask for less, for a higher similarity or for more bands"
                )
            }
        }
    }
}

impl std::error::Error for WishError {}

impl Default for Wish {
    /// .998 at .8, among a million strangers of .1, with any number of bands.
    fn default() -> Self {
        Self {
            similarity: Similarity::clamped(0.8),
            recall: 0.998,
            n_strangers: 1e6,
            stranger_similarity: Similarity::clamped(0.1),
            bands_max: u32::MAX,
        }
    }
}

impl Wish {
    /// The rows that are read in about the time of a request for a range, or for a record.
    pub const RANGE_ROWS: f64 = 50.0;

    /// Returns the cost of a query by `scheme`, in rows read.
    #[must_use]
    pub fn cost<const BINS: usize>(&self, scheme: &BandScheme<BINS>) -> f64 {
        let bands = f64::from(scheme.bands());
        let strangers =
            self.n_strangers * bands * self.stranger_similarity.get().powf(f64::from(scheme.rows()));
        let kept = strangers * kept_by_suffix(scheme.suffix_distance_max(), self.stranger_similarity);
        Self::RANGE_ROWS * (bands + kept) + strangers
    }

    /// Returns the cheapest scheme that reaches the recall, with its flags from `first_flag` on.
    ///
    /// # Errors
    /// [`WishError`], if no scheme reaches the recall.
    pub fn cheapest<const BINS: usize>(&self, first_flag: u8) -> Result<BandScheme<BINS>, WishError> {
        self.cheapest_of(|bands, rows, distance| BandScheme::new(first_flag, bands, rows, distance).ok())
    }

    /// Returns the cheapest among the schemes [over](BandScheme::over) the first `band_bins` bins.
    ///
    /// # Errors
    /// [`WishError`], if no scheme reaches the recall.
    pub fn cheapest_over<const BINS: usize>(
        &self,
        first_flag: u8,
        band_bins: u32,
    ) -> Result<BandScheme<BINS>, WishError> {
        self.cheapest_of(|bands, rows, distance| {
            BandScheme::over(first_flag, band_bins, bands, rows, distance).ok()
        })
    }

    /// Returns the cheapest of all schemes that `scheme` makes of bands, rows and distance.
    fn cheapest_of<const BINS: usize>(
        &self,
        scheme: impl Fn(u32, u32, u32) -> Option<BandScheme<BINS>>,
    ) -> Result<BandScheme<BINS>, WishError> {
        if !(0.0..1.0).contains(&self.recall) || self.similarity == Similarity::ZERO {
            return Err(WishError::Impossible);
        }
        let kept =
            (0..=SUFFIX_BITS as u32).map(|distance| (distance, kept_by_suffix(distance, self.similarity)));
        let kept: Vec<(u32, f64)> = kept.collect();
        let mut cheapest: Option<(f64, BandScheme<BINS>)> = None;
        for rows in 1..=BINS as u32 {
            let schemes = (1..=self.bands_max.min(BINS as u32)).map_while(|bands| scheme(bands, rows, 0));
            let met: Vec<(u32, f64)> =
                schemes.map(|scheme| (scheme.bands(), scheme.met_in_a_band(self.similarity))).collect();
            for &(distance, kept) in &kept {
                // The fewest bands that suffice; more would only cost more.
                let fewest = met.iter().find(|(_, met)| met * kept >= self.recall);
                if let Some(scheme) = fewest.and_then(|&(bands, _)| scheme(bands, rows, distance)) {
                    let cost = self.cost(&scheme);
                    if cheapest.is_none_or(|(least, _)| cost < least) {
                        cheapest = Some((cost, scheme));
                    }
                }
            }
        }
        cheapest.map(|(_, scheme)| scheme).ok_or(WishError::TooFewBins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(similarity: f64) -> Similarity {
        Similarity::clamped(similarity)
    }

    #[test]
    fn cheapest_schemes() {
        let shown = |wish: Wish| wish.cheapest::<256>(64).map(|scheme| scheme.to_string());
        let wish = Wish::default();
        assert_eq!(shown(wish).as_deref(), Ok("16x5-16"));
        let many = Wish { n_strangers: 1e9, ..wish };
        assert_eq!(shown(many).as_deref(), Ok("27x7-16"));
        let few = Wish { n_strangers: 1e3, ..wish };
        assert_eq!(shown(few).as_deref(), Ok("7x2-15"));
        let half = Wish { similarity: at(0.5), recall: 0.9, ..wish };
        assert_eq!(shown(half).as_deref(), Ok("42x4-22"));
        let narrow = Wish { bands_max: 12, ..wish };
        assert_eq!(shown(narrow).as_deref(), Ok("12x4-16"));
        assert_eq!(shown(Wish { bands_max: 0, ..wish }), Err(WishError::TooFewBins));
        for (similarity, recall, error) in [
            (0.8, 1.0, WishError::Impossible),
            (0.8, f64::NAN, WishError::Impossible),
            (0.0, 0.5, WishError::Impossible),
            (0.01, 0.999, WishError::TooFewBins),
        ] {
            assert_eq!(shown(Wish { similarity: at(similarity), recall, ..wish }), Err(error));
        }
    }
}
