//! The output of kept documents, in the format of its name.

mod lines;
mod parquet;
mod row_set;
mod rows;
mod schema;

use std::path::Path;

use anyhow::{Context, ensure};
use corpus::{Delimited, Format, Inputs, WholeRows};

use self::lines::LinesOutput;
use self::parquet::ParquetOutput;
use self::rows::RowsOutput;
use self::schema::Columns;
use crate::journal::Journal;
use crate::output::{Files, Lengths, Numbered, OUTPUT, Output, Parts, Role, Written};
use crate::pipeline::Item;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) enum KeptOutput {
    /// A line for each document.
    Lines(Box<LinesOutput>),
    /// Parquet with the columns of Parquet inputs.
    Parquet(Box<ParquetOutput>),
    /// Parquet of records in other formats.
    Rows(Box<RowsOutput>),
}

impl KeptOutput {
    /// Refuses inputs that cannot be written in the format, and configures `inputs` for the output:
    /// one file, or parts of at most `bytes_max`. The fields named `own` have columns of their own,
    /// however many others there are.
    pub(crate) fn new(
        path: &Path,
        bytes_max: Option<u64>,
        inputs: &mut Inputs,
        own: Vec<String>,
        journal: Option<&Journal>,
    ) -> anyhow::Result<Self> {
        let format = format_of(path)?;
        let is_parquet = inputs.formats().any(|(_, found)| found == Some(Format::Parquet));
        for (input, found) in inputs.formats() {
            let fits = match format {
                Format::Parquet => (found == Some(Format::Parquet)) == is_parquet,
                Format::Csv | Format::Tsv => found.is_some_and(|found| found.delimiter().is_some()),
                _ => true,
            };
            ensure!(
                fits,
                "{} is {} and cannot be written to {}, {}; an output whose name ends in .jsonl takes everything",
                input.display(),
                found.map_or("an archive", Format::name),
                path.display(),
                match format {
                    Format::Parquet => "as parquet and other formats do not go into one file of parquet",
                    _ => "which takes csv and tsv only",
                }
            );
        }
        if format == Format::Parquet {
            inputs.whole_rows = if is_parquet { WholeRows::ReadAgain } else { WholeRows::Json };
            let files = || files_at_the_end(path, bytes_max, journal);
            return Ok(match is_parquet {
                true => Self::Parquet(Box::new(ParquetOutput::new(inputs.locations(), files, journal)?)),
                false => {
                    let columns = (Columns::with_room_for(own), only_header(inputs)?);
                    Self::Rows(Box::new(RowsOutput::new(path, files()?, columns, journal)?))
                }
            });
        }
        let (rows, header) = match format.delimiter() {
            None => (WholeRows::Json, Vec::new()),
            Some(delimiter) => {
                let (columns, has_mark) = common_columns(inputs, delimiter)?;
                let mark = if has_mark { BYTE_ORDER_MARK } else { b"" };
                let header = if columns.columns.is_empty() { Vec::new() } else { columns.header() };
                let header = if header.is_empty() { header } else { [mark, &header].concat() };
                (WholeRows::Delimited(columns), header)
            }
        };
        inputs.whole_rows = rows;
        Ok(Self::Lines(Box::new(LinesOutput::open(path, bytes_max, header, journal)?)))
    }

    /// Returns true if the output needs the lines of documents.
    pub(crate) fn takes_lines(&self) -> bool {
        matches!(self, Self::Lines(_) | Self::Rows(_))
    }

    pub(crate) fn add(&mut self, item: &Item) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => output.add(&item.line),
            Self::Rows(output) => output.add(&item.line),
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
            Self::Parquet(_) | Self::Rows(_) => Ok(()),
        }
    }

    /// Makes the written part durable, and adds its length.
    pub(crate) fn checkpoint(&mut self, lengths: &mut Lengths) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => output.checkpoint(lengths),
            Self::Rows(output) => output.checkpoint(lengths),
            Self::Parquet(output) => output.checkpoint(lengths),
        }
    }

    /// Moves all files into their places.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Lines(output) => output.finish(),
            Self::Rows(output) => output.finish(),
            Self::Parquet(output) => output.finish(),
        }
    }
}

/// The parts of the output, as far as a job has them; `None` for one file.
fn parts_of(path: &Path, bytes_max: Option<u64>, journal: Option<&Journal>) -> anyhow::Result<Option<Parts>> {
    let Some((names, bytes_max)) = Numbered::of(path).zip(bytes_max) else { return Ok(None) };
    match journal {
        None => Parts::create(names, bytes_max).map(Some),
        Some(journal) => journal.parts(OUTPUT, names, bytes_max).map(Some),
    }
}

/// The files for an output that is made at the end of the run.
fn files_at_the_end(path: &Path, bytes_max: Option<u64>, journal: Option<&Journal>) -> anyhow::Result<Files> {
    Ok(match (parts_of(path, bytes_max, journal)?, journal) {
        (Some(parts), _) => Files::in_parts(path, parts)?,
        (None, None) => Files::one(Output::create(path)?),
        (None, Some(journal)) => Files::one(journal.output_at_the_end(OUTPUT, path)?),
    })
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

/// The names in the header of an only input, if that is CSV: it may have no row.
fn only_header(inputs: &mut Inputs) -> anyhow::Result<Vec<String>> {
    let is_table = |found: Option<Format>| found.is_some_and(|found| found.delimiter().is_some());
    if inputs.formats().count() > 1 || !inputs.formats().all(|(_, found)| is_table(found)) {
        return Ok(Vec::new());
    }
    let names = inputs.headers()?.into_iter().flat_map(|(_, header)| header.names);
    Ok(names.map(|name| String::from_utf8_lossy(&name).into_owned()).collect())
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

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use corpus::InputOptions;

    use super::*;

    /// Columns other than id and text were once lost.
    #[test]
    fn a_table_without_rows_keeps_its_columns() {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("a.csv"), folder.path().join("kept.parquet"));
        for (header, expected) in [("text,id,x,x\n", &["text", "id", "x"][..]), ("", &["id", "text"])] {
            fs::write(&input, header).unwrap();
            let mut inputs = Inputs::open(&InputOptions::of([&input])).unwrap();
            KeptOutput::new(&output, None, &mut inputs, Vec::new(), None).unwrap().finish().unwrap();
            let kept = SerializedFileReader::new(File::open(&output).unwrap()).unwrap();
            let columns = kept.metadata().file_metadata().schema_descr().columns();
            assert!(columns.iter().map(|column| column.name()).eq(expected.iter().copied()));
        }
    }
}
