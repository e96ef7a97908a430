//! Two texts side by side, with differences marked; on a narrow screen one below the other.

use maud::{Markup, html};

use super::diff::Part;

/// One of two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Parts found only here are marked as gone.
    Left,
    /// Parts found only here are marked as new.
    Right,
}

impl Side {
    /// Formats a text with its marks.
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

/// Puts two sides next to each other, each with its name and its text.
#[must_use]
pub fn beside(left: &Markup, right: &Markup) -> Markup {
    html! {
        div.pair {
            div { (left) }
            div { (right) }
        }
    }
}
