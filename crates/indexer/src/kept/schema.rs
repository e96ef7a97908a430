//! Columns of records in JSON: their names and types by all records there are.

use std::borrow::Cow;
use std::collections::HashMap;

use corpus::Members;
use serde::Deserialize;

use crate::table::{Cell, Column, Kind};

/// Bound on the columns with a name of their own.
const COLUMNS_MAX: usize = 1000;

/// The column of the fields beyond the bound.
const OTHERS: &str = "other_fields";

/// Greatest integer below which every integer is a double.
const EXACT_MAX: u64 = 1 << 53;

/// Columns, in the order in which their names first came.
#[derive(Default)]
pub(super) struct Columns {
    /// Names that have columns of their own even beyond the bound.
    own: Vec<String>,
    names: Vec<String>,
    seen: Vec<Seen>,
    places: HashMap<String, usize>,
    has_others: bool,
}

/// Types of values that a column has had.
#[derive(Clone, Copy, Default)]
struct Seen {
    text: bool,
    integer: bool,
    /// Integers that are no doubles.
    wide: bool,
    float: bool,
    boolean: bool,
    other: bool,
}

/// A value that is not null, by its written form.
enum Scalar {
    Text,
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Other,
}

impl Columns {
    /// The columns of no record, with room for those of the names in `own`.
    pub(super) fn with_room_for(own: Vec<String>) -> Self {
        Self { own, ..Self::default() }
    }

    /// Returns true if there is no column.
    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Adds the column of this name, if there is none; returns its place, or `None` beyond the
    /// bound.
    pub(super) fn add(&mut self, name: &str) -> Option<usize> {
        if let Some(place) = self.places.get(name) {
            return Some(*place);
        }
        let place = self.names.len();
        if place >= COLUMNS_MAX && !self.own.iter().any(|own| own == name) {
            self.has_others = true;
            return None;
        }
        self.names.push(name.to_owned());
        self.seen.push(Seen::default());
        self.places.insert(name.to_owned(), place);
        Some(place)
    }

    /// Sees a record.
    pub(super) fn see(&mut self, line: &[u8]) {
        let Some(members) = Members::of(line) else { return };
        for (name, value) in members.iter() {
            let Some(place) = self.add(name) else { continue };
            let seen = &mut self.seen[place];
            match scalar(value) {
                None => {}
                Some(Scalar::Text) => seen.text = true,
                Some(Scalar::Integer(integer)) => {
                    seen.integer = true;
                    seen.wide |= integer.unsigned_abs() > EXACT_MAX;
                }
                Some(Scalar::Float(_)) => seen.float = true,
                Some(Scalar::Boolean(_)) => seen.boolean = true,
                Some(Scalar::Other) => seen.other = true,
            }
        }
    }

    /// The columns of a file, at least one.
    pub(super) fn columns(&self) -> Vec<Column> {
        // JSON is text, too: not all readers know it as a type of its own.
        let column = |name: &str, kind: Option<Kind>| Column {
            name: Cow::Owned(name.to_owned()),
            kind: kind.unwrap_or(Kind::Text),
            is_optional: true,
        };
        let mut columns: Vec<Column> =
            self.names.iter().zip(&self.seen).map(|(name, seen)| column(name, seen.kind())).collect();
        if columns.is_empty() {
            columns.extend(["id", "text"].map(|name| column(name, None)));
        }
        if self.has_others {
            let mut name = OTHERS.to_owned();
            while self.places.contains_key(&name) {
                name.push('_');
            }
            columns.push(column(&name, None));
        }
        columns
    }

