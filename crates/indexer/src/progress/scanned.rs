//! Progress over an index, in documents: the bytes of a store are not known.

use std::time::{Duration, Instant};

use index::Index;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Console, LINE_INTERVAL, View, complain};
use crate::numbers::Grouped;

pub(crate) struct Scanned {
    start: Instant,
    next_line: Instant,
    /// Name of the current pass; empty if there is only one.
    pass: &'static str,
    /// `None` if the store does not count documents.
    n_documents: Option<u64>,
    view: View,
}

impl Scanned {
    pub(crate) fn new(index: &Index, quiet: bool) -> anyhow::Result<Self> {
        let n_documents = index.status()?.n_documents;
        let view = View::new(quiet, || bar(n_documents));
        let start = Instant::now();
        Ok(Self { start, next_line: start + LINE_INTERVAL, pass: "", n_documents, view })
    }

    /// Begins another pass over all documents.
    pub(crate) fn begin_pass(&mut self, name: &'static str) {
        self.pass = name;
        if let View::Bar(bar) = &self.view {
            bar.reset_eta();
        }
    }

    pub(crate) fn console(&self) -> Console {
        Console(self.view.clone())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Updates the display, if an update is due.
    pub(crate) fn show(&mut self, n_read: u64) {
        match &self.view {
            View::Nothing => {}
            View::Bar(bar) => {
                bar.set_position(n_read);
                bar.set_message(format!("{}{}", self.pass, Grouped(n_read)));
            }
            View::Lines if Instant::now() < self.next_line => {}
            View::Lines => {
                self.next_line = Instant::now() + LINE_INTERVAL;
                let of = self.n_documents.map_or_else(String::new, |n| format!(" of {}", Grouped(n)));
                let time = HumanDuration(self.elapsed());
                complain(format_args!("{}{}{of} documents in {time}", self.pass, Grouped(n_read)));
            }
        }
    }
}

impl Drop for Scanned {
    fn drop(&mut self) {
        self.view.end();
    }
}

fn bar(n_documents: Option<u64>) -> ProgressBar {
    let (bar, template) = match n_documents {
        Some(n) => (ProgressBar::new(n), "{wide_bar} {percent:>3} %  {msg} documents  {per_sec}  {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg} documents  {per_sec}  {elapsed}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    bar.set_style(ProgressStyle::with_template(template).expect("the template is fixed and well-formed"));
    bar
}
