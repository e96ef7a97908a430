//! The beginning of what differs in two texts, in a line.

use evaluation::Pair;
use page::n_same;

use super::Ground;

/// Characters of a text that are shown in a line.
const EXCERPT: usize = 60;

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
