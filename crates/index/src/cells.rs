//! The index by its row keys: the cells in which documents are filed, bucket after bucket, and the
//! division of all cells into parts. The seam ([`Store::cells`](crate::Store::cells)) reads them.

use simhash::{BucketKey, RowKey, SplitsError};

use crate::{DocumentId, Sketch, SketchKind};

/// A place in which a document is filed. Cells are ordered as in HBase: by row key, then by the
/// id's bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The bucket, and the bits of the facet filed there.
    pub row: RowKey,
    /// The id of the filed document.
    pub id: DocumentId,
}

impl Cell {
    /// All cells of a document.
    pub fn of_document<'a>(id: &'a DocumentId, sketch: &'a Sketch) -> impl Iterator<Item = Self> + 'a {
        sketch.rows().map(|row| Self { row, id: id.clone() })
    }

    /// Returns true if a document of this sketch is filed here. Otherwise the cell is of another
    /// version of the document.
    #[must_use]
    pub fn is_of(&self, sketch: &Sketch) -> bool {
        let facet = sketch.facet_in(self.row.bucket());
        facet.is_some_and(|(_, facet)| facet.fingerprint() == self.row.fingerprint)
    }
}

/// All buckets whose segments lie in a half-open range. Row keys begin with the segment, so the
/// buckets are a range of row keys too, and no bucket is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segments {
    start: u32,
    /// `None` for a range to the end.
    end: Option<u32>,
}

impl Segments {
    /// All segments.
    pub const ALL: Self = Self { start: 0, end: None };

    /// Divides all buckets into `n` parts, ascending, each with an equal share of uniform
    /// documents: the [splits](SketchKind::splits) of a table of `n` regions.
    ///
    /// # Errors
    /// [`SplitsError`] for no part, and for more parts than possible.
    pub fn parts(kind: &SketchKind, n: u32) -> Result<Vec<Self>, SplitsError> {
        let splits = kind.splits(n)?;
        let starts = std::iter::once(0).chain(splits.iter().copied());
        let ends = splits.iter().copied().map(Some).chain([None]);
        Ok(starts.zip(ends).map(|(start, end)| Self { start, end }).collect())
    }

    /// The first segment inside.
    #[must_use]
    pub fn start(self) -> u32 {
        self.start
    }

    /// The first segment outside, `None` for a range to the end.
    #[must_use]
    pub fn end(self) -> Option<u32> {
        self.end
    }

    /// Returns true if a bucket lies inside.
    #[must_use]
    pub fn contains(self, bucket: BucketKey) -> bool {
        self.start <= bucket.segment && self.end.is_none_or(|end| bucket.segment < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testsuite::{id, signed, sketch};
    use crate::{Family, Profile};
    use minhash::SetKind;

    #[test]
    fn parts_hold_each_bucket_once() {
        for profile in [Profile::Classic, Profile::Minhash, Profile::Full] {
            let kind = SketchKind::default().of_profile(profile).unwrap();
            for n in [1, 2, 16, 37] {
                let parts = Segments::parts(&kind, n).unwrap();
                assert_eq!(parts.len(), n as usize);
                assert_eq!((parts[0].start(), parts.last().unwrap().end()), (0, None));
                assert!(parts.windows(2).all(|two| two[0].end() == Some(two[1].start())));
                for segment in [0, 1, 0x016d_b6db, 0x016d_b6dc, u32::MAX] {
                    let bucket = BucketKey { flag: 1, segment };
                    assert_eq!(parts.iter().filter(|part| part.contains(bucket)).count(), 1);
                    assert!(Segments::ALL.contains(bucket));
                }
            }
            assert!(Segments::parts(&kind, 0).is_err());
        }
    }

    #[test]
    fn a_flag_is_of_bands_where_there_are_some() {
        let classic = SketchKind::default();
        let full = classic.clone().of_profile(Profile::Full).unwrap();
        for (flag, in_full) in [
            (1, Family::Simhash),
            (64, Family::Set(SetKind::Long)),
            (128, Family::Set(SetKind::Short)),
            (192, Family::Set(SetKind::Whole)),
        ] {
            assert_eq!((classic.family(flag), full.family(flag)), (Family::Simhash, in_full));
        }
        let sketch = signed(7, 0..300);
        for cell in Cell::of_document(&id("a"), &sketch) {
            let (family, _) = sketch.facet_in(cell.row.bucket()).unwrap();
            assert_eq!(full.family(cell.row.flag), *family);
        }
    }

    #[test]
    fn a_cell_is_of_the_sketch_that_is_filed_there() {
        let (name, one, other) = (id("a"), sketch(1), sketch(1 | 1 << 63));
        let shared =
            Cell::of_document(&name, &one).filter(|cell| other.facet_in(cell.row.bucket()).is_some());
        let shared: Vec<_> = shared.collect();
        assert!(!shared.is_empty() && shared.iter().all(|cell| cell.is_of(&one) && !cell.is_of(&other)));
        assert!(Cell::of_document(&name, &one).all(|cell| cell.is_of(&one)));
    }
}
