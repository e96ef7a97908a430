//! The file of settings written by `tune`: the choice, and the measurements and reasons in
//! comments.

use std::ffi::OsString;
use std::fmt::{self, Write};
use std::path::Path;
use std::time::Duration;

use corpus::Grouped;
use evaluation::confidence;
use index::Profile;
use program::flags::RecipeArgs;

use super::super::report::shown;
use super::super::variant::Bands;
use super::super::{Evaluated, Ground, counted};
use super::thresholds::Thresholds;
use super::{ABOUT, LEAST_RECALL, histogram, is_sure};
use crate::shell::of_shell;

/// Columns of a comment.
const WIDTH: usize = 110;

pub(super) struct Settings<'a> {
    pub(super) ground: &'a Ground<'a>,
    pub(super) evaluated: &'a [Evaluated],
    pub(super) choice: Profile,
    /// True if the user gave the least similarity.
    pub(super) is_asked: bool,
    /// `None` without families.
    pub(super) thresholds: Option<&'a Thresholds>,
    pub(super) recipe: &'a RecipeArgs,
    pub(super) command: &'a Command<'a>,
}

/// The command that runs `dedup` with the settings.
pub(super) struct Command<'a> {
    /// The arguments that name the inputs and say how they are read.
    pub(super) inputs: &'a [OsString],
    pub(super) output: Option<&'a Path>,
}

impl fmt::Display for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("indexer dedup")?;
        for word in self.inputs {
            write!(f, " {}", of_shell(&word.to_string_lossy()))?;
        }
        let settings = self.output.unwrap_or(Path::new("pigeonhole.toml"));
        write!(f, " --config {} --output kept.jsonl", of_shell(&settings.to_string_lossy()))
    }
}

