//! Messages of a stream of Arrow: a header and a body each.

use std::io::{self, BufRead, Read};

use arrow_ipc::{CompressionType, MessageHeader, RecordBatch, root_as_message};

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

const NO_STREAM: &str = "more follows the mark of its end, and that is no other stream; rows may be missing";

pub(super) struct Messages<R> {
    reader: R,
    place: Place,
    is_file: bool,
    /// Number of streams begun.
    n_streams: u64,
}

/// Place between two messages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    InStream,
    /// Behind the mark of the end of a stream.
    Behind,
}

pub(super) struct Message {
    header: Vec<u8>,
    pub(super) body: Vec<u8>,
    /// True for the first message of a stream.
    pub(super) is_first: bool,
}

impl Message {
    pub(super) fn header(&self) -> io::Result<arrow_ipc::Message<'_>> {
        root_as_message(&self.header).map_err(|_| broken("the header of a message is damaged"))
    }
}

impl<R: BufRead> Messages<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, place: Place::Start, is_file: false, n_streams: 0 }
    }

    pub(super) fn n_streams(&self) -> u64 {
        self.n_streams
    }

    /// Returns true if nothing was read so far.
    pub(super) fn is_at_start(&self) -> bool {
        self.place == Place::Start
    }

    /// Returns the next message; `None` after the mark of the end, and for an empty file. Another
    /// stream may follow that of a stream.
    pub(super) fn next(&mut self) -> io::Result<Option<Message>> {
        loop {
            let place = self.place;
            if (place == Place::Start && self.is_empty()?) || (place == Place::Behind && self.is_at_end()?) {
                return Ok(None);
            }
            let message = self.message();
            let message = if place == Place::Behind { message.map_err(no_stream) } else { message };
            let Some(mut message) = message? else {
                // Behind the mark in a file is its footer.
                if self.is_file {
                    return Ok(None);
                }
                self.place = Place::Behind;
                continue;
            };
            message.is_first = place != Place::InStream;
            if place == Place::Behind && message.header()?.header_type() != MessageHeader::Schema {
                return Err(broken(NO_STREAM));
            }
            self.n_streams += u64::from(message.is_first);
            self.place = Place::InStream;
            return Ok(Some(message));
        }
    }

    /// Returns true if nothing follows.
    fn is_empty(&mut self) -> io::Result<bool> {
        loop {
            match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                available => return Ok(available?.is_empty()),
            }
        }
    }

    /// Skips zero bytes, with which the mark may be padded. Returns true if nothing else follows.
    fn is_at_end(&mut self) -> io::Result<bool> {
        loop {
            let available = match self.reader.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                available => available?,
            };
            let n_zeros = available.iter().take_while(|byte| **byte == 0).count();
            let is_at_end = available.is_empty();
            let is_done = is_at_end || n_zeros < available.len();
            self.reader.consume(n_zeros);
            if is_done {
                return Ok(is_at_end);
            }
        }
    }

    /// Reads one message; `None` for the mark of the end.
    fn message(&mut self) -> io::Result<Option<Message>> {
        let mut word = self.word()?;
        if self.place != Place::InStream && word == FILE_MAGIC {
            if self.word()? != FILE_MAGIC_REST {
                return Err(broken("its beginning is damaged"));
            }
            self.is_file = true;
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
        let header = self.take(n_header)?;
        let mut message = Message { header, body: Vec::new(), is_first: false };
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

/// Replaces the error of a first message behind the mark of an end, unless reading itself failed.
fn no_stream(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::InvalidData { broken(NO_STREAM) } else { error }
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
