//! A table of text in any usual encoding, as UTF-8.
//!
//! What is ASCII is handed on as it is; the first other bytes, with many behind them, tell the
//! encoding of the rest. A file of UTF-8 with a damaged place stays one: its rows are rejected one
//! by one, and none is read as something else.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use super::super::encoding::{ESCAPE, in_iso_2022_jp, likely};

/// Number of bytes read at a time, by which an encoding is told.
const PART_BYTES: usize = 64 << 10;

/// Length of an escape of ISO-2022-JP.
const ESCAPE_BYTES: usize = 3;

/// A byte of no UTF-8, in the place of what the encoding does not have.
const NO_TEXT: u8 = 0xff;

pub(crate) struct Transcoded<R> {
    reader: R,
    state: State,
    /// Text to be handed on, from `at` on.
    text: Vec<u8>,
    at: usize,
    /// An error met behind the text.
    failure: Option<io::Error>,
    is_ended: bool,
}

enum State {
    Begin(Option<&'static Encoding>),
    Ascii,
    Utf8,
    Other(Box<Decoder>),
}

impl State {
    fn of(encoding: &'static Encoding) -> Self {
        match encoding == UTF_8 {
            true => Self::Utf8,
            false => Self::Other(Box::new(encoding.new_decoder_without_bom_handling())),
        }
    }
}

impl<R: Read> Transcoded<R> {
    /// Returns a reader of the text in `encoding`; in the one it is found to have if `None`.
    pub(crate) fn new(reader: R, encoding: Option<&'static Encoding>) -> Self {
        let state = State::Begin(encoding);
        Self { reader, state, text: Vec::new(), at: 0, failure: None, is_ended: false }
    }

    /// Returns the encoding that was found, unless it is UTF-8.
    pub(super) fn encoding(&self) -> Option<&'static Encoding> {
        match &self.state {
            State::Other(decoder) => Some(decoder.encoding()),
            State::Begin(_) | State::Ascii | State::Utf8 => None,
        }
    }

    /// Reads a part of the source, as long as there is more.
    fn read_part(&mut self) -> Vec<u8> {
        let mut part = Vec::new();
        match self.reader.by_ref().take(PART_BYTES as u64).read_to_end(&mut part) {
            Ok(n) => self.is_ended = n < PART_BYTES,
            Err(error) => {
                self.is_ended = true;
                self.failure = Some(error);
            }
        }
        part
    }

    fn take_part(&mut self) {
        let mut part = self.read_part();
        if let State::Begin(given) = self.state {
            self.state = begin(&mut part, given);
        }
        if matches!(self.state, State::Ascii) {
            let is_far = (PART_BYTES / 2..part.len()).contains(&Encoding::ascii_valid_up_to(&part));
            let is_cut = part[part.len().saturating_sub(ESCAPE_BYTES - 1)..].contains(&ESCAPE);
            // Far into the part, or behind half an escape, too little would be left to tell by.
            if !self.is_ended && (is_far || is_cut) {
                part.extend(self.read_part());
            }
            let n_ascii = Encoding::ascii_valid_up_to(&part);
            if n_ascii < part.len() {
                self.state = guess(&part, self.is_ended).map_or(State::Utf8, State::of);
            } else if in_iso_2022_jp(&part).is_some() {
                self.state = State::of(ISO_2022_JP);
            }
        }
        self.at = 0;
        match &mut self.state {
            State::Other(decoder) => {
                self.text.clear();
                decode(decoder, &part, self.is_ended && self.failure.is_none(), &mut self.text);
            }
            State::Begin(_) | State::Ascii | State::Utf8 => self.text = part,
        }
    }
}

impl<R: Read> Read for Transcoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if self.is_ended {
                return Ok(0);
            }
            self.take_part();
        }
        let n = (&self.text[self.at..]).read(buffer)?;
        self.at += n;
        Ok(n)
    }
}

/// Returns true for a beginning with the byte order mark of UTF-16.
pub(crate) fn is_utf_16(head: &[u8]) -> bool {
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff")
}

/// Returns the state by the encoding given, by the byte order mark, which is taken away, or by the
/// zero bytes of UTF-16 without one.
fn begin(part: &mut Vec<u8>, given: Option<&'static Encoding>) -> State {
    let marked = Encoding::for_bom(part);
    if let Some((_, n_bytes)) = marked {
        part.drain(..n_bytes);
    }
    let units: Vec<bool> = part.iter().take(8).map(|byte| *byte == 0).collect();
    let unmarked = match units[..] {
        [false, true, false, true, false, true, false, true] => Some(UTF_16LE),
        [true, false, true, false, true, false, true, false] => Some(UTF_16BE),
        _ => None,
    };
    marked.map(|(encoding, _)| encoding).or(given).or(unmarked).map_or(State::Ascii, State::of)
}

/// Returns the encoding of `bytes`, which are not all ASCII; `None` for UTF-8.
fn guess(bytes: &[u8], is_whole: bool) -> Option<&'static Encoding> {
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // The part ends in the middle of a character.
        Err(error) => error.error_len().is_none() && !is_whole,
    };
    if is_utf8 {
        return None;
    }
    let (mut n_characters, mut n_damaged) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        n_characters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        n_damaged += usize::from(!chunk.invalid().is_empty());
    }
    if n_characters >= n_damaged {
        return None;
    }
    let encoding = likely(bytes, is_whole);
    let fits = decode(&mut encoding.new_decoder_without_bom_handling(), bytes, is_whole, &mut Vec::new());
    fits.then_some(encoding)
}

