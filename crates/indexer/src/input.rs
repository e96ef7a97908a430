//! From files to lines to records.
//!
//! [`lines`] knows files, compression and line ends; [`record`] knows JSON. Neither knows what a record is for.

mod lines;
mod record;

pub(crate) use lines::{Chunk, Inputs};
pub(crate) use record::Fields;
