//! The classic five grades of importance.
//!
//! The usual explanation of simhash grades the words of a sentence from 1 to 5 by hand. Here the
//! grade of a term is its tf-idf weight `w` held against the heaviest weight `max` of the same
//! text, in five equal steps: `⌈5·w / max⌉`.

const LEVELS: u64 = 5;

/// Returns the grade of a term of weight `w`, for the heaviest weight `max >= w >= 1` of the text.
#[inline]
pub(crate) fn level(w: u32, max: u32) -> u32 {
    (LEVELS * u64::from(w)).div_ceil(u64::from(max)) as u32
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn five_equal_steps() {
        for (w, max, expected) in [
            (1, 1, 5),
            (1, 100, 1),
            (20, 100, 1),
            (21, 100, 2),
            (40, 100, 2),
            (60, 100, 3),
            (80, 100, 4),
            (81, 100, 5),
            (100, 100, 5),
            (u32::MAX, u32::MAX, 5),
            (1, u32::MAX, 1),
        ] {
            assert_eq!(level(w, max), expected, "{w} of {max}");
        }
    }
}
