//! Columns of results: ids in the type in which they were given, and the nearness of two documents.

use std::sync::Arc;

use ::index::{DocumentId, Nearness};
use arrow_array::ArrayRef;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt8Builder};
use minhash::Similarity;

use crate::columns::IdKind;

/// A column of ids under construction.
pub(crate) enum IdColumn {
    Integers(Int64Builder),
    Strings(StringBuilder),
}

impl IdColumn {
    /// Makes a column for ids of a kind.
    pub(crate) fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::Integer => Self::Integers(Int64Builder::new()),
            IdKind::String => Self::Strings(StringBuilder::new()),
        }
    }

    /// Adds an id, or null.
    pub(crate) fn push(&mut self, id: Option<&DocumentId>) {
        match self {
            Self::Integers(ids) => ids.append_option(id.and_then(|id| id.as_str().parse().ok())),
            Self::Strings(ids) => ids.append_option(id.map(DocumentId::as_str)),
        }
    }

    /// The column.
    pub(crate) fn finish(self) -> ArrayRef {
        match self {
            Self::Integers(mut ids) => Arc::new(ids.finish()),
            Self::Strings(mut ids) => Arc::new(ids.finish()),
        }
    }
}

/// The columns of a nearness under construction.
#[derive(Default)]
pub(crate) struct NearnessColumns {
    similarity: Float64Builder,
    exact: BooleanBuilder,
    numbers_differ: BooleanBuilder,
    distance: UInt8Builder,
    shares: [Float64Builder; 2],
}

impl NearnessColumns {
    /// Adds a nearness, or nulls.
    pub(crate) fn push(&mut self, nearness: Option<&Nearness>) {
        let similarity = nearness.and_then(|nearness| nearness.similarity);
        self.similarity.append_option(similarity.map(Similarity::get));
        self.exact.append_option(nearness.filter(|_| similarity.is_some()).map(|nearness| nearness.exact));
        self.numbers_differ.append_option(nearness.and_then(|nearness| nearness.numbers_differ));
        self.distance.append_option(nearness.map(|nearness| nearness.distance.as_bits() as u8));
        for (side, column) in self.shares.iter_mut().enumerate() {
            let shares = nearness.and_then(|nearness| nearness.shares);
            column.append_option(shares.map(|shares| shares[side].get()));
        }
    }

    /// The columns, by name.
    pub(crate) fn finish(mut self) -> Vec<(&'static str, ArrayRef)> {
        let [of_a, of_b] = &mut self.shares;
        vec![
            ("similarity", Arc::new(self.similarity.finish())),
            ("exact", Arc::new(self.exact.finish())),
            ("numbers_differ", Arc::new(self.numbers_differ.finish())),
            ("distance", Arc::new(self.distance.finish())),
            ("share_of_a", Arc::new(of_a.finish())),
            ("share_of_b", Arc::new(of_b.finish())),
        ]
    }
}
