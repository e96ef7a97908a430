//! The part of two texts that is worth seeing: where they differ.

use evaluation::Pair;
use page::{Part, diff};

use super::Ground;

/// Characters of a text that are shown in a line.
const EXCERPT: usize = 60;

/// Characters of a text that are held against another, and shown on a page.
const WINDOW: usize = 3_000;

/// What both texts have is cut out where it is longer than this.
const SAME_MAX: usize = 240;

/// And so much of it stays at either end.
const SAME_SHOWN: usize = 80;

/// Where two texts begin to differ, and a little before.
pub(super) fn excerpts(ground: &Ground<'_>, pair: &Pair) -> [String; 2] {
    let [a, b] = [pair.a, pair.b].map(|number| ground.texts.texts[number].as_str());
    let from = n_same(a, b).saturating_sub(EXCERPT / 3);
    [a, b].map(|text| {
        let excerpt: String = text.chars().skip(from).take(EXCERPT).collect();
        let begins = if from > 0 { "…" } else { "" };
        let ends = if text.chars().nth(from + EXCERPT).is_some() { "…" } else { "" };
        format!("{begins}{}{ends}", program::line(&excerpt))
    })
}

fn n_same(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// Two texts from a little before where they begin to differ, with what differs; what is long and the same is cut.
pub(super) fn windows(a: &str, b: &str) -> [Vec<Part>; 2] {
    let from = n_same(a, b).saturating_sub(SAME_SHOWN);
    let cut = |text: &str| -> String { text.chars().skip(from).take(WINDOW).collect() };
    let (of_a, of_b) = diff(&cut(a), &cut(b));
    [(a, of_a), (b, of_b)].map(|(text, parts)| {
        let mut shown: Vec<Part> = parts.into_iter().map(shortened).collect();
        if from > 0 {
            shown.insert(0, ellipsis());
        }
        if text.chars().nth(from + WINDOW).is_some() {
            shown.push(ellipsis());
        }
        shown
    })
}

fn ellipsis() -> Part {
    Part { text: "…".to_owned(), differs: false }
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
}
