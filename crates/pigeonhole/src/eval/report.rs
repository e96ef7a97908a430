//! The figures, for people at a terminal.

use std::io::{self, Write};

use evaluation::{Band, FamilyScore};

use super::window::excerpts;
use super::{Evaluated, Ground, counted};

pub(super) fn print(
    out: &mut dyn Write,
    ground: &Ground<'_>,
    evaluated: &[Evaluated],
    n_examples: usize,
) -> io::Result<()> {
    let (texts, min) = (ground.texts, ground.min_similarity());
    writeln!(
        out,
        "{}, in the middle {}; {} of similarity {min} and more",
        counted(texts.len(), "document"),
        counted(texts.median_length(), "character"),
        counted(ground.pairs.len(), "pair"),
    )?;
    ground.left_out().iter().try_for_each(|left_out| writeln!(out, "{left_out}"))?;
    writeln!(
        out,
        "\n                                                  called  numbers           wrongly            a document"
    )?;
    writeln!(
        out,
        "profile                 found  recall    called    below   differ  dropped  dropped   kept  compared  rows  bytes"
    )?;
    for evaluated in evaluated {
        let Evaluated { variant, found, scores, audit, n_numbers_differ, .. } = evaluated;
        let n = texts.len() as f64;
        writeln!(
            out,
            "{variant:<20}  {:>7}  {:>6}  {:>8}  {:>7}  {:>7}  {:>7}  {:>7}  {:>5}  {:>8.2}  {:>4.1}  {:>5.0}",
            scores.whole.n_found,
            shown(scores.whole.recall()),
            scores.whole.n_called,
            scores.whole.n_below,
            n_numbers_differ,
            audit.n_dropped,
            audit.wrongly_dropped.len(),
            audit.wrongly_kept.len(),
            found.n_compared as f64 / n,
            found.n_rows as f64 / n,
            found.n_bytes as f64 / n,
        )?;
    }
    families(out, ground, evaluated)?;
    labels(out, ground, evaluated)?;
    bands(out, "similarity", evaluated, |evaluated| &evaluated.scores.by_similarity)?;
    bands(out, "characters of the shorter", evaluated, |evaluated| &evaluated.scores.by_length)?;
    for Evaluated { variant, scores, audit, .. } in evaluated {
        let lists = [
            ("missed, the most similar first", &scores.misses),
            ("called below, the least similar first", &scores.mistakes),
            ("wrongly dropped, the least similar first", &audit.wrongly_dropped),
        ];
        for (what, pairs) in lists.into_iter().filter(|(_, pairs)| !pairs.is_empty()) {
            let n_shown = pairs.len().min(n_examples);
            writeln!(out, "\n{variant}: {what} ({n_shown} of {})", pairs.len())?;
            for pair in &pairs[..n_shown] {
                let [a, b] = excerpts(ground, pair);
                let [id_a, id_b] = [pair.a, pair.b].map(|number| program::line(&texts.ids[number]));
                writeln!(out, "  {:.4}  {id_a}  {a}\n          {id_b}  {b}", pair.similarity)?;
            }
        }
    }
    Ok(())
}

/// Prints the agreement of each profile with the families, below that of the exact truth.
fn families(out: &mut dyn Write, ground: &Ground<'_>, evaluated: &[Evaluated]) -> io::Result<()> {
    let Some(truth) = &ground.families else { return Ok(()) };
    let FamilyScore { n_families, n_documents, n_true, .. } = truth;
    writeln!(
        out,
        "\n{n_families} families of two documents and more, {n_true} pairs; {n_documents} documents have a family\n"
    )?;
    writeln!(out, "against families    recall  precision      F1     found    called")?;
    let of_variant = |evaluated: &Evaluated| Some((evaluated.variant.to_string(), evaluated.families?));
    for (name, score) in
        [("exact truth".to_owned(), *truth)].into_iter().chain(evaluated.iter().filter_map(of_variant))
    {
        writeln!(
            out,
            "{name:<20}  {:>6}  {:>9}  {:>6}  {:>8}  {:>8}",
            shown(score.recall()),
            shown(score.precision()),
            shown(score.f1()),
            score.n_found,
            score.n_called,
        )?;
    }
    Ok(())
}

/// Prints how many labels each profile agrees with, and each least similarity would.
fn labels(out: &mut dyn Write, ground: &Ground<'_>, evaluated: &[Evaluated]) -> io::Result<()> {
    let Some(labels) = &ground.labels else { return Ok(()) };
    let n_same = labels.pairs.iter().filter(|(_, same)| *same).count();
    write!(
        out,
        "\n{} labelled pairs: {n_same} the same document, {} different ones",
        labels.pairs.len(),
        labels.pairs.len() - n_same
    )?;
    match labels.n_unknown {
        0 => writeln!(out, "\n")?,
        n => writeln!(out, "; {n} more are of documents that are not here, or of ids that repeat\n")?,
    }
    writeln!(out, "against labels         agree  same called  same missed  different called")?;
    let of_profiles = evaluated.iter().map(|one| (one.variant.to_string(), one.agreement(labels)));
    let of_thresholds =
        labels.by_threshold().map(|(least, agreement)| (format!("similarity {least:.2}"), agreement));
    for (name, agreement) in of_profiles.chain(of_thresholds) {
        writeln!(
            out,
            "{name:<20}  {:>6}  {:>11}  {:>11}  {:>16}",
            agreement.n_agreeing(),
            agreement.n_same_called,
            agreement.n_same_missed,
            agreement.n_different_called,
        )?;
    }
    Ok(())
}

/// Prints recall, precision and F1 of each profile in each band with pairs.
fn bands(
    out: &mut dyn Write,
    by: &str,
    evaluated: &[Evaluated],
    of: impl Fn(&Evaluated) -> &Vec<Band>,
) -> io::Result<()> {
    let Some(first) = evaluated.first() else { return Ok(()) };
    write!(out, "\n{by:<25}  {:>7}", "pairs")?;
    for Evaluated { variant, .. } in evaluated {
        write!(out, "   {variant:>20}")?;
    }
    writeln!(out, "   recall, precision, F1")?;
    for (at, band) in of(first).iter().enumerate() {
        if evaluated.iter().all(|evaluated| of(evaluated)[at].n_true + of(evaluated)[at].n_called == 0) {
            continue;
        }
        write!(out, "{:<25}  {:>7}", named(band), band.n_true)?;
        for evaluated in evaluated {
            let band = &of(evaluated)[at];
            let [recall, precision, f1] = [band.recall(), band.precision(), band.f1()].map(shown);
            write!(out, "   {recall:>6} {precision:>6} {f1:>6}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The name of a band, as in "0.8 below 0.85".
pub(super) fn named(band: &Band) -> String {
    let to = if band.to.is_finite() { format!("below {}", band.to) } else { "and more".to_owned() };
    format!("{} {to}", band.from)
}

/// Formats a share with four decimals, rounded down so that only a full share shows as 1; a dash
/// without any pairs.
pub(super) fn shown(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.4}", (share * 1e4 + 1e-9).floor() / 1e4))
}
