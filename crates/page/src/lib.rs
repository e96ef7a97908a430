//! Pages that the programs write as files: one file each that fetches nothing, runs no script, and is read by keyboard, on a
//! telephone, and by day or night.
//!
//! Knows no documents and no figures: what a page says is its program's. maud escapes whatever comes from texts.
#![forbid(unsafe_code)]

mod chart;
mod diff;
mod frame;
mod side_by_side;
mod window;

pub use chart::{Axis, CHART_STYLE, Chart, Curve, CurveKind, Dot, legend};
pub use diff::{Part, diff, diff_items};
pub use frame::Page;
pub use side_by_side::{Side, beside};
pub use window::{item_windows, n_same, windows};
