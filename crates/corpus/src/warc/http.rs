//! Text of a page from a server's answer: the chunks are joined, unpacked, decoded, and freed of
//! HTML.

use std::borrow::Cow;
use std::io::{self, Read};

use encoding_rs::Encoding;

use super::super::budget::Budget;
use super::super::encoding::decode;
use super::html;

const HEADERS_MAX: usize = 256;

/// Maximum length in bytes of an unpacked page.
const PAGE_BYTES_MAX: usize = 64 << 20;

/// Length in bytes of the part of a page in which its encoding may be declared, as in browsers.
const DECLARATION_BYTES: usize = 1024;

/// Returns the text of the page in `answer`; `None` if the answer is no page.
pub(super) fn page_text(answer: &[u8]) -> Result<Option<Cow<'_, str>>, String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let body = match response.parse(answer) {
        Ok(httparse::Status::Complete(n)) => &answer[n..],
        Ok(httparse::Status::Partial) => return Err("the HTTP header does not end".to_owned()),
        Err(error) => return Err(format!("no HTTP response: {error}")),
    };
    let header = |name: &str| {
        let value = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?.value;
        Some(String::from_utf8_lossy(value).trim().to_ascii_lowercase())
    };
    let content_type = header("content-type").unwrap_or_default();
    let Some(is_html) = is_html(&content_type) else { return Ok(None) };
    if response.code != Some(200) {
        return Ok(None);
    }
    let mut body = Cow::Borrowed(body);
    // Crawlers often keep the headers as received and store the body as decoded by them.
    if header("transfer-encoding").is_some_and(|coding| coding.contains("chunked"))
        && let Some(whole) = without_chunks(&body)
    {
        body = Cow::Owned(whole);
    }
    body = unpack(body, header("content-encoding").as_deref())?;
    decoded(body, &content_type, is_html).map(Some)
}

/// Returns true for HTML and false for plain text; `None` for any other type. `content_type` is in
/// lowercase.
pub(super) fn is_html(content_type: &str) -> Option<bool> {
    match content_type.split(';').next().unwrap_or_default().trim() {
        "text/html" | "application/xhtml+xml" => Some(true),
        "text/plain" => Some(false),
        _ => None,
    }
}

/// Returns the text of a body of HTML or plain text. `content_type` is in lowercase.
pub(super) fn decoded<'a>(
    body: Cow<'a, [u8]>,
    content_type: &str,
    is_html: bool,
) -> Result<Cow<'a, str>, String> {
    let budget = Budget::new(body.len());
    let charset = content_type.split_once("charset=").map(|(_, charset)| label(charset.as_bytes()));
    let declared = charset.unwrap_or_else(|| if is_html { declaration(&body) } else { None });
    let text = match (declared, body) {
        // As in a browser, a byte that does not fit costs itself and not the page.
        (Some(encoding), body) => Cow::Owned(encoding.decode(&body).0.into_owned()),
        (None, Cow::Borrowed(body)) => decode(body)?,
        (None, Cow::Owned(body)) => Cow::Owned(decode(&body)?.into_owned()),
    };
    let whole = |text: &str| html::text(text, &budget).map_err(|over| over.to_string());
    Ok(if is_html { Cow::Owned(whole(&text)?) } else { text })
}

/// Joins the chunks of a body; `None` if it does not look like chunks.
fn without_chunks(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::with_capacity(body.len());
    loop {
        let httparse::Status::Complete((n, len)) = httparse::parse_chunk_size(body).ok()? else {
            return None;
        };
        body = &body[n..];
        if len == 0 {
            return Some(whole);
        }
        let (chunk, rest) = body.split_at_checked(usize::try_from(len).ok()?)?;
        whole.extend_from_slice(chunk);
        body = rest.strip_prefix(b"\r\n")?;
    }
}

/// Bytes of packed input that the decoder of Brotli holds.
const BROTLI_BUFFER: usize = 4096;

fn unpack<'a>(body: Cow<'a, [u8]>, coding: Option<&str>) -> Result<Cow<'a, [u8]>, String> {
    let is_gzip = body.starts_with(b"\x1f\x8b");
    let unpacked = match coding.unwrap_or_default() {
        "gzip" | "x-gzip" if is_gzip => read(flate2::read::MultiGzDecoder::new(&*body)),
        // Some servers mean zlib, others raw deflate.
        "deflate" => read(flate2::read::ZlibDecoder::new(&*body))
            .or_else(|_| read(flate2::read::DeflateDecoder::new(&*body))),
        "zstd" => zstd::Decoder::new(&*body).and_then(read),
        // Brotli has no magic number: a page that its recorder has unpacked is no stream of it.
        "br" => match read(brotli_decompressor::Decompressor::new(&*body, BROTLI_BUFFER)) {
            Err(_) if body.trim_ascii_start().starts_with(b"<") => return Ok(body),
            unpacked => unpacked,
        },
        "" | "identity" | "gzip" | "x-gzip" => return Ok(body),
        other => return Err(format!("the content encoding {other} is not known here")),
    };
    let unpacked = unpacked.map_err(|error| format!("the page cannot be unpacked: {error}"))?;
    if unpacked.len() > PAGE_BYTES_MAX {
        return Err(format!("the page is longer than {PAGE_BYTES_MAX} bytes"));
    }
    Ok(Cow::Owned(unpacked))
}

