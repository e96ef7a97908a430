//! The report as a page. maud escapes all text from documents; `bdi` and `dir=auto` confine the
//! direction of a right-to-left text to its element.

mod doubtful;

use maud::{Markup, html};
use program::page::{Page, Part, Side, beside, diff, fold};

use self::doubtful::doubtful;
use super::{Ending, Example, FilesLeftOut, Group, Options, ReportFile};
use crate::numbers::{Grouped, megabytes};

/// Style of doubtful results.
const STYLE: &str = "\
.sign { margin: 1rem 0; padding: .5rem 1rem; border-inline-start: .3rem solid #c4820e; background: var(--raised); }
.sign p { margin: .25rem 0; }
.tall { max-height: 24rem; overflow-y: auto; }
.numbers { margin: .75rem 0 0; max-height: 9rem; }
.numbers blockquote { font-variant-numeric: tabular-nums; }
";

/// Replaces a missing text.
const NOT_AT_HAND: &str =
    "Its text is not at hand: it was in the index before, or came long before its duplicates.";

/// Inputs named in the head.
const INPUTS_NAMED: usize = 5;

pub(super) fn page(report: &ReportFile) -> String {
    Page {
        title: format!("Near-duplicates: {} of {}", report.counts.duplicates, report.counts.read),
        style: STYLE,
        header: html! {
            h1 { "Near-duplicates" }
            p { (of_inputs(report)) }
            p { (decided_by(&report.options)) }
            p { (report.program) ", " time datetime=(report.finished_at) { (minute(&report.finished_at)) " UTC" } }
            @if report.options.dry_run { p { "A dry run: this is what would have been dropped. Nothing was written." } }
        },
        main: html! {
            (signs(report))
            (summary(report))
            (doubtful(report))
            (nearness(report))
            (groups(report))
            (repeats(report))
            (rejected(report))
            (particulars(report))
        },
    }
    .into_html()
}

/// Names of the inputs.
fn of_inputs(report: &ReportFile) -> Markup {
    let inputs = &report.inputs;
    let named = inputs.names.len().min(INPUTS_NAMED);
    html! {
        "Of "
        @for (n, name) in inputs.names.iter().take(named).enumerate() {
            @if n > 0 { ", " }
            bdi { (name) }
        }
        @if inputs.n > named as u64 { " and " (Grouped(inputs.n - named as u64).to_string()) " more" }
        "."
    }
}

/// Options that decide which documents are near-duplicates.
fn decided_by(options: &Options) -> Markup {
    html! {
        @match options.min_similarity {
            Some(min_similarity) => {
                "Dropped from a similarity of " strong { (min_similarity) } " on, "
                (if options.counted { "counted over the texts" } else { "estimated by signatures" })
            }
            None => {
                "Dropped up to a distance of " strong { (options.max_distance) } " bits, without a comparison of the texts"
            }
        }
        @if options.same_numbers { "; other numbers make another document" }
        @if let Some(share) = options.contained { ", and from a share of " strong { (share) } " on that stands in a kept document" }
        ". Profile " (options.profile) ", index " bdi { (options.store) } ", of near-duplicates stays: " bdi { (options.keep) }
        @if let Some(known_ids) = options.known_ids { ", known ids: " (known_ids) }
        "."
    }
}

/// Signs of a wrong run.
fn signs(report: &ReportFile) -> Markup {
    html! {
        @if !report.doubtful.signs.is_empty() {
            section.sign aria-label="Doubts" {
                @for sign in &report.doubtful.signs { p { bdi { (sign) } } }
            }
        }
    }
}

/// A timestamp to the minute.
fn minute(timestamp: &str) -> String {
    timestamp.chars().take(16).collect::<String>().replace('T', " ")
}

