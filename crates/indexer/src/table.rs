//! Results that are rows under named columns, as JSON Lines, CSV, TSV or Parquet: the name of the file says which.
//!
//! A [`Schema`] names the columns and says where their values come from, a line for each. What type a column has, and
//! whether it may be without a value, follows from the type of its values in Rust.

mod cell;
mod lines;
mod parquet;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::path::Path;

use anyhow::Context;

use self::cell::Cell;
pub(crate) use self::cell::{Bits, Value};
use self::lines::{Form, Lines};
use self::parquet::ParquetTable;
use crate::journal::Journal;
use crate::output::{Lengths, Output, Role, Written};

/// Which columns a table has, in which order. JSON Lines have them in the order of their names.
pub(crate) trait Schema: 'static {
    /// What a row is made of.
    type Row<'a>: Copy;

    /// What the file is for.
    const ROLE: Role;
    /// The option that asks for it.
    const OPTION: &'static str;
    /// Whether JSON Lines say null where there is no value, in place of leaving it out.
    const WRITES_NULL: bool = false;

    /// Names every column, with what it takes from a row.
    fn columns<'a>(to: &mut impl Columns<'a, Self::Row<'a>>);
}

/// What takes the columns of a [`Schema`].
pub(crate) trait Columns<'a, Row> {
    /// Takes the next column. Names are unique.
    fn column<V: Value<'a>>(&mut self, name: &'static str, value: impl FnOnce(Row) -> V);
}

/// A table that is being written.
pub(crate) struct Table<S> {
    format: Format,
    schema: PhantomData<fn(S)>,
}

enum Format {
    Lines(Lines),
    Parquet(Box<ParquetTable>),
}

/// A column, by what a file has to know of it.
struct Column {
    name: &'static str,
    kind: Kind,
    /// Whether a row may be without a value of it.
    is_optional: bool,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8.
    Text,
    /// Of 64 bits, with a sign.
    Integer,
    /// Of 64 bits.
    Float,
    Boolean,
    /// 64 bits: without a sign in Parquet, and elsewhere 16 hexadecimal digits.
    Bits,
    /// Elsewhere than in Parquet in base64.
    Bytes,
    /// Milliseconds since 1970; elsewhere than in Parquet RFC 3339 in UTC.
    Time,
}

impl<S: Schema> Table<S> {
    /// Begins the table at `path`, or goes on with it where the journal has it.
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

    /// Makes durable what there is, and adds how much that is.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        match &mut self.format {
            Format::Lines(lines) => lines.checkpoint(lengths),
            Format::Parquet(table) => table.checkpoint(lengths),
        }
    }

    /// Puts the whole file in its place; where there is a journal, after a checkpoint.
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
        self.push(Column { name, kind: V::KIND, is_optional: V::IS_OPTIONAL });
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
