//! Packed files, which readers take as one whatever the number of their parts is.

use std::io::{self, BufWriter, Seek, Write};

use flate2::write::GzEncoder;

use super::partial::Partial;

/// Buffered packed bytes.
const PACKED_BYTES: usize = 64 << 10;

/// A file of parts packed one by one: readers take all parts as one file.
pub(super) struct Packed {
    part: Part,
    /// True if the part has content.
    is_begun: bool,
    pub(super) file: BufWriter<Partial>,
}

/// A part: a member of gzip, a frame of zstd.
enum Part {
    Gzip(GzEncoder<Vec<u8>>),
    Zstd(zstd::Encoder<'static, Vec<u8>>),
}

impl Packed {
    pub(super) fn gzip(file: BufWriter<Partial>) -> Self {
        Self { part: Part::gzip(), is_begun: false, file }
    }

    pub(super) fn zstd(file: BufWriter<Partial>) -> io::Result<Self> {
        Ok(Self { part: Part::zstd()?, is_begun: false, file })
    }

    /// The length of the file, without what is being packed.
    pub(super) fn len(&mut self) -> io::Result<u64> {
        self.file.stream_position()
    }
}

impl Part {
    fn gzip() -> Self {
        Self::Gzip(GzEncoder::new(Vec::new(), flate2::Compression::default()))
    }

    fn zstd() -> io::Result<Self> {
        let mut encoder = zstd::Encoder::new(Vec::new(), zstd::DEFAULT_COMPRESSION_LEVEL)?;
        // The checksum reveals a flipped bit while unpacking, as with gzip.
        encoder.include_checksum(true)?;
        Ok(Self::Zstd(encoder))
    }

    /// A new part of the same kind.
    fn next(&self) -> io::Result<Self> {
        match self {
            Self::Gzip(_) => Ok(Self::gzip()),
            Self::Zstd(_) => Self::zstd(),
        }
    }

    fn encoder(&mut self) -> &mut dyn Write {
        match self {
            Self::Gzip(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }

    /// Packed bytes not written to the file yet.
    fn packed(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Gzip(encoder) => encoder.get_mut(),
            Self::Zstd(encoder) => encoder.get_mut(),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Gzip(encoder) => encoder.finish(),
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl Packed {
    /// Ends the current part. An empty part is written only for an empty file, which needs one to
    /// be a packed file.
    pub(super) fn end_part(&mut self) -> io::Result<()> {
        if self.is_begun || self.file.stream_position()? == 0 {
            self.is_begun = false;
            let next = self.part.next()?;
            let part = std::mem::replace(&mut self.part, next);
            self.file.write_all(&part.finish()?)?;
        }
        Ok(())
    }

    fn hand_on(&mut self) -> io::Result<()> {
        let packed = self.part.packed();
        self.file.write_all(packed)?;
        packed.clear();
        Ok(())
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_begun = true;
        let n_bytes = self.part.encoder().write(bytes)?;
        if self.part.packed().len() >= PACKED_BYTES {
            self.hand_on()?;
        }
        Ok(n_bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.part.encoder().flush()?;
        self.hand_on()?;
        self.file.flush()
    }
}

/// A bound on the packed length of `n` bytes, if packing does not make them shorter: both formats
/// store blocks of 32 KiB and more as they are, behind some bytes.
pub(super) fn packed_at_most(n: u64) -> u64 {
    if n == 0 { 0 } else { n + n / 1024 + 64 }
}
