//! The characters that jieba reads in one run.

/// Returns true for jieba's Han characters.
pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2a6df}'
        | '\u{2a700}'..='\u{2ebef}'
        | '\u{2f800}'..='\u{2fa1f}')
}

/// Returns true for the other characters that jieba reads in one run with Han.
pub(super) fn is_jieba_ascii(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'#' | b'&' | b'.' | b'_' | b'%' | b'-')
}

/// Returns true for all characters of a run.
pub(super) fn is_of_run(c: char) -> bool {
    is_han(c) || u8::try_from(c).is_ok_and(is_jieba_ascii)
}