fn number(n: u64) -> Markup {
    html! { td.number { (Grouped(n).to_string()) } }
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

fn summary(report: &ReportFile) -> Markup {
    let counts = &report.counts;
    let (bytes, dropped) = (report.text_bytes, report.text_bytes_dropped);
    // A row appears only for a number other than 0.
    let some = |n| (n > 0).then_some(n);
    html! {
        section aria-label="Counts" {
            table {
                @for (name, n, remark) in [
                    ("read", Some(counts.read), ""),
                    ("kept", Some(counts.kept), ""),
                    ("duplicates", Some(counts.duplicates), "dropped"),
                    ("unchanged", counts.unchanged, "of these: near to their own earlier versions"),
                    ("same id", some(counts.same_id), "of these: the same text under the same id"),
                    ("contained", counts.contained, "of these: parts of documents that stay"),
                    ("numbers", some(counts.numbers_differ), "of these: other numbers than the document that stays"),
                    ("text lost", some(counts.text_lost), "of these: a fifth of it and more is in nothing that stays"),
                    ("no features", Some(counts.no_features), "kept too: there is nothing to compare them by"),
                    ("rejected", Some(counts.rejected), ""),
                    ("passed over", some(counts.passed_over), "records of WARC without a page or a text"),
                    ("whole pages", some(counts.whole_pages), "no main text was found in them, so all of it was taken"),
                ].into_iter().filter_map(|(name, n, remark)| Some((name, n?, remark))) {
                    tr { th scope="row" { (name) } (number(n)) td.remark { (if n > 0 { remark } else { "" }) } }
                }
            }
            p {
                (format!("{:.1} MB of {:.1} MB of text were dropped ({:.1} %), in {:.1} seconds.",
                    megabytes(dropped), megabytes(bytes), percent(dropped, bytes), report.seconds))
            }
            @if report.inputs.left_out.n > 0 {
                p { (left_out(&report.inputs.left_out)) }
            }
            @if let Some(clusters) = &report.clusters {
                p {
                    "Clusters of near-duplicates: " (Grouped(clusters.n).to_string()) ". Chained, with two documents that are "
                    "not near each other: " (Grouped(clusters.n_chained).to_string())
                    (if clusters.split && clusters.n_chained > 0 { ", split around the documents that stay." } else { "." })
                }
            }
        }
    }
}

/// The files found and not read, by suffix.
fn left_out(left_out: &FilesLeftOut) -> String {
    let endings = left_out.endings.iter().map(|Ending { ending, n }| format!("{ending} {}", Grouped(*n)));
    let endings = endings.collect::<Vec<_>>().join(", ");
    format!("Files left out, whose names do not say a known format: {} ({endings}).", Grouped(left_out.n))
}

fn nearness(report: &ReportFile) -> Markup {
    if report.similarities.is_empty() {
        let rows: Vec<_> =
            report.distances.iter().map(|distance| (distance.distance.to_string(), distance.n)).collect();
        let explained =
            "In how many of the 64 bits of its fingerprint a dropped document differs from the kept one.";
        return bars(explained, "bits", &rows);
    }
    let range = |from: f64| {
        let from = (from * 100.0).round();
        if from >= 100.0 { "100 %".to_owned() } else { format!("{from}–{} %", from + 5.0) }
    };
    let rows: Vec<_> = report.similarities.iter().map(|similar| (range(similar.from), similar.n)).collect();
    let explained =
        "How much of the character n-grams that either has a dropped document shares with the kept one.";
    bars(explained, "in common", &rows)
}

/// The dropped documents by their nearness, as bars.
fn bars(explained: &str, unit: &str, rows: &[(String, u64)]) -> Markup {
    let most = rows.iter().map(|(_, n)| *n).max().unwrap_or(0);
    html! {
        section {
            (fold(
                false,
                &html! { h2 { "How near" } },
                &html! {
                    p { (explained) }
                    table.bars {
                        tr { th scope="col" { (unit) } th.number scope="col" { "dropped" } td {} }
                        @for (nearness, n) in rows {
                            tr {
                                th scope="row" { (nearness) }
                                (number(*n))
                                td { div.bar style=(format!("width: {:.1}%", percent(*n, most))) {} }
                            }
                        }
                    }
                },
            ))
        }
    }
}

fn groups(report: &ReportFile) -> Markup {
    let (n, shown) = (report.groups.n, &report.groups.biggest);
    html! {
        section {
            (fold(
                false,
                &html! { h2 { "Groups" } },
                &html! {
                    p {
                        (Grouped(n).to_string()) (if n == 1 { " kept document has" } else { " kept documents have" }) " near-duplicates."
                        @if n > shown.len() as u64 { " These are the " (shown.len()) " with the most." }
                        " Of each, the first duplicate at every step of nearness is shown, with what differs in the beginning of the two texts."
                    }
                    @for group in shown { (one_group(group)) }
                },
            ))
        }
    }
}

fn one_group(group: &Group) -> Markup {
    html! {
        article {
            h3 { bdi { (group.kept) } " " span.remark { "and " (Grouped(group.n_duplicates).to_string()) " like it" } }
            @if group.examples.is_empty() {
                p.remark { "The texts were not held: too many groups were of this size." }
            }
            @for example in &group.examples { (pair(group, example)) }
        }
    }
}

fn pair(group: &Group, example: &Example) -> Markup {
    let same = vec![Part { text: example.excerpt.clone(), differs: false }];
    let (kept, dropped) = match &group.excerpt {
        Some(kept) => diff(kept, &example.excerpt),
        None => (Vec::new(), same),
    };
    let is_same = group.excerpt.as_deref() == Some(&example.excerpt);
    let left = html! {
        p.who { "kept " bdi { (group.kept) } }
        @if group.excerpt.is_some() {
            (Side::Left.marked(&kept))
        } @else {
            p.remark { (NOT_AT_HAND) }
        }
    };
    let right = html! {
        p.who {
            "dropped " bdi { (example.id) } ", "
            @match example.similarity {
                Some(similarity) => { (format!("{:.0} % in common", (similarity * 100.0).floor())) }
                None => { (example.distance) (if example.distance == 1 { " bit" } else { " bits" }) }
            }
            @if is_same { ", the same beginning" }
        }
        (Side::Right.marked(&dropped))
    };
    beside(&left, &right)
}

fn repeats(report: &ReportFile) -> Markup {
    let repeats = &report.repeats;
    html! {
        @if !repeats.most.is_empty() {
            section {
                (fold(
                    false,
                    &html! { h2 { "Sources that repeat each other" } },
                    &html! {
                        p {
                            "The pairs with the most dropped documents; a document without a source counts by its file."
                            @if !repeats.is_exact { " There were too many pairs to count all of them: the numbers may be too small." }
                        }
                        div.wide tabindex="0" role="region" aria-label="Sources" {
                            table {
                                tr { th scope="col" { "kept from" } th scope="col" { "dropped from" } th.number scope="col" { "dropped" } }
                                @for repeat in &repeats.most {
                                    tr { td { bdi { (repeat.kept_from) } } td { bdi { (repeat.dropped_from) } } (number(repeat.n)) }
                                }
                            }
                        }
                    },
                ))
            }
        }
    }
}

fn rejected(report: &ReportFile) -> Markup {
    html! {
        @if !report.rejected.is_empty() {
            section {
                (fold(
                    false,
                    &html! { h2 { "Rejected" } },
                    &html! {
                        p { "Records that could not be read, by reason; N stands for a number and … for what was quoted." }
                        div.wide tabindex="0" role="region" aria-label="Reasons" {
                            table {
                                tr { th scope="col" { "reason" } th.number scope="col" { "records" } }
                                @for rejected in &report.rejected {
                                    tr { td dir="auto" { (rejected.reason) } (number(rejected.n)) }
                                }
                            }
                        }
                    },
                ))
            }
        }
    }
}

fn unranked(report: &ReportFile) -> Markup {
    html! {
        @if let Some(n) = report.unranked.filter(|&n| n > 0) {
            span.remark { " (" (Grouped(n).to_string()) " had nothing to be ranked by, and came last)" }
        }
    }
}

fn particulars(report: &ReportFile) -> Markup {
    let (inputs, options) = (&report.inputs, &report.options);
    html! {
        section {
            h2 { "How it was run" }
            details {
                summary { (Grouped(inputs.n).to_string()) (if inputs.n == 1 { " input" } else { " inputs" }) }
                ul {
                    @for name in &inputs.names { li { bdi { (name) } } }
                    @if inputs.n > inputs.names.len() as u64 { li { "and more" } }
                }
            }
            details {
                summary { "Options" }
                table {
                    tr { th scope="row" { "keep" } td { bdi { (options.keep) } (unranked(report)) } }
                    @if let Some(known_ids) = options.known_ids {
                        tr { th scope="row" { "known ids" } td { (known_ids) } }
                    }
                    @if let Some(field) = &options.time_field {
                        tr { th scope="row" { "time field" } td { bdi { (field) } } }
                    }
                    tr { th scope="row" { "index" } td { bdi { (options.store) } } }
                    tr { th scope="row" { "scheme" } td { (options.scheme) } }
                    tr { th scope="row" { "profile" } td { (options.profile) } }
                    tr { th scope="row" { "max distance" } td { (options.max_distance) } }
                    @if let Some(min_similarity) = options.min_similarity {
                        tr { th scope="row" { "least similarity" } td { (min_similarity) } }
                        tr { th scope="row" { "similarities" } td { (if options.counted { "counted" } else { "estimated" }) } }
                        tr { th scope="row" { "same numbers" } td { (if options.same_numbers { "yes" } else { "no" }) } }
                    }
                    @for (name, value) in &options.recipe {
                        tr { th scope="row" { (name) } td { bdi { (value) } } }
                    }
                }
            }
        }
    }
}
