//! The room of the programs' command lines: [`flags`] that several programs have, sources of
//! [`settings`], man pages, messages to people on stderr and on a terminal, limits of the system
//! turned into errors, and the look of reports as pages.
//!
//! File names, ids and other data from outside may hold control sequences of a terminal. All output
//! of a program goes through this crate, so no message has to care: clippy refuses stdout and
//! stderr elsewhere.
#![deny(unsafe_code)]

pub mod flags;
pub mod invocation;
mod limits;
pub mod manual;
mod memory;
#[cfg(feature = "pages")]
pub mod page;
mod printable;
mod say;
mod screen;
pub mod settings;

pub use limits::see_limits;
pub use memory::{MemoryLimits, MemoryUse, give_memory_back, held_bytes, limit_memory, machine_bytes};
pub use printable::{line, lines};
pub use say::{complain, error, exit_with, print_to_stderr};
pub use screen::{LogLines, Screen, stderr, stderr_exact, stdout};
