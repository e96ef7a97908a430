//! Columns of a batch by name, and the features in them.

use ::index::{Features, Text};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use minhash::Signature;
use pyo3::prelude::*;
use simhash::Fingerprint;

use crate::error::value;

/// A batch of rows.
pub(super) struct Batch(pub(super) RecordBatch);

impl Batch {
    fn column(&self, name: &str, as_type: &DataType) -> PyResult<ArrayRef> {
        let column = self.0.column_by_name(name);
        let column = column.ok_or_else(|| value(format_args!("there is no column {name:?}")))?;
        cast(column, as_type).map_err(value)
    }

    pub(super) fn integers(&self, name: &str) -> PyResult<Int64Array> {
        Ok(self.column(name, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    }

    pub(super) fn booleans(&self, name: &str) -> PyResult<BooleanArray> {
        Ok(self.column(name, &DataType::Boolean)?.as_boolean().clone())
    }

    fn binaries(&self, name: &str) -> PyResult<BinaryArray> {
        Ok(self.column(name, &DataType::Binary)?.as_binary::<i32>().clone())
    }

    fn strings(&self, name: &str) -> PyResult<StringArray> {
        Ok(self.column(name, &DataType::Utf8)?.as_string::<i32>().clone())
    }
}

/// The columns of features, under names with one suffix.
pub(super) struct Side {
    fingerprints: Int64Array,
    signatures: BinaryArray,
    texts: Option<(StringArray, BooleanArray)>,
}

impl Side {
    /// The columns with texts.
    pub(super) fn new(batch: &Batch, suffix: &str) -> PyResult<Self> {
        let compared = batch.strings(&format!("compared{suffix}"))?;
        let is_reduced = batch.booleans(&format!("is_reduced{suffix}"))?;
        Ok(Self { texts: Some((compared, is_reduced)), ..Self::without_texts(batch, suffix)? })
    }

    /// The columns of fingerprints and signatures alone.
    pub(super) fn without_texts(batch: &Batch, suffix: &str) -> PyResult<Self> {
        Ok(Self {
            fingerprints: batch.integers(&format!("fingerprint{suffix}"))?,
            signatures: batch.binaries(&format!("signature{suffix}"))?,
            texts: None,
        })
    }

    pub(super) fn features(&self, row: usize) -> PyResult<Features> {
        let simhash = self.fingerprints.is_valid(row).then(|| self.fingerprints.value(row) as u64);
        let signature = self.signatures.is_valid(row).then(|| self.signatures.value(row));
        let text = self.texts.as_ref().filter(|(compared, _)| compared.is_valid(row));
        Ok(Features {
            simhash: simhash.map(Fingerprint),
            signature: signature.map(Signature::decode).transpose().map_err(value)?,
            text: text.map(|(compared, is_reduced)| match compared.value(row) {
                text if is_reduced.value(row) => Text::reduced(text),
                text => text.into(),
            }),
        })
    }
}
