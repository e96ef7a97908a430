//! Helpers for the tests of readers.

use super::*;
use crate::origin::Origin;
use crate::reader::RecordReader;
use crate::records::Position;

pub(crate) fn names(texts: &[&str], make_ids: bool) -> FieldNames {
    let texts = texts.iter().map(|text| text.parse().unwrap()).collect();
    let made_ids = if make_ids { MadeIds::ByPlace } else { MadeIds::None };
    let (id, given, source, source_default, html) = Default::default();
    FieldNames { id, texts, given, source, source_default, made_ids, html }
}

impl FieldNames {
    pub(crate) fn columns(self) -> Columns {
        Fields::new(self).columns()
    }
}

/// Reads all records: the number of each, with its id and text separated by a space, or the
/// reason.
pub(crate) fn rows(reader: &mut dyn RecordReader, names: FieldNames) -> Vec<(u64, Result<String, String>)> {
    let (fields, origin) = (Fields::new(names), Origin::named("a", 0));
    let mut rows = Vec::new();
    while let Some(records) = reader.next_records() {
        rows.extend(records.iter().filter_map(|(number, record)| {
            let record = record.map_err(ToString::to_string);
            let record = record.and_then(|record| {
                let place = Place { origin: &origin, number, position: Position::default() };
                fields.parse(record, place)
            });
            let record = record.transpose()?;
            Some((
                number,
                record.map(|record| format!("{} {}", record.id, record.text.trim_end_matches('\n'))),
            ))
        }));
    }
    rows
}
