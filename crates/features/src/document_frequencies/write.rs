//! Writing one, term by term.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use super::Header;
use crate::Digest;

/// Writes a file of document frequencies. It is whole only after [`Writer::finish`].
pub struct Writer<W> {
    output: W,
    hash: Sha256,
    line: Vec<u8>,
    n_terms: u64,
}

impl<W: Write> Writer<W> {
    /// Begins with the header.
    ///
    /// # Errors
    /// Where `output` has one.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        let mut writer = Self { output, hash: Sha256::new(), line: Vec::new(), n_terms: 0 };
        write!(writer.line, "{header}")?;
        writer.put_line()?;
        Ok(writer)
    }

    /// Adds a term, which sorts after all before it, and the number of documents it occurs in.
    ///
    /// # Errors
    /// Where the output has one.
    pub fn push(&mut self, term: &str, n_documents: u64) -> io::Result<()> {
        self.n_terms += 1;
        writeln!(self.line, "{term} {n_documents}")?;
        self.put_line()
    }

    /// How many terms there are.
    #[must_use]
    pub fn n_terms(&self) -> u64 {
        self.n_terms
    }

    /// Ends the file, and gives back the output and the digest by which a recipe names the file.
    ///
    /// # Errors
    /// Where the output has one.
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

/// The last line: how many terms there are, and the checksum of all lines before it.
pub(super) fn last_line(n_terms: u64, digest: Digest) -> String {
    format!("# terms {n_terms} sha256 {digest}")
}
