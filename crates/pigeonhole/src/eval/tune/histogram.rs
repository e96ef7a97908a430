//! Pairs of a sample by similarity: their numbers, and some of each step to read.

use corpus::Grouped;
use evaluation::Pair;
use minhash::hash_words;

use super::super::Ground;
use super::super::window::excerpts;

/// Width of a step of similarity, in hundredths.
const STEP: u32 = 5;

/// Pairs to read at each step.
const N_SHOWN: usize = 5;

/// Characters of an id, and of the beginning of a text.
const ID_MAX: usize = 36;
const BEGIN: usize = 60;

/// The pairs of one step.
struct Step<'a> {
    name: String,
    pairs: Vec<&'a Pair>,
}

fn steps<'a>(ground: &'a Ground<'_>) -> Vec<Step<'a>> {
    let related = &ground.related;
    let first = ((related.from * 100.0 / f64::from(STEP) + 1e-9).floor() as u32) * STEP;
    let step = |from: u32| {
        let [from, to] = [from, from + STEP].map(|hundredths| f64::from(hundredths) / 100.0);
        Step { name: format!("{from} below {to}"), pairs: Vec::new() }
    };
    let mut steps: Vec<Step<'_>> = (first..100).step_by(STEP as usize).map(step).collect();
    steps.push(Step { name: "1".to_owned(), pairs: Vec::new() });
    let last = steps.len() - 1;
    for pair in &related.pairs {
        let at = ((pair.similarity * 100.0 + 1e-9).floor() as usize).saturating_sub(first as usize);
        steps[(at / STEP as usize).min(last)].pairs.push(pair);
    }
    steps
}

/// Lines of comments: each step with its number of pairs, the most similar last.
pub(super) fn counts(ground: &Ground<'_>) -> Vec<String> {
    let steps = steps(ground);
    let most = steps.iter().map(|step| step.pairs.len()).max().unwrap_or(0).max(1);
    let line = |step: &Step<'_>| {
        let n = step.pairs.len();
        let bar = "▇".repeat((n * 40).div_ceil(most));
        format!("{:<15}  {:>11}  {bar}", step.name, Grouped(n as u64).to_string()).trim_end().to_owned()
    };
    std::iter::once(format!("{:<15}  {:>11}", "similarity", "pairs")).chain(steps.iter().map(line)).collect()
}

/// Lines of comments: some pairs of each step, chosen at random, the least similar step first.
pub(super) fn to_read(ground: &Ground<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    for Step { name, mut pairs } in steps(ground) {
        if pairs.is_empty() {
            continue;
        }
        let n = pairs.len();
        pairs.sort_unstable_by_key(|pair| (hash_words(pair.a as u64, pair.b as u64), pair.a, pair.b));
        pairs.truncate(N_SHOWN);
        pairs.sort_by(|x, y| x.similarity.total_cmp(&y.similarity).then((x.a, x.b).cmp(&(y.a, y.b))));
        lines.push(format!("{name} ({} of {})", pairs.len(), Grouped(n as u64)));
        pairs.into_iter().for_each(|pair| show(ground, pair, &mut lines));
    }
    lines
}

fn show(ground: &Ground<'_>, pair: &Pair, lines: &mut Vec<String>) {
    let cut = |text: &str, n_max: usize| {
        let cut: String = text.chars().take(n_max).collect();
        let ends = if text.chars().nth(n_max).is_some() { "…" } else { "" };
        format!("{}{ends}", program::line(&cut))
    };
    let numbers = [pair.a, pair.b];
    let [id_a, id_b] = numbers.map(|number| cut(&ground.texts.ids[number], ID_MAX));
    let differ = if ground.numbers_differ(pair) { ", numbers differ" } else { "" };
    lines.push(format!("  {:.4}  {id_a}  {id_b}{differ}", pair.similarity));
    let begins = numbers.map(|number| cut(&ground.texts.texts[number], BEGIN));
    let differ = excerpts(ground, pair);
    let [a, b] = &begins;
    lines.extend([format!("    begin   {a}"), format!("            {b}")]);
    // The beginnings already show a difference near the start.
    let [text_a, text_b] = numbers.map(|number| &ground.texts.texts[number]);
    if text_a != text_b && differ.iter().any(|excerpt| excerpt.starts_with('…')) {
        let [a, b] = &differ;
        lines.extend([format!("    differ  {a}"), format!("            {b}")]);
    }
}
