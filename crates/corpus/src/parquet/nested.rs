//! Values in lists, by the levels that place them in rows.

use parquet::data_type::ByteArray;

use super::super::records::Cell;
use super::super::value::TEXT_SEPARATOR;
use super::column::Value;

/// A list on the way to a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeated {
    pub(super) select: Select,
    /// Definition level where an element is present.
    pub(super) defined: i16,
}

/// Choice among the elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Select {
    Index(usize),
    Each,
}

/// Meaning of the levels of a column in lists.
pub(super) struct Levels<'l> {
    /// Outermost first.
    pub(super) lists: &'l [Repeated],
    /// Definition level of a value that is present.
    pub(super) defined: i16,
}

impl Levels<'_> {
    /// Returns the selected value of each row: several texts are joined. `None` if the levels and
    /// the values do not fit together.
    pub(super) fn rows(
        &self,
        definitions: &[i16],
        repetitions: &[i16],
        mut present: impl Iterator<Item = Value>,
    ) -> Option<Vec<Value>> {
        let mut rows = Vec::new();
        // Number of the element of each list.
        let mut elements = vec![0; self.lists.len()];
        for (i, definition) in definitions.iter().enumerate() {
            let value = match *definition == self.defined {
                true => present.next()?,
                false => Value::Cell(Cell::Null),
            };
            match usize::try_from(*repetitions.get(i)?).ok()? {
                0 => {
                    rows.push(Value::Cell(Cell::Missing));
                    elements.fill(0);
                }
                list => {
                    *elements.get_mut(list - 1)? += 1;
                    elements[list..].fill(0);
                }
            }
            let mut lists = self.lists.iter().zip(&elements);
            let is_selected = lists.all(|(list, element)| {
                *definition >= list.defined
                    && match list.select {
                        Select::Index(index) => index == *element,
                        Select::Each => true,
                    }
            });
            if is_selected {
                let row = rows.last_mut()?;
                *row = joined(std::mem::replace(row, Value::Cell(Cell::Missing)), value);
            }
        }
        present.next().is_none().then_some(rows)
    }
}

/// Joins the values of two elements, as in JSON.
pub(crate) fn joined(before: Value, value: Value) -> Value {
    let join = |before: &ByteArray, text: &ByteArray| {
        ByteArray::from([before.data(), TEXT_SEPARATOR.as_bytes(), text.data()].concat())
    };
    match (before, value) {
        (Value::Cell(Cell::Missing | Cell::Null), value) => value,
        (before, Value::Cell(Cell::Null)) => before,
        (Value::Text(before), Value::Text(text)) => Value::Text(join(&before, &text)),
        (Value::Bytes(before), Value::Bytes(text)) => Value::Bytes(join(&before, &text)),
        (Value::Text(_) | Value::Bytes(_), value) | (value, _) => value,
    }
}
