//! The output of kept documents, in the format of its name.

mod parquet;
mod row_set;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, ensure};
use corpus::{Delimited, Format, Inputs, WholeRows};

use self::parquet::ParquetOutput;
use crate::journal::Journal;
use crate::output::{Lengths, OUTPUT, Output, Role, Written};
use crate::pipeline::Item;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) enum KeptOutput {
    /// A line for each document.
    Lines(Output),
    Parquet(Box<ParquetOutput>),
}

impl KeptOutput {
    /// Refuses inputs that cannot be written in the format, and configures `inputs` for the output.
    pub(crate) fn new(path: &Path, inputs: &mut Inputs, journal: Option<&Journal>) -> anyhow::Result<Self> {
        let format = format_of(path)?;
        for (input, found) in inputs.formats() {
            let fits = match format {
                Format::Parquet => found == Some(Format::Parquet),
                Format::Csv | Format::Tsv => found.is_some_and(|found| found.delimiter().is_some()),
                _ => true,
            };
            ensure!(
                fits,
                "{} is {} and cannot be written to {}, which takes {} only; an output whose name ends in .jsonl takes \
                 everything",
                input.display(),
                found.map_or("an archive", Format::name),
                path.display(),
                if format == Format::Parquet { "parquet" } else { "csv and tsv" }
            );
        }
        let open = || journal.map_or_else(|| Output::create(path), |journal| journal.output(OUTPUT, path));
        if format == Format::Parquet {
            inputs.whole_rows = WholeRows::ReadAgain;
            let open = || {
                journal
                    .map_or_else(|| Output::create(path), |journal| journal.output_at_the_end(OUTPUT, path))
            };
            return Ok(Self::Parquet(Box::new(ParquetOutput::new(inputs.locations(), open, journal)?)));
        }
        let Some(delimiter) = format.delimiter() else {
            inputs.whole_rows = WholeRows::Json;
            return Ok(Self::Lines(open()?));
        };
        let (columns, has_mark) = common_columns(inputs, delimiter)?;
        let mut output = open()?;
        if output.is_new() && !columns.columns.is_empty() {
            let mark = if has_mark { BYTE_ORDER_MARK } else { b"" };
            write_line(&mut output, &[mark, &columns.header()].concat())?;
        }
        inputs.whole_rows = WholeRows::Delimited(columns);
        Ok(Self::Lines(output))
    }

    /// Returns true if the output needs the lines of documents.
    pub(crate) fn takes_lines(&self) -> bool {
        matches!(self, Self::Lines(_))
    }

    pub(crate) fn add(&mut self, item: &Item) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => write_line(output, &item.line),
            Self::Parquet(output) => {
                output.add((item.n_file, item.number));
                Ok(())
            }
        }
    }

    /// Hands lines on to a program that reads them meanwhile.
    pub(crate) fn hand_on(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => output.hand_on(),
            Self::Parquet(_) => Ok(()),
        }
    }

    /// Makes the written part durable, and adds its length.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => output.checkpoint(lengths),
            Self::Parquet(output) => output.checkpoint(lengths),
        }
    }

    /// Moves the whole file into its place.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => output.finish(),
            Self::Parquet(output) => output.finish(),
        }
    }
}

/// The format by the name of the output; JSON Lines for other names.
fn format_of(path: &Path) -> anyhow::Result<Format> {
    let written = Role::Kept.of(path).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(match written {
        Written::Parquet => Format::Parquet,
        Written::Csv => Format::Csv,
        Written::Tsv => Format::Tsv,
        _ => Format::Jsonl,
    })
}

/// The columns common to all CSV files, and true if the first file begins with a byte order mark.
fn common_columns(inputs: &mut Inputs, delimiter: u8) -> anyhow::Result<(Delimited, bool)> {
    let headers = inputs.headers()?;
    let mut headers = headers.into_iter();
    let Some((first, header)) = headers.next() else {
        return Ok((Delimited { delimiter, columns: Vec::new() }, false));
    };
    let columns = Delimited { delimiter, columns: header.names };
    for (other, header) in headers {
        let show = |names: &[Vec<u8>]| {
            names.iter().map(|name| String::from_utf8_lossy(name)).collect::<Vec<_>>().join(" ")
        };
        ensure!(
            columns.fits(&header.names),
            "{} has the columns {}, and {} has {}; one output cannot take both: name one that ends in .jsonl, or run \
             once for each",
            first.display(),
            show(&columns.columns),
            other.display(),
            show(&header.names)
        );
    }
    Ok((columns, header.has_mark))
}

fn write_line(output: &mut Output, line: &[u8]) -> anyhow::Result<()> {
    let written = output.write_all(line).and_then(|()| output.write_all(b"\n"));
    written.map_err(|error| output.failed(error))
}
