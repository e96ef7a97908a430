//! The same extraction by html5ever, whose tokenizer is a browser's and takes quadratic time for
//! the attributes of a tag.

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};

use super::super::super::budget::Budget;
use super::super::super::mutations::Numbers;

const INLINE: [&str; 31] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
    "i", "img", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u",
    "var", "wbr",
];

fn expected(html: &str) -> String {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    let tokenizer = Tokenizer::new(Text::default(), Default::default());
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.text.into_inner()
}

#[derive(Default)]
struct Text {
    text: RefCell<String>,
    is_hidden: Cell<bool>,
}

impl TokenSink for Text {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
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

impl Text {
    fn tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        let (name, mut text) = (&*tag.name, self.text.borrow_mut());
        if !INLINE.contains(&name) && !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
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

/// Pieces of pages, and others that may stand anywhere in them.
const PIECES: [&str; 64] = [
    "<",
    ">",
    "</",
    "/>",
    "<!",
    "<!--",
    "-->",
    "--!>",
    "<!-",
    "--",
    "-",
    "<![CDATA[",
    "]]>",
    "<?xml ?>",
    "<!DOCTYPE html>",
    "<!doctype x PUBLIC \"a\" 'b'",
    "<p>",
    "</p>",
    "<P CLASS=a>",
    "<br/>",
    "<b>",
    "</B>",
    "<a href=\"x>y\">",
    "<a b='c\">d'>",
    "<i x=y>z",
    "<td",
    " a=b",
    " \"",
    "'",
    "=",
    "/",
    "<script>",
    "</script>",
    "</script",
    "<SCRIPT src=x>",
    "<!--<script>",
    "<style>",
    "</style >",
    "<title>",
    "</title>",
    "</title\n",
    "<textarea>",
    "</textarea>",
    "<xmp>",
    "</xmp>",
    "<iframe>",
    "</iframe/>",
    "<noembed>",
    "&",
    "&amp;",
    "&amp",
    "&ampx",
    "&lt",
    "&notit;",
    "&#65;",
    "&#x4e2d;",
    "&#0;",
    "&#xd800;",
    "&#1114112;",
    "&#128;",
    "&#",
    "&#x",
    "&nbsp",
    "&;",
];

const TEXTS: [&str; 16] = [
    "a", "word", " ", "\n", "\r\n", "\r", "\t", "\u{c}", "\0", "字", "é", "😀", "\u{feff}", "\u{a0}", "1",
    ";",
];

#[test]
fn the_text_is_that_of_a_browsers_tokenizer() {
    let mut numbers = Numbers(18);
    for _ in 0..20_000 {
        let mut html = String::new();
        for _ in 0..numbers.below(24) {
            html.push_str(match numbers.below(3) {
                0 => TEXTS[numbers.below(TEXTS.len())],
                _ => PIECES[numbers.below(PIECES.len())],
            });
        }
        let text = super::text(&html, &Budget::new(html.len())).unwrap();
        assert_eq!(text, expected(&html), "{html:?}");
    }
}
