//! The parts of stores: the rules kept by all of them, for the crates that implement
//! [`Store`](crate::Store). Programs need nothing of it.

mod away;
mod known;
mod last_write;
pub mod nearest;
pub mod retry;
pub mod rule;
mod runs;
pub mod search;

pub use away::Away;
pub use known::Known;
pub use last_write::{LastWrite, check_ahead};
pub use runs::{Live, Oldest, RUNS_MAX, Runs};

pub use crate::place::split_authority;
pub use crate::retention::{Horizon, SWEPT_MIN, n_swept_max};
pub use crate::store::{check_batch, check_documents, not_created, page_len};
