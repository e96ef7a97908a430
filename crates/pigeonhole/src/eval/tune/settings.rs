//! The file of settings that `tune` writes: what was chosen, and in comments what was measured and why.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use corpus::Grouped;
use evaluation::confidence;
use features::Dictionaries;
use features::cli::RecipeArgs;
use minhash::BandScheme;

use super::super::profile::Profile;
use super::super::report::shown;
use super::super::{Evaluated, Ground};
use super::{ABOUT, LEAST_RECALL, is_sure};

/// Columns of a comment.
const WIDTH: usize = 110;

/// Similarities from which on the pairs of the sample are counted.
const FROM: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95];

/// What is promised is little below this.
const PROMISE: f64 = 0.99;

pub(super) struct Settings<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) evaluated: &'a [Evaluated],
    pub(super) choice: Profile,
    pub(super) recipe: &'a RecipeArgs,
}

impl Settings<'_> {
    pub(super) fn toml(&self, dictionaries: &Dictionaries) -> String {
        let min = self.ground.min_similarity.get();
        let mut text = String::new();
        let version = env!("CARGO_PKG_VERSION");
        comment(
            &mut text,
            &format!(
                "Settings for `--config` of all three programs, written by `pigeonhole tune` {version}."
            ),
        );
        text.push_str("#\n");
        comment(&mut text, &self.sample());
        text.push_str("#\n");
        self.table(&mut text);
        text.push_str("#\n");
        comment(
            &mut text,
            "Recall: the share of the pairs that is found, with its range of 95 % confidence. Strict precision: the share of what is \
             called near-duplicates that is not plainly something else. Rows and bytes: of the index, for each document, beside \
             its id. Compared: candidates that signatures confirm or refuse, for each document; they grow with the index. \
             Sketched: from text to what is stored, by one thread of this machine.",
        );
        text.push('\n');
        comment(&mut text, &self.why());
        setting(&mut text, "profile", &quoted(&self.choice.to_string()));
        text.push('\n');
        comment(&mut text, &self.similarities());
        setting(&mut text, "min-similarity", &quoted(&min.to_string()));
        text.push('\n');
        self.recipe(&mut text, dictionaries);
        text
    }

    fn sample(&self) -> String {
        let texts = self.ground.texts;
        let of = match texts.n_read {
            n if n > texts.len() as u64 => {
                format!("{} of {} documents, chosen at random", Grouped(texts.len() as u64), Grouped(n))
            }
            n => format!("all {} documents", Grouped(n)),
        };
        format!(
            "Measured on {of}, in the middle {} characters. Pairs with a Jaccard similarity of {} and more, of character \
             n-grams, all found by an exact join: {}.",
            Grouped(texts.median_length() as u64),
            self.ground.min_similarity.get(),
            Grouped(self.ground.pairs.len() as u64),
        )
    }

    fn table(&self, text: &mut String) {
        text.push_str(
            "# profile  recall  range             strict precision  rows  bytes  compared  sketched\n",
        );
        let n = self.ground.texts.len() as f64;
        for Evaluated { profile, found, scores, .. } in self.evaluated {
            let whole = &scores.whole;
            let range = confidence(whole.n_found, whole.n_true)
                .map_or_else(|| "–".to_owned(), |(from, to)| format!("{from:.4} to {to:.4}"));
            line(
                text,
                &format!(
                    "{profile:<7}  {:>6}  {range:<16}  {:>16}  {:>4.1}  {:>5.0}  {:>8.2}  {} documents/s",
                    shown(whole.recall()),
                    shown(whole.strict_precision()),
                    found.n_rows as f64 / n,
                    found.n_bytes as f64 / n,
                    found.n_proposed as f64 / n,
                    Grouped(self.rate(*profile)),
                ),
            );
        }
    }

    /// Documents a second, by one thread.
    fn rate(&self, profile: Profile) -> u64 {
        let texts = self.ground.texts;
        // Signatures confirm what simhash proposes, so it takes them, too.
        let time = match profile {
            Profile::ClassicUnverified => texts.fingerprinting,
            Profile::Classic | Profile::Full => texts.fingerprinting + texts.sketching,
            Profile::Minhash => texts.sketching,
        };
        // As `as` does, it is the greatest number for no time at all.
        if time == Duration::ZERO { 0 } else { (texts.len() as f64 / time.as_secs_f64()) as u64 }
    }

    fn why(&self) -> String {
        let (min, choice) = (self.ground.min_similarity, self.choice);
        let promises = format!(
            "the bands of MinHashes find a pair of {} with a probability of {:.4} where the texts are long, and of {:.4} where they are short",
            min.get(),
            BandScheme::long().recall(min),
            BandScheme::short().recall(min),
        );
        let mut why = if self.ground.pairs.is_empty() {
            format!(
                "Nothing was there to find, so this is by promise alone: {promises}; simhash promises nothing of this similarity. A larger --sample may have pairs."
            )
        } else {
            format!(
                "{choice}: of the profiles within {ABOUT} of the best recall and of the best strict precision the one with the fewest rows. By \
                 computation {promises}."
            )
        };
        let recall = |one: &Evaluated| one.scores.whole.recall().unwrap_or(0.0);
        let best = self.evaluated.iter().map(recall).fold(0.0, f64::max);
        if self.evaluated.iter().any(|one| !is_sure(one) && best > 0.0 && recall(one) >= best - ABOUT) {
            why += &format!(
                " Simhash is taken only where its recall is {LEAST_RECALL} or more with 95 % confidence."
            );
        }
        if BandScheme::long().recall(min) < PROMISE && choice != Profile::Classic {
            why += &format!(" They are made for 0.8: at {} much is missed.", min.get());
        }
        why
    }

    fn similarities(&self) -> String {
        let counts = FROM.iter().filter(|&&from| from >= self.ground.curves_from).map(|&from| {
            let n = self.ground.related.iter().filter(|pair| pair.similarity >= from).count();
            format!("{from} and more: {}", Grouped(n as u64))
        });
        let counts = counts.collect::<Vec<_>>().join(", ");
        format!(
            "What is a near-duplicate: as it was asked for. A lower one calls more documents duplicates, and costs no more rows or bytes. \
             All pairs of the sample by similarity: {counts}."
        )
    }

    /// What simhash was measured with, where that was said.
    fn recipe(&self, text: &mut String, dictionaries: &Dictionaries) {
        let terms = &self.recipe.terms;
        let paths =
            [("user-dict", &terms.user_dict), ("stop-words", &terms.stop_words), ("idf", &self.recipe.idf)];
        let paths =
            paths.into_iter().filter_map(|(name, path)| Some((name.to_owned(), of_path(path.as_deref()?))));
        let fields = self.recipe.explicit_fields(dictionaries).into_iter().filter_map(|(name, value)| {
            let value = match name.as_str() {
                "segmenter" | "weights" => quoted(&value),
                "simplify" | "seed" | "top-terms" => value,
                // Of files there is a digest; their paths are what is set.
                _ => return None,
            };
            Some((name, value))
        });
        let given: Vec<(String, String)> = fields.chain(paths).collect();
        if !given.is_empty() {
            text.push('\n');
            comment(text, "How texts become fingerprints, as it was asked for.");
            for (name, value) in given {
                setting(text, &name, &value);
            }
        }
    }
}

fn of_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A string of TOML. What JSON escapes, TOML does, and DEL beside it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn setting(text: &mut String, name: &str, value: &str) {
    // A string takes all that is written, here and below.
    let _ = writeln!(text, "{name} = {value}");
}

fn line(text: &mut String, line: &str) {
    let _ = writeln!(text, "# {line}");
}

/// Words in lines of comments.
fn comment(text: &mut String, words: &str) {
    let mut current = String::new();
    for word in words.split(' ') {
        if !current.is_empty() && current.chars().count() + 1 + word.chars().count() > WIDTH - 2 {
            line(text, &current);
            current.clear();
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(word);
    }
    line(text, &current);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_broken_between_words() {
        let mut text = String::new();
        comment(&mut text, &"word ".repeat(50));
        assert!(text.lines().all(|line| line.starts_with("# word") && line.len() <= WIDTH), "{text}");
        assert_eq!(text.matches("word").count(), 50);
    }

    #[test]
    fn strings_are_those_of_toml() {
        assert_eq!(quoted("a\"b\\c\n\u{7f}字"), r#""a\"b\\c\n\u007F字""#);
    }
}
