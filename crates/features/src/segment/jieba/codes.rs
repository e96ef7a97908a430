//! Small numbers for the characters of words.

use std::cmp::Reverse;
use std::collections::HashMap;

/// A character as a number; the more words it is in, the smaller.
pub(super) type Code = u32;

/// The code of every character that is in no word.
const UNKNOWN: Code = 0;

/// The codes of the characters of a dictionary.
pub(super) struct Codes {
    /// The codes of the basic plane, by code point.
    basic: Box<[u16]>,
    /// The codes of all other characters.
    rest: HashMap<char, Code>,
    /// The number of codes, [`UNKNOWN`] among them.
    len: usize,
}

/// Code points of the basic plane.
const BASIC_LEN: usize = 1 << 16;

impl Codes {
    /// Numbers the characters of these words.
    pub(super) fn new<'w>(words: impl Iterator<Item = &'w str>) -> Self {
        let (mut counts, mut rest_counts) = (vec![0_u32; BASIC_LEN], HashMap::<char, u32>::new());
        for c in words.flat_map(str::chars) {
            match counts.get_mut(c as usize) {
                Some(count) => *count += 1,
                None => *rest_counts.entry(c).or_default() += 1,
            }
        }
        let mut basic = vec![0; BASIC_LEN].into_boxed_slice();
        let mut places = Vec::from_iter((0..BASIC_LEN).filter(|&place| counts[place] > 0));
        places.sort_by_key(|&place| Reverse(counts[place]));
        // There are fewer characters of the basic plane than of u16.
        for (code, &place) in (1..).zip(&places) {
            basic[place] = code;
        }
        let mut rest = Vec::from_iter(rest_counts);
        rest.sort_unstable_by_key(|&(c, count)| (Reverse(count), c));
        let first = UNKNOWN + 1 + places.len() as Code;
        let rest: HashMap<_, _> = rest.into_iter().map(|(c, _)| c).zip(first..).collect();
        Self { basic, len: first as usize + rest.len(), rest }
    }

    /// Returns the number of codes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the code of a character.
    #[inline]
    pub(super) fn get(&self, c: char) -> Code {
        match self.basic.get(c as usize) {
            Some(&code) => code.into(),
            None => self.rest.get(&c).copied().unwrap_or(UNKNOWN),
        }
    }
}
