//! Excerpts of two texts from their first difference on, in a line each.

use evaluation::Pair;
use program::page::n_same;

use super::Ground;

/// Characters of an excerpt.
const EXCERPT: usize = 60;

/// The excerpts of two texts around their first difference.
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
