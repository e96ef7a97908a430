//! The cell of a text: one for each version of a document, named by the version's timestamp and a
//! digest of the text.

use index::{Error, ErrorKind, Result, Text};
use sha2::{Digest, Sha256};

use super::damaged;

/// The family of the documents' texts, which searches read only for pairs worth a count.
pub(crate) const TEXT_FAMILY: u8 = b't';

/// All columns of `TEXT_FAMILY`.
pub(crate) const TEXT_COLUMNS: &[u8] = b"t";

/// The first byte of a cell, before the text in Zstandard.
const ZSTD: u8 = 1;

/// Zstandard's own default: output smaller by a tenth than at the quickest levels, at 100 MB/s and
/// more.
const LEVEL: i32 = 3;

/// The longest text that is kept, in bytes: HBase refuses cells of more than 10 MB. Pairs with a
/// longer text are estimated.
pub(crate) const TEXT_BYTES_MAX: usize = 8 << 20;

/// Returns the digest by which a record or a claim names its text: 64 bits of SHA-256, big-endian.
/// `None` for a text that is too long to keep.
pub(crate) fn digest(text: &Text) -> Option<u64> {
    (text.len() <= TEXT_BYTES_MAX).then(|| digest_of(text.as_bytes()))
}

fn digest_of(text: &[u8]) -> u64 {
    let digest = Sha256::digest(text);
    digest.iter().take(8).fold(0, |digest, byte| digest << 8 | u64::from(*byte))
}

