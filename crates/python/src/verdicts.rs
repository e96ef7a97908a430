//! Columns of results: ids in the type in which they were given, and the nearness of two documents.

use std::sync::Arc;

use ::index::{DocumentId, Nearness};
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, LargeStringBuilder, UInt8Builder};
use arrow_array::types::ByteArrayType;
use arrow_array::{ArrayRef, GenericByteArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use minhash::Similarity;

use crate::columns::IdKind;

/// A column of strings or bytes with offsets of 32 bits, which all programs read, if these suffice.
pub(crate) fn narrowed<T: ByteArrayType<Offset = i64>>(column: GenericByteArray<T>) -> ArrayRef {
    let narrow = match T::DATA_TYPE {
        DataType::LargeBinary => DataType::Binary,
        _ => DataType::Utf8,
    };
    // The offsets of 2 GiB and more do not fit.
    cast(&column, &narrow).unwrap_or_else(|_| Arc::new(column))
}

/// A column of ids under construction.
pub(crate) enum IdColumn {
    Integers(Int64Builder),
    Strings(LargeStringBuilder),
}

impl IdColumn {
    /// Makes a column for ids of a kind.
    pub(crate) fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::Integer => Self::Integers(Int64Builder::new()),
            IdKind::String => Self::Strings(LargeStringBuilder::new()),
        }
    }

    /// Adds an id, or null. A store may have ids of both kinds: with the first that is no integer
    /// the column becomes one of strings.
    pub(crate) fn push(&mut self, id: Option<&DocumentId>) {
        let integer = |id: &DocumentId| {
            id.as_str().parse().ok().filter(|integer: &i64| integer.to_string() == id.as_str())
        };
        match self {
            Self::Integers(ids) => match id.map(integer) {
                None => ids.append_null(),
                Some(Some(integer)) => ids.append_value(integer),
                Some(None) => {
                    let mut strings = LargeStringBuilder::new();
                    strings.extend(ids.finish().iter().map(|id| id.map(|id| id.to_string())));
                    *self = Self::Strings(strings);
                    self.push(id);
                }
            },
            Self::Strings(ids) => ids.append_option(id.map(DocumentId::as_str)),
        }
    }

    /// The column.
    pub(crate) fn finish(self) -> ArrayRef {
        match self {
            Self::Integers(mut ids) => Arc::new(ids.finish()),
            Self::Strings(mut ids) => narrowed(ids.finish()),
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
