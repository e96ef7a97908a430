//! A file of document frequencies: for each term, the number of documents of a corpus with the term
//! in them. `schema/idf.md` has a drawing.
//!
//! The file holds counts, not weights: files of several parts of a corpus add up to the file of the
//! whole, to the byte. The same file is the dictionary: the loader makes a weight of each count.
//! Terms are written in the form in which they are hashed.

mod header;
mod read;
mod write;

pub use header::Header;
pub use read::{ReadError, Reader};
pub use write::Writer;

/// The start of the first line; the version follows.
const MAGIC: &str = "# pigeonhole document frequencies ";

/// The version of the format, and of the formula from a count to a weight.
const VERSION: &str = "1";

/// Returns true if the text of a dictionary starts as such a file does.
pub(crate) fn is_one(text: &str) -> bool {
    text.starts_with(MAGIC)
}

#[cfg(test)]
mod tests;
