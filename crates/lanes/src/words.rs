//! Words of ASCII, read many bytes at once.

#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod wide;

/// The part of a byte in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteKind {
    /// Belongs to a word: a letter or digit of ASCII, of which the small letter is kept.
    Letter,
    /// Is as [`Letter`](Self::Letter) in the bytes that are said to be part of numbers.
    Digit,
    /// Ends a word.
    Gap,
    /// Ends the reading.
    Other,
}

/// The bytes of words, which are read to codes: of a run of gaps one space stays.
#[derive(Clone, Debug)]
pub struct Words {
    kinds: [u8; 256],
    #[cfg(target_arch = "x86_64")]
    sets: lanes::Sets,
}

const LETTER: u8 = 0;
const GAP: u8 = 1;
const DIGIT: u8 = 2;
const OTHER: u8 = 3;

/// The bytes of a block.
const BLOCK_LEN: usize = 32;

/// The bytes of a run that was read, and true if it ended in a gap.
type Run = (usize, bool);

impl Words {
    /// Creates a reader. Bytes beyond ASCII end the reading whatever `kind_of` says.
    ///
    /// # Panics
    /// Panics if a letter or digit is none of ASCII.
    #[must_use]
    pub fn new(kind_of: impl Fn(u8) -> ByteKind) -> Self {
        let kind = |byte: u8| match kind_of(byte) {
            _ if !byte.is_ascii() => OTHER,
            ByteKind::Gap => GAP,
            ByteKind::Other => OTHER,
            kind => {
                assert!(byte.is_ascii_alphanumeric(), "byte {byte:02x} is no letter and no digit");
                if kind == ByteKind::Digit { DIGIT } else { LETTER }
            }
        };
        let mut kinds = [OTHER; 256];
        (0..=u8::MAX).zip(&mut kinds).for_each(|(byte, of)| *of = kind(byte));
        Self {
            kinds,
            #[cfg(target_arch = "x86_64")]
            sets: lanes::Sets::new(&kinds),
        }
    }

    /// Returns true if the byte ends a word, and not the reading.
    #[inline]
    #[must_use]
    pub fn is_gap(&self, byte: u8) -> bool {
        self.kinds[usize::from(byte)] == GAP
    }

    /// Appends the codes of the bytes up to one that ends the reading: small letters, and a space
    /// for a gap, but none if `after_gap` and the first bytes are gaps. Digits end the reading
    /// beyond the first `digits_len` bytes. Returns the number of bytes read, and true if the last
    /// of them (`after_gap`, if there are none) is a gap.
    #[inline]
    pub fn read(
        &self,
        bytes: &[u8],
        digits_len: usize,
        after_gap: bool,
        out: &mut Vec<u32>,
    ) -> (usize, bool) {
        read(self, bytes, digits_len, after_gap, out)
    }

    fn read_plain(&self, bytes: &[u8], digits_len: usize, after_gap: bool, out: &mut Vec<u32>) -> Run {
        let (mut at, mut in_gap) = (0, usize::from(after_gap));
        let mut block = [0; BLOCK_LEN];
        for bytes in bytes.chunks(BLOCK_LEN) {
            let (mut n, from) = (0, at);
            for &byte in bytes {
                let kind = self.kinds[usize::from(byte)];
                if kind >= DIGIT && (kind == OTHER || at >= digits_len) {
                    break;
                }
                let is_gap = usize::from(kind == GAP);
                block[n % BLOCK_LEN] = u32::from(if kind == GAP { b' ' } else { byte | 0x20 });
                n += 1 - (is_gap & in_gap);
                (in_gap, at) = (is_gap, at + 1);
            }
            // All of the block is copied, as that takes one step, and what is too much is cut off.
            out.extend_from_slice(&block);
            out.truncate(out.len() - (BLOCK_LEN - n));
            if at - from < BLOCK_LEN {
                break;
            }
        }
        (at, in_gap == 1)
    }
}

in_lanes! {
    fn read(words: &Words, bytes: &[u8], digits_len: usize, after_gap: bool, out: &mut Vec<u32>) -> Run
        = Words::read_plain, lanes::read, wide::read;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::at_each_level;

    /// A zero byte is a gap too: lanes beyond the end of a text hold such.
    fn words() -> Words {
        Words::new(|byte| match byte {
            b'0'..=b'9' => ByteKind::Digit,
            b'a'..=b'z' | b'A'..=b'Z' => ByteKind::Letter,
            b'\0' | b' ' | b'\n' | b',' | b'.' | b'_' | b'~' | b'@' | b'[' => ByteKind::Gap,
            _ => ByteKind::Other,
        })
    }

    #[test]
    fn examples() {
        for (text, digits_len, after_gap, codes, expected) in [
            ("The  office, at 9", 0, false, "the office at ", (16, true)),
            ("The  office, at 9", 17, false, "the office at 9", (17, false)),
            (" a", 0, true, "a", (2, false)),
            (" a", 0, false, " a", (2, false)),
            ("+", 0, true, "", (0, true)),
            ("zA_Z~中", 0, false, "za z ", (5, true)),
        ] {
            at_each_level(|| {
                let mut out = vec![];
                assert_eq!(
                    words().read(text.as_bytes(), digits_len, after_gap, &mut out),
                    expected,
                    "{text}"
                );
                assert!(out.iter().copied().eq(codes.chars().map(u32::from)), "{text}");
            });
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn lanes_read_as_the_plain_loop(
            text in "([a-zA-Z]{1,9}[ ,._]{0,3}|[a-zA-Z ]{20,70}|[0-9]{1,3}|[ \n]{1,40}|é|\\PC|[ -~]){0,20}",
            digits_len in 0_usize..200, after_gap: bool,
        ) {
            let read = at_each_level(|| {
                let mut out = vec![7];
                let run = words().read(text.as_bytes(), digits_len, after_gap, &mut out);
                (run, out)
            });
            prop_assert!(read.iter().all(|of_level| *of_level == read[0]));
        }
    }
}
