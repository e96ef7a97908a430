//! The part of two texts worth seeing: the one where they differ.

use super::diff::{Part, diff, diff_items};

/// Maximum number of characters of a text that are compared and shown.
const WINDOW: usize = 3_000;

/// Maximum number of items of a sequence that are compared and shown.
const ITEMS: usize = 200;

/// Maximum number of characters of an equal part; a longer one is cut in its middle.
const SAME_MAX: usize = 240;

/// Number of characters left at either end of a cut part, and before the first difference.
const SAME_SHOWN: usize = 80;

/// Number of items shown before the first difference.
const ITEMS_SHOWN: usize = 3;

/// Returns the number of characters in the common beginning of two texts.
#[must_use]
pub fn n_same(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Returns two texts from a little before their first difference, with differences marked. Long
/// equal parts are cut.
#[must_use]
pub fn windows(a: &str, b: &str) -> [Vec<Part>; 2] {
    let from = n_same(a, b).saturating_sub(SAME_SHOWN);
    let cut = |text: &str| -> String { text.chars().skip(from).take(WINDOW).collect() };
    let (of_a, of_b) = diff(&cut(a), &cut(b));
    [(a, of_a), (b, of_b)].map(|(text, parts)| {
        framed(
            parts.into_iter().map(shortened).collect(),
            from > 0,
            text.chars().nth(from + WINDOW).is_some(),
        )
    })
}

/// Returns two sequences, such as the numbers of two texts, as [`windows`] returns texts: an item
/// is equal or different as a whole.
#[must_use]
pub fn item_windows(a: &[String], b: &[String]) -> [Vec<Part>; 2] {
    let n_same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let from = n_same.saturating_sub(ITEMS_SHOWN);
    let [cut_a, cut_b] = [a, b].map(|items| &items[from..items.len().min(from + ITEMS)]);
    let (of_a, of_b) = diff_items(cut_a, cut_b);
    [(a, of_a), (b, of_b)].map(|(items, parts)| {
        framed(parts.into_iter().map(shortened).collect(), from > 0, items.len() > from + ITEMS)
    })
}

fn framed(mut parts: Vec<Part>, is_cut_before: bool, is_cut_after: bool) -> Vec<Part> {
    let ellipsis = || Part { text: "…".to_owned(), differs: false };
    if is_cut_before {
        parts.insert(0, ellipsis());
    }
    if is_cut_after {
        parts.push(ellipsis());
    }
    parts
}

fn shortened(part: Part) -> Part {
    let n = part.text.chars().count();
    if part.differs || n <= SAME_MAX {
        return part;
    }
    let begin: String = part.text.chars().take(SAME_SHOWN).collect();
    let end: String = part.text.chars().skip(n - SAME_SHOWN).collect();
    Part { text: format!("{begin} … {end}"), differs: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(parts: &[Part]) -> String {
        let marked = |part: &Part| if part.differs { format!("[{}]", part.text) } else { part.text.clone() };
        parts.iter().map(marked).collect()
    }

    #[test]
    fn what_is_the_same_is_cut() {
        let same = "word ".repeat(100);
        let [a, b] = windows(&format!("one {same}two"), &format!("six {same}ten"));
        let (begin, end) = (" word".repeat(16), "word ".repeat(16));
        assert_eq!(marked(&a), format!("[one]{begin} … {end}[two]"));
        assert_eq!(marked(&b), format!("[six]{begin} … {end}[ten]"));
    }

    #[test]
    fn long_texts_are_seen_from_where_they_differ() {
        let (same, rest) = ("字".repeat(5_000), "而".repeat(5_000));
        let [a, b] = windows(&format!("{same}甲{rest}"), &format!("{same}乙"));
        let shown = marked(&a);
        assert!(shown.starts_with(&format!("…{}[甲", "字".repeat(80))) && shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().count(), WINDOW + 4);
        assert_eq!(marked(&b), format!("…{}[乙]", "字".repeat(80)));
        assert_eq!(windows("", "").map(|parts| parts.len()), [0, 0]);
    }

    #[test]
    fn sequences_are_seen_from_where_they_differ() {
        let numbers = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>();
        for (a, b, expected_a, expected_b) in [
            (&[2024, 26, 5][..], &[2024, 28, 5][..], "2024 [26] 5", "2024 [28] 5"),
            (&[1000], &[10000], "[1000]", "[10000]"),
            (&[2, 0], &[0, 2], "2 [0]", "[0] 2"),
            (&[1, 2, 3, 4, 5], &[1, 2, 3, 4], "…2 3 4 [5]", "…2 3 4"),
            (&[], &[7], "", "[7]"),
        ] {
            let [of_a, of_b] = item_windows(&numbers(a), &numbers(b)).map(|parts| marked(&parts));
            assert_eq!([of_a.as_str(), of_b.as_str()], [expected_a, expected_b]);
        }
        let [long, _] = item_windows(&numbers(&(0..1_000).collect::<Vec<_>>()), &[]);
        assert!(marked(&long).ends_with("199]…"));
    }
}
