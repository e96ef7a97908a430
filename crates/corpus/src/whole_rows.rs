//! Whole rows for an output, with the columns not requested as fields.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

/// Use of whole rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WholeRows {
    /// None: only the requested columns are read.
    #[default]
    Unused,
    /// A line of JSON, with a field for each column of CSV or TSV.
    Json,
    /// The same for all tables, Parquet and Arrow included.
    JsonOfAll,
    /// A line of CSV or of a format that resembles it.
    Delimited(Delimited),
    /// The rows are read once more, as rows of Parquet. A row with an unreadable column is
    /// therefore none.
    ReadAgain,
}

/// CSV or TSV with an order of columns of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delimited {
    /// A comma or a tab.
    pub delimiter: u8,
    /// Column names, in their order.
    pub columns: Vec<Vec<u8>>,
}

/// Form of the lines for the rows under one header.
pub(super) enum Lines {
    /// Column names as JSON strings.
    Json(Vec<String>),
    /// Place in a row of each column of the output.
    Delimited { delimiter: u8, places: Vec<usize> },
}

impl Lines {
    /// Returns the form of lines for rows under a header of these `names`; `None` if no lines are
    /// requested. The error is the reason shown to the user.
    pub(super) fn new(rows: &WholeRows, names: &[&[u8]]) -> Result<Option<Self>, String> {
        match rows {
            WholeRows::Unused | WholeRows::ReadAgain => Ok(None),
            WholeRows::Json | WholeRows::JsonOfAll => {
                Ok(Some(Self::Json(distinct(names).map(|name| Value::from(name).to_string()).collect())))
            }
            WholeRows::Delimited(Delimited { delimiter, columns }) => {
                let places = places(columns, names).ok_or("it has other columns than the output")?;
                Ok(Some(Self::Delimited { delimiter: *delimiter, places }))
            }
        }
    }

    /// Writes a row without a line end; `cell` returns a cell by its place.
    pub(super) fn write<'a>(
        &self,
        cell: impl Fn(usize) -> &'a [u8],
        line: &mut Vec<u8>,
    ) -> Result<(), String> {
        match self {
            Self::Json(names) => {
                for (i, name) in names.iter().enumerate() {
                    let cell = std::str::from_utf8(cell(i)).map_err(|error| {
                        let place = error.valid_up_to();
                        format!(
                            "column {name} is not valid UTF-8 after its byte {place}, so it cannot be JSON"
                        )
                    })?;
                    let before = if i == 0 { '{' } else { ',' };
                    line.extend(format!("{before}{name}:{}", Value::from(cell)).into_bytes());
                }
                line.push(b'}');
            }
            Self::Delimited { delimiter, places } => {
                write_delimited(*delimiter, places.iter().map(|place| cell(*place)), line);
            }
        }
        Ok(())
    }
}

impl Delimited {
    /// Returns true if a file with columns of these `names` has the same columns, in any order.
    pub fn fits(&self, names: &[Vec<u8>]) -> bool {
        let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
        places(&self.columns, &names).is_some()
    }

    /// Formats the row of column names, without a line end.
    pub fn header(&self) -> Vec<u8> {
        let mut header = Vec::new();
        write_delimited(self.delimiter, self.columns.iter().map(Vec::as_slice), &mut header);
        header
    }
}

/// Returns the names, with a number added to each repeated one: readers of JSON take the last of
/// two fields with one name, and readers of CSV the first.
pub(super) fn distinct(names: &[&[u8]]) -> impl Iterator<Item = String> {
    let mut known = HashSet::new();
    // The next number to try, by name: all columns of a header may have the same name.
    let mut numbers: HashMap<String, u64> = HashMap::new();
    names.iter().map(move |name| {
        let name = String::from_utf8_lossy(name).into_owned();
        let mut distinct = name.clone();
        while !known.insert(distinct.clone()) {
            let number = numbers.entry(name.clone()).or_insert(2);
            distinct = format!("{name}_{number}");
            *number += 1;
        }
        distinct
    })
}

