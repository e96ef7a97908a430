//! A reader that remembers what is read through it.

use std::io::{self, Read};

/// Reader that remembers all bytes read through it.
pub(super) struct Remembering<R> {
    pub(super) inner: R,
    pub(super) bytes: Vec<u8>,
}

impl<R> Remembering<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, bytes: Vec::new() }
    }
}

impl<R: Read> Read for Remembering<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bytes.extend_from_slice(&buffer[..n]);
        Ok(n)
    }
}
