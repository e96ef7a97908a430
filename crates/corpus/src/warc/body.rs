//! The body of a server's answer: its chunks are joined, and what is packed is unpacked, as far as
//! it came.
//!
//! Crawlers often keep the fields as received and store the body as they decoded it, so each coding
//! is taken off only where it is.

use std::borrow::Cow;
use std::io::{self, Read};

use super::media::is_of_no_text;

/// Maximum length in bytes of an unpacked page.
pub(super) const PAGE_BYTES_MAX: usize = 64 << 20;

/// Maximum number of codings, one on another.
const CODINGS_MAX: usize = 8;

/// Maximum length in bytes of the line with the length of a chunk.
const CHUNK_LINE_BYTES_MAX: usize = 4096;

/// Bytes of packed input that the decoder of Brotli holds.
const BROTLI_BUFFER: usize = 4096;

/// Returns the body without its codings. `transfer` and `content` are the codings in lowercase, in
/// the order in which they were applied, with commas between them.
pub(super) fn decoded<'a>(body: &'a [u8], transfer: &str, content: &str) -> Result<Cow<'a, [u8]>, String> {
    let mut body = Cow::Borrowed(body);
    if transfer.contains("chunked")
        && let Some(whole) = without_chunks(&body)
    {
        body = Cow::Owned(whole);
    }
    let codings = content.split(',').chain(transfer.split(',')).map(str::trim);
    let codings: Vec<&str> = codings.filter(|coding| !coding.is_empty()).collect();
    if codings.len() > CODINGS_MAX {
        return Err(format!("the page is packed {} times", codings.len()));
    }
    for coding in codings.iter().rev() {
        body = unpack(body, coding)?;
    }
    Ok(body)
}

/// Joins the chunks of a body, as far as it goes; `None` if it does not begin with a chunk.
fn without_chunks(body: &[u8]) -> Option<Vec<u8>> {
    let mut rest = body.trim_ascii_start();
    let mut len = chunk_len(&mut rest)?;
    let mut whole = Vec::with_capacity(rest.len());
    while len > 0 {
        let n_here = len.min(rest.len());
        whole.extend_from_slice(&rest[..n_here]);
        rest = &rest[n_here..];
        rest = rest.strip_prefix(b"\r").unwrap_or(rest);
        rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        // Without a further chunk the body was cut off here.
        len = chunk_len(&mut rest).unwrap_or(0);
    }
    Some(whole)
}

/// Takes the line with the length of a chunk off `rest`; `None` if it is no such line.
fn chunk_len(rest: &mut &[u8]) -> Option<usize> {
    let end = memchr::memchr(b'\n', &rest[..rest.len().min(CHUNK_LINE_BYTES_MAX)])?;
    let line = rest[..end].split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let len = usize::from_str_radix(std::str::from_utf8(line).ok()?, 16).ok()?;
    // A sign is no digit.
    let is_len = line.iter().all(u8::is_ascii_hexdigit);
    *rest = &rest[end + 1..];
    is_len.then_some(len)
}

/// Takes one coding off. A body that is not packed so, or in a coding of another name, stays as it
/// is: servers name encodings of text here, and much else.
fn unpack<'a>(body: Cow<'a, [u8]>, coding: &str) -> Result<Cow<'a, [u8]>, String> {
    let is_markup = body.trim_ascii_start().starts_with(b"<");
    let unpacked = match coding {
        "gzip" | "x-gzip" if body.starts_with(b"\x1f\x8b") => {
            read(flate2::bufread::MultiGzDecoder::new(&*body))
        }
        // Some servers mean zlib, others raw deflate.
        "deflate" if !is_markup => match read(flate2::bufread::ZlibDecoder::new(&*body)) {
            Err(_) => read(flate2::bufread::DeflateDecoder::new(&*body)),
            unpacked => unpacked,
        },
        "zstd" if body.starts_with(b"\x28\xb5\x2f\xfd") => {
            zstd::Decoder::with_buffer(&*body).map_err(|error| error.to_string()).and_then(read)
        }
        "br" => match unpacked_brotli(&body) {
            // Brotli has no magic number: a page that its recorder has unpacked is no stream of it.
            Err(_) if is_text(&body) || is_markup => return Ok(body),
            unpacked => unpacked,
        },
        _ => return Ok(body),
    };
    let unpacked = unpacked.map_err(|error| format!("the page cannot be unpacked: {error}"))?;
    if unpacked.len() > PAGE_BYTES_MAX {
        return Err(format!("the page is longer than {PAGE_BYTES_MAX} bytes"));
    }
    Ok(Cow::Owned(unpacked))
}

/// Unpacks Brotli as far as it came. Its decoder tells no cut from damage, so that part counts
/// where it is text.
fn unpacked_brotli(body: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let unpacked = brotli_decompressor::Decompressor::new(body, BROTLI_BUFFER);
    match unpacked.take(PAGE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes) {
        Err(error) if !is_text(&bytes) => Err(error.to_string()),
        _ => Ok(bytes),
    }
}

