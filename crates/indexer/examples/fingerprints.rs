//! Fingerprints without texts, as Parquet: what `indexer import` takes, for measurements.
//!
//! ```text
//! cargo run --release --locked -p indexer --example fingerprints -- N SEED FILE.parquet
//! ```
//! Columns are id, an integer that ascends, and fingerprint, an unsigned one. Three in ten differ in up to three bits
//! from an earlier one; the others are random.

#![expect(clippy::unwrap_used, reason = "what goes wrong here ends a measurement")]

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::Int64Type;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

/// Rows of a row group, among which the earlier ones are.
const GROUP_ROWS: u64 = 1 << 20;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [n, seed, path] = &args[..] else { panic!("usage: fingerprints N SEED FILE.parquet") };
    let n: u64 = n.parse().unwrap();
    let mut random = SplitMix64(seed.parse().unwrap());
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
        let ids: Vec<i64> = (first..n.min(first + GROUP_ROWS)).map(u64::cast_signed).collect();
        let mut fingerprints: Vec<i64> = Vec::with_capacity(ids.len());
        for i in 0..ids.len() as u64 {
            let mut bits = random.next();
            if i > 0 && random.next() % 10 < 3 {
                bits = fingerprints[(random.next() % i) as usize].cast_unsigned();
                for _ in 0..random.next() % 4 {
                    bits ^= 1 << (random.next() % 64);
                }
            }
            fingerprints.push(bits.cast_signed());
        }
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

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