    /// The cells of a record that was seen.
    pub(super) fn row(&self, line: &[u8]) -> Vec<Cell<'static>> {
        let mut row = vec![Cell::None; self.names.len().max(1) + usize::from(self.has_others)];
        let Some(members) = Members::of(line) else { return row };
        for (name, value) in members.iter() {
            if let Some(place) = self.places.get(name) {
                row[*place] = cell(value, self.seen[*place].kind());
            }
        }
        if self.has_others {
            let named: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let others = members.without(&named).to_object();
            let others = others.map(|object| String::from_utf8_lossy(&object).into_owned());
            row[self.names.len()] = others.map_or(Cell::None, |object| Cell::Text(object.into()));
        }
        row
    }
}

impl Seen {
    /// The type of all values; `None` if each is written as JSON.
    fn kind(self) -> Option<Kind> {
        let Self { text, integer, wide, float, boolean, other } = self;
        match (text, integer || float, boolean, other) {
            (_, false, false, false) => Some(Kind::Text),
            (false, true, false, false) if !float => Some(Kind::Integer),
            (false, true, false, false) if !wide => Some(Kind::Float),
            (false, false, true, false) => Some(Kind::Boolean),
            _ => None,
        }
    }
}

/// The value as written in JSON; `None` for null.
fn scalar(value: &str) -> Option<Scalar> {
    Some(match value.as_bytes().first() {
        Some(b'n') => return None,
        Some(b'"') => Scalar::Text,
        Some(b't') => Scalar::Boolean(true),
        Some(b'f') => Scalar::Boolean(false),
        Some(b'-' | b'0'..=b'9') => match (value.parse(), value.parse::<f64>()) {
            (Ok(integer), _) => Scalar::Integer(integer),
            (Err(_), Ok(float)) if float.is_finite() && value.contains(['.', 'e', 'E']) => {
                Scalar::Float(float)
            }
            // More digits than a number of 64 bits has.
            _ => Scalar::Other,
        },
        _ => Scalar::Other,
    })
}