/// Returns true for UTF-8 without control characters, which may be cut off at its end.
fn is_text(bytes: &[u8]) -> bool {
    let is_utf8 = std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true);
    is_utf8 && !bytes.is_empty() && !bytes.iter().any(is_of_no_text)
}

/// Reads what came of a packed body; the error is that of a body of which nothing did, or that is
/// damaged and not merely cut off.
fn read(unpacked: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    match unpacked.take(PAGE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof || bytes.is_empty() => {
            Err(error.to_string())
        }
        _ => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn check(body: &[u8], transfer: &str, content: &str, expected: &[u8]) {
        let decoded = decoded(body, transfer, content).unwrap();
        assert_eq!(decoded.escape_ascii().to_string(), expected.escape_ascii().to_string());
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn zstandard(content: &[u8]) -> Vec<u8> {
        zstd::encode_all(content, 1).unwrap()
    }

    fn brotli(content: &[u8]) -> Vec<u8> {
        let mut packed = Vec::new();
        brotli::CompressorWriter::new(&mut packed, 4096, 1, 22).write_all(content).unwrap();
        packed
    }

    type Pack = fn(&[u8]) -> Vec<u8>;

    const CODINGS: [(&str, Pack); 6] = [
        ("gzip", gzip),
        ("x-gzip", gzip),
        ("deflate", zlib),
        ("deflate", deflate),
        ("zstd", zstandard),
        ("br", brotli),
    ];

    #[test]
    fn chunks_are_joined_as_far_as_they_came() {
        let check = |body: &str, expected: &str| check(body.as_bytes(), "chunked", "", expected.as_bytes());
        check("3\r\n<p>\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", "<p>0123456789");
        check("\r\n3 \r\n<p>\r\n000\r\nX: trailer\r\n\r\n", "<p>");
        check("3\n<p>\n1\na\n0\n\n", "<p>a");
        // Cut off after a chunk, in the line of the next one, and in the chunk.
        for end in ["", "\r", "\r\n", "\r\nA", "\r\nA\r"] {
            check(&format!("3\r\n<p>{end}"), "<p>");
        }
        check("3\r\n<p>\r\nA\r\n01234", "<p>01234");
        check("ffffffffffffffff\r\n<p>", "<p>");
        // Stored whole.
        for whole in ["<p>stored whole", "", "+3\r\n<p>\r\n0\r\n\r\n", "1ffffffffffffffff\r\n<p>"] {
            check(whole, whole);
        }
    }

    #[test]
    fn codings_are_taken_off_where_they_are() {
        let page = "<p>packed, ".repeat(100).into_bytes();
        for (coding, pack) in CODINGS {
            check(&pack(&page), "", coding, &page);
            check(&page, "", coding, &page);
            let packed = pack(&page);
            let len = format!("{:x}\r\n", packed.len());
            let chunked = [len.as_bytes(), &packed, b"\r\n0\r\n\r\n"].concat();
            check(&chunked, "chunked", coding, &page);
            check(&chunked, &format!("{coding}, chunked"), "", &page);
            check(&brotli(&pack(&page)), "", &format!("identity, {coding}, utf-8 ,br"), &page);
        }
        for coding in ["", "identity", "none", "utf-8", "compress", "binary", "text/html", ",,"] {
            check(&page, "", coding, &page);
        }
        check(&gzip(&page), "", "gzip, gzip", &page);
        assert!(decoded(&page, "", &"gzip,".repeat(9)).unwrap_err().contains("packed 9 times"));
    }

    /// A body that was cut off is read as far as it came; a damaged one is none.
    #[test]
    fn what_is_packed_may_be_cut_off() {
        let page: Vec<u8> = (0..60_000_u32).flat_map(|n| format!("{} ", n * 7919).into_bytes()).collect();
        for (coding, pack) in CODINGS {
            let packed = pack(&page);
            let cut = decoded(&packed[..packed.len() / 2], "", coding).unwrap();
            assert!(cut.len() > 1000 && page.starts_with(&cut), "{coding}: {}", cut.len());
            let damaged = [&packed[..packed.len() / 2], &[0xff; 99], &packed[packed.len() / 2..]].concat();
            if let Ok(damaged) = decoded(&damaged, "", coding) {
                // Of these a cut cannot be told from damage.
                assert!(matches!(coding, "deflate" | "br"), "{coding}: {}", damaged.len());
            }
        }
        assert!(decoded(&gzip(&page)[..10], "", "gzip").unwrap_err().contains("cannot be unpacked"));
    }

    #[test]
    fn what_is_packed_is_bounded() {
        for (coding, pack) in CODINGS {
            let bomb = pack(&vec![b' '; PAGE_BYTES_MAX + 1]);
            assert!(decoded(&bomb, "", coding).unwrap_err().contains("longer than"), "{coding}");
        }
    }
}
