//! Columns given by Python: texts and ids, without a copy where Arrow or `str` hold UTF-8.

use std::borrow::Cow;

use ::index::DocumentId;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, LargeStringArray, StringArray, StringViewArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyIterator, PyList, PyString};
use pyo3_arrow::input::AnyArray;

use crate::error::value;

/// A column of strings, some of which may be null.
pub(crate) struct Strings {
    chunks: Vec<Chunk>,
    /// The number of rows up to the end of each chunk.
    ends: Vec<usize>,
}

enum Chunk {
    Utf8(StringArray),
    Large(LargeStringArray),
    View(StringViewArray),
    Python(Vec<Option<PyText>>),
}

/// The text of a `str`.
enum PyText {
    /// The characters of an ASCII `str`, which are UTF-8.
    Ascii(PyBackedStr),
    /// A copy: in UTF-8 another `str` would hold its text twice from then on, for as long as it
    /// lives.
    Encoded(Box<str>),
}

impl PyText {
    fn of(string: &Bound<'_, PyString>) -> PyResult<Self> {
        if string.call_method0(intern!(string.py(), "isascii"))?.is_truthy()? {
            return Ok(Self::Ascii(string.clone().try_into()?));
        }
        let encoded = string.encode_utf8()?;
        Ok(Self::Encoded(str::from_utf8(encoded.as_bytes()).map_err(value)?.into()))
    }

    fn as_str(&self) -> &str {
        match self {
            Self::Ascii(text) => text,
            Self::Encoded(text) => text,
        }
    }
}

impl Chunk {
    fn len(&self) -> usize {
        match self {
            Self::Utf8(array) => array.len(),
            Self::Large(array) => array.len(),
            Self::View(array) => array.len(),
            Self::Python(strings) => strings.len(),
        }
    }

    fn get(&self, row: usize) -> Option<&str> {
        match self {
            Self::Utf8(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Python(strings) => strings[row].as_ref().map(PyText::as_str),
        }
    }
}

impl TryFrom<ArrayRef> for Chunk {
    type Error = PyErr;

    fn try_from(array: ArrayRef) -> PyResult<Self> {
        Ok(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string().clone()),
            DataType::LargeUtf8 => Self::Large(array.as_string().clone()),
            DataType::Utf8View => Self::View(array.as_string_view().clone()),
            DataType::Null => Self::Python((0..array.len()).map(|_| None).collect()),
            DataType::Dictionary(_, values) if is_text(values) => {
                let plain = cast(&array, &DataType::LargeUtf8).map_err(value)?;
                Self::Large(plain.as_string().clone())
            }
            other => {
                return Err(PyTypeError::new_err(format!("a column of type {other} holds no strings")));
            }
        })
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl Strings {
    fn new(chunks: Vec<Chunk>) -> Self {
        let ends = chunks.iter().scan(0, |end, chunk| {
            *end += chunk.len();
            Some(*end)
        });
        Self { ends: ends.collect(), chunks }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The strings in order, `None` for null.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Option<&str>> {
        self.chunks.iter().flat_map(|chunk| (0..chunk.len()).map(|row| chunk.get(row)))
    }

    /// The string of a row; `None` for null.
    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        let chunk = self.ends.partition_point(|&end| end <= row);
        let start = if chunk == 0 { 0 } else { self.ends[chunk - 1] };
        self.chunks[chunk].get(row - start)
    }
}

/// The chunks of an object with Arrow's interface; `None` for another object.
fn arrow_chunks(object: &Borrowed<'_, '_, PyAny>) -> PyResult<Option<Vec<ArrayRef>>> {
    if !object.hasattr("__arrow_c_array__")? && !object.hasattr("__arrow_c_stream__")? {
        return Ok(None);
    }
    let array: AnyArray = object.extract()?;
    let (chunks, _) = array.into_chunked_array().map_err(PyErr::from)?.into_inner();
    Ok(Some(chunks))
}

impl FromPyObject<'_, '_> for Strings {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        if let Some(chunks) = arrow_chunks(&object)? {
            let chunks: PyResult<_> = chunks.into_iter().map(Chunk::try_from).collect();
            return Ok(Self::new(chunks?));
        }
        let mut strings = Vec::with_capacity(object.len().unwrap_or_default());
        for (row, item) in object.try_iter()?.enumerate() {
            let item = item?;
            strings.push(if item.is_none() {
                None
            } else {
                let text = item.cast::<PyString>().map_err(PyErr::from).and_then(PyText::of);
                Some(text.map_err(|error| of_row(row, &item, &error))?)
            });
        }
        Ok(Self::new(vec![Chunk::Python(strings)]))
    }
}

