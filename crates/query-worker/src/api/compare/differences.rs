//! Differences between two texts, by words; in Chinese, by characters.

use std::time::Duration;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};
use utoipa::ToSchema;

/// Longest search for the fewest differences; after that the result may have more than the fewest.
const SEARCH_MAX: Duration = Duration::from_millis(500);

/// The text that has a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Whose {
    A,
    B,
    Both,
}

/// Part of the texts. The stretches of `a` and `both` make the one text, those of `b` and `both`
/// the other.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Stretch)]
pub(super) struct Stretch {
    #[schema(inline)]
    side: Whose,
    text: String,
}

/// Splits both texts into stretches. At a difference the stretch of `a` comes before that of `b`.
pub(super) fn stretches(a: &str, b: &str) -> Vec<Stretch> {
    let diff = TextDiff::configure().timeout(SEARCH_MAX).diff_unicode_words(a, b);
    let mut found = Stretches::default();
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => found.push_both(change.value()),
            ChangeTag::Delete => found.push_differing(change.value(), ""),
            ChangeTag::Insert => found.push_differing("", change.value()),
        }
    }
    found.ended()
}

#[derive(Default)]
struct Stretches {
    done: Vec<Stretch>,
    /// Difference since the last common stretch.
    a: String,
    b: String,
    /// Common space after the difference. If a further difference follows, the space is part of one
    /// difference and no stretch of its own: "two words" in place of "one phrase".
    space: String,
}

impl Stretches {
    fn push_both(&mut self, text: &str) {
        let is_space = text.chars().all(char::is_whitespace);
        if is_space && !(self.a.is_empty() && self.b.is_empty()) {
            self.space.push_str(text);
            return;
        }
        self.end_difference();
        match self.done.last_mut() {
            Some(last) if last.side == Whose::Both => last.text.push_str(text),
            _ => self.push(Whose::Both, text.to_owned()),
        }
    }

    fn push_differing(&mut self, a: &str, b: &str) {
        let space = std::mem::take(&mut self.space);
        for (side, more) in [(&mut self.a, a), (&mut self.b, b)] {
            side.push_str(&space);
            side.push_str(more);
        }
    }

    fn end_difference(&mut self) {
        let (a, b) = (std::mem::take(&mut self.a), std::mem::take(&mut self.b));
        self.push(Whose::A, a);
        self.push(Whose::B, b);
        let space = std::mem::take(&mut self.space);
        self.push(Whose::Both, space);
    }

    fn push(&mut self, side: Whose, text: String) {
        if !text.is_empty() {
            self.done.push(Stretch { side, text });
        }
    }

    fn ended(mut self) -> Vec<Stretch> {
        self.end_difference();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::time::Instant;

    use super::*;

    /// Marks the stretches of `a` alone with brackets, and those of `b` alone with braces.
    fn marked(a: &str, b: &str) -> String {
        let stretches = stretches(a, b);
        let text_of = |side| {
            let mine = stretches.iter().filter(|stretch| stretch.side == side || stretch.side == Whose::Both);
            mine.map(|stretch| stretch.text.as_str()).collect::<String>()
        };
        assert_eq!((text_of(Whose::A).as_str(), text_of(Whose::B).as_str()), (a, b));
        let mut marked = String::new();
        for Stretch { side, text } in &stretches {
            match side {
                Whose::Both => write!(marked, "{text}"),
                Whose::A => write!(marked, "[{text}]"),
                Whose::B => write!(marked, "{{{text}}}"),
            }
            .unwrap();
        }
        marked
    }

    #[test]
    fn what_differs_is_marked() {
        for (a, b, expected) in [
            ("", "", ""),
            ("", "new", "{new}"),
            ("one two", "one two", "one two"),
            ("ten reeds grow", "two reeds grow", "[ten]{two} reeds grow"),
            ("so one phrase here", "so two words here", "so [one phrase]{two words} here"),
            ("老城区的花园", "老城区花园", "老城区[的]花园"),
            ("你妈妈喊你回家", "你妈妈叫你回家", "你妈妈[喊]{叫}你回家"),
            ("a  b", "a b", "a[  ]{ }b"),
            ("same end ", "other end ", "[same]{other} end "),
            ("same \n", "other \n", "[same]{other} \n"),
        ] {
            assert_eq!(marked(a, b), expected);
        }
    }

    /// The time to find the fewest differences grows with their number and the length of the texts.
    #[test]
    fn long_texts_of_other_words_take_no_longer_than_they_may() {
        let text = |step: u32| {
            (0..150_000_u32).map(|n| format!("{:x} ", n % 5003 * step % 5003)).collect::<String>()
        };
        let begun = Instant::now();
        marked(&text(7), &text(2600));
        assert!(begun.elapsed() < 20 * SEARCH_MAX, "{:?}", begun.elapsed());
    }
}
