//! Common behaviour of all programs: sources of their [`settings`], messages to people on stderr
//! and on a terminal, and limits of the system turned into errors.
//!
//! File names, ids and other data from outside may hold control sequences of a terminal. All output
//! of a program goes through this crate, so no message has to care: clippy refuses stdout and
//! stderr elsewhere.
#![forbid(unsafe_code)]

mod limits;
mod memory;
mod printable;
mod say;
mod screen;
pub mod settings;

pub use limits::see_limits;
pub use memory::{MemoryLimits, MemoryUse};
pub use printable::{line, lines};
pub use say::{complain, error, exit_with, print_to_stderr};
pub use screen::{LogLines, Screen, stderr, stderr_exact, stdout};