/// Returns the place of each of the `columns` among the `names`, if both have the same names.
fn places(columns: &[Vec<u8>], names: &[&[u8]]) -> Option<Vec<usize>> {
    if columns == names {
        return Some((0..names.len()).collect());
    }
    let mut by_name: HashMap<&[u8], Option<usize>> = HashMap::new();
    for (place, name) in names.iter().enumerate() {
        // Two columns with one name cannot be told apart.
        by_name.entry(name).and_modify(|known| *known = None).or_insert(Some(place));
    }
    let place = |column: &Vec<u8>| by_name.get(&column[..]).copied().flatten();
    let places: Option<Vec<usize>> = columns.iter().map(place).collect();
    places.filter(|_| columns.len() == names.len())
}

/// Appends a row of CSV, or of its like with another delimiter, without a line end; a cell is
/// quoted where necessary.
pub fn write_delimited<'a>(delimiter: u8, cells: impl Iterator<Item = &'a [u8]>, line: &mut Vec<u8>) {
    let start = line.len();
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            line.push(delimiter);
        }
        if cell.iter().any(|byte| matches!(byte, b'"' | b'\r' | b'\n') || *byte == delimiter) {
            line.push(b'"');
            for byte in cell {
                line.extend(std::iter::repeat_n(byte, if *byte == b'"' { 2 } else { 1 }));
            }
            line.push(b'"');
        } else {
            line.extend_from_slice(cell);
        }
    }
    if line.len() == start {
        // An empty line would be no row.
        line.extend(b"\"\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: &WholeRows, names: &[&str], row: &[&[u8]], expected: Result<&str, &str>) {
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let mut line = Vec::new();
        let written = Lines::new(rows, &names).and_then(|lines| lines.unwrap().write(|i| row[i], &mut line));
        match (written, expected) {
            (Ok(()), Ok(expected)) => assert_eq!(String::from_utf8(line).unwrap(), expected),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?} should say {part:?}"),
            (written, _) => panic!("{written:?} {expected:?}"),
        }
    }

    fn delimited(delimiter: u8, columns: &[&str]) -> WholeRows {
        let columns = columns.iter().map(|name| name.as_bytes().to_vec()).collect();
        WholeRows::Delimited(Delimited { delimiter, columns })
    }

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let two = ["a", "b"];
        for (cells, expected) in [
            ([&b"x y"[..], b""], "x y,"),
            ([b"x,y", b"1\t2"], "\"x,y\",1\t2"),
            ([b"say \"yes\"", b"\r\n"], "\"say \"\"yes\"\"\",\"\r\n\""),
            ([b"", b""], ","),
        ] {
            check(&delimited(b',', &two), &two, &cells, Ok(expected));
        }
        check(&delimited(b'\t', &two), &two, &[b"x,y", b"1\t2"], Ok("x,y\t\"1\t2\""));
        check(&delimited(b',', &["a"]), &["a"], &[b""], Ok("\"\""));
    }

    #[test]
    fn columns_are_found_by_name() {
        let row: [&[u8]; 3] = [b"1", b"2", b"3"];
        check(&delimited(b',', &["c", "a", "b"]), &["a", "b", "c"], &row, Ok("3,1,2"));
        check(&delimited(b',', &["a", "", "a"]), &["a", "", "a"], &row, Ok("1,2,3"));
        for (columns, names) in [
            (&["a", "b"][..], &["a", "b", "c"][..]),
            (&["a", "b", "c"], &["a", "b"]),
            (&["a", "b", "c"], &["a", "b", "d"]),
            (&["a", "b", "a"], &["a", "a", "b"]),
        ] {
            check(&delimited(b',', columns), names, &row, Err("other columns"));
        }
    }

    #[test]
    fn json_has_every_column_as_a_string() {
        let names = ["id", "a \"b\"", "id", "id_2"];
        let row: [&[u8]; 4] = [b"7", "\u{5730}\n".as_bytes(), b"", b"x"];
        let expected = "{\"id\":\"7\",\"a \\\"b\\\"\":\"\u{5730}\\n\",\"id_2\":\"\",\"id_2_2\":\"x\"}";
        check(&WholeRows::Json, &names, &row, Ok(expected));
        let same: Vec<&[u8]> = vec![b"a"; 1 << 16];
        // A former version compared each name with all before it, once for each number tried.
        assert_eq!(distinct(&same).last().unwrap(), "a_65536");
        check(&WholeRows::Json, &["a"], &[b"\xff"], Err("column \"a\" is not valid UTF-8 after its byte 0"));
    }
}
