//! Blocks of a file without a name, each before its checksum: what a disk or its memory has changed
//! is noticed where it is read.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of a checksum.
pub(crate) const SEAL_BYTES: usize = size_of::<u32>();

/// A file in a folder.
pub(crate) struct Sealed {
    file: File,
    folder: PathBuf,
}

impl Sealed {
    /// Makes an empty file.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile_in(folder)?, folder: folder.to_owned() })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Writes blocks that have their checksums.
    pub(crate) fn write(&mut self, sealed: &[u8]) -> io::Result<()> {
        self.file.write_all(sealed)
    }

    pub(crate) fn rewind(&mut self) -> io::Result<()> {
        self.file.rewind()
    }

    /// Fills `sealed` with the next blocks of the file.
    pub(crate) fn read(&mut self, sealed: &mut [u8]) -> io::Result<()> {
        self.file.read_exact(sealed).map_err(|error| self.or_damaged(error))
    }

    /// Fills `sealed` with the block at an offset.
    pub(crate) fn read_at(&self, sealed: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(sealed, offset).map_err(|error| self.or_damaged(error))
    }

    /// The block before a checksum.
    pub(crate) fn opened<'a>(&self, sealed: &'a [u8]) -> io::Result<&'a [u8]> {
        let (block, seal) = sealed.split_last_chunk::<SEAL_BYTES>().ok_or_else(|| self.damaged())?;
        if crc32fast::hash(block) == u32::from_be_bytes(*seal) { Ok(block) } else { Err(self.damaged()) }
    }

    fn or_damaged(&self, error: io::Error) -> io::Error {
        // The file ends before what was written.
        if error.kind() == io::ErrorKind::UnexpectedEof { self.damaged() } else { error }
    }

    /// The error of a file that is not what was written.
    pub(crate) fn damaged(&self) -> io::Error {
        let folder = self.folder.display();
        let message = format!(
            "a temporary file in {folder} is not what was written to it; run it again, with temporary files on \
             another disk if this comes again"
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    }
}

/// Ends the block that begins at `from` with its checksum.
pub(crate) fn seal(bytes: &mut Vec<u8>, from: usize) {
    let seal = crc32fast::hash(&bytes[from..]);
    bytes.extend_from_slice(&seal.to_be_bytes());
}

/// Flips a bit of each `step`th byte of a file, one after another, and hands the file to `check`
/// with the place.
#[cfg(test)]
pub(crate) fn for_each_damage(file: &File, step: usize, mut check: impl FnMut(u64)) {
    let n_bytes = file.metadata().unwrap().len();
    for at in (0..n_bytes).step_by(step) {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        let flipped = byte[0] ^ 1 << (at % 8);
        file.write_all_at(&[flipped], at).unwrap();
        check(at);
        file.write_all_at(&byte, at).unwrap();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_and_a_changed_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = Sealed::create(folder.path()).unwrap();
        let mut bytes = b"before ".to_vec();
        bytes.extend_from_slice(b"block");
        seal(&mut bytes, 7);
        file.write(&bytes).unwrap();
        let read = |n_bytes: usize| {
            let mut sealed = vec![0; n_bytes];
            file.read_at(&mut sealed, 7)?;
            file.opened(&sealed).map(<[u8]>::to_vec)
        };
        let n_bytes = bytes.len() - 7;
        assert_eq!(read(n_bytes).unwrap(), b"block");
        for n_bytes in [0, 3, n_bytes - 1, n_bytes + 1] {
            let error = read(n_bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{n_bytes}");
            let said = error.to_string();
            assert!(
                said.contains(folder.path().to_str().unwrap()) && said.contains("run it again"),
                "{said}"
            );
        }
        for_each_damage(file.file(), 1, |at| assert_eq!(read(n_bytes).is_err(), at >= 7, "at {at}"));
        assert!(read(n_bytes).is_ok());
        assert!(file.opened(&[0; 4096]).is_err(), "a block that was never written");
    }
}
