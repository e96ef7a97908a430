//! Loops over many numbers or bytes, in lanes: several share an instruction where the machine has
//! AVX2 or AVX-512, which is asked at run time. Each loop has a plain form beside it for all other
//! machines, and gives the same results.
//!
//! This crate knows neither sets nor languages, and is the only one of the hash and of the reading
//! of texts that has `unsafe`: to call what was compiled for such machines, to load and store their
//! lanes, and to take characters for a text.
//!
//! ```
//! let mut firsts = [1, 2, 3];
//! pigeonhole_lanes::hash_each(&mut firsts, &[4, 5, 6], &[0, 0, 0, 1]);
//! assert_eq!(firsts, [4, 10, 18]);
//! ```

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[macro_use]
mod dispatch;
mod chars;
mod landing;
mod numbers;
mod words;

pub use chars::text_of;
pub use landing::Landed;
pub use numbers::{fold, hash_each, n_ones, pack_windows};
pub use words::{ByteKind, Words};
