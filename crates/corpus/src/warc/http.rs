//! Text of a page from a server's answer, or of a file: what is packed is unpacked, decoded, and
//! freed of HTML.

use std::borrow::Cow;

use encoding_rs::Encoding;

use super::super::budget::{Budget, OverBudget};
use super::super::content::foreign;
use super::super::encoding::{check_legible, decode_declared};
use super::super::options::PageText;
use super::body;
use super::declaration;
use super::head::Head;
use super::html;
use super::main_text;
use super::media::{self, Media};
use super::title;

/// Least number of control characters that no text contains, and their least share, one in so many
/// characters, for content to be binary.
const CONTROLS_MIN: usize = 4;
const ONE_CONTROL_IN: usize = 50;

/// Text of a page, or of a file.
#[derive(Debug, PartialEq)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
    /// The title of a page that has one.
    pub(crate) title: Option<String>,
    /// True if the text is that of a whole page, in which no main text was found.
    pub(crate) is_whole_page: bool,
}

/// Returns the text of the page in `answer`; `None` if the answer is no page. `identified` is the
/// type that the crawler told by the bytes, for an answer that names none.
pub(super) fn page_text<'a>(
    answer: &'a [u8],
    identified: &str,
    html: PageText,
) -> Result<Option<Text<'a>>, String> {
    let (head, body) = Head::split(answer)?;
    if head.status != 200 {
        return Ok(None);
    }
    let content_type = head.get("content-type");
    let media = match Media::of(&content_type) {
        Media::Unknown => Media::of(identified),
        media => media,
    };
    if media == Media::Other {
        return Ok(None);
    }
    let body = body::decoded(body, &head.get("transfer-encoding"), &head.get("content-encoding"))?;
    let media = if media == Media::Unknown { Media::told_by(&body) } else { media };
    let charset = media::charset(&content_type);
    Ok(match media {
        Media::Html => Some(decoded(body, charset, Some(html))?),
        Media::Text => Some(decoded(body, charset, None)?),
        Media::Unknown | Media::Other => None,
    })
}

/// Returns the text of a body: of HTML the part that `html` names, and all of plain text without
/// it. `charset` is the encoding that its server names.
pub(super) fn decoded<'a>(
    body: Cow<'a, [u8]>,
    charset: Option<&'static Encoding>,
    html: Option<PageText>,
) -> Result<Text<'a>, String> {
    let budget = Budget::new(body.len());
    let kind = if html.is_some() { "HTML" } else { "text" };
    if let Some(what) = foreign(&body) {
        return Err(format!("named {kind}, but binary: {what}"));
    }
    let declared = html.and_then(|_| declaration::of(&body));
    let declared: Vec<_> = charset.into_iter().chain(declared).collect();
    let text = match body {
        Cow::Borrowed(body) => decode_declared(body, &declared)?,
        Cow::Owned(body) => Cow::Owned(decode_declared(&body, &declared)?.into_owned()),
    };
    let n_controls = text.bytes().filter(media::is_of_no_text).count();
    if n_controls >= CONTROLS_MIN && n_controls * ONE_CONTROL_IN > text.len() {
        return Err(format!("named {kind}, but binary: {n_controls} of its bytes are in no text"));
    }
    let text = match html {
        None => Text { text, title: None, is_whole_page: false },
        Some(html) => of_page(&text, html, &budget).map_err(|over| over.to_string())?,
    };
    check_legible(&text.text)?;
    Ok(text)
}

