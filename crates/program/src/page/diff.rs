//! Differences between two texts, word by word; in Chinese, character by character.

use similar::{ChangeTag, TextDiff};

/// Part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The part as it stands in the text.
    pub text: String,
    /// True if the other text lacks the part.
    pub differs: bool,
}

/// Splits both texts into parts, which alternate between different and equal ones.
#[must_use]
pub fn diff(a: &str, b: &str) -> (Vec<Part>, Vec<Part>) {
    let (mut parts_a, mut parts_b) = (Vec::new(), Vec::new());
    for change in TextDiff::from_unicode_words(a, b).iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut parts_a, text, false);
                push(&mut parts_b, text, false);
            }
            ChangeTag::Delete => push(&mut parts_a, text, true),
            ChangeTag::Insert => push(&mut parts_b, text, true),
        }
    }
    (parts_a, parts_b)
}

/// Splits two sequences likewise, item by item, with a space between items.
#[must_use]
pub fn diff_items(a: &[String], b: &[String]) -> (Vec<Part>, Vec<Part>) {
    let [of_a, of_b] = [a, b].map(|items| items.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut parts_a, mut parts_b) = (Vec::new(), Vec::new());
    for change in TextDiff::from_slices(&of_a, &of_b).iter_all_changes() {
        let differs = change.tag() != ChangeTag::Equal;
        if change.tag() != ChangeTag::Insert {
            push_item(&mut parts_a, change.value(), differs);
        }
        if change.tag() != ChangeTag::Delete {
            push_item(&mut parts_b, change.value(), differs);
        }
    }
    (parts_a, parts_b)
}

/// Appends an item, separated by a space. Between a differing item and an equal one, the space
/// belongs to the equal part.
fn push_item(parts: &mut Vec<Part>, item: &str, differs: bool) {
    if let Some(last) = parts.last_mut() {
        if last.differs && !differs {
            parts.push(Part { text: " ".to_owned(), differs: false });
        } else {
            last.text.push(' ');
        }
    }
    push(parts, item, differs);
}

fn push(parts: &mut Vec<Part>, text: &str, differs: bool) {
    match parts.last_mut() {
        Some(last) if last.differs == differs => last.text.push_str(text),
        _ => parts.push(Part { text: text.to_owned(), differs }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats the parts, with differing ones in brackets.
    fn marked(parts: &[Part]) -> String {
        parts
            .iter()
            .map(|Part { text, differs }| if *differs { format!("[{text}]") } else { text.clone() })
            .collect()
    }

    #[test]
    fn what_differs_is_marked_on_both_sides() {
        for (a, b, expected_a, expected_b) in [
            ("", "", "", ""),
            ("one two", "one two", "one two", "one two"),
            ("ten reeds grow", "two reeds grow", "[ten] reeds grow", "[two] reeds grow"),
            ("老城区的花园", "老城区花园", "老城区[的]花园", "老城区花园"),
            ("", "new", "", "[new]"),
        ] {
            let (parts_a, parts_b) = diff(a, b);
            assert_eq!((marked(&parts_a), marked(&parts_b)), (expected_a.to_owned(), expected_b.to_owned()));
        }
    }
}