/// Returns the word for a digest in records, claims and columns.
pub(crate) fn digest_word(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Reads the word of a digest.
pub(crate) fn parse_digest(word: &str) -> Option<u64> {
    let digest = u64::from_str_radix(word, 16).ok()?;
    (digest_word(digest) == word).then_some(digest)
}

/// Returns the qualifier of a version's text. Versions never share a cell: one can be deleted
/// without the others.
pub(crate) fn text_qualifier(timestamp: i64, digest: u64) -> Vec<u8> {
    format!("{timestamp}.{}", digest_word(digest)).into_bytes()
}

/// Returns the column of a version's text: family, a colon, qualifier.
pub(crate) fn text_column(timestamp: i64, digest: u64) -> Vec<u8> {
    [TEXT_COLUMNS, b":", &text_qualifier(timestamp, digest)].concat()
}

/// Reads the timestamp and the digest in the qualifier of a text.
pub(crate) fn decode_text_qualifier(qualifier: &[u8]) -> Option<(i64, u64)> {
    let (timestamp, digest) = std::str::from_utf8(qualifier).ok()?.split_once('.')?;
    let found = (timestamp.parse().ok()?, parse_digest(digest)?);
    (text_qualifier(found.0, found.1) == qualifier).then_some(found)
}

/// Returns the value of a text's cell.
pub(crate) fn encode_text(text: &Text) -> Result<Vec<u8>> {
    let compressed = zstd::bulk::compress(text.as_bytes(), LEVEL)
        .map_err(|error| Error::new(ErrorKind::Internal, "a text cannot be compressed").caused_by(error))?;
    Ok([&[ZSTD], &compressed[..]].concat())
}

/// Reads a text back; accepts only the text of this digest.
pub(crate) fn decode_text(qualifier: &[u8], value: &[u8], digest: u64) -> Result<Text> {
    let text = match value {
        [ZSTD, compressed @ ..] => zstd::bulk::decompress(compressed, capacity(compressed)).ok(),
        _ => None,
    };
    text.filter(|text| digest_of(text) == digest)
        .and_then(|text| String::from_utf8(text).ok())
        .map(Text::from)
        .ok_or_else(|| damaged("the column", qualifier, "is not the text that its document names"))
}

/// Returns the length to which a frame says it decompresses, at most `TEXT_BYTES_MAX`: no longer
/// text is ever written.
fn capacity(compressed: &[u8]) -> usize {
    let said = zstd::zstd_safe::get_frame_content_size(compressed).ok().flatten();
    said.and_then(|said| usize::try_from(said).ok()).unwrap_or(TEXT_BYTES_MAX).min(TEXT_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::super::{Record, decode_claim, encode_claim};
    use super::*;
    use crate::claims::{Claim, State, Ticket};
    use index::SketchKind;
    use simhash::Fingerprint;

    const GOLDEN_DIGEST: &str = "a2054b843ddb4eaa";

    /// Fixed bytes: a change here is a new format version.
    #[test]
    fn golden_texts() {
        let text = Text::from("The harbour office closes at noon.");
        let digest = digest(&text).unwrap();
        assert_eq!(digest_word(digest), GOLDEN_DIGEST);
        let qualifier = text_qualifier(1_763_735_000_123, digest);
        assert_eq!(String::from_utf8(qualifier.clone()).unwrap(), format!("1763735000123.{GOLDEN_DIGEST}"));
        assert_eq!(decode_text_qualifier(&qualifier), Some((1_763_735_000_123, digest)));
        assert_eq!(
            text_column(7, 0xab),
            b"t:7.00000000000000ab",
            "the first bytes of a column are those of its family"
        );
        let value = [&[1, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 34, 0x11, 0x01, 0x00][..], text.as_bytes()].concat();
        assert_eq!(decode_text(&qualifier, &value, digest).unwrap(), text);
        assert_eq!(decode_text(&qualifier, &encode_text(&text).unwrap(), digest).unwrap(), text);
        for qualifier in [
            "",
            "record",
            "claim",
            "1.ab",
            "1.00000000000000AB",
            "01.00000000000000ab",
            "1.0000000000000000ab",
        ] {
            assert_eq!(decode_text_qualifier(qualifier.as_bytes()), None, "{qualifier}");
        }
    }

    /// In a record and in a claim, the digest of the text is one more word, before the source.
    #[test]
    fn golden_words() {
        let kind = SketchKind::default();
        let sketch = kind.sketch(Fingerprint(0x9e37_79b9_7f4a_7c15));
        let source = Some(index::Source::new("feed/1").unwrap());
        let record =
            Record { sketch: sketch.clone(), timestamp: 1, source: source.clone(), text: Some(0xab) };
        let expected = "live 9e3779b97f4a7c15 1 text=00000000000000ab source=feed/1";
        assert_eq!(String::from_utf8(record.encode(&kind)).unwrap(), expected);
        assert_eq!(Record::decode(expected.as_bytes(), &kind).unwrap(), record);
        let ticket = Ticket { time: 2, owner: 3, number: 4 };
        let (state, timestamp, deadline) = (State::Pending, 1, 5);
        let claim =
            Claim { state, sketch, source, text: Some(0xab), timestamp, ticket, deadline, expires: true };
        let expected = "pending 9e3779b97f4a7c15 1 ticket=2.0000000000000003.4 until=5 text=00000000000000ab source=feed/1";
        assert_eq!(String::from_utf8(encode_claim(&claim, &kind)).unwrap(), expected);
        assert_eq!(decode_claim(expected.as_bytes(), &kind).unwrap(), claim);
        for words in ["live - 1 text=", "live - 1 text=ab", "live - 1 text=00000000000000AB"] {
            assert!(Record::decode(words.as_bytes(), &kind).is_err(), "{words}");
        }
    }

    #[test]
    fn long_texts_come_back_and_damaged_ones_do_not() {
        let long = Text::from("a line of a long text\n".repeat(TEXT_BYTES_MAX / 22));
        let value = encode_text(&long).unwrap();
        let of_long = digest(&long).unwrap();
        assert!(value.len() < long.len() / 100);
        assert_eq!(decode_text(b"1", &value, of_long).unwrap(), long);
        let mut damaged = value.clone();
        damaged.truncate(value.len() - 1);
        for (value, of) in [
            (&value[..], of_long ^ 1),
            (&damaged[..], of_long),
            (&value[1..], of_long),
            (&[2, 3][..], of_long),
            (&[], of_long),
        ] {
            assert_eq!(decode_text(b"1", value, of).unwrap_err().kind(), ErrorKind::Corrupt);
        }
        assert_eq!(digest(&Text::from("a".repeat(TEXT_BYTES_MAX + 1))), None);
    }
}
