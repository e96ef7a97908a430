//! The three programs, run in the process of an interpreter.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::error::value;

/// Runs a program of Pigeonhole and returns its exit code. `starts` holds the words that start it
/// in another process, `arguments` the words after those. For one call in a process.
#[pyfunction]
pub(crate) fn run_program(
    py: Python<'_>,
    name: &str,
    starts: Vec<OsString>,
    arguments: Vec<OsString>,
) -> PyResult<u8> {
    let main = match name {
        "indexer" => indexer::main,
        "pigeonhole" => pigeonhole::main,
        "query-worker" => query_worker::main,
        _ => return Err(value(format_args!("there is no program {name:?}"))),
    };
    program::invocation::host(starts, arguments);
    Ok(py.detach(main))
}
