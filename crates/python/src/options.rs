//! Options of an engine from keyword arguments.

use std::num::NonZeroUsize;

use engine::{Engine, Options};
use minhash::Similarity;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use simhash::Distance;

use crate::error::{of_opening, value};

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str, text: &str) -> PyResult<T> {
    text.parse().map_err(|error| value(format_args!("{name}: {error}")))
}

/// A share from 0 to 1.
///
/// # Errors
/// A `ValueError` that names the argument.
pub(crate) fn share(name: &str, share: f64) -> PyResult<Similarity> {
    Similarity::new(share).ok_or_else(|| value(format_args!("{name} is a share from 0 to 1, not {share}")))
}

/// Reads keyword arguments; those that are `None` leave the default.
///
/// # Errors
/// A `TypeError` or `ValueError` that names the argument.
pub(crate) fn options(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<Options> {
    let mut options = Options::default();
    for (name, given) in arguments.into_iter().flatten() {
        if given.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        match &*name {
            "profile" => options.profile = Some(parsed(&name, given.extract()?)?),
            "min_similarity" => options.min_similarity = Some(share(&name, given.extract()?)?),
            "same_numbers" => options.same_numbers = Some(given.extract()?),
            "scheme" => options.scheme = Some(given.extract()?),
            "max_distance" => {
                options.max_distance = Some(Distance::new(given.extract()?).map_err(value)?);
            }
            "verify" => options.verify = Some(given.extract()?),
            "texts" => options.texts = Some(parsed(&name, given.extract()?)?),
            "retain" => options.retain = Some(parsed(&name, given.extract()?)?),
            "threads" => {
                let n_threads = NonZeroUsize::new(given.extract()?);
                options.n_threads = Some(n_threads.ok_or_else(|| value("threads must be at least 1"))?);
            }
            "temp" => options.spool = Some(given.extract()?),
            _ => return Err(pyo3::exceptions::PyTypeError::new_err(format!("there is no argument {name}"))),
        }
    }
    Ok(options)
}

/// Opens an engine without the interpreter's lock.
///
/// # Errors
/// The exception for the error.
pub(crate) fn open(py: Python<'_>, uri: &str, options: &Options) -> PyResult<Engine> {
    py.detach(|| Engine::open(uri, options)).map_err(|error| of_opening(&error))
}
