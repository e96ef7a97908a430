//! Rows as lines: JSON, CSV or TSV.

use std::borrow::Cow;
use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use corpus::write_delimited;
use index::Timestamp;
use serde_json::{Map, Value};
use simhash::Fingerprint;

use super::Column;
use super::cell::Cell;
use crate::output::{Lengths, Output};

pub(super) enum Form {
    /// An object; a missing value has no field, or null.
    Json { writes_null: bool },
    /// Cells separated by this byte, below a row with the names of the columns; a missing value is
    /// empty.
    Delimited(u8),
}

pub(super) struct Lines {
    form: Form,
    names: Vec<Cow<'static, str>>,
    output: Output,
}

impl Lines {
    pub(super) fn new(form: Form, output: Output, columns: &[Column]) -> anyhow::Result<Self> {
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let mut lines = Self { form, names, output };
        if let Form::Delimited(delimiter) = lines.form
            && lines.output.is_new()
        {
            let names = lines.names.clone();
            lines.write_delimited(delimiter, names)?;
        }
        Ok(lines)
    }

    pub(super) fn add(&mut self, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        match self.form {
            Form::Json { writes_null } => {
                let fields = self.names.iter().zip(cells);
                let fields = fields.filter(|(_, cell)| writes_null || **cell != Cell::None);
                // A map sorts the names.
                let object: Map<_, _> =
                    fields.map(|(name, cell)| (name.clone().into_owned(), json(cell))).collect();
                writeln!(self.output, "{}", Value::from(object)).map_err(|error| self.output.failed(error))
            }
            Form::Delimited(delimiter) => self.write_delimited(delimiter, cells.iter().map(plain).collect()),
        }
    }

    pub(super) fn hand_on(&mut self) -> anyhow::Result<()> {
        self.output.hand_on()
    }

    pub(super) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        self.output.checkpoint(lengths)
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.output.finish()
    }

    fn write_delimited(&mut self, delimiter: u8, cells: Vec<Cow<'_, str>>) -> anyhow::Result<()> {
        let mut line = Vec::new();
        write_delimited(delimiter, cells.iter().map(|cell| cell.as_bytes()), &mut line);
        line.push(b'\n');
        self.output.write_all(&line).map_err(|error| self.output.failed(error))
    }
}

fn json(cell: &Cell<'_>) -> Value {
    match cell {
        Cell::None => Value::Null,
        Cell::Text(text) => Value::from(&**text),
        Cell::Integer(integer) => Value::from(*integer),
        Cell::Float(float) => Value::from(*float),
        Cell::Boolean(boolean) => Value::from(*boolean),
        Cell::Bits(_) | Cell::Bytes(_) | Cell::Time(_) => Value::from(plain(cell)),
    }
}

/// The text of a cell for readers of CSV.
fn plain<'a>(cell: &'a Cell<'_>) -> Cow<'a, str> {
    match cell {
        Cell::None => Cow::Borrowed(""),
        Cell::Text(text) => Cow::Borrowed(text),
        Cell::Integer(integer) => Cow::Owned(integer.to_string()),
        // With a point or an exponent, as in JSON.
        Cell::Float(float) => Cow::Owned(format!("{float:?}")),
        Cell::Boolean(boolean) => Cow::Owned(boolean.to_string()),
        Cell::Bits(bits) => Cow::Owned(Fingerprint(*bits).to_string()),
        Cell::Bytes(bytes) => Cow::Owned(STANDARD.encode(bytes)),
        Cell::Time(ms) => Cow::Owned(Timestamp::saturating(*ms).to_string()),
    }
}
