//! The figures, for people and as JSON.

use std::io::{self, Write};

use evaluation::{Band, Pair};
use serde_json::{Value, json};

use super::{Evaluated, Ground};

/// Characters of a text that are shown.
const EXCERPT: usize = 60;

pub(super) fn print(
    out: &mut dyn Write,
    ground: &Ground<'_>,
    evaluated: &[Evaluated],
    n_examples: usize,
) -> io::Result<()> {
    let (texts, min) = (ground.texts, ground.min_similarity.get());
    writeln!(
        out,
        "{} documents, in the middle {} characters; {} pairs of similarity {min} and more\n",
        texts.len(),
        texts.median_length(),
        ground.pairs.len(),
    )?;
    writeln!(
        out,
        "                                strict                                   wrongly            a document"
    )?;
    writeln!(
        out,
        "profile              recall  precision      F1    called  dropped  dropped   kept  compared  rows  bytes"
    )?;
    for Evaluated { profile, found, scores, audit } in evaluated {
        let n = texts.len() as f64;
        writeln!(
            out,
            "{profile:<18}  {:>7}  {:>9}  {:>6}  {:>8}  {:>7}  {:>7}  {:>5}  {:>8.2}  {:>4.1}  {:>5.0}",
            shown(scores.whole.recall()),
            shown(scores.whole.strict_precision()),
            shown(scores.whole.f1()),
            found.called.len(),
            audit.n_dropped,
            audit.wrongly_dropped.len(),
            audit.wrongly_kept.len(),
            found.n_proposed as f64 / n,
            found.n_rows as f64 / n,
            found.n_bytes as f64 / n,
        )?;
    }
    bands(out, "similarity", evaluated, |evaluated| &evaluated.scores.by_similarity)?;
    bands(out, "characters of the shorter", evaluated, |evaluated| &evaluated.scores.by_length)?;
    for Evaluated { profile, scores, audit, .. } in evaluated {
        let lists = [
            ("missed, the most similar first", &scores.misses),
            ("wrong, the least similar first", &scores.mistakes),
            ("wrongly dropped, the least similar first", &audit.wrongly_dropped),
        ];
        for (what, pairs) in lists.into_iter().filter(|(_, pairs)| !pairs.is_empty()) {
            let n_shown = pairs.len().min(n_examples);
            writeln!(out, "\n{profile}: {what} ({n_shown} of {})", pairs.len())?;
            for pair in &pairs[..n_shown] {
                let [a, b] = excerpts(ground, pair);
                let [id_a, id_b] = [pair.a, pair.b].map(|number| program::line(&texts.ids[number]));
                writeln!(out, "  {:.4}  {id_a}  {a}\n          {id_b}  {b}", pair.similarity)?;
            }
        }
    }
    Ok(())
}

/// Recall and strict precision of each profile in each band that has pairs.
fn bands(
    out: &mut dyn Write,
    by: &str,
    evaluated: &[Evaluated],
    of: impl Fn(&Evaluated) -> &Vec<Band>,
) -> io::Result<()> {
    let Some(first) = evaluated.first() else { return Ok(()) };
    write!(out, "\n{by:<26}  {:>9}", "pairs")?;
    for Evaluated { profile, .. } in evaluated {
        write!(out, "  {profile:>18}")?;
    }
    writeln!(out, "   recall / strict precision")?;
    for (at, band) in of(first).iter().enumerate() {
        if evaluated.iter().all(|evaluated| of(evaluated)[at].n_true + of(evaluated)[at].n_called == 0) {
            continue;
        }
        let to = if band.to.is_finite() { format!("below {}", band.to) } else { "and more".to_owned() };
        write!(out, "{:<26}  {:>9}", format!("{} {to}", band.from), band.n_true)?;
        for evaluated in evaluated {
            let band = &of(evaluated)[at];
            let (recall, precision) = (shown(band.recall()), shown(band.strict_precision()));
            write!(out, "  {:>18}", format!("{recall} / {precision}"))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Four decimals, rounded down so that only all is shown as 1; a dash where there is nothing to count.
fn shown(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.4}", (share * 1e4 + 1e-9).floor() / 1e4))
}

/// Where two texts begin to differ, and a little before.
fn excerpts(ground: &Ground<'_>, pair: &Pair) -> [String; 2] {
    let [a, b] = [pair.a, pair.b].map(|number| ground.texts.texts[number].as_str());
    let n_same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = n_same.saturating_sub(EXCERPT / 3);
    [a, b].map(|text| {
        let excerpt: String = text.chars().skip(from).take(EXCERPT).collect();
        let begins = if from > 0 { "…" } else { "" };
        let ends = if text.chars().nth(from + EXCERPT).is_some() { "…" } else { "" };
        format!("{begins}{}{ends}", program::line(&excerpt))
    })
}

pub(super) fn json(ground: &Ground<'_>, evaluated: &[Evaluated], n_examples: usize) -> Value {
    let examples = |pairs: &[Pair]| -> Vec<Value> {
        let example = |pair: &Pair| {
            let [a, b] = excerpts(ground, pair);
            let [id_a, id_b] = [pair.a, pair.b].map(|number| &ground.texts.ids[number]);
            json!({"a": id_a, "b": id_b, "similarity": pair.similarity, "excerpt_a": a, "excerpt_b": b})
        };
        pairs.iter().take(n_examples).map(example).collect()
    };
    let profile = |Evaluated { profile, found, scores, audit }: &Evaluated| {
        json!({
            "profile": profile.to_string(),
            "whole": band(&scores.whole),
            "by_similarity": scores.by_similarity.iter().map(band).collect::<Vec<_>>(),
            "by_length": scores.by_length.iter().map(band).collect::<Vec<_>>(),
            "n_dropped": audit.n_dropped,
            "n_wrongly_dropped": audit.wrongly_dropped.len(),
            "n_wrongly_kept": audit.wrongly_kept.len(),
            "n_compared": found.n_proposed,
            "n_rows": found.n_rows,
            "n_bytes": found.n_bytes,
            "misses": examples(&scores.misses),
            "mistakes": examples(&scores.mistakes),
            "wrongly_dropped": examples(&audit.wrongly_dropped),
        })
    };
    json!({
        "n_documents": ground.texts.len(),
        "n_rejected": ground.texts.n_rejected,
        "median_characters": ground.texts.median_length(),
        "min_similarity": ground.min_similarity.get(),
        "floor": ground.floor.get(),
        "n_pairs": ground.pairs.len(),
        "profiles": evaluated.iter().map(profile).collect::<Vec<_>>(),
    })
}

fn band(band: &Band) -> Value {
    json!({
        "from": band.from,
        "to": band.to.is_finite().then_some(band.to),
        "n_true": band.n_true,
        "n_found": band.n_found,
        "n_called": band.n_called,
        "n_wrong": band.n_wrong,
        "recall": band.recall(),
        "strict_precision": band.strict_precision(),
        "f1": band.f1(),
    })
}
