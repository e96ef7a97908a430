//! Progress over the parts of an index, in parts, and in rows or pairs.

use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{LINE_INTERVAL, View, complain};
use crate::numbers::Grouped;

pub(crate) struct PartsProgress {
    start: Instant,
    next_line: Instant,
    n_parts: u64,
    /// The name of what is counted within the parts.
    unit: &'static str,
    view: View,
}

impl PartsProgress {
    /// Starts the progress over `n_parts` parts.
    pub(crate) fn new(n_parts: u64, unit: &'static str, quiet: bool) -> Self {
        let view = View::new(quiet, || bar(n_parts));
        let start = Instant::now();
        Self { start, next_line: start + LINE_INTERVAL, n_parts, unit, view }
    }

    /// Working time.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Updates the display, if an update is due.
    pub(crate) fn show(&mut self, n_done: u64, n_read: u64) {
        let unit = self.unit;
        let per_second = (n_read as f64 / self.elapsed().as_secs_f64().max(1e-3)) as u64;
        match &self.view {
            View::Nothing => {}
            View::Bar(bar) => {
                bar.set_position(n_done);
                bar.set_message(format!("{} {unit}  {}/s", Grouped(n_read), Grouped(per_second)));
            }
            View::Lines if Instant::now() < self.next_line => {}
            View::Lines => {
                self.next_line = Instant::now() + LINE_INTERVAL;
                complain(format_args!(
                    "{n_done} of {} parts, {} {unit}, {}/s, in {}",
                    self.n_parts,
                    Grouped(n_read),
                    Grouped(per_second),
                    HumanDuration(self.elapsed())
                ));
            }
        }
    }
}

impl Drop for PartsProgress {
    fn drop(&mut self) {
        self.view.end();
    }
}

fn bar(n_parts: u64) -> ProgressBar {
    let bar = ProgressBar::new(n_parts);
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template("{wide_bar} {pos} of {len} parts  {msg}  {elapsed}");
    bar.set_style(style.expect("the template is fixed and well-formed"));
    bar
}
