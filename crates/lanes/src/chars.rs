//! Codes of characters, written as a text.

/// The lower bits of a code, which are the character.
const CHAR_MASK: u32 = 0x1f_ffff;

/// The characters of ASCII that are written together.
const ASCII_LEN: usize = 32;

/// The characters of three bytes that are written together.
const THREES_LEN: usize = 8;

/// Returns the characters of codes, each in the lower 21 bits, as a text. Codes of none are left
/// out.
#[must_use]
#[expect(unsafe_code, reason = "a text of characters is not looked at again")]
pub fn text_of(codes: &[u32]) -> String {
    let mut bytes = Vec::with_capacity(codes.len() + codes.len() / 8);
    write(codes, &mut bytes);
    // SAFETY: `write` appends whole characters, each as UTF-8 has it.
    unsafe { String::from_utf8_unchecked(bytes) }
}

in_lanes! {
    /// Appends the characters in UTF-8.
    fn write(codes: &[u32], bytes: &mut Vec<u8>) = write_blocks, write_blocks, write_blocks;
}

#[inline(always)]
fn write_blocks(codes: &[u32], bytes: &mut Vec<u8>) {
    let mut rest = codes;
    while !rest.is_empty() {
        if let Some((block, after)) = rest.split_first_chunk::<ASCII_LEN>()
            && block.iter().fold(0, |any, code| any | code) & CHAR_MASK < 0x80
        {
            let mut ascii = [0; ASCII_LEN];
            ascii.iter_mut().zip(block).for_each(|(byte, code)| *byte = *code as u8);
            bytes.extend_from_slice(&ascii);
            rest = after;
        } else if let Some((block, after)) = rest.split_first_chunk::<THREES_LEN>()
            && block.iter().fold(true, |all, &code| all & is_of_three(code & CHAR_MASK))
        {
            let mut threes = [[0; 3]; THREES_LEN];
            for (three, code) in threes.iter_mut().zip(block) {
                let sixth = |at: u32| 0x80 | (code >> at & 0x3f) as u8;
                *three = [0xe0 | (code >> 12 & 0xf) as u8, sixth(6), sixth(0)];
            }
            bytes.extend_from_slice(threes.as_flattened());
            rest = after;
        } else {
            let (some, after) = rest.split_at(rest.len().min(THREES_LEN));
            write_each(some, bytes);
            rest = after;
        }
    }
}

/// Returns true for a character that has three bytes in UTF-8.
#[inline(always)]
fn is_of_three(c: u32) -> bool {
    (0x800..0x1_0000).contains(&c) & !(0xd800..0xe000).contains(&c)
}

#[inline(always)]
fn write_each(codes: &[u32], bytes: &mut Vec<u8>) {
    for c in codes.iter().filter_map(|code| char::from_u32(code & CHAR_MASK)) {
        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::at_each_level;

    fn check(codes: &[u32]) {
        let expected: String = codes.iter().filter_map(|code| char::from_u32(code & CHAR_MASK)).collect();
        for text in at_each_level(|| text_of(codes)) {
            assert_eq!(text, expected);
            assert!(str::from_utf8(text.as_bytes()).is_ok());
        }
    }

    /// Each code alone, and amid those of ASCII and of three bytes.
    #[test]
    fn all_codes() {
        let edges = [0, 0x80, 0x800, 0xd800, 0xe000, 0x1_0000, 0x11_0000, CHAR_MASK];
        for code in edges.into_iter().flat_map(|edge: u32| edge.saturating_sub(70)..=edge + 70) {
            for around in [97, 0x4e2d] {
                let mut codes = [around; 2 * ASCII_LEN];
                codes[5] = code | 1 << 31;
                check(&codes);
            }
        }
    }

    proptest! {
        #[test]
        fn texts_of_all_kinds(
            text in "([a-z ]{20,70}|[\u{4e00}-\u{9fff}]{1,40}|é|\\PC|[ -~]){0,20}",
            flags: u32,
            cut in 0_usize..9,
        ) {
            let codes: Vec<u32> = text.chars().map(|c| u32::from(c) | flags & !CHAR_MASK).collect();
            check(&codes[cut.min(codes.len())..]);
        }
    }
}
