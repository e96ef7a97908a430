//! Receiver of the pieces of a page: text is kept, and of tags only the names count.

use std::convert::Infallible;

use html5gum::{Emitter, State};

use super::emitter::{in_tags_alone, state_within};

/// Elements inside a line; every other element begins or ends a line.
const INLINE: [&[u8]; 31] = [
    b"a", b"abbr", b"acronym", b"b", b"bdi", b"bdo", b"big", b"cite", b"code", b"data", b"del", b"dfn",
    b"em", b"font", b"i", b"img", b"ins", b"kbd", b"mark", b"q", b"s", b"samp", b"small", b"span", b"strong",
    b"sub", b"sup", b"time", b"u", b"var", b"wbr",
];

/// Length in bytes that tells the names of interest from all others.
const NAME_BYTES: usize = 16;

/// Appends the text of a page to a buffer.
pub(super) struct Text<'a> {
    text: &'a mut Vec<u8>,
    /// True inside an element whose text is not shown. Only its own end tag ends such an element.
    is_hidden: bool,
    is_end_tag: bool,
    /// Name of the tag being read, up to `NAME_BYTES`.
    name: Vec<u8>,
    last_start_tag: Vec<u8>,
}

impl<'a> Text<'a> {
    pub(super) fn new(text: &'a mut Vec<u8>) -> Self {
        let (name, last_start_tag) = Default::default();
        Self { text, is_hidden: false, is_end_tag: false, name, last_start_tag }
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with(b"\n") {
            self.text.push(b'\n');
        }
    }

    fn init_tag(&mut self, is_end_tag: bool) {
        self.name.clear();
        self.is_end_tag = is_end_tag;
    }
}

impl Emitter for Text<'_> {
    type Token = Infallible;

    fn emit_string(&mut self, string: &[u8]) {
        // A null character comes alone, and is no part of the page.
        if !self.is_hidden && string != b"\0" {
            self.text.extend_from_slice(string);
        }
    }

    fn init_start_tag(&mut self) {
        self.init_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.init_tag(true);
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        let n_free = NAME_BYTES - self.name.len();
        self.name.extend_from_slice(&part[..part.len().min(n_free)]);
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        if !INLINE.contains(&&*self.name) {
            self.end_line();
        }
        if !self.is_end_tag {
            self.last_start_tag.clone_from(&self.name);
        }
        let state = state_within(&self.name)?;
        let is_seen = matches!(&*self.name, b"title" | b"textarea" | b"xmp");
        self.is_hidden = !self.is_end_tag && !is_seen;
        (!self.is_end_tag).then_some(state)
    }

    in_tags_alone!();

    fn init_attribute(&mut self) {}
    fn push_attribute_name(&mut self, _: &[u8]) {}
    fn push_attribute_value(&mut self, _: &[u8]) {}
}
