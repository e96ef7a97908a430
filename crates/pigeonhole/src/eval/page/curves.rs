//! Curves: the share of pairs found by similarity, beside the promise of the bands, and the quality
//! by length.

use corpus::Grouped;
use evaluation::{Band, Bin, confidence};
use index::Profile;
use maud::{Markup, html};
use minhash::Similarity;
use program::page::{Axis, Chart, Curve, CurveKind, Dot, fold, legend};

use super::super::report::{named, shown};
use super::super::variant::Bands;
use super::super::{Evaluated, Ground};
use super::{figures, number};

/// Points of a promise between two ticks.
const STEPS: u32 = 20;

/// Distance of the ticks in charts by similarity.
const TICK: f64 = 0.1;

/// Numbers of the curves that the bands promise for long and for short texts.
const OF_LONG: usize = 0;
const OF_SHORT: usize = 1;

pub(super) fn by_similarity(ground: &Ground<'_>, evaluated: &[Evaluated]) -> Markup {
    let min = ground.min_similarity();
    let content = html! {
            p {
                "Of all pairs of a similarity the share that a profile calls near-duplicates, in bins of 0.025 and one for what is equal, "
                "each at the mean of its pairs; the line through a mark is the range of 95 % confidence. What lies below " (min)
                " need not be found. Hollow is the share that is compared at all, and dashed what is promised of it: the chance that two "
                "sets meet in a band with suffixes that are near. Simhash promises nothing of this similarity."
            }
            (legend(&[
                (CurveKind::Measured, 0, "called near-duplicates"),
                (CurveKind::Before, 0, "compared"),
                (CurveKind::Computed, OF_LONG, "promised of long texts"),
                (CurveKind::Computed, OF_SHORT, "promised of short texts"),
            ]))
            div.charts {
                @for (place, evaluated) in evaluated.iter().enumerate() {
                    figure {
                        figcaption { (evaluated.variant) }
                        (found(ground, place, evaluated).svg())
                    }
                }
            }
            details {
                summary { "The same as a table" }
                (table_of_bins(evaluated))
            }
    };
    html! { section { (fold(false, &html! { h2 { "What is found, by similarity" } }, &content)) } }
}

fn found(ground: &Ground<'_>, place: usize, evaluated: &Evaluated) -> Chart {
    let Evaluated { variant, curve, .. } = evaluated;
    // An axis has a length, also where only equal texts are related.
    let from = ((ground.related.from / TICK).floor() * TICK).min(1.0 - TICK);
    let n_ticks = ((1.0 - from) / TICK).round() as u32;
    let at = |tick: u32| from + f64::from(tick) * TICK;
    let ticks = (0..=n_ticks).map(|tick| (at(tick), format!("{:.1}", at(tick)))).collect();
    let mut curves = Vec::new();
    if variant.profile != Profile::Classic {
        let promised = |number: usize, recall: &dyn Fn(Similarity) -> f64| {
            let dots = (0..=n_ticks * STEPS).map(|step| {
                let at = (from + f64::from(step) * TICK / f64::from(STEPS)).min(1.0);
                Dot::computed(at, recall(Similarity::clamped(at)))
            });
            Curve { kind: CurveKind::Computed, number, dots: dots.collect() }
        };
        let bands = Bands::of(ground.asked.min_similarity);
        curves.push(promised(OF_LONG, &|similarity| bands.of_long(similarity)));
        curves.push(promised(OF_SHORT, &|similarity| bands.of_short(similarity)));
    }
    for (kind, what, of) in [
        (CurveKind::Before, "compared", (|bin| bin.n_proposed) as fn(&Bin) -> u64),
        (CurveKind::Measured, "called", |bin| bin.n_called),
    ] {
        // A bin without pairs has no share, and does not interrupt the line.
        let bins = curve.iter().filter(|bin| bin.n_pairs > 0);
        let dots = bins.map(|bin| {
            let n = of(bin);
            Dot {
                at: bin.mean,
                share: Some(n as f64 / bin.n_pairs as f64),
                between: confidence(n, bin.n_pairs).filter(|_| kind == CurveKind::Measured),
                says: format!("{:.4}: {what} {} of {}", bin.mean, Grouped(n), Grouped(bin.n_pairs)),
            }
        });
        curves.push(Curve { kind, number: place, dots: dots.collect() });
    }
    let axis = Axis { name: "Jaccard similarity".to_owned(), from, to: 1.0, ticks };
    Chart { name: format!("{variant}: share of pairs found, by similarity"), axis, curves }
}