fn read(unpacked: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    unpacked.take(PAGE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the encoding declared in the first bytes of a page.
fn declaration(page: &[u8]) -> Option<&'static Encoding> {
    let head = page[..page.len().min(DECLARATION_BYTES)].to_ascii_lowercase();
    let charset = memchr::memmem::find(&head, b"charset=")?;
    let encoding = label(&head[charset + b"charset=".len()..])?;
    // A page in an encoding beyond ASCII would have no readable declaration.
    Some(if encoding.is_ascii_compatible() { encoding } else { encoding_rs::UTF_8 })
}

/// Returns the encoding whose name begins `text`.
fn label(text: &[u8]) -> Option<&'static Encoding> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(b"\"").or_else(|| text.strip_prefix(b"'")).unwrap_or(text);
    let is_end = |byte: &u8| matches!(byte, b'"' | b'\'' | b';' | b'>' | b'/') || byte.is_ascii_whitespace();
    Encoding::for_label(text.split(is_end).next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[track_caller]
    fn check(headers: &str, body: impl AsRef<[u8]>, expected: Result<Option<&str>, &str>) {
        let answer = [format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes(), body.as_ref()].concat();
        match (page_text(&answer), expected) {
            (Ok(text), Ok(expected)) => assert_eq!(text.as_deref(), expected),
            (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason}"),
            (got, expected) => panic!("{got:?} instead of {expected:?}"),
        }
    }

    #[test]
    fn pages_and_what_is_none() {
        check("Content-Type: text/html\r\n", "<p>a&amp;b", Ok(Some("a&b")));
        check("content-type: TEXT/PLAIN; x=y\r\n", "<p>a&amp;b", Ok(Some("<p>a&amp;b")));
        check("Content-Type: image/png\r\n", "\u{89}PNG", Ok(None));
        check("", "x", Ok(None));
        assert_eq!(page_text(b"HTTP/1.1 301 Moved\r\nContent-Type: text/html\r\n\r\nx"), Ok(None));
        assert!(page_text(b"HTTP/1.1 200 OK\r\nContent-").unwrap_err().contains("does not end"));
        assert!(page_text(b"hello").unwrap_err().contains("no HTTP response"));
    }

    #[test]
    fn chunks_and_packing_are_taken_off_where_they_are() {
        let html = "Content-Type: text/html\r\n";
        let chunked = format!("{html}Transfer-Encoding: chunked\r\n");
        check(&chunked, "3\r\n<p>\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", Ok(Some("0123456789")));
        check(&chunked, "<p>stored whole", Ok(Some("stored whole")));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"<p>packed").unwrap();
        let gzip = gzip.finish().unwrap();
        let packed = format!("{html}Content-Encoding: gzip\r\n");
        check(&packed, &gzip, Ok(Some("packed")));
        check(&packed, &gzip[..gzip.len() / 2], Err("cannot be unpacked"));
        check(&packed, "<p>stored plain", Ok(Some("stored plain")));
        let mut brotli = Vec::new();
        brotli::CompressorWriter::new(&mut brotli, 4096, 5, 22).write_all(b"<p>packed").unwrap();
        let packed = format!("{html}Content-Encoding: br\r\n");
        check(&packed, &brotli, Ok(Some("packed")));
        check(&packed, &brotli[..brotli.len() / 2], Err("cannot be unpacked"));
        check(&packed, "<p>stored plain", Ok(Some("stored plain")));
        check(&format!("{html}Content-Encoding: compress\r\n"), "?", Err("content encoding compress"));
        let bomb = zstd::encode_all(&vec![b' '; PAGE_BYTES_MAX + 1][..], 1).unwrap();
        check(&format!("{html}Content-Encoding: zstd\r\n"), bomb, Err("longer than"));
        let mut bomb = Vec::new();
        brotli::CompressorWriter::new(&mut bomb, 4096, 1, 22)
            .write_all(&vec![b' '; PAGE_BYTES_MAX + 1])
            .unwrap();
        check(&packed, bomb, Err("longer than"));
    }

    #[test]
    fn the_encoding_is_the_headers_or_the_pages_or_told_by_its_bytes() {
        let chinese = "地铁七号线南延段今天开始空载试运行，预计年底前载客运营。";
        let gbk = encoding_rs::GB18030.encode(chinese).0.into_owned();
        check("Content-Type: text/html; charset=\"GB2312\"\r\n", &gbk, Ok(Some(chinese)));
        check("Content-Type: text/html\r\n", &gbk, Ok(Some(chinese)));
        let meta = [b"<meta http-equiv=x content='text/html; charset=gbk'>", &gbk[..], b"\xff"].concat();
        check("Content-Type: text/html\r\n", meta, Ok(Some(&format!("{chinese}\u{fffd}"))));
        check("Content-Type: text/html\r\n", format!("<meta charset=utf-16>{chinese}"), Ok(Some(chinese)));
        check("Content-Type: text/plain; charset=nonsense\r\n", chinese, Ok(Some(chinese)));
    }
}