/// The content of a string of JSON, with U+FFFD in the place of a lone surrogate.
fn text(value: &str) -> String {
    serde_json::from_str(value).unwrap_or_else(|_| {
        let Ok(Surrogates(bytes)) = serde_json::from_str(value) else { return value.to_owned() };
        let mut bytes = bytes.into_owned();
        for place in memchr::memchr_iter(0xed, &bytes.clone()) {
            if let Some(surrogate @ [_, 0xa0..=0xff, _]) = bytes.get_mut(place..place + 3) {
                surrogate.copy_from_slice("\u{fffd}".as_bytes());
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// A string as if surrogates were characters of UTF-8.
#[derive(Deserialize)]
struct Surrogates<'a>(#[serde(borrow)] Cow<'a, [u8]>);

fn cell(value: &str, kind: Option<Kind>) -> Cell<'static> {
    match (scalar(value), kind) {
        (None, _) => Cell::None,
        (Some(Scalar::Text), Some(Kind::Text)) => Cell::Text(text(value).into()),
        (Some(Scalar::Integer(integer)), Some(Kind::Integer)) => Cell::Integer(integer),
        #[expect(clippy::cast_precision_loss, reason = "a wider one makes another kind of column")]
        (Some(Scalar::Integer(integer)), Some(Kind::Float)) => Cell::Float(integer as f64),
        (Some(Scalar::Float(float)), Some(Kind::Float)) => Cell::Float(float),
        (Some(Scalar::Boolean(boolean)), Some(Kind::Boolean)) => Cell::Boolean(boolean),
        _ => Cell::Text(value.to_owned().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> (Vec<(String, Kind)>, Vec<Vec<Cell<'static>>>) {
        let mut columns = Columns::default();
        lines.iter().for_each(|line| columns.see(line.as_bytes()));
        let kinds = columns.columns().into_iter().map(|column| (column.name.into_owned(), column.kind));
        (kinds.collect(), lines.iter().map(|line| columns.row(line.as_bytes())).collect())
    }

    fn text(text: &str) -> Cell<'static> {
        Cell::Text(text.to_owned().into())
    }

    #[test]
    fn types_are_those_of_all_values() {
        for (values, kind, cells) in [
            (["1", "-7"], Kind::Integer, [Cell::Integer(1), Cell::Integer(-7)]),
            (["1", "2.5e3"], Kind::Float, [Cell::Float(1.0), Cell::Float(2500.0)]),
            (["9007199254740993", "0.5"], Kind::Text, [text("9007199254740993"), text("0.5")]),
            (["18446744073709551615", "1"], Kind::Text, [text("18446744073709551615"), text("1")]),
            (["1e999", "null"], Kind::Text, [text("1e999"), Cell::None]),
            (["true", "null"], Kind::Boolean, [Cell::Boolean(true), Cell::None]),
            (
                [r#""\ud83d""#, r#""a\udc00\ud7ff\\ud800 \ud83d\ude00\ud800x\n""#],
                Kind::Text,
                [text("\u{fffd}"), text("a\u{fffd}\u{d7ff}\\ud800 \u{1f600}\u{fffd}x\n")],
            ),
            ([r#""a\nb""#, "null"], Kind::Text, [text("a\nb"), Cell::None]),
            (["null", "null"], Kind::Text, [Cell::None, Cell::None]),
            (["7", r#""a7""#], Kind::Text, [text("7"), text(r#""a7""#)]),
            (["true", "1"], Kind::Text, [text("true"), text("1")]),
            (["[1, 2]", r#"{"a":1}"#], Kind::Text, [text("[1, 2]"), text(r#"{"a":1}"#)]),
            (["NaN", "1.0"], Kind::Float, [Cell::None, Cell::Float(1.0)]),
        ] {
            let lines = values.map(|value| format!(r#"{{"v":{value}}}"#));
            let (kinds, rows) = of(&lines.each_ref().map(String::as_str));
            assert_eq!(kinds, [("v".to_owned(), kind)], "{values:?}");
            assert_eq!(rows, cells.map(|cell| vec![cell]), "{values:?}");
        }
    }

    #[test]
    fn columns_come_in_order_and_what_is_missing_is_null() {
        let (kinds, rows) = of(&[r#"{"z":1,"a":"x"}"#, r#"{"a":"y","m":true,"a":"last"}"#]);
        let names: Vec<&str> = kinds.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["z", "a", "m"]);
        assert_eq!(rows[0], [Cell::Integer(1), text("x"), Cell::None]);
        assert_eq!(rows[1], [Cell::None, text("last"), Cell::Boolean(true)]);
        assert_eq!(of(&[]).0.len(), 2);
    }

    #[test]
    fn fields_beyond_the_bound_share_a_column() {
        let many: Vec<String> = (0..COLUMNS_MAX).map(|n| format!("\"f{n}\":{n}")).collect();
        let first = format!("{{{}}}", many.join(","));
        let (kinds, rows) = of(&[&first, r#"{"f1":8,"new":[1],"other_fields":2}"#]);
        assert_eq!(kinds.len(), COLUMNS_MAX + 1);
        assert_eq!(kinds[COLUMNS_MAX], (OTHERS.to_owned(), Kind::Text));
        assert_eq!(rows[0][COLUMNS_MAX], Cell::None);
        assert_eq!(rows[1][COLUMNS_MAX], text(r#"{"new":[1],"other_fields":2}"#));
        // Id and text once went there, too.
        let mut columns = Columns::with_room_for(vec!["id".to_owned(), "text".to_owned()]);
        let line = format!(r#"{},"x":1,"text":"t","id":7,"y":2}}"#, first.trim_end_matches('}'));
        columns.see(line.as_bytes());
        let names: Vec<_> = columns.columns().into_iter().map(|column| column.name).collect();
        assert_eq!(names[COLUMNS_MAX..], ["text", "id", OTHERS]);
        let row = columns.row(line.as_bytes());
        assert_eq!(row[COLUMNS_MAX..], [text("t"), Cell::Integer(7), text(r#"{"x":1,"y":2}"#)]);
    }
}
