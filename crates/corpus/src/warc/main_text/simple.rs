//! A page made simple: tags of blocks and links, the attributes by which main text is told, and the
//! text.
//!
//! What makes trees of pages slow is left out: further attributes, tags of type such as `<b>`,
//! which a browser opens again in each block, and whole pages that are too deep or too large.

use std::convert::Infallible;

use html5gum::{Emitter, State, Tokenizer};

use super::super::super::budget::{Budget, OverBudget};
use super::super::html::Metered;
use super::super::html::emitter::{in_tags_alone, state_within};

/// Maximum number of tags of a page, of open elements, and of bytes of text, each counted once for
/// every element that it lies in.
const TAGS_MAX: usize = 100_000;
const DEPTH_MAX: usize = 256;
const TEXT_WORK_MAX: usize = 128 << 20;

/// Elements of type, which are left out: main text does not depend on them.
const OF_TYPE: [&[u8]; 13] =
    [b"b", b"big", b"code", b"em", b"font", b"i", b"nobr", b"s", b"small", b"strike", b"strong", b"tt", b"u"];

/// Elements left out with all that is in them.
const LEFT_OUT: [&[u8]; 4] = [b"noscript", b"svg", b"math", b"template"];

/// Elements whose text is no text of the page.
const HIDDEN: [&[u8]; 5] = [b"script", b"style", b"iframe", b"noembed", b"noframes"];

/// Elements without an end, and those that the next one of their kind ends.
const NEVER_DEEP: [&[u8]; 24] = [
    b"area", b"base", b"br", b"col", b"dd", b"dt", b"embed", b"hr", b"img", b"input", b"keygen", b"li",
    b"link", b"meta", b"option", b"p", b"param", b"source", b"td", b"th", b"tr", b"track", b"wbr", b"rt",
];

/// Attributes that are kept.
const KEPT: [&[u8]; 9] =
    [b"class", b"id", b"style", b"hidden", b"aria-hidden", b"role", b"rel", b"itemprop", b"href"];

/// Maximum length in bytes of a name, and of a value, each of which is cut.
const NAME_BYTES: usize = 16;
const VALUE_BYTES: usize = 128;

/// Returns the page made simple; `None` if it is too deep or too large.
pub(super) fn page(html: &str, budget: &Budget) -> Result<Option<String>, OverBudget> {
    let mut simple = Simple { html: Vec::with_capacity(html.len() / 2), ..Simple::default() };
    simple.html.extend_from_slice(b"<!DOCTYPE html>");
    Tokenizer::new_with_emitter(Metered::new(html, budget), &mut simple).finish()?;
    if simple.is_over() {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&simple.html).into_owned()))
}

/// Receiver of the pieces of a page.
#[derive(Default)]
struct Simple {
    html: Vec<u8>,
    /// True inside an element whose text is not shown. Only its own end tag ends such an element.
    is_hidden: bool,
    /// Element being left out, with the number of its tags that are still open.
    left_out: Option<(Vec<u8>, usize)>,
    is_end_tag: bool,
    /// Name of the tag being read, up to `NAME_BYTES`.
    name: Vec<u8>,
    /// Kept attributes of the tag, as they are written.
    attributes: Vec<u8>,
    /// Numbers in `KEPT` of these, as bits.
    seen: u16,
    attribute: Vec<u8>,
    value: Vec<u8>,
    last_start_tag: Vec<u8>,
    n_tags: usize,
    depth: usize,
    max_depth: usize,
    text_work: usize,
}

impl Simple {
    fn is_over(&self) -> bool {
        self.n_tags > TAGS_MAX || self.max_depth > DEPTH_MAX || self.text_work > TEXT_WORK_MAX
    }

    fn init_tag(&mut self, is_end_tag: bool) {
        self.name.clear();
        self.attributes.clear();
        self.attribute.clear();
        self.seen = 0;
        self.is_end_tag = is_end_tag;
    }

    /// Keeps the attribute read last, if it matters and is the first of its name.
    fn end_attribute(&mut self) {
        self.attribute.make_ascii_lowercase();
        let Some(n) = KEPT.iter().position(|kept| *kept == self.attribute) else { return };
        if self.seen & 1 << n != 0 {
            return;
        }
        self.seen |= 1 << n;
        // The reader puts an ampersand before the quote that ends a value.
        let whole = self.value.strip_suffix(b"&").unwrap_or(&self.value);
        let value = match KEPT[n] {
            // What is linked does not matter, but for places in the page itself.
            b"href" if whole.starts_with(b"#") => b"#",
            b"href" => b"/",
            _ => whole,
        };
        let parts = [&b" "[..], &self.attribute, b"=\""];
        parts.into_iter().for_each(|part| self.attributes.extend_from_slice(part));
        escape(&mut self.attributes, value);
        self.attributes.push(b'"');
    }

