//! Verdicts of people on pairs, as a page of pairs downloads them, beside those of the programs.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use evaluation::Pair;
use serde::Deserialize;
use serde_json::Value;

use super::texts::Texts;
use super::truth;

/// The form of a label, for an error.
const WANTED: &str =
    r#"a label is {"a": ID, "b": ID, "same": true or false}, as a page of --html downloads them"#;

/// Thresholds for which the agreement is told, in hundredths.
const THRESHOLDS: [u32; 10] = [50, 55, 60, 65, 70, 75, 80, 85, 90, 95];

/// A line of a file of labels. Other fields are passed over.
#[derive(Deserialize)]
struct Line {
    a: Value,
    b: Value,
    /// True if the two are the same document to a person.
    same: bool,
}

/// The labelled pairs of a corpus.
pub(super) struct Labels {
    /// The pairs with their true similarities, and true for those labelled as the same document.
    pub(super) pairs: Vec<(Pair, bool)>,
    /// Labels of documents that are not among those evaluated, or whose ids repeat.
    pub(super) n_unknown: usize,
}

/// The verdicts of an index on labelled pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Agreement {
    pub(super) n_same_called: usize,
    pub(super) n_same_missed: usize,
    pub(super) n_different_called: usize,
    pub(super) n_different_left: usize,
}

impl Agreement {
    /// The number of labels that agree.
    pub(super) fn n_agreeing(self) -> usize {
        self.n_same_called + self.n_different_left
    }
}

impl Labels {
    /// Reads labels: lines of JSON with the ids `a` and `b`, and `same`. Of a pair that comes twice
    /// the last label counts.
    pub(super) fn read(path: &Path, texts: &Texts) -> anyhow::Result<Self> {
        let name = program::line(&path.to_string_lossy()).to_string();
        let file = File::open(path).with_context(|| format!("failed to read {name}"))?;
        // A number that stands at two documents names none.
        let mut numbers: HashMap<&str, Option<usize>> = HashMap::new();
        for (number, id) in texts.ids.iter().enumerate() {
            numbers.entry(id).and_modify(|known| *known = None).or_insert(Some(number));
        }
        let number =
            |id: &Value| numbers.get(&*id.as_str().map_or_else(|| id.to_string(), str::to_owned)).copied()?;
        let (mut labels, mut n_unknown) = (HashMap::new(), 0);
        for (n, line) in BufReader::new(file).lines().enumerate() {
            let line = line.with_context(|| format!("failed to read {name}"))?;
            if line.trim().is_empty() {
                continue;
            }
            let Line { a, b, same } =
                serde_json::from_str(&line).with_context(|| format!("{name}:{}: {WANTED}", n + 1))?;
            match number(&a).zip(number(&b)) {
                Some((a, b)) if a != b => drop(labels.insert((a.min(b), a.max(b)), same)),
                _ => n_unknown += 1,
            }
        }
        let mut pairs: Vec<(Pair, bool)> = labels
            .into_iter()
            .map(|((a, b), same)| (Pair { a, b, similarity: truth::similarity(texts, a, b) }, same))
            .collect();
        pairs.sort_unstable_by_key(|(pair, _)| (pair.a, pair.b));
        Ok(Self { pairs, n_unknown })
    }

    /// The agreement with verdicts on pairs.
    pub(super) fn agreement(&self, is_called: impl Fn(&Pair) -> bool) -> Agreement {
        let mut agreement = Agreement::default();
        for (pair, same) in &self.pairs {
            let count = match (*same, is_called(pair)) {
                (true, true) => &mut agreement.n_same_called,
                (true, false) => &mut agreement.n_same_missed,
                (false, true) => &mut agreement.n_different_called,
                (false, false) => &mut agreement.n_different_left,
            };
            *count += 1;
        }
        agreement
    }

    /// The agreement that each least similarity would have, by the true similarities.
    pub(super) fn by_threshold(&self) -> impl Iterator<Item = (f64, Agreement)> + '_ {
        THRESHOLDS.into_iter().map(|hundredths| {
            let least = f64::from(hundredths) / 100.0;
            (least, self.agreement(|pair| pair.similarity >= least))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_agree_or_not() {
        let pair = |similarity| Pair { a: 0, b: 1, similarity };
        let labels = Labels {
            pairs: vec![(pair(0.9), true), (pair(0.8), false), (pair(0.6), true), (pair(0.4), false)],
            n_unknown: 0,
        };
        let at = |least: f64| labels.by_threshold().find(|(of, _)| *of == least).unwrap().1;
        assert_eq!(
            at(0.8),
            Agreement { n_same_called: 1, n_same_missed: 1, n_different_called: 1, n_different_left: 1 }
        );
        assert_eq!((at(0.6).n_agreeing(), at(0.85).n_agreeing(), at(0.95).n_agreeing()), (3, 3, 2));
    }
}
