//! Pages that the programs write as files. Each page is one file, fetches nothing, runs no script
//! but its own, and is readable by keyboard, on a telephone, and by day or night.
//!
//! The module knows no documents and no figures: the program provides the content of a page. maud
//! escapes all content taken from texts.

mod chart;
mod diff;
mod folded;
mod frame;
mod marks;
mod side_by_side;
mod window;

pub use chart::{Axis, CHART_STYLE, Chart, Curve, CurveKind, Dot, legend};
pub use diff::{Part, diff, diff_items};
pub use folded::fold;
pub use frame::Page;
pub use marks::{Marked, sortable};
pub use side_by_side::{Side, beside};
pub use window::{item_windows, n_same, windows};
