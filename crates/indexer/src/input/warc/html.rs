//! HTML to the text that a reader sees.
//!
//! The tokenizer alone does it: no tree is built, so no page is too deep.

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Elements inside a line; every other one begins or ends one.
const INLINE: [&str; 31] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "img", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u",
    "var", "wbr",
];

/// The text, with a line break wherever a block begins or ends. Scripts, styles and comments are left out.
pub(super) fn text(html: &str) -> String {
    let input = BufferQueue::default();
    for part in parts(html) {
        input.push_back(StrTendril::from_slice(part));
    }
    let tokenizer = Tokenizer::new(Text::default(), TokenizerOpts::default());
    // It stops for nothing that the sink below ever asks for.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.text.into_inner()
}

/// A tendril has a 32-bit length.
fn parts(mut html: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let mut end = html.len().min(1 << 20);
        while !html.is_char_boundary(end) {
            end -= 1;
        }
        let part;
        (part, html) = html.split_at(end);
        (!part.is_empty()).then_some(part)
    })
}

#[derive(Default)]
struct Text {
    text: RefCell<String>,
    /// Inside an element whose text nobody sees. Such an element ends with its own end tag alone.
    is_hidden: Cell<bool>,
}

impl Text {
    fn end_line(&self) {
        let mut text = self.text.borrow_mut();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
    }

    fn tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        if !INLINE.contains(&name) {
            self.end_line();
        }
        let kind = match name {
            "script" => RawKind::ScriptData,
            "style" | "iframe" | "noembed" | "noframes" | "xmp" => RawKind::Rawtext,
            "title" | "textarea" => RawKind::Rcdata,
            _ => return TokenSinkResult::Continue,
        };
        let is_start = tag.kind == TagKind::StartTag;
        self.is_hidden.set(is_start && !matches!(name, "title" | "textarea" | "xmp"));
        if is_start { TokenSinkResult::RawData(kind) } else { TokenSinkResult::Continue }
    }
}

impl TokenSink for Text {
    type Handle = ();

    fn process_token(&self, token: Token, _line_number: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => return self.tag(&tag),
            Token::CharacterTokens(characters) if !self.is_hidden.get() => {
                self.text.borrow_mut().push_str(&characters);
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
        assert_eq!(text(&"<div>".repeat(1_000_000)), "");
        let long = "字".repeat(1 << 20);
        assert_eq!(text(&long), long);
    }
}