impl Settings<'_> {
    pub(super) fn toml(&self) -> String {
        let min = self.ground.min_similarity();
        let mut text = String::new();
        let version = env!("CARGO_PKG_VERSION");
        comment(
            &mut text,
            &format!(
                "Settings for `--config` of all three programs, written by `pigeonhole tune` {version}."
            ),
        );
        // A command stays on one line, to be copied.
        line(&mut text, &program::line(&format!("To run: {}", self.command)));
        blank(&mut text);
        comment(&mut text, &self.sample());
        blank(&mut text);
        self.table(&mut text);
        blank(&mut text);
        comment(
            &mut text,
            "Recall: the share of the pairs that is found, with its range of 95 % confidence. Below: pairs that are called \
             near-duplicates although they have less in common, which is none in an index that keeps texts. Rows and bytes: of the \
             index, for each document, beside its id. Compared: pairs that are confirmed or refused, for each document; they \
             grow with the index. Sketched: from text to what is stored, by one thread of this machine.",
        );
        text.push('\n');
        comment(&mut text, &self.why());
        setting(&mut text, "profile", &quoted(&self.choice.to_string()));
        text.push('\n');
        self.similarities(&mut text);
        setting(&mut text, "min-similarity", &quoted(&min.to_string()));
        text.push('\n');
        self.recipe(&mut text);
        if self.thresholds.is_none() {
            self.pairs_to_read(&mut text);
        }
        text
    }

    fn sample(&self) -> String {
        let texts = self.ground.texts;
        let of = match &self.ground.left_out()[..] {
            [] => format!("all {}", counted(Grouped(texts.len() as u64), "document")),
            left_out => left_out.join("; "),
        };
        format!(
            "Measured on {of}; in the middle {}. Pairs with a Jaccard similarity of {} and more, of character \
             n-grams, all found by an exact join: {}.",
            counted(Grouped(texts.median_length() as u64), "character"),
            self.ground.min_similarity(),
            Grouped(self.ground.pairs.len() as u64),
        )
    }

    fn table(&self, text: &mut String) {
        text.push_str("# profile  recall  range             below  rows  bytes  compared  sketched\n");
        let n = self.ground.texts.len() as f64;
        for Evaluated { variant, found, scores, .. } in self.evaluated {
            let whole = &scores.whole;
            let range = confidence(whole.n_found, whole.n_true)
                .map_or_else(|| "–".to_owned(), |(from, to)| format!("{from:.4} to {to:.4}"));
            line(
                text,
                &format!(
                    "{variant:<7}  {:>6}  {range:<16}  {:>5}  {:>4.1}  {:>5.0}  {:>8.2}  {} documents/s",
                    shown(whole.recall()),
                    whole.n_below,
                    found.n_rows as f64 / n,
                    found.n_bytes as f64 / n,
                    found.n_compared as f64 / n,
                    Grouped(self.rate(found.sketching)),
                ),
            );
        }
    }

    /// Documents a second, by one thread.
    fn rate(&self, time: Duration) -> u64 {
        if time == Duration::ZERO { 0 } else { (self.ground.texts.len() as f64 / time.as_secs_f64()) as u64 }
    }

    fn why(&self) -> String {
        let (min, choice) = (self.ground.asked.min_similarity, self.choice);
        let bands = Bands::of(min);
        let promises = format!(
            "the bands of MinHashes find a pair of {} with a probability of {:.4} where the texts are long, and of {:.4} where they are short",
            min.get(),
            bands.of_long(min),
            bands.of_short(min),
        );
        let mut why = if self.ground.pairs.is_empty() {
            format!(
                "Nothing was there to find, so this is by promise alone: {promises}; simhash promises nothing of this similarity. A larger --sample may have pairs."
            )
        } else {
            format!(
                "{choice}: of the profiles within {ABOUT} of the best recall the one with the fewest rows. By computation {promises}."
            )
        };
        let recall = |one: &Evaluated| one.scores.whole.recall().unwrap_or(0.0);
        let best = self.evaluated.iter().map(recall).fold(0.0, f64::max);
        if self.evaluated.iter().any(|one| !is_sure(one) && best > 0.0 && recall(one) >= best - ABOUT) {
            why += &format!(
                " Simhash is taken only where its recall is {LEAST_RECALL} or more with 95 % confidence."
            );
        }
        why
    }

    /// Writes the thresholds with the results from each on, and the reason for the chosen one.
    fn similarities(&self, text: &mut String) {
        let min = self.ground.min_similarity();
        match self.thresholds {
            Some(thresholds) => {
                let whence = match (self.is_asked, thresholds.best()) {
                    (true, Some(best)) => {
                        format!("as it was asked for; the best F1 is that of {}", best.get())
                    }
                    (false, Some(_)) => "the one with the best F1".to_owned(),
                    (true, None) => "as it was asked for".to_owned(),
                    (false, None) => "the default, as no pair of one family is similar".to_owned(),
                };
                comment(
                    text,
                    &format!(
                        "What is a near-duplicate: from {min} on, {whence}. Recall and precision are those of all pairs from a \
                         threshold on against pairs of one family. A higher threshold trades recall for precision; \
                         --min-similarity takes another one."
                    ),
                );
                blank(text);
                line(text, "threshold      pairs  recall  precision      F1");
                for (least, score) in &thresholds.0 {
                    line(
                        text,
                        &format!(
                            "{:<9}  {:>9}  {:>6}  {:>9}  {:>6}",
                            least.get(),
                            Grouped(score.n_called).to_string(),
                            shown(score.recall()),
                            shown(score.precision()),
                            shown(score.f1()),
                        ),
                    );
                }
            }
            None => {
                let whence = if self.is_asked { "as it was asked for" } else { "the default" };
                comment(
                    text,
                    &format!(
                        "What is a near-duplicate: from {min} on, {whence}. All pairs of the sample by similarity, counted, are below, \
                         and some of each step to read at the end. Where those of a step below {min} are what you call near-duplicates, run this again \
                         with --min-similarity where they begin; where those above are not, with a higher one. As a rule of \
                         thumb: 0.7 for families of long versions, 0.6 for old spelling against new, 0.8 and more for news, \
                         headlines and templates. --families FIELD measures it where families are known."
                    ),
                );
                blank(text);
                histogram::counts(self.ground).iter().for_each(|counts| line(text, counts));
            }
        }
    }

    fn pairs_to_read(&self, text: &mut String) {
        let to_read = histogram::to_read(self.ground);
        if !to_read.is_empty() {
            text.push('\n');
            comment(
                text,
                "Pairs to read, chosen at random from those of each step: how both begin, and where they differ.",
            );
            to_read.iter().for_each(|pair| line(text, pair));
        }
    }

    /// Writes the explicit options of the recipe for simhashes.
    fn recipe(&self, text: &mut String) {
        let terms = &self.recipe.terms;
        let paths =
            [("user-dict", &terms.user_dict), ("stop-words", &terms.stop_words), ("idf", &self.recipe.idf)];
        let paths =
            paths.into_iter().filter_map(|(name, path)| Some((name.to_owned(), of_path(path.as_deref()?))));
        let fields = self.recipe.explicit_fields(&self.ground.asked.dictionaries).into_iter().filter_map(
            |(name, value)| {
                let value = match name.as_str() {
                    "segmenter" | "weights" | "fold" => quoted(&value),
                    "simplify" | "seed" | "top-terms" => value,
                    // The recipe has digests of files; settings have their paths.
                    _ => return None,
                };
                Some((name, value))
            },
        );
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

/// A TOML string: escaped like JSON, and DEL in addition.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

fn setting(text: &mut String, name: &str, value: &str) {
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(text, "{name} = {value}");
}

fn line(text: &mut String, line: &str) {
    // TOML comments hold no control characters.
    let _ = writeln!(text, "{}", format!("# {}", line.replace(char::is_control, " ")).trim_end());
}

fn blank(text: &mut String) {
    text.push_str("#\n");
}

/// Breaks words into lines of comments.
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
