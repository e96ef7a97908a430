//! Progress of a run on stderr: a bar on a terminal, otherwise a line now and then.

mod parts;
mod scanned;
mod step;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corpus::Inputs;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::numbers::{Grouped, megabytes, megabytes_per_second};

pub(crate) use self::parts::PartsProgress;
pub(crate) use self::scanned::Scanned;
pub(crate) use self::step::StepProgress;

/// Time between two lines without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Progress over the input.
pub(crate) struct Progress {
    start: Instant,
    /// Time of earlier runs of the job.
    before: Duration,
    next_line: Instant,
    n_bytes_read: Arc<AtomicU64>,
    n_bytes: Option<u64>,
    /// Name of the current pass over the input; empty if there is only one.
    pass: &'static str,
    /// The working time at the start of the pass.
    before_pass: Duration,
    view: View,
}

#[derive(Clone)]
enum View {
    Bar(ProgressBar),
    Lines,
    Nothing,
}

impl View {
    /// Nothing if `quiet`, `bar` on a terminal, and lines elsewhere.
    fn new(quiet: bool, bar: impl FnOnce() -> ProgressBar) -> Self {
        if quiet {
            Self::Nothing
        } else if program::stderr().is_terminal() {
            Self::Bar(bar())
        } else {
            Self::Lines
        }
    }

    /// Shows the share of a step that is done, in percent; a line only from `next_line` on.
    fn show_step(&self, step: &str, share: f64, next_line: &mut Instant) {
        let percent = (share * 100.0).floor();
        match self {
            Self::Nothing => {}
            Self::Bar(bar) => bar.set_message(format!("{step}, {percent} %:")),
            Self::Lines if Instant::now() < *next_line => {}
            Self::Lines => {
                *next_line = Instant::now() + LINE_INTERVAL;
                complain(format_args!("{step}, {percent} %"));
            }
        }
    }

    /// Takes the bar off the terminal.
    fn end(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

/// Prints messages without overwriting a progress bar.
#[derive(Clone)]
pub(crate) struct Console(View);

impl Console {
    pub(crate) fn print(&self, message: fmt::Arguments<'_>) {
        match &self.0 {
            View::Bar(bar) => bar.suspend(|| complain(message)),
            View::Lines | View::Nothing => complain(message),
        }
    }
}

impl Progress {
    pub(crate) fn new(inputs: &Inputs, quiet: bool) -> Self {
        let view = View::new(quiet, || bar(inputs.n_bytes));
        let start = Instant::now();
        Self {
            start,
            before: Duration::ZERO,
            next_line: start + LINE_INTERVAL,
            n_bytes_read: Arc::clone(&inputs.n_bytes_read),
            n_bytes: inputs.n_bytes,
            pass: "",
            before_pass: Duration::ZERO,
            view,
        }
    }

    /// Starts the clock of the run itself, without the preparations before; `before` is the time of
    /// earlier runs of the job.
    pub(crate) fn start(&mut self, before: Duration) {
        self.before = before;
        self.start = Instant::now();
        self.next_line = self.start + LINE_INTERVAL;
    }

    /// Begins a pass from the beginning of the input.
    pub(crate) fn begin_pass(&mut self, name: &'static str) {
        self.pass = name;
        self.before_pass = self.elapsed();
        self.n_bytes_read.store(0, Ordering::Relaxed);
        if let View::Bar(bar) = &self.view {
            bar.reset_eta();
        }
    }

    pub(crate) fn console(&self) -> Console {
        Console(self.view.clone())
    }

    /// Working time.
    pub(crate) fn elapsed(&self) -> Duration {
        self.before + self.start.elapsed()
    }

    /// The share of the input read so far; `None` if its length is not known.
    pub(crate) fn share_read(&self) -> Option<f64> {
        let n_bytes = self.n_bytes.filter(|&n_bytes| n_bytes > 0)?;
        Some(self.n_bytes_read.load(Ordering::Relaxed) as f64 / n_bytes as f64)
    }

    /// Shows a step between two passes, if an update is due, with the share of it that is done.
    pub(crate) fn show_step(&mut self, step: &str, share: f64) {
        self.view.show_step(step, share, &mut self.next_line);
    }

    /// Updates the display, if an update is due.
    pub(crate) fn show(&mut self, n_documents: u64) {
        let n_bytes_read = self.n_bytes_read.load(Ordering::Relaxed);
        match &self.view {
            View::Nothing => {}
            View::Bar(bar) => {
                bar.set_position(n_bytes_read);
                bar.set_message(format!("{}{}", self.pass, Grouped(n_documents)));
            }
            View::Lines if Instant::now() < self.next_line => {}
            View::Lines => {
                self.next_line = Instant::now() + LINE_INTERVAL;
                let elapsed = self.elapsed().saturating_sub(self.before_pass);
                // Documents are decided after the last byte is read, for longer than that tells.
                let left = self
                    .n_bytes
                    .filter(|&n_bytes| (1..n_bytes).contains(&n_bytes_read))
                    .map(|n_bytes| elapsed.mul_f64((n_bytes - n_bytes_read) as f64 / n_bytes_read as f64));
                complain(format_args!(
                    "{}{} documents, {:.1} MB read, {:.1} MB/s{}",
                    self.pass,
                    Grouped(n_documents),
                    megabytes(n_bytes_read),
                    megabytes_per_second(n_bytes_read, elapsed),
                    left.map_or_else(String::new, |left| format!(", about {} left", HumanDuration(left)))
                ));
            }
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.view.end();
    }
}

fn bar(n_bytes: Option<u64>) -> ProgressBar {
    let (bar, template) = match n_bytes {
        Some(n_bytes) => (
            ProgressBar::new(n_bytes),
            "{wide_bar} {percent:>3} %  {msg} documents  {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left",
        ),
        None => {
            (ProgressBar::new_spinner(), "{spinner} {msg} documents  {bytes}  {bytes_per_sec}  {elapsed}")
        }
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    bar.set_style(ProgressStyle::with_template(template).expect("the template is fixed and well-formed"));
    bar
}

/// Prints a line to stderr.
pub(crate) fn complain(message: fmt::Arguments<'_>) {
    program::complain("indexer", message);
}