fn table_of_bins(evaluated: &[Evaluated]) -> Markup {
    let Some(first) = evaluated.first() else { return html! {} };
    let names: Vec<String> =
        evaluated.iter().map(|one| format!("{}: compared, called", one.variant)).collect();
    let names: Vec<&str> =
        ["pairs", "promised by bands"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let bins = first.curve.iter().enumerate().filter(|(_, bin)| bin.n_pairs > 0);
    let row = |(at, bin): (usize, &Bin)| {
        let of_each = evaluated.iter().map(|one| &one.curve[at]);
        let of_each = of_each.map(|bin| format!("{}, {}", Grouped(bin.n_proposed), Grouped(bin.n_called)));
        let cells = [number(bin.n_pairs), shown(Some(bin.promised))].into_iter().chain(of_each).collect();
        (html! { (bin.from) @if bin.to > bin.from { " below " (bin.to) } }, cells)
    };
    figures("By similarity", "similarity", &names, &bins.map(row).collect::<Vec<_>>())
}

pub(super) fn by_length(evaluated: &[Evaluated]) -> Markup {
    let names: Vec<String> = evaluated.iter().map(|one| one.variant.to_string()).collect();
    let curves: Vec<_> =
        names.iter().enumerate().map(|(place, name)| (CurveKind::Measured, place, name.as_str())).collect();
    let content = html! {
            p { "Of the shorter text of a pair, in characters. A band without near-duplicates has no recall, and one in which nothing "
                "was called a near-duplicate no precision." }
            (legend(&curves))
            div.charts {
                @for (what, of) in [
                    ("Recall", Band::recall as fn(&Band) -> Option<f64>),
                    ("Precision", Band::precision),
                    ("F1", Band::f1),
                ] {
                    figure {
                        figcaption { (what) }
                        (quality(what, evaluated, of).svg())
                    }
                }
            }
            details {
                summary { "The same as a table" }
                (table_of_bands("characters", evaluated, |one| &one.scores.by_length))
                (table_of_bands("similarity", evaluated, |one| &one.scores.by_similarity))
            }
    };
    html! { section { (fold(false, &html! { h2 { "How good it is, by length" } }, &content)) } }
}

/// A chart by length. Bands are equidistant, each with some twice the length of the one before.
fn quality(what: &str, evaluated: &[Evaluated], of: fn(&Band) -> Option<f64>) -> Chart {
    let bands = evaluated.first().map_or(&[][..], |one| &one.scores.by_length);
    let has_pairs = |at: &usize| {
        let bands = evaluated.iter().map(|one| &one.scores.by_length[*at]);
        bands.map(|band| band.n_true + band.n_called).sum::<u64>() > 0
    };
    let shown_bands: Vec<usize> = (0..bands.len()).filter(has_pairs).collect();
    let place = |at: usize| (at + 1) as f64;
    let ticks = shown_bands.iter().enumerate();
    let ticks = ticks.map(|(at, &band)| (place(at), bands[band].from.to_string())).collect();
    let curve = |(number, evaluated): (usize, &Evaluated)| {
        let dots = shown_bands.iter().enumerate().map(|(at, &band)| {
            let band = &evaluated.scores.by_length[band];
            let says = format!("{}, {} characters: {}", evaluated.variant, named(band), shown(of(band)));
            Dot { at: place(at), share: of(band), between: None, says }
        });
        Curve { kind: CurveKind::Measured, number, dots: dots.collect() }
    };
    let axis = Axis {
        name: "characters of the shorter text, from".to_owned(),
        from: 0.5,
        to: shown_bands.len() as f64 + 0.5,
        ticks,
    };
    // The first curve of the legend is drawn last, on top.
    let curves = evaluated.iter().enumerate().map(curve).rev().collect();
    Chart { name: format!("{what} by length"), axis, curves }
}

fn table_of_bands(by: &str, evaluated: &[Evaluated], of: fn(&Evaluated) -> &Vec<Band>) -> Markup {
    let Some(first) = evaluated.first() else { return html! {} };
    let names: Vec<String> =
        evaluated.iter().map(|one| format!("{}: recall, precision, F1", one.variant)).collect();
    let names: Vec<&str> = std::iter::once("pairs").chain(names.iter().map(String::as_str)).collect();
    let has_pairs =
        |&(at, _): &(usize, &Band)| evaluated.iter().any(|one| of(one)[at].n_true + of(one)[at].n_called > 0);
    let row = |(at, band): (usize, &Band)| {
        let of_each = evaluated.iter().map(|one| &of(one)[at]);
        let of_each = of_each.map(|band| [band.recall(), band.precision(), band.f1()].map(shown).join(", "));
        let cells = std::iter::once(number(band.n_true)).chain(of_each).collect();
        (html! { (named(band)) }, cells)
    };
    figures(by, by, &names, &of(first).iter().enumerate().filter(has_pairs).map(row).collect::<Vec<_>>())
}
