//! The parts of a receiver of pieces that do not depend on what is made of them.

use html5gum::State;

/// Returns the state of the tokenizer within an element whose text has no tags.
pub(crate) fn state_within(name: &[u8]) -> Option<State> {
    match name {
        b"script" => Some(State::ScriptData),
        b"style" | b"iframe" | b"noembed" | b"noframes" | b"xmp" => Some(State::RawText),
        b"title" | b"textarea" => Some(State::RcData),
        _ => None,
    }
}

/// The methods of an `Emitter` with `is_end_tag`, `name` and `last_start_tag` that takes neither
/// comments nor document types.
macro_rules! in_tags_alone {
    () => {
        fn current_is_appropriate_end_tag_token(&mut self) -> bool {
            self.is_end_tag && !self.last_start_tag.is_empty() && self.name == self.last_start_tag
        }

        fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
            self.last_start_tag = name.unwrap_or_default().to_vec();
        }

        fn pop_token(&mut self) -> Option<std::convert::Infallible> {
            None
        }

        fn should_emit_errors(&mut self) -> bool {
            false
        }

        fn emit_eof(&mut self) {}
        fn emit_error(&mut self, _: html5gum::Error) {}
        fn init_comment(&mut self) {}
        fn emit_current_comment(&mut self) {}
        fn emit_current_doctype(&mut self) {}
        fn set_self_closing(&mut self) {}
        fn set_force_quirks(&mut self) {}
        fn push_comment(&mut self, _: &[u8]) {}
        fn push_doctype_name(&mut self, _: &[u8]) {}
        fn init_doctype(&mut self) {}
        fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
        fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
        fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
        fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
    };
}
pub(crate) use in_tags_alone;
