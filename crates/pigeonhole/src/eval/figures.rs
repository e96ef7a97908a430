//! The figures as JSON, for programs.

use evaluation::{Band, Bin, FamilyScore, Pair};
use serde_json::{Value, json};

use super::labels::{Agreement, Labels};
use super::window::excerpts;
use super::{Evaluated, Ground};

pub(super) fn json(ground: &Ground<'_>, evaluated: &[Evaluated], n_examples: usize) -> Value {
    let examples = |pairs: &[Pair]| -> Vec<Value> {
        let example = |pair: &Pair| {
            let [a, b] = excerpts(ground, pair);
            let [id_a, id_b] = [pair.a, pair.b].map(|number| &ground.texts.ids[number]);
            json!({"a": id_a, "b": id_b, "similarity": pair.similarity, "excerpt_a": a, "excerpt_b": b})
        };
        pairs.iter().take(n_examples).map(example).collect()
    };
    let profile = |evaluated: &Evaluated| {
        let Evaluated { variant, found, scores, curve, families, audit, .. } = evaluated;
        json!({
            "profile": variant.to_string(),
            "verify": variant.verify,
            "texts": variant.texts.name(),
            "whole": band(&scores.whole),
            "by_similarity": scores.by_similarity.iter().map(band).collect::<Vec<_>>(),
            "by_length": scores.by_length.iter().map(band).collect::<Vec<_>>(),
            "curve": curve.iter().map(bin).collect::<Vec<_>>(),
            "families": families.as_ref().map(family),
            "labels": ground.labels.as_ref().map(|labels| agreement(evaluated.agreement(labels))),
            "n_dropped": audit.n_dropped,
            "n_wrongly_dropped": audit.wrongly_dropped.len(),
            "n_wrongly_kept": audit.wrongly_kept.len(),
            "n_numbers_differ": evaluated.n_numbers_differ,
            "n_compared": found.n_compared,
            "n_rows": found.n_rows,
            "n_bytes": found.n_bytes,
            "misses": examples(&scores.misses),
            "mistakes": examples(&scores.mistakes),
            "wrongly_dropped": examples(&audit.wrongly_dropped),
        })
    };
    json!({
        "n_documents": ground.texts.len(),
        "n_read": ground.texts.n_read,
        "left_out": ground.left_out(),
        "n_rejected": ground.texts.n_rejected,
        "median_characters": ground.texts.median_length(),
        "min_similarity": ground.min_similarity(),
        "n_pairs": ground.pairs.len(),
        "families": ground.families.as_ref().map(family),
        "labels": ground.labels.as_ref().map(labelled),
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
        "n_below": band.n_below,
        "recall": band.recall(),
        "precision": band.precision(),
        "f1": band.f1(),
    })
}

fn bin(bin: &Bin) -> Value {
    json!({
        "from": bin.from,
        "to": bin.to,
        "mean_similarity": bin.mean,
        "n_pairs": bin.n_pairs,
        "n_proposed": bin.n_proposed,
        "n_called": bin.n_called,
        "promised_by_bands": (bin.n_pairs > 0).then_some(bin.promised),
    })
}

fn family(score: &FamilyScore) -> Value {
    json!({
        "n_families": score.n_families,
        "n_documents": score.n_documents,
        "n_true": score.n_true,
        "n_found": score.n_found,
        "n_called": score.n_called,
        "recall": score.recall(),
        "precision": score.precision(),
        "f1": score.f1(),
    })
}

fn labelled(labels: &Labels) -> Value {
    let by_threshold = labels.by_threshold().map(|(least, of_it)| {
        let mut threshold = agreement(of_it);
        threshold["min_similarity"] = least.into();
        threshold
    });
    json!({
        "n": labels.pairs.len(),
        "n_unknown": labels.n_unknown,
        "by_min_similarity": by_threshold.collect::<Vec<_>>(),
    })
}

fn agreement(agreement: Agreement) -> Value {
    json!({
        "n_agreeing": agreement.n_agreeing(),
        "n_same_called": agreement.n_same_called,
        "n_same_missed": agreement.n_same_missed,
        "n_different_called": agreement.n_different_called,
        "n_different_left": agreement.n_different_left,
    })
}
