//! Small numbers for the characters of words.

use std::collections::HashMap;

/// A character as a number; the more words it is in, the smaller.
pub(super) type Code = u32;

/// The code of every character that is in no word.
const UNKNOWN: Code = 0;

/// The codes of the characters of a dictionary.
pub(super) struct Codes {
    /// By code point, the characters of the basic plane.
    basic: Box<[u16]>,
    /// The others.
    rest: HashMap<char, Code>,
    /// The number of codes, [`UNKNOWN`] among them.
    len: usize,
}

/// Code points of the basic plane.
const BASIC_LEN: usize = 1 << 16;

impl Codes {
    /// Numbers the characters of these words.
    pub(super) fn new<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let mut counts = HashMap::<char, u32>::new();
        words.flat_map(str::chars).for_each(|c| *counts.entry(c).or_default() += 1);
        let mut chars: Vec<_> = counts.into_iter().collect();
        // Those of the basic plane come first: there are fewer of them than of u16.
        chars.sort_unstable_by_key(|&(c, count)| (basic(c).is_none(), std::cmp::Reverse(count), c));
        let mut codes = Self { basic: vec![0; BASIC_LEN].into(), rest: HashMap::new(), len: chars.len() + 1 };
        for (code, (c, _)) in (UNKNOWN + 1..).zip(chars) {
            match (basic(c), u16::try_from(code)) {
                (Some(place), Ok(code)) => codes.basic[place] = code,
                _ => drop(codes.rest.insert(c, code)),
            }
        }
        codes
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn get(&self, c: char) -> Code {
        match basic(c) {
            Some(place) => self.basic[place].into(),
            None => self.rest.get(&c).copied().unwrap_or(UNKNOWN),
        }
    }
}

/// Returns the place of a character in the table of the basic plane.
#[inline]
fn basic(c: char) -> Option<usize> {
    let place = c as usize;
    (place < BASIC_LEN).then_some(place)
}
