//! In-memory search for sketches, and the join of a whole corpus with itself. Knows bits only: no documents, no text, no I/O.

mod tables;

pub use tables::{Cost, Hit, Postings, Tables};