    /// Writes the tag, and counts it.
    fn write_tag(&mut self) {
        let is_written = self.name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
            && !OF_TYPE.contains(&&*self.name)
            && !HIDDEN.contains(&&*self.name)
            && !matches!(&*self.name, b"meta" | b"link" | b"base");
        self.n_tags += 1;
        if !is_written || self.is_over() {
            return;
        }
        if !NEVER_DEEP.contains(&&*self.name) {
            self.depth = if self.is_end_tag { self.depth.saturating_sub(1) } else { self.depth + 1 };
            self.max_depth = self.max_depth.max(self.depth);
        }
        self.html.extend_from_slice(if self.is_end_tag { b"</" } else { b"<" });
        self.html.extend_from_slice(&self.name);
        if !self.is_end_tag {
            self.html.extend_from_slice(&self.attributes);
            // Pictures count, whatever they show.
            self.html.extend_from_slice(if self.name == b"img" { b" src=\"/\"" } else { b"" });
        }
        self.html.push(b'>');
    }

    /// Returns true if the tag lies in an element that is left out, or begins or ends one.
    fn is_left_out(&mut self) -> bool {
        match &mut self.left_out {
            None if self.is_end_tag || !LEFT_OUT.contains(&&*self.name) => return false,
            None => self.left_out = Some((self.name.clone(), 1)),
            Some((name, n_open)) if *name == self.name => {
                *n_open = if self.is_end_tag { *n_open - 1 } else { *n_open + 1 };
                if *n_open == 0 {
                    self.left_out = None;
                }
            }
            Some(_) => {}
        }
        true
    }
}

/// Appends text as it is written in a page.
fn escape(html: &mut Vec<u8>, text: &[u8]) {
    for byte in text {
        match byte {
            b'&' => html.extend_from_slice(b"&amp;"),
            b'<' => html.extend_from_slice(b"&lt;"),
            b'"' => html.extend_from_slice(b"&quot;"),
            byte => html.push(*byte),
        }
    }
}

/// Appends as much of `part` as fits in `n_max` bytes.
fn append(part: &[u8], to: &mut Vec<u8>, n_max: usize) {
    let n_free = n_max - to.len();
    to.extend_from_slice(&part[..part.len().min(n_free)]);
}

impl Emitter for &mut Simple {
    type Token = Infallible;

    fn emit_string(&mut self, string: &[u8]) {
        // A null character comes alone, and is no part of the page.
        if self.is_hidden || self.left_out.is_some() || string == b"\0" || self.is_over() {
            return;
        }
        self.text_work += string.len() * (self.depth + 1);
        escape(&mut self.html, string);
    }

    fn init_start_tag(&mut self) {
        self.init_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.init_tag(true);
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        append(part, &mut self.name, NAME_BYTES);
    }

    fn init_attribute(&mut self) {
        self.end_attribute();
        self.attribute.clear();
        self.value.clear();
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        append(part, &mut self.attribute, NAME_BYTES);
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        append(part, &mut self.value, VALUE_BYTES);
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        self.attribute.clear();
        if !self.is_end_tag {
            self.last_start_tag = self.name.clone();
        }
        if !self.is_left_out() {
            self.write_tag();
        }
        let state = state_within(&self.name)?;
        self.is_hidden = !self.is_end_tag && HIDDEN.contains(&&*self.name);
        (!self.is_end_tag).then_some(state)
    }

    in_tags_alone!();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_page() {
        for (html, expected) in [
            ("a &lt; \"b\" &amp; c", "a &lt; &quot;b&quot; &amp; c"),
            ("<P CLASS='a\"b' id=c onclick=d class=e>f</P>", "<p class=\"a&quot;b\" id=\"c\">f</p>"),
            ("<a href=\"#x\">a</a><a href=\"http://x\">b</a>", "<a href=\"#\">a</a><a href=\"/\">b</a>"),
            ("a<b>b</b><font color=x>c</font><!-- d --><meta x>e", "abce"),
            ("<img src=a alt=b>", "<img src=\"/\">"),
            ("<script>'<p>'</script>a<style>p{}</style>b", "ab"),
            ("a<svg><g><svg></svg><p>b</svg>c<noscript><p>d</noscript>e", "ace"),
            (
                "<title>a<b</title><textarea><p></textarea>",
                "<title>a&lt;b</title><textarea>&lt;p></textarea>",
            ),
            ("a\0b<x-y>c<é>d</é>", "ab<x-y>c&lt;é>d"),
            ("\u{feff}字", "字"),
        ] {
            let page = page(html, &Budget::new(html.len())).unwrap().unwrap();
            assert_eq!(page.strip_prefix("<!DOCTYPE html>").unwrap(), expected, "{html}");
        }
        assert!(page("a", &Budget::spent()).is_err());
    }

    #[test]
    fn a_value_is_cut_and_a_long_name_is_none() {
        let long = "x".repeat(1_000);
        let page = |html: &str| page(html, &Budget::new(html.len())).unwrap().unwrap().len();
        assert!(page(&format!("<p class=\"{long}\" {long}=\"{long}\"><{long}>")) < 300);
    }
}
