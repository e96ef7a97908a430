//! Progress of a long command: a line on stderr now and then.

use std::fmt;
use std::time::{Duration, Instant};

/// Time between two lines.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Clock of a command's progress.
pub(crate) struct Progress {
    start: Instant,
    next_line: Instant,
    quiet: bool,
}

impl Progress {
    /// Starts the clock.
    pub(crate) fn start(quiet: bool) -> Self {
        let start = Instant::now();
        Self { start, next_line: start + LINE_INTERVAL, quiet }
    }

    /// Prints the progress, if a line is due.
    pub(crate) fn show(&mut self, what: fmt::Arguments<'_>) {
        if !self.quiet && Instant::now() >= self.next_line {
            self.next_line = Instant::now() + LINE_INTERVAL;
            complain(what);
        }
    }

    /// The rate of `n` items a second since the start.
    pub(crate) fn rate(&self, n: u64) -> u64 {
        let seconds = self.start.elapsed().as_secs_f64();
        if seconds > 0.0 { (n as f64 / seconds) as u64 } else { 0 }
    }
}

/// Prints a line to stderr.
pub(crate) fn complain(message: fmt::Arguments<'_>) {
    program::complain("pigeonhole", message);
}
