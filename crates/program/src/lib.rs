//! What all programs do alike: where their [`settings`] come from, what they say to people, on stderr and on a terminal,
//! and limits of the system that are errors to them.
//!
//! Names of files, ids and whatever else comes from outside may hold what a terminal obeys. All that a program says goes
//! through here, so no message has to think of it: clippy refuses stdout and stderr elsewhere.
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
