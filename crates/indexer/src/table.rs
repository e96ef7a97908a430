//! Results as rows under named columns, in JSON Lines, CSV, TSV or Parquet by the name of the file.
//!
//! A [`Schema`] names the columns and their values, one line for each. The type of a column in Rust
//! determines its type in the file, and whether a row may lack a value.

mod cell;
mod lines;
mod parquet;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::Path;

use anyhow::Context;

pub(crate) use self::cell::{Bits, Cell, Value};
use self::lines::{Form, Lines};
use self::parquet::ParquetTable;
pub(crate) use self::parquet::Writer as ParquetWriter;
use crate::journal::Journal;
use crate::output::{Lengths, Output, Role, Written};

/// Columns of a table, in their order. JSON Lines sort them by name.
pub(crate) trait Schema: 'static {
    /// The data of a row.
    type Row<'a>: Copy;

    /// The role of the file.
    const ROLE: Role;
    /// The option for the file.
    const OPTION: &'static str;
    /// True if JSON Lines have null for a missing value, instead of no field.
    const WRITES_NULL: bool = false;

    /// Names every column, with its value from a row.
    fn columns<'a>(to: &mut impl Columns<'a, Self::Row<'a>>);
}

/// Consumer of the columns of a [`Schema`].
pub(crate) trait Columns<'a, Row> {
    /// Takes the next column. Names are unique.
    fn column<V: Value<'a>>(&mut self, name: &'static str, value: impl FnOnce(Row) -> V);
}

/// A table being written.
pub(crate) struct Table<S> {
    format: Format,
    schema: PhantomData<fn(S)>,
}

enum Format {
    Lines(Lines),
    Parquet(Box<ParquetTable>),
}

/// A column as described in a file.
pub(crate) struct Column {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    /// True if a row may lack a value.
    pub(crate) is_optional: bool,
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8.
    Text,
    /// 64 bits, signed.
    Integer,
    /// 64 bits.
    Float,
    Boolean,
    /// 64 bits: unsigned in Parquet, 16 hexadecimal digits elsewhere.
    Bits,
    /// Bytes in Parquet, base64 elsewhere.
    Bytes,
    /// Milliseconds since 1970 in Parquet, RFC 3339 in UTC elsewhere.
    Time,
}

impl<S: Schema> Table<S> {
    /// Begins the table at `path`, or resumes it at the checkpoint of the journal.
    pub(crate) fn open(path: &Path, journal: Option<&Journal>) -> anyhow::Result<Self> {
        let written = S::ROLE.of(path).with_context(|| format!("{} cannot be written", path.display()))?;
        let mut columns = Vec::new();
        S::columns(&mut columns);
        let output =
            || journal.map_or_else(|| Output::create(path), |journal| journal.output(S::OPTION, path));
        let format = match written {
            Written::Parquet => {
                Format::Parquet(Box::new(ParquetTable::open(columns, S::OPTION, path, journal)?))
            }
            Written::Csv => Format::Lines(Lines::new(Form::Delimited(b','), output()?, &columns)?),
            Written::Tsv => Format::Lines(Lines::new(Form::Delimited(b'\t'), output()?, &columns)?),
            _ => Format::Lines(Lines::new(Form::Json { writes_null: S::WRITES_NULL }, output()?, &columns)?),
        };
        Ok(Self { format, schema: PhantomData })
    }

    pub(crate) fn add(&mut self, row: S::Row<'_>) -> anyhow::Result<()> {
        let cells = cells::<S>(row);
        match &mut self.format {
            Format::Lines(lines) => lines.add(&cells),
            Format::Parquet(table) => table.add(cells),
        }
    }

    /// Hands rows on to a program that reads them meanwhile.
    pub(crate) fn hand_on(&mut self) -> anyhow::Result<()> {
        match &mut self.format {
            Format::Lines(lines) => lines.hand_on(),
            Format::Parquet(_) => Ok(()),
        }
    }

    /// Makes the written part durable, and adds its length.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        match &mut self.format {
            Format::Lines(lines) => lines.checkpoint(lengths),
            Format::Parquet(table) => table.checkpoint(lengths),
        }
    }

    /// Moves the whole file into its place; with a journal, after a checkpoint.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self.format {
            Format::Lines(lines) => lines.finish(),
            Format::Parquet(table) => table.finish(),
        }
    }
}

/// The values of a row, one for each column.
fn cells<'a, S: Schema>(row: S::Row<'a>) -> Vec<Cell<'a>> {
    let mut cells = Cells { row, cells: Vec::new() };
    S::columns(&mut cells);
    cells.cells
}

impl<'a, Row> Columns<'a, Row> for Vec<Column> {
    fn column<V: Value<'a>>(&mut self, name: &'static str, _: impl FnOnce(Row) -> V) {
        self.push(Column { name: name.into(), kind: V::KIND, is_optional: V::IS_OPTIONAL });
    }
}

struct Cells<'a, Row> {
    row: Row,
    cells: Vec<Cell<'a>>,
}

impl<'a, Row: Copy> Columns<'a, Row> for Cells<'a, Row> {
    fn column<V: Value<'a>>(&mut self, _: &'static str, value: impl FnOnce(Row) -> V) {
        self.cells.push(value(self.row).cell());
    }
}
