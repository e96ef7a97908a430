//! Progress of one step of a run that has no documents to count, in percent.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{LINE_INTERVAL, View};

pub(crate) struct StepProgress {
    next_line: Instant,
    name: &'static str,
    view: View,
}

impl StepProgress {
    pub(crate) fn new(name: &'static str, quiet: bool) -> Self {
        Self { next_line: Instant::now() + LINE_INTERVAL, name, view: View::new(quiet, bar) }
    }

    /// Updates the display with the share of the step that is done, if an update is due.
    pub(crate) fn show(&mut self, share: f64) {
        if let View::Bar(bar) = &self.view {
            bar.set_position((share * 100.0) as u64);
        }
        self.view.show_step(self.name, share, &mut self.next_line);
    }
}

impl Drop for StepProgress {
    fn drop(&mut self) {
        self.view.end();
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(100);
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
    let style = ProgressStyle::with_template("{wide_bar} {msg} {elapsed}");
    bar.set_style(style.expect("the template is fixed and well-formed"));
    bar
}
