//! The writer, term by term.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use super::Header;
use crate::Digest;

/// A writer of a file of document frequencies. The file is whole only after [`Writer::finish`].
pub struct Writer<W> {
    output: W,
    hash: Sha256,
    line: Vec<u8>,
    n_terms: u64,
}

impl<W: Write> Writer<W> {
    /// Creates a writer, and writes the header.
    ///
    /// # Errors
    /// An error of `output`.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        let mut writer = Self { output, hash: Sha256::new(), line: Vec::new(), n_terms: 0 };
        write!(writer.line, "{header}")?;
        writer.put_line()?;
        Ok(writer)
    }

    /// Adds a term and the number of its documents. Each term must sort after all terms before it.
    ///
    /// # Errors
    /// An error of the output.
    pub fn push(&mut self, term: &str, n_documents: u64) -> io::Result<()> {
        self.n_terms += 1;
        writeln!(self.line, "{term} {n_documents}")?;
        self.put_line()
    }

    /// The number of terms written.
    #[must_use]
    pub fn n_terms(&self) -> u64 {
        self.n_terms
    }

    /// Ends the file. Returns the output, and the digest by which a recipe names the file.
    ///
    /// # Errors
    /// An error of the output.
    pub fn finish(mut self) -> io::Result<(W, Digest)> {
        let so_far = Digest(self.hash.clone().finalize().into());
        writeln!(self.line, "{}", last_line(self.n_terms, so_far))?;
        self.put_line()?;
        self.output.flush()?;
        Ok((self.output, Digest(self.hash.finalize().into())))
    }

    fn put_line(&mut self) -> io::Result<()> {
        self.hash.update(&self.line);
        self.output.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }
}

/// Returns the last line: the number of terms, and the checksum of all lines before it.
pub(super) fn last_line(n_terms: u64, digest: Digest) -> String {
    format!("# terms {n_terms} sha256 {digest}")
}