fn of_page(page: &str, html: PageText, budget: &Budget) -> Result<Text<'static>, OverBudget> {
    let title = title::of(page);
    if html == PageText::Main
        && let Some(main) = main_text::of(page, budget)?
    {
        return Ok(Text { text: Cow::Owned(main), title, is_whole_page: false });
    }
    let text = Cow::Owned(html::text(page, budget)?);
    Ok(Text { text, title, is_whole_page: html == PageText::Main })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(answer: &[u8], identified: &str) -> Result<Option<String>, String> {
        page_text(answer, identified, PageText::Text).map(|page| page.map(|page| page.text.into_owned()))
    }

    #[track_caller]
    fn check(headers: &str, body: impl AsRef<[u8]>, expected: Result<Option<&str>, &str>) {
        let answer = [format!("HTTP/1.1 200 OK\r\n{headers}\r\n").as_bytes(), body.as_ref()].concat();
        match (whole(&answer, ""), expected) {
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
        for page in [&b"HTTP/1.1 301 Moved\r\nContent-Type: text/html\r\n\r\nx"[..], b"http/2 204\n\n"] {
            assert_eq!(whole(page, ""), Ok(None));
        }
        assert!(whole(b"HTTP/1.1 200 OK\r\nContent-", "").unwrap_err().contains("does not end"));
        assert!(whole(b"hello", "").unwrap_err().contains("no HTTP response"));
    }

    #[test]
    fn without_a_type_the_crawler_or_the_bytes_tell() {
        check("", "<html><p>a", Ok(Some("a")));
        check("Server: x\r\n", "a text", Ok(Some("a text")));
        check("", b"\x89PNG\r\n\x1a\n\0", Ok(None));
        check("Content-Type: \r\n", "<html><p>a", Ok(Some("a")));
        let answer = b"HTTP/1.1 200 OK\r\n\r\n<parrot>a";
        assert_eq!(whole(answer, "text/html").unwrap().unwrap(), "a");
        assert_eq!(whole(answer, "image/svg+xml"), Ok(None));
        let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n<p>a";
        assert_eq!(whole(answer, "text/html").unwrap().unwrap(), "<p>a");
    }

    #[test]
    fn chunks_and_packing_are_taken_off() {
        let html = "Content-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: UTF-8\r\n";
        check(html, "3\r\n<p>\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", Ok(Some("0123456789")));
    }

    #[test]
    fn what_is_binary_is_no_page_whatever_it_is_called() {
        let html = "Content-Type: text/html; charset=windows-1252\r\n";
        check(html, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Err("named HTML, but binary: a PNG image"));
        check(html, b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", Err("but binary: PDF"));
        check(html, b"\x1f\x8b\x08\0\0\0\0\0\0\x03", Err("but binary: packed"));
        check("Content-Type: text/plain\r\n", b"PK\x03\x04\x14\0", Err("named text, but binary: a ZIP"));
        let noise = |n: u32| (n.wrapping_mul(2_654_435_761) >> 13) as u8;
        let noise: Vec<u8> = (0..4096).map(noise).collect();
        check(html, &noise, Err("are in no text"));
        // One that strayed into a text is none of its characters.
        check(html, "<p>a\0b\u{8}", Ok(Some("ab\u{8}")));
    }

    #[test]
    fn the_encoding_is_the_headers_or_the_pages_or_told_by_its_bytes() {
        let chinese = "地铁七号线南延段今天开始空载试运行，预计年底前载客运营。";
        let gbk = encoding_rs::GB18030.encode(chinese).0.into_owned();
        check("Content-Type: text/html; charset=\"GB2312\"\r\n", &gbk, Ok(Some(chinese)));
        check("Content-Type: text/html\r\n", &gbk, Ok(Some(chinese)));
        let meta = b"<meta http-equiv=content-type content='text/html; charset=gbk'>";
        let page = [&meta[..], &gbk[..], b"\xff"].concat();
        check("Content-Type: text/html\r\n", page, Ok(Some(&format!("{chinese}\u{fffd}"))));
        let page = [&meta[..], &gbk].concat();
        check("Content-Type: text/html; charset=utf-8\r\n", page, Ok(Some(chinese)));
        let script = [b"<script charset=utf-8></script>", &meta[..], &gbk].concat();
        check("Content-Type: text/html\r\n", script, Ok(Some(chinese)));
        check("Content-Type: text/html\r\n", format!("<meta charset=utf-16>{chinese}"), Ok(Some(chinese)));
        check("Content-Type: text/plain; charset=nonsense\r\n", chinese, Ok(Some(chinese)));
        check(
            "Content-Type: text/html\r\n",
            "<p>\u{fffd}".repeat(9),
            Err("9 of its 9 characters are U+FFFD"),
        );
    }
}
