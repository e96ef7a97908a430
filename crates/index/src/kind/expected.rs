//! The profile and the tables for an expected number of documents.

use super::{Profile, SketchKind};

/// Rows of unlike documents that a query meets in its bands, for each million documents: of
/// headlines. Poems have 1, sentences 310.
pub const STRANGERS_A_MILLION: f64 = 63.0;

/// Such rows that a query may meet in bands, which find more than simhashes do: some 10 ms.
const BAND_ROWS_MAX: f64 = 10_000.0;

/// Such rows that a query may meet in tables of simhashes.
const TABLE_ROWS_MAX: f64 = 1_000.0;

/// Schemes in the order of their tables: from few wide buckets to many narrow ones.
const SCHEMES: [&str; 3] = ["5c2", "t11", "t14"];

impl SketchKind {
    /// The kind that is recommended for an index of `n_documents`, of which a query meets
    /// `strangers_a_million` in each million by its bands. It is of profile `full` while a query
    /// meets at most 10,000 rows of unlike documents by its bands, else of `classic`, with the
    /// fewest tables by which it meets at most 1,000.
    #[must_use]
    pub fn expected(n_documents: f64, strangers_a_million: f64) -> Self {
        let kinds = || SCHEMES.iter().filter_map(|name| name.parse::<Self>().ok());
        let meets_few = |kind: &Self| {
            let rows: f64 =
                kind.masks().iter().map(|mask| n_documents / f64::from(mask.count_ones()).exp2()).sum();
            rows <= TABLE_ROWS_MAX
        };
        let tables = kinds().find(meets_few).or_else(|| kinds().next_back()).unwrap_or_default();
        let profile = match n_documents / 1e6 * strangers_a_million <= BAND_ROWS_MAX {
            true => Profile::Full,
            false => Profile::Classic,
        };
        tables.clone().of_profile(profile).unwrap_or(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_the_expected_index_meets_few_strangers() {
        for (n_documents, strangers, profile, scheme) in [
            (1.0, STRANGERS_A_MILLION, Profile::Full, "5c2"),
            (1e8, STRANGERS_A_MILLION, Profile::Full, "5c2"),
            (1e9, STRANGERS_A_MILLION, Profile::Classic, "5c2"),
            (1e9, 1.0, Profile::Full, "5c2"),
            (1e10, STRANGERS_A_MILLION, Profile::Classic, "t11"),
            (1e11, STRANGERS_A_MILLION, Profile::Classic, "t14"),
            (1e13, STRANGERS_A_MILLION, Profile::Classic, "t14"),
        ] {
            let kind = SketchKind::expected(n_documents, strangers);
            assert_eq!((kind.profile(), kind.name()), (profile, scheme), "{n_documents}");
        }
    }
}