/// The exception for a row that holds no string.
fn of_row(row: usize, item: &Bound<'_, PyAny>, error: &PyErr) -> PyErr {
    let name = item.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    if name == "str" {
        // A lone surrogate.
        return value(format_args!("row {row}: a text that is no UTF-8: {error}"));
    }
    PyTypeError::new_err(format!("row {row}: a text must be str or None, not {name}"))
}

/// The ids of rows.
pub(crate) enum Ids {
    /// The numbers of the rows, from 0.
    Rows(usize),
    /// Integers, which come back as such.
    Integers(Vec<Option<i64>>),
    /// Strings.
    Strings(Strings),
}

/// The kind of the ids of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdKind {
    Integer,
    String,
}

impl Ids {
    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Rows(n) => *n,
            Self::Integers(ids) => ids.len(),
            Self::Strings(ids) => ids.len(),
        }
    }

    /// The kind of the ids.
    pub(crate) fn kind(&self) -> IdKind {
        match self {
            Self::Rows(_) | Self::Integers(_) => IdKind::Integer,
            Self::Strings(_) => IdKind::String,
        }
    }

    /// The id of a row that is the `first`th of its run and the `row`th of these.
    ///
    /// # Errors
    /// A `ValueError` for null or a string that is no id.
    pub(crate) fn id(&self, first: usize, row: usize) -> PyResult<DocumentId> {
        let id: Option<Cow<'_, str>> = match self {
            Self::Rows(_) => Some((first + row).to_string().into()),
            Self::Integers(ids) => ids[row].map(|id| id.to_string().into()),
            Self::Strings(ids) => ids.get(row).map(Into::into),
        };
        let id =
            id.ok_or_else(|| value(format_args!("row {row} has no id; leave out id= to number the rows")))?;
        DocumentId::new(id).map_err(|error| value(format_args!("row {row}: {error}")))
    }

    /// All ids.
    ///
    /// # Errors
    /// As [`id`](Self::id).
    pub(crate) fn all(&self) -> PyResult<Vec<DocumentId>> {
        (0..self.len()).map(|row| self.id(0, row)).collect()
    }
}

impl FromPyObject<'_, '_> for Ids {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let Some(chunks) = arrow_chunks(&object)? else {
            // An iterator gives its items once.
            if object.cast::<PyIterator>().is_ok() {
                let items = object.try_iter()?.collect::<PyResult<Vec<_>>>()?;
                return PyList::new(object.py(), items)?.extract();
            }
            let first = object.try_iter()?.find(|item| !item.as_ref().is_ok_and(|item| item.is_none()));
            let is_integer = first.transpose()?.is_some_and(|item| item.extract::<i64>().is_ok());
            return Ok(if is_integer {
                Self::Integers(object.extract()?)
            } else {
                Self::Strings(object.extract()?)
            });
        };
        if !chunks.iter().all(|chunk| chunk.data_type().is_integer()) || chunks.is_empty() {
            let chunks: PyResult<_> = chunks.into_iter().map(Chunk::try_from).collect();
            return Ok(Self::Strings(Strings::new(chunks?)));
        }
        let mut ids = Vec::new();
        for chunk in chunks {
            let integers = cast(&chunk, &DataType::Int64).map_err(value)?;
            if integers.null_count() > chunk.null_count() {
                return Err(value("an id is greater than 9223372036854775807; give ids as strings"));
            }
            ids.extend(integers.as_any().downcast_ref::<Int64Array>().into_iter().flatten());
        }
        Ok(Self::Integers(ids))
    }
}
