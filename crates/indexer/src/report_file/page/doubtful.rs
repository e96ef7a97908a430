//! The pairs worth a look first, with their texts side by side.

use maud::{Markup, html};
use program::page::{Marked, Side, beside, fold, sortable};

use super::NOT_AT_HAND;
use crate::numbers::Grouped;
use crate::report_file::{Numbers, Pair, ReportFile, Worst};

/// The number of pairs of a kind, and of those shown.
fn how_many(Worst { n, pairs }: &Worst) -> String {
    let (n, shown) = (*n, pairs.len() as u64);
    match (n, shown) {
        (1, 1) => "There is one.".to_owned(),
        (n, shown) if n == shown => format!("There are {}.", Grouped(n)),
        (n, shown) => format!("There are {}, and {shown} are shown, of each kept document one.", Grouped(n)),
    }
}

/// The pairs worth a look first.
pub(super) fn doubtful(report: &ReportFile) -> Markup {
    let doubtful = &report.doubtful;
    let (numbers, lost) = (&doubtful.numbers_differ, &doubtful.text_lost);
    let of_numbers = html! {
        "Those first in which least else differs. " (how_many(numbers)) " --same-numbers keeps them."
    };
    let of_lost = html! {
        "A fifth or more of the dropped document is not in the kept one, by its n-grams; the most text first. "
        (how_many(lost)) " --keep longest loses less."
    };
    let none = Worst::default();
    let parts = doubtful.contained.as_ref().unwrap_or(&none);
    let of_parts = html! {
        "Most of the dropped document stands in the kept one, which is not similar to it; those of which least does first. "
        (how_many(parts))
    };
    html! {
        (list(true, "Look here first: nearest to the threshold", &nearest(report), &doubtful.least_similar))
        (list(false, "Dropped although numbers differ", &of_numbers, &numbers.pairs))
        (list(false, "Dropped with text of their own", &of_lost, &lost.pairs))
        (list(false, "Dropped as parts of others", &of_parts, &parts.pairs))
    }
}

/// A sentence about the pairs nearest to the threshold.
fn nearest(report: &ReportFile) -> Markup {
    html! {
        @match report.options.min_similarity {
            Some(min_similarity) => {
                "The dropped documents that are least like the kept ones, just above the least similarity of "
                (min_similarity) ". If these are other documents, ask for more (--min-similarity)."
            }
            None => {
                "The dropped documents whose fingerprints are furthest from those of the kept ones. Nothing else was "
                "compared."
            }
        }
    }
}

/// A section of pairs, if there are any. The first one is open, with its first pair.
fn list(is_first: bool, title: &str, remark: &Markup, pairs: &[Pair]) -> Markup {
    let articles = html! {
        @for (n, pair) in pairs.iter().enumerate() { (doubtful_pair(pair, is_first && n == 0)) }
    };
    let content = html! { p { (remark) } (sortable(&articles)) };
    html! {
        @if !pairs.is_empty() { section { (fold(is_first, &html! { h2 { (title) } }, &content)) } }
    }
}

fn doubtful_pair(pair: &Pair, is_open: bool) -> Markup {
    let (kept, dropped) = &pair.parts;
    let left = html! {
        p.who { "kept " bdi { (pair.kept) } (in_other(pair.share_of_kept)) }
        @match kept {
            Some(kept) => (Side::Left.marked(kept)),
            None => p.remark { (NOT_AT_HAND) },
        }
    };
    let right = html! {
        p.who { "dropped " bdi { (pair.dropped) } (in_other(pair.share_of_dropped)) }
        (Side::Right.marked(dropped))
    };
    let marked = Marked {
        a: &pair.kept,
        b: &pair.dropped,
        similarity: pair.similarity,
        numbers_differ: pair.numbers_differ == Some(true),
    };
    let head = html! { span.who { (how_near(pair)) } };
    let content = html! {
            div.tall tabindex="0" role="region" aria-label="Texts" { (beside(&left, &right)) }
            @if let Some(Numbers { parts: [kept, dropped], .. }) = &pair.numbers {
                div.tall.numbers tabindex="0" role="region" aria-label="Numbers" {
                    (beside(
                        &html! { p.who { "its numbers" } (Side::Left.marked(kept)) },
                        &html! { p.who { "its numbers" } (Side::Right.marked(dropped)) },
                    ))
                }
            }
    };
    marked.article(is_open, &head, &content)
}

/// The share of a document contained in the other one.
fn in_other(share: Option<f64>) -> Markup {
    html! { @if let Some(share) = share { (format!(", {:.1} % of it in the other", share * 100.0)) } }
}

fn how_near(pair: &Pair) -> Markup {
    html! {
        @match pair.similarity {
            Some(similarity) => {
                "similarity " strong { (format!("{similarity:.4}")) }
                (if pair.exact == Some(true) { ", counted" } else { ", estimated" })
            }
            None => { (pair.distance) (if pair.distance == 1 { " bit" } else { " bits" }) " apart" }
        }
        @if pair.numbers_differ == Some(true) { ", numbers differ" }
    }
}