/// Appends the text of `bytes`; returns false if there are some that the encoding does not have.
fn decode(decoder: &mut Decoder, mut bytes: &[u8], is_last: bool, text: &mut Vec<u8>) -> bool {
    let mut fits = true;
    loop {
        let start = text.len();
        let n_max = decoder.max_utf8_buffer_length_without_replacement(bytes.len());
        text.resize(start + n_max.unwrap_or(PART_BYTES).max(4), 0);
        let (result, n_read, n_written) =
            decoder.decode_to_utf8_without_replacement(bytes, &mut text[start..], is_last);
        text.truncate(start + n_written);
        bytes = &bytes[n_read..];
        match result {
            DecoderResult::InputEmpty => return fits,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => {
                fits = false;
                text.push(NO_TEXT);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, GB18030, SHIFT_JIS, WINDOWS_1251, WINDOWS_1252};

    use super::*;

    const CHINESE: &str = "地铁七号线南延段今天开始空载试运行，预计年底前载客运营。";

    fn read(bytes: &[u8], given: Option<&'static Encoding>) -> (Vec<u8>, Option<&'static str>) {
        let mut transcoded = Transcoded::new(bytes, given);
        let mut text = Vec::new();
        transcoded.read_to_end(&mut text).unwrap();
        (text, transcoded.encoding().map(Encoding::name))
    }

    #[test]
    fn encodings_are_told_wherever_they_begin_to_differ() {
        for (encoding, text) in [
            (GB18030, CHINESE),
            (BIG5, "捷運七號線南延段今天開始空載試運行，預計年底前載客營運。"),
            (SHIFT_JIS, "地下鉄七号線の延伸区間で、きょうから試運転が始まりました。"),
            (WINDOWS_1251, "Паром до островов отправляется в полдень со второго причала."),
            (WINDOWS_1252, "Die Fähre über den Fluß fährt künftig öfter."),
        ] {
            for n_ascii in [0, 40_000, PART_BYTES - 1, 3 * PART_BYTES] {
                let text = format!("id,text\n{}\n1,{text}\n", "x".repeat(n_ascii));
                let (bytes, ..) = encoding.encode(&text);
                let (read, found) = read(&bytes, None);
                assert_eq!(String::from_utf8(read).unwrap(), text);
                assert!(found == Some(encoding.name()) || found == Some("GBK"), "{found:?}");
            }
        }
    }

    #[test]
    fn iso_2022_jp_is_told_by_its_escapes() {
        let table = "id,text\n1,地下鉄七号線の延伸区間で、きょうから試運転が始まりました。\n";
        for n_ascii in
            [0, 40_000, PART_BYTES - 9, PART_BYTES - 10, PART_BYTES - 11, PART_BYTES, 3 * PART_BYTES]
        {
            let text = format!("{}\n{table}{table}", "x".repeat(n_ascii));
            let (bytes, ..) = ISO_2022_JP.encode(&text);
            let (read, found) = read(&bytes, None);
            assert_eq!((String::from_utf8(read).unwrap(), found), (text, Some("ISO-2022-JP")), "{n_ascii}");
        }
        // One escape after another, as where texts are joined, is damage.
        let (text, ..) = ISO_2022_JP.encode("地下鉄七号線の延伸区間で");
        let joined = [b"id,text\n1,", &text[..], &text, b"\n"].concat();
        assert_eq!(read(&joined, None).1, Some("ISO-2022-JP"));
        for text in ["id,text\n1,\u{1b}[31mred\u{1b}(B\n", "id,text\n1,\u{1b}$B is an escape é\n", "\u{1b}"]
        {
            assert_eq!(read(text.as_bytes(), None), (text.into(), None));
        }
    }

    #[test]
    fn a_sign_or_an_accent_does_not_tell_an_encoding() {
        let table =
            "id,text\n1,It was a na\u{ef}ve plan for the harbour\n2,A price of £500 for the building\n";
        for begun in [0, PART_BYTES] {
            let text = "x".repeat(begun) + table;
            let (bytes, ..) = WINDOWS_1252.encode(&text);
            assert_eq!(read(&bytes, None), (text.into(), Some("windows-1252")));
        }
    }

    #[test]
    fn utf_16_needs_no_mark() {
        let text = format!("id,text\n1,{CHINESE}\n");
        for (big_endian, mark) in [(true, ""), (false, ""), (true, "\u{feff}"), (false, "\u{feff}")] {
            let bytes: Vec<u8> = format!("{mark}{text}")
                .encode_utf16()
                .flat_map(|unit| [(unit >> 8) as u8, unit as u8])
                .collect();
            let swapped = |pair: &[u8]| [pair[1], pair[0]];
            let bytes = if big_endian { bytes } else { bytes.chunks(2).flat_map(swapped).collect() };
            assert_eq!(read(&bytes, None).0, text.as_bytes());
        }
    }

    #[test]
    fn utf_8_stays_it_and_what_an_encoding_does_not_have_is_no_text() {
        let marked = format!("\u{feff}{CHINESE}");
        assert_eq!(read(marked.as_bytes(), None), (CHINESE.into(), None));
        let damaged = [CHINESE.as_bytes(), b"\xff\n", CHINESE.as_bytes()].concat();
        assert_eq!(read(&damaged, None), (damaged.clone(), None));
        assert_eq!(read(b"a\x81 b", Some(GB18030)).0, b"a\xff b");
        assert_eq!(read(b"", None), (Vec::new(), None));
        let long = CHINESE.repeat(3 * PART_BYTES / CHINESE.len());
        assert_eq!(read(long.as_bytes(), None), (long.into(), None));
    }

    #[test]
    fn a_failure_comes_behind_what_was_read() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let mut transcoded = Transcoded::new(b"a,b".chain(Broken), None);
        let mut text = Vec::new();
        assert!(transcoded.read_to_end(&mut text).is_err());
        assert_eq!(text, b"a,b");
    }
}
