//! The pairs worth a look first, with their texts side by side.

use maud::{Markup, html};
use program::page::{Marked, Side, beside, sortable};

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
    let (doubtful, options) = (&report.doubtful, &report.options);
    html! {
        @if !doubtful.least_similar.is_empty() {
            section {
                h2 { "Look here first: nearest to the threshold" }
                p {
                    @match options.min_similarity {
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
                (pairs(&doubtful.least_similar))
            }
        }
        @if !doubtful.numbers_differ.pairs.is_empty() {
            section {
                h2 { "Dropped although numbers differ" }
                p {
                    "Those first in which least else differs. " (how_many(&doubtful.numbers_differ))
                    " --same-numbers keeps them."
                }
                (pairs(&doubtful.numbers_differ.pairs))
            }
        }
        @if !doubtful.text_lost.pairs.is_empty() {
            section {
                h2 { "Dropped with text of their own" }
                p {
                    "A fifth or more of the dropped document is not in the kept one, by its n-grams; the most text first. "
                    (how_many(&doubtful.text_lost)) " --keep longest loses less."
                }
                (pairs(&doubtful.text_lost.pairs))
            }
        }
        @if let Some(parts) = doubtful.contained.as_ref().filter(|parts| parts.n > 0) { (contained(parts)) }
    }
}

/// Documents contained in documents that stay.
fn contained(contained: &Worst) -> Markup {
    html! {
        section {
            h2 { "Dropped as parts of others" }
            p {
                "Most of the dropped document stands in the kept one, which is not similar to it; those of which least does first. "
                (how_many(contained))
            }
            (pairs(&contained.pairs))
        }
    }
}

fn pairs(pairs: &[Pair]) -> Markup {
    sortable(&html! { @for pair in pairs { (doubtful_pair(pair)) } })
}

fn doubtful_pair(pair: &Pair) -> Markup {
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
    marked.article(&html! {
            p.who { (how_near(pair)) }
            div.tall tabindex="0" role="region" aria-label="Texts" { (beside(&left, &right)) }
            @if let Some(Numbers { parts: [kept, dropped], .. }) = &pair.numbers {
                div.tall.numbers tabindex="0" role="region" aria-label="Numbers" {
                    (beside(
                        &html! { p.who { "its numbers" } (Side::Left.marked(kept)) },
                        &html! { p.who { "its numbers" } (Side::Right.marked(dropped)) },
                    ))
                }
            }
    })
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
