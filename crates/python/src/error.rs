//! Exceptions of Python for the errors of an engine.

use std::error::Error as StdError;
use std::fmt::Write;

use engine::OpenError;
use index::{Error, ErrorKind};
use pyo3::exceptions::{
    PyConnectionError, PyFileNotFoundError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

/// The chain of an error's causes in one line.
fn chain(error: &dyn StdError) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let shown = error.to_string();
        if !message.contains(&shown) {
            let _ = write!(message, ": {shown}");
        }
        cause = error.source();
    }
    message
}

fn of_kind(kind: ErrorKind, message: String) -> PyErr {
    match kind {
        ErrorKind::InvalidArgument | ErrorKind::Mismatch => PyValueError::new_err(message),
        ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
        ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
        ErrorKind::Unavailable | ErrorKind::Disabled | ErrorKind::Busy => PyConnectionError::new_err(message),
        ErrorKind::StorageFull => PyOSError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// The exception for an error of a store.
pub(crate) fn of_store(error: &Error) -> PyErr {
    of_kind(error.kind(), chain(error))
}

/// The exception for an index that did not open.
pub(crate) fn of_opening(error: &OpenError) -> PyErr {
    match error {
        OpenError::Index { source, .. } => of_kind(source.kind(), chain(error)),
        _ => PyValueError::new_err(chain(error)),
    }
}

/// A `ValueError`.
pub(crate) fn value(message: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(message.to_string())
}

/// The error of work without the interpreter's lock: an exception, or an error of a store.
pub(crate) enum Failure {
    Python(PyErr),
    Store(Error),
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            Failure::Store(error) => of_store(&error),
        }
    }
}
