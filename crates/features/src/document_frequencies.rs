//! A file of document frequencies: in how many documents of a corpus each term occurs. `schema/idf.md` has a drawing.
//!
//! It holds counts, not weights, so files of several parts of a corpus add up to that of the whole, to the byte, and
//! the same file is the dictionary: the loader makes a weight of each count. Terms stand there as they are hashed.

mod header;
mod read;
mod write;

pub use header::Header;
pub use read::{ReadError, Reader};
pub use write::Writer;

/// How the first line begins; the version follows.
const MAGIC: &str = "# pigeonhole document frequencies ";

/// The version of the format, and of how a weight is made of a count.
const VERSION: &str = "1";

/// Whether a dictionary says of itself that it is such a file.
pub(crate) fn is_one(text: &str) -> bool {
    text.starts_with(MAGIC)
}

#[cfg(test)]
mod tests;
