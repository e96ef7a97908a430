//! A table of results, which any library that knows Arrow reads without a copy.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::filter::filter_record_batch;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyList, PyTuple};
use pyo3_arrow::{PyRecordBatch, PyTable};

use crate::error::value;

/// Columns of equal length under names.
#[pyclass(module = "pigeonhole", frozen)]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// Makes a table of named columns, all of which may hold nulls.
    pub(crate) fn new(columns: Vec<(&str, ArrayRef)>) -> PyResult<Self> {
        let fields: Vec<_> = columns
            .iter()
            .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
            .collect();
        let columns = columns.into_iter().map(|(_, column)| column).collect();
        Ok(Self(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(value)?))
    }
}

impl Table {
    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| {
            let names = self.column_names().join(", ");
            PyKeyError::new_err(format!("there is no column {name:?}; there are {names}"))
        })
    }
}

/// The value of a row as an object of Python.
fn item<'py>(py: Python<'py>, column: &dyn Array, row: usize) -> PyResult<Bound<'py, PyAny>> {
    if column.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    Ok(match column.data_type() {
        DataType::Boolean => column.as_boolean().value(row).into_pyobject(py)?.to_owned().into_any(),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).into_pyobject(py)?.into_any(),
        DataType::Utf8 => column.as_string::<i32>().value(row).into_pyobject(py)?.into_any(),
        DataType::LargeUtf8 => column.as_string::<i64>().value(row).into_pyobject(py)?.into_any(),
        DataType::Binary => PyBytes::new(py, column.as_binary::<i32>().value(row)).into_any(),
        DataType::LargeBinary => PyBytes::new(py, column.as_binary::<i64>().value(row)).into_any(),
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(row);
            let items: PyResult<Vec<_>> = (0..items.len()).map(|at| item(py, &*items, at)).collect();
            PyList::new(py, items?)?.into_any()
        }
        other => return Err(value(format_args!("a column of type {other}"))),
    })
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows: {})", self.0.num_rows(), self.column_names().join(", "))
    }

    /// The values of a column as a list.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.column(name)?;
        let items: PyResult<Vec<_>> = (0..column.len()).map(|row| item(py, column, row)).collect();
        PyList::new(py, items?)
    }

    /// The rows for which `mask` is true.
    fn filter(&self, mask: Vec<bool>) -> PyResult<Self> {
        if mask.len() != self.0.num_rows() {
            return Err(value(format_args!("a mask of {} for {} rows", mask.len(), self.0.num_rows())));
        }
        Ok(Self(filter_record_batch(&self.0, &mask.into()).map_err(value)?))
    }

    /// The columns of these names, in their order.
    fn select(&self, names: Vec<String>) -> PyResult<Self> {
        let columns: PyResult<_> =
            names.iter().map(|name| Ok((name.as_str(), Arc::clone(self.column(name)?)))).collect();
        Self::new(columns?)
    }

    /// The columns of this table and of another one of as many rows.
    fn beside(&self, other: &Self) -> PyResult<Self> {
        let fields: Vec<_> =
            [self, other].iter().flat_map(|table| table.0.schema().fields().to_vec()).collect();
        let columns = [self, other].iter().flat_map(|table| table.0.columns().to_vec()).collect();
        Ok(Self(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(value)?))
    }

    /// The columns as a dictionary of lists.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for name in self.column_names() {
            columns.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        Ok(columns)
    }

    /// The rows as a list of dictionaries.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names = self.column_names();
        let rows = (0..self.0.num_rows()).map(|row| {
            let dictionary = PyDict::new(py);
            for (name, column) in names.iter().zip(self.0.columns()) {
                dictionary.set_item(name, item(py, column, row)?)?;
            }
            Ok(dictionary)
        });
        PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let batch = Bound::new(py, PyRecordBatch::new(self.0.clone()))?;
        batch.call_method1("__arrow_c_array__", (requested_schema,))?.cast_into().map_err(PyErr::from)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let table = PyTable::try_new(vec![self.0.clone()], self.0.schema())?;
        Bound::new(py, table)?.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let batch = Bound::new(py, PyRecordBatch::new(self.0.clone()))?;
        batch.call_method0("__arrow_c_schema__")
    }
}
