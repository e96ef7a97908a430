//! Parts that fold where there is little room: on a telephone, and where no script unfolds them.

use maud::{Markup, html};

/// Puts content below a head that folds it. The script of the page unfolds it where there is room.
#[must_use]
pub fn fold(is_open: bool, head: &Markup, content: &Markup) -> Markup {
    html! {
        details data-fold open[is_open] {
            summary { (head) }
            (content)
        }
    }
}
