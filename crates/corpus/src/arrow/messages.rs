//! Messages of a stream of Arrow: a header and a body each.

use std::io::{self, Read};

use arrow_ipc::{CompressionType, RecordBatch, root_as_message};

use super::broken;

/// Beginning of a file; two zero bytes follow.
const FILE_MAGIC: [u8; 4] = *b"ARRO";
const FILE_MAGIC_REST: [u8; 4] = *b"W1\0\0";

const PADDING_WORDS_MAX: usize = 16;

/// Stands before the length of a header. Programs before 2019 write the length alone.
const CONTINUATION: [u8; 4] = [0xff; 4];

const HEADER_BYTES_MAX: u64 = 64 << 20;

/// Maximum length of a body, as stored and unpacked: a batch is held as a whole.
const BODY_BYTES_MAX: u64 = 2 << 30;

/// Maximum ratio of LZ4, and of rows to the bytes that tell them apart.
const LZ4_RATIO_MAX: u64 = 256;
const ROWS_PER_BYTE_MAX: u64 = 8;

/// Number of rows that need no bytes.
const ROWS_FREE: u64 = 1 << 16;

/// Stands in the place of an unpacked length before bytes that are not packed.
const NOT_PACKED: u64 = u64::MAX;

pub(super) struct Messages<R> {
    reader: R,
    is_begun: bool,
}

pub(super) struct Message {
    header: Vec<u8>,
    pub(super) body: Vec<u8>,
}

impl Message {
    pub(super) fn header(&self) -> io::Result<arrow_ipc::Message<'_>> {
        root_as_message(&self.header).map_err(|_| broken("the header of a message is damaged"))
    }
}

impl<R: Read> Messages<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, is_begun: false }
    }

    /// Returns the next message; `None` after the mark of the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Message>> {
        let mut word = self.word()?;
        if !std::mem::replace(&mut self.is_begun, true) && word == FILE_MAGIC {
            if self.word()? != FILE_MAGIC_REST {
                return Err(broken("its beginning is damaged"));
            }
            // Some programs begin with a whole block.
            for _ in 0..PADDING_WORDS_MAX {
                word = self.word()?;
                if word != [0; 4] {
                    break;
                }
            }
        }
        if word == CONTINUATION {
            word = self.word()?;
        }
        let n_header = number(&word);
        if n_header == 0 {
            return Ok(None);
        }
        if n_header > HEADER_BYTES_MAX {
            return Err(broken("the header of a message is longer than 64 MiB"));
        }
        let mut message = Message { header: self.take(n_header)?, body: Vec::new() };
        let n_body = u64::try_from(message.header()?.bodyLength());
        let n_body = n_body.map_err(|_| broken("a message is shorter than nothing"))?;
        if n_body > BODY_BYTES_MAX {
            return Err(broken("a batch is longer than 2 GiB; write the table in shorter batches"));
        }
        message.body = self.take(n_body)?;
        Ok(Some(message))
    }

    fn word(&mut self) -> io::Result<[u8; 4]> {
        let mut word = [0; 4];
        self.reader.read_exact(&mut word).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                broken("it ends without the mark of its end; rows may be missing")
            }
            _ => error,
        })?;
        Ok(word)
    }

    /// Reads `n` bytes. Memory is taken as they come.
    fn take(&mut self, n: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let n_read = self.reader.by_ref().take(n).read_to_end(&mut bytes)?;
        if (n_read as u64) < n { Err(broken("it breaks off in a message")) } else { Ok(bytes) }
    }
}

/// Refuses a batch whose header says more than its bytes can hold: each length is one for which
/// memory is taken.
pub(super) fn check_lengths(batch: RecordBatch<'_>, body: &[u8]) -> Result<(), String> {
    let mut n_bytes = body.len() as u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let (start, len) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length()));
        let end = start.ok().zip(len.ok()).and_then(|(start, len)| start.checked_add(len));
        if end.is_none_or(|end| end > n_bytes) {
            return Err("it says that its values lie beyond its bytes".to_owned());
        }
    }
    if let Some(compression) = batch.compression() {
        for buffer in batch.buffers().into_iter().flatten() {
            let start = usize::try_from(buffer.offset()).ok();
            let len = u64::try_from(buffer.length()).unwrap_or(0);
            let Some(prefix) = start.and_then(|start| body.get(start..start.checked_add(8)?)) else {
                continue;
            };
            let unpacked = number(prefix);
            if len < 8 || unpacked == NOT_PACKED {
                continue;
            }
            let is_lz4 = compression.codec() == CompressionType::LZ4_FRAME;
            if is_lz4 && unpacked > len.saturating_mul(LZ4_RATIO_MAX) {
                return Err("it says that more was packed than its bytes can hold".to_owned());
            }
            n_bytes = n_bytes.saturating_add(unpacked);
        }
    }
    if n_bytes > BODY_BYTES_MAX {
        return Err("unpacked, it is longer than 2 GiB; write the table in shorter batches".to_owned());
    }
    let n_rows = u64::try_from(batch.length()).unwrap_or(u64::MAX);
    if n_rows > n_bytes * ROWS_PER_BYTE_MAX + ROWS_FREE {
        return Err("it says that it has more rows than its bytes can hold".to_owned());
    }
    Ok(())
}

/// Returns a number as Arrow stores it: little-endian.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
