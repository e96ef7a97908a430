//! The figures as a page, with curves, and with the texts of misses and mistakes.

mod curves;

use corpus::Grouped;
use evaluation::{FamilyScore, Pair};
use maud::{Markup, html};
use program::page::{CHART_STYLE, Marked, Page, Side, beside, fold, sortable, windows};

use super::report::shown;
use super::{Evaluated, Ground, counted};

/// Renders the page, with `n_examples` of each list.
pub(super) fn page(ground: &Ground<'_>, evaluated: &[Evaluated], n_examples: usize) -> String {
    let (n, min) = (ground.texts.len() as u64, ground.min_similarity());
    Page {
        title: format!("What is found of the near-duplicates of {n} documents"),
        style: CHART_STYLE,
        header: html! {
            h1 { "What is found of near-duplicates" }
            p { "pigeonhole " (env!("CARGO_PKG_VERSION")) }
            p {
                (counted(Grouped(n), "document")) ", in the middle "
                (counted(Grouped(ground.texts.median_length() as u64), "character")) "; "
                (counted(Grouped(ground.pairs.len() as u64), "pair")) " of a similarity of " (min)
                " and more, all found by an exact join."
                @for left_out in ground.left_out() { " " (left_out) "." }
                @if ground.texts.n_rejected > 0 {
                    " " (Grouped(ground.texts.n_rejected)) " records were rejected and are in no figure."
                }
            }
        },
        main: html! {
            (profiles(ground, evaluated))
            (families(ground, evaluated))
            (curves::by_similarity(ground, evaluated))
            (curves::by_length(evaluated))
            (examples(ground, evaluated, n_examples))
        },
    }
    .into_html()
}

fn number(n: u64) -> String {
    Grouped(n).to_string()
}

/// A table of figures, with a name in front of each row. It scrolls if it is wider than the screen,
/// and on a narrow one each row is a list.
fn figures(name: &str, first: &str, heads: &[&str], rows: &[(Markup, Vec<String>)]) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label=(name) {
            table.figures {
                thead { tr { th scope="col" { (first) } @for head in heads { th.number scope="col" { (head) } } } }
                tbody {
                    @for (name, cells) in rows {
                        tr {
                            th scope="row" { (name) }
                            @for (head, cell) in heads.iter().zip(cells) { td.number data-label=(head) { (cell) } }
                        }
                    }
                }
            }
        }
    }
}

fn profiles(ground: &Ground<'_>, evaluated: &[Evaluated]) -> Markup {
    let n = ground.texts.len() as f64;
    let columns = [
        "pairs found",
        "recall",
        "pairs called",
        "called below",
        "numbers differ",
        "dropped",
        "wrongly dropped",
        "wrongly kept",
        "compared a document",
        "rows a document",
        "bytes a document",
    ];
    let row = |Evaluated { variant, found, scores, audit, n_numbers_differ, .. }: &Evaluated| {
        let cells = vec![
            number(scores.whole.n_found),
            shown(scores.whole.recall()),
            number(scores.whole.n_called),
            number(scores.whole.n_below),
            number(*n_numbers_differ),
            number(audit.n_dropped),
            number(audit.wrongly_dropped.len() as u64),
            number(audit.wrongly_kept.len() as u64),
            format!("{:.2}", found.n_compared as f64 / n),
            format!("{:.1}", found.n_rows as f64 / n),
            format!("{:.0}", found.n_bytes as f64 / n),
        ];
        (html! { (variant) }, cells)
    };
    let rows: Vec<_> = evaluated.iter().map(row).collect();
    html! {
        section {
            h2 { "Profiles" }
            p {
                "Recall is the share of the near-duplicate pairs that an index finds. Called below are the pairs that it calls "
                "near-duplicates although they have less than " (ground.min_similarity()) " in common, by a count of their n-grams; numbers "
                "differ in those of which the texts have other numbers, or in another order. Wrongly dropped is a "
                "document of which no kept one is a near-duplicate, and wrongly kept is one of which an earlier kept one is."
            }
            (figures("Profiles", "profile", &columns, &rows))
        }
    }
}

fn families(ground: &Ground<'_>, evaluated: &[Evaluated]) -> Markup {
    let row = |name: &str, score: &FamilyScore| {
        let shares = [score.recall(), score.precision(), score.f1()].map(shown);
        let cells = shares.into_iter().chain([score.n_found, score.n_called].map(number)).collect();
        (html! { (name) }, cells)
    };
    let Some(truth) = &ground.families else { return html! {} };
    let scored =
        evaluated.iter().filter_map(|one| Some(row(&one.variant.to_string(), one.families.as_ref()?)));
    let rows: Vec<_> = std::iter::once(row("exact truth", truth)).chain(scored).collect();
    html! {
        section {
            h2 { "Families" }
            p {
                (Grouped(truth.n_families)) " families of two documents and more, with " (Grouped(truth.n_true)) " pairs. "
                "A version that was written anew shares little with the one before, and two families may quote each other: so the "
                "first row, of the pairs that are similar enough, is what to hold the others against."
            }
            (figures("Families", "", &["recall", "precision", "F1", "found", "called"], &rows))
        }
    }
}

fn examples(ground: &Ground<'_>, evaluated: &[Evaluated], n_examples: usize) -> Markup {
    let lists = evaluated.iter().flat_map(|Evaluated { variant, scores, audit, .. }| {
        [
            ("missed, the most similar first", &scores.misses),
            ("called below, the least similar first", &scores.mistakes),
            ("wrongly dropped, the least similar first", &audit.wrongly_dropped),
        ]
        .map(|(what, pairs)| (variant, what, pairs))
    });
    html! {
        section {
            h2 { "Misses and mistakes" }
            p { "Texts are shown from where they begin to differ; what both have is cut where it is long." }
            @for (variant, what, pairs) in lists {
                @if !pairs.is_empty() {
                    (fold(
                        false,
                        &html! {
                            h3 { (variant) ": " (what) " " span.remark { (pairs.len().min(n_examples)) " of " (Grouped(pairs.len() as u64)) } }
                        },
                        &sortable(&html! { @for pair in pairs.iter().take(n_examples) { (example(ground, pair)) } }),
                    ))
                }
            }
            @if evaluated.iter().all(|one| one.scores.misses.is_empty() && one.scores.mistakes.is_empty()) { p { "There are none." } }
        }
    }
}

fn example(ground: &Ground<'_>, pair: &Pair) -> Markup {
    let (texts, numbers) = (ground.texts, [pair.a, pair.b]);
    let [a, b] = windows(&texts.texts[pair.a], &texts.texts[pair.b]);
    let who = numbers.map(|number| {
        let n = texts.lengths[number];
        html! { p.who { bdi { (texts.ids[number]) } ", " (Grouped(n as u64)) (if n == 1 { " character" } else { " characters" }) } }
    });
    let [id_a, id_b] = numbers.map(|number| texts.ids[number].as_str());
    let numbers_differ = ground.numbers_differ(pair);
    let marked = Marked { a: id_a, b: id_b, similarity: Some(pair.similarity), numbers_differ };
    let head = html! {
        span.who { "similarity " (shown(Some(pair.similarity))) (if numbers_differ { ", numbers differ" } else { "" }) }
    };
    let texts =
        beside(&html! { (who[0]) (Side::Left.marked(&a)) }, &html! { (who[1]) (Side::Right.marked(&b)) });
    marked.article(false, &head, &texts)
}
