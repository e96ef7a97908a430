//! Rows as lines: JSON, CSV or TSV.

use std::borrow::Cow;
use std::io::Write;

use corpus::write_delimited;

use super::Column;
use super::cell::Cell;
use crate::output::{Lengths, Output};

pub(super) enum Form {
    /// An object; what has no value is left out.
    Json,
    /// Cells with this byte between them, below a row that names the columns; what has no value is empty.
    Delimited(u8),
}

pub(super) struct Lines {
    form: Form,
    /// The names as JSON has them, each with its place in a row, in the order of the names.
    by_name: Vec<(String, usize)>,
    output: Output,
    line: Vec<u8>,
}

impl Lines {
    pub(super) fn new(form: Form, output: Output, columns: &[Column]) -> anyhow::Result<Self> {
        let mut by_name: Vec<(&str, usize)> =
            columns.iter().enumerate().map(|(place, column)| (column.name, place)).collect();
        by_name.sort_unstable();
        let quoted = |(name, place)| (serde_json::Value::from(name).to_string(), place);
        let by_name = by_name.into_iter().map(quoted).collect();
        let mut lines = Self { form, by_name, output, line: Vec::new() };
        if let Form::Delimited(delimiter) = lines.form
            && lines.output.is_new()
        {
            let names = columns.iter().map(|column| column.name.as_bytes());
            write_delimited(delimiter, names, &mut lines.line);
            lines.write_line()?;
        }
        Ok(lines)
    }

    pub(super) fn add(&mut self, cells: &[Cell<'_>]) -> anyhow::Result<()> {
        match self.form {
            Form::Json => {
                self.line.push(b'{');
                for (name, place) in &self.by_name {
                    if cells[*place] == Cell::None {
                        continue;
                    }
                    if self.line.len() > 1 {
                        self.line.push(b',');
                    }
                    self.line.extend(name.as_bytes());
                    self.line.push(b':');
                    write_json(&cells[*place], &mut self.line)?;
                }
                self.line.push(b'}');
            }
            Form::Delimited(delimiter) => {
                let cells: Vec<Cow<'_, str>> = cells.iter().map(plain).collect();
                write_delimited(delimiter, cells.iter().map(|cell| cell.as_bytes()), &mut self.line);
            }
        }
        self.write_line()
    }

    pub(super) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        self.output.checkpoint(lengths)
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        self.output.finish()
    }

    fn write_line(&mut self) -> anyhow::Result<()> {
        self.line.push(b'\n');
        let written = self.output.write_all(&self.line);
        self.line.clear();
        written.map_err(|error| self.output.failed(error))
    }
}

/// Appends it as JSON.
fn write_json(cell: &Cell<'_>, line: &mut Vec<u8>) -> serde_json::Result<()> {
    match cell {
        Cell::None => serde_json::to_writer(line, &()),
        Cell::Text(text) => serde_json::to_writer(line, text),
        Cell::Integer(integer) => serde_json::to_writer(line, integer),
        Cell::Float(float) => serde_json::to_writer(line, float),
        Cell::Boolean(boolean) => serde_json::to_writer(line, boolean),
    }
}

/// As readers of CSV have it.
fn plain<'a>(cell: &'a Cell<'_>) -> Cow<'a, str> {
    match cell {
        Cell::None => Cow::Borrowed(""),
        Cell::Text(text) => Cow::Borrowed(text),
        Cell::Integer(integer) => Cow::Owned(integer.to_string()),
        // With a point or an exponent, as in JSON.
        Cell::Float(float) => Cow::Owned(format!("{float:?}")),
        Cell::Boolean(boolean) => Cow::Owned(boolean.to_string()),
    }
}
