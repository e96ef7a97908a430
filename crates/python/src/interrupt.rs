//! Progress of long calls, and Ctrl-C during them.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The pause between two looks at the interpreter, which take its lock.
const PAUSE: Duration = Duration::from_millis(100);

/// Tells a callable the number of rows done, and ends the work if a signal has come.
pub(crate) struct Progress {
    told: Option<Py<PyAny>>,
    n_untold: usize,
    last: Instant,
}

impl Progress {
    /// Tells `told`, if there is one.
    pub(crate) fn to(told: Option<Py<PyAny>>) -> Self {
        Self { told, n_untold: 0, last: Instant::now() }
    }

    /// Counts rows. To be called without the interpreter's lock, at the least ten times a second.
    ///
    /// # Errors
    /// The exception of a signal's handler, such as `KeyboardInterrupt`, or of the callable.
    pub(crate) fn add(&mut self, n_rows: usize) -> PyResult<()> {
        self.n_untold += n_rows;
        if self.last.elapsed() < PAUSE { Ok(()) } else { self.tell() }
    }

    /// Tells the rows that are not told yet.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(crate) fn tell(&mut self) -> PyResult<()> {
        self.last = Instant::now();
        let n_rows = std::mem::take(&mut self.n_untold);
        Python::attach(|py| {
            py.check_signals()?;
            match &self.told {
                Some(told) if n_rows > 0 => told.call1(py, (n_rows,)).map(drop),
                _ => Ok(()),
            }
        })
    }
}
