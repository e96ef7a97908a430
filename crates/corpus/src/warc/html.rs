//! Extraction from HTML of the text that a reader sees.
//!
//! The tokenizer alone suffices: no tree is built, so no page is too deep. Attributes are skipped,
//! not collected: a tag may have a million of them.

pub(super) mod emitter;
mod sink;

#[cfg(test)]
mod oracle;

use html5gum::{Readable, Reader, Tokenizer};

use super::super::budget::{Budget, OverBudget};
use sink::Text;

/// Mark at the beginning of a file, which a browser does not take for a part of the page.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the text, with a line break wherever a block begins or ends. Scripts, styles and
/// comments are left out.
pub(super) fn text(html: &str, budget: &Budget) -> Result<String, OverBudget> {
    let mut text = Vec::new();
    Tokenizer::new_with_emitter(Metered::new(html, budget), Text::new(&mut text)).finish()?;
    // The text is made of whole pieces of the input, which is UTF-8.
    Ok(String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Reader of a page: each piece read is a step of the budget.
pub(super) struct Metered<'a> {
    html: &'a [u8],
    budget: &'a Budget,
    /// True if an ampersand was put before the next quote.
    is_interrupted: bool,
}

impl<'a> Metered<'a> {
    pub(super) fn new(html: &'a str, budget: &'a Budget) -> Self {
        let html = html.strip_prefix(BYTE_ORDER_MARK).unwrap_or(html);
        Self { html: html.as_bytes(), budget, is_interrupted: false }
    }
}

impl Reader for Metered<'_> {
    type Error = OverBudget;

    fn read_byte(&mut self) -> Result<Option<u8>, OverBudget> {
        self.budget.step()?;
        self.is_interrupted = false;
        Ok(self.html.split_off_first().copied())
    }

    fn try_read_string(&mut self, expected: &[u8], case_sensitive: bool) -> Result<bool, OverBudget> {
        self.budget.step()?;
        let is_next =
            |next: &[u8]| next == expected || (!case_sensitive && next.eq_ignore_ascii_case(expected));
        let is_found = self.html.get(..expected.len()).is_some_and(is_next);
        if is_found {
            self.html = &self.html[expected.len()..];
        }
        Ok(is_found)
    }

    /// Puts an ampersand, which is no part of the text, before the quote that ends the value of an
    /// attribute.
    ///
    /// From one quoted value to the next the tokenizer (html5gum 0.9.0) calls itself, and a tag of
    /// some ten thousand values would overflow the stack. The tokenizer returns where a character
    /// reference may begin.
    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, OverBudget> {
        self.budget.step()?;
        let is_end_of_value = || needle.contains(&b'"') && needle.contains(&b'&');
        if !self.is_interrupted && self.html.first() == Some(&b'"') && is_end_of_value() {
            self.is_interrupted = true;
            return Ok(Some(b"&"));
        }
        self.is_interrupted = false;
        let mut rest = self.html.to_reader();
        let Ok(piece) = rest.read_until(needle, buffer);
        let Some(n_bytes) = piece.map(<[u8]>::len) else { return Ok(None) };
        let piece;
        (piece, self.html) = self.html.split_at(n_bytes);
        Ok(Some(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(html: &str) -> String {
        super::text(html, &Budget::new(html.len())).unwrap()
    }

    #[test]
    fn what_a_reader_sees() {
        for (html, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("<p>a<b>b</b>c<p>d", "abc\nd"),
            ("<title>A &amp; B</title><h1>c</h1>d<br>e", "A & B\nc\nd\ne"),
            ("a<script>if (x < 1) '</p>'</script>b<style>p{}</style><!-- c -->", "a\nb\n"),
            ("<ul><li>&#22320;&#x94c1;<li>&nbsp;x", "地铁\n\u{a0}x"),
            ("<td>1</td><td>2", "1\n2"),
            ("a<script>never closed", "a\n"),
            ("a &lt;b&gt; <unknown attr=\"<p>\">c", "a <b> \nc"),
            ("\u{feff}a<é\r\nb\0c", "a<é\nbc"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
        assert_eq!(text(&"<div>".repeat(1_000_000)), "");
        let long = "字".repeat(1 << 20);
        assert_eq!(text(&long), long);
    }

    /// A tag of 2.2 MB once took minutes: each attribute was compared with all before it. A page
    /// with a spent budget is an error.
    #[test]
    fn a_tag_may_have_any_number_of_attributes() {
        let attributes: String = (0..300_000).map(|n| format!(" a{n}=\"{n}>\"")).collect();
        assert_eq!(text(&format!("a<p{attributes}>b</p{attributes}>c")), "a\nb\nc");
        for attribute in [" a=\"b\"", "a=\"\"", " a='b'", " a=b", " a", "/", " a=\"&amp\"", "="] {
            assert_eq!(text(&format!("a<p {}>b", attribute.repeat(300_000))), "a\nb", "{attribute}");
        }
        let over = super::text("a", &Budget::spent()).unwrap_err();
        assert!(over.to_string().contains("was given up"), "{over}");
    }
}
