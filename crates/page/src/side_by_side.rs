//! Two texts side by side, with what differs marked; on a narrow screen one below the other.

use maud::{Markup, html};

use crate::diff::Part;

/// Which of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What only it has is marked as gone.
    Left,
    /// What only it has is marked as new.
    Right,
}

impl Side {
    /// A text with its marks.
    #[must_use]
    pub fn marked(self, parts: &[Part]) -> Markup {
        html! {
            blockquote dir="auto" {
                @for Part { text, differs } in parts {
                    @match (differs, self) {
                        (false, _) => (text),
                        (true, Self::Left) => del { (text) },
                        (true, Self::Right) => ins { (text) },
                    }
                }
            }
        }
    }
}

/// Two sides, each what it is and its text.
#[must_use]
pub fn beside(left: &Markup, right: &Markup) -> Markup {
    html! {
        div.pair {
            div { (left) }
            div { (right) }
        }
    }
}
