//! Random numbers and the Parquet file, shared by the examples that make fingerprints.

#![expect(clippy::unwrap_used, reason = "what goes wrong here ends a measurement")]

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::Int64Type;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// Rows of a row group.
pub(crate) const GROUP_ROWS: u64 = 1 << 20;

/// Writes a Parquet file of two columns, an integer `id` and an unsigned `fingerprint`.
/// `group(first, end)` returns the fingerprints of documents `first..end`.
pub(crate) fn write(path: &str, n: u64, mut group: impl FnMut(u64, u64) -> Vec<u64>) {
    let field = |name: &str, logical: Option<LogicalType>| {
        let field = Type::primitive_type_builder(name, PhysicalType::INT64).with_logical_type(logical);
        Arc::new(field.with_repetition(Repetition::REQUIRED).build().unwrap())
    };
    let fields = vec![field("id", None), field("fingerprint", Some(LogicalType::integer(64, false)))];
    let schema = Type::group_type_builder("schema").with_fields(fields).build().unwrap();
    let compression = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(compression).build();
    let file = File::create(path).unwrap();
    let mut file = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    for first in (0..n).step_by(GROUP_ROWS as usize) {
        let end = n.min(first + GROUP_ROWS);
        let ids: Vec<i64> = (first..end).map(u64::cast_signed).collect();
        let fingerprints: Vec<i64> = group(first, end).into_iter().map(u64::cast_signed).collect();
        let mut group = file.next_row_group().unwrap();
        for values in [ids, fingerprints] {
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
    }
    file.close().unwrap();
}

/// Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014.
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::STEP);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
