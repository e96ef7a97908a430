//! Normal form of a text: NFKC, lower case, simplified Chinese, single spaces.
//!
//! In this order: Unicode NFKC; lower case, letter by letter, so that it does not depend on the neighbours (a final
//! sigma `ς` is written `σ`, or upper-case Greek would not meet lower-case Greek); traditional to simplified Chinese by
//! OpenCC's phrases and characters, if wanted; every run of white space to one space, none at either end.
//!
//! [`Normalizer::normalize`] must equal `plain`, which asks the libraries for the whole text. It gets most characters
//! from a table, one look-up each, and hands the libraries only the stretches where a character's form depends on its
//! neighbours.

mod simplify;
mod table;

use unicode_normalization::UnicodeNormalization;

use simplify::Simplifier;
use table::Table;

/// Brings texts into normal form.
pub(crate) struct Normalizer {
    table: &'static Table,
    simplifier: Option<&'static Simplifier>,
}

impl Normalizer {
    pub(crate) fn new(simplify: bool) -> Self {
        Self { table: Table::get(simplify), simplifier: simplify.then(Simplifier::get) }
    }

    /// Replaces `out` by the normal form of `text`.
    pub(crate) fn normalize(&self, text: &str, out: &mut String) {
        out.clear();
        out.reserve(text.len() + text.len() / 8);
        let mut open: Option<Stretch> = None;
        // What comes before `copied` is in `out`; what comes after stays as it is, and is copied in one piece.
        let mut copied = 0;
        // Where the last character that stood alone starts, in `text` and in `out`.
        let mut previous = Mark { input: 0, output: 0 };
        let mut after_space = true;
        for (input, c) in text.char_indices() {
            let entry = self.table.entry(c);
            if !entry.stands_alone() {
                open.get_or_insert(Stretch { from: previous, by_library: true }).by_library = true;
                continue;
            }
            if !entry.is_han()
                && let Some(stretch) = open.take()
                && stretch.by_library
            {
                self.redo(text, copied, stretch.from, input, out);
                copied = input;
                after_space = out.is_empty() || out.ends_with(' ');
            }
            previous = Mark { input, output: out.len() + (input - copied) };
            if entry.is_han() {
                let stretch = open.get_or_insert(Stretch { from: previous, by_library: false });
                stretch.by_library |= entry.depends_on_neighbours();
            }
            let is_space = entry.is_space();
            if !entry.stays(c) || is_space && after_space {
                out.push_str(&text[copied..input]);
                copied = input + c.len_utf8();
                if !is_space {
                    out.push(entry.char());
                } else if !after_space {
                    out.push(' ');
                }
            }
            after_space = is_space;
        }
        match open {
            Some(stretch) if stretch.by_library => self.redo(text, copied, stretch.from, text.len(), out),
            _ => out.push_str(&text[copied..]),
        }
        if out.ends_with(' ') {
            out.pop();
        }
    }

    /// Makes `out` end where it ended at `from`, with what comes before `copied` in it already, and writes the
    /// libraries' answer for what follows up to `end`.
    fn redo(&self, text: &str, copied: usize, from: Mark, end: usize, out: &mut String) {
        match text.get(copied..from.input) {
            Some(unchanged) => out.push_str(unchanged),
            None => out.truncate(from.output),
        }
        let folded: String =
            text[from.input..end].nfkc().flat_map(char::to_lowercase).map(fold_sigma).collect();
        let simplified = match self.simplifier {
            Some(simplifier) => simplifier.convert(&folded),
            None => folded,
        };
        simplified.chars().for_each(|c| push(c, out));
    }
}

/// A run of Han characters, or of characters that the table cannot answer for, or both.
struct Stretch {
    from: Mark,
    by_library: bool,
}

#[derive(Clone, Copy)]
struct Mark {
    input: usize,
    output: usize,
}

fn fold_sigma(c: char) -> char {
    if c == 'ς' { 'σ' } else { c }
}

/// Appends a character; white space as a space, and only after something else.
fn push(c: char, out: &mut String) {
    if !c.is_whitespace() {
        out.push(c);
    } else if !out.is_empty() && !out.ends_with(' ') {
        out.push(' ');
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ferrous_opencc::{OpenCC, config::BuiltinConfig};
    use proptest::prelude::*;
    use std::sync::LazyLock;

    /// The definition: the libraries, one step after the other, on the whole text.
    pub(crate) fn plain(text: &str, simplify: bool) -> String {
        static T2S: LazyLock<OpenCC> = LazyLock::new(|| OpenCC::from_config(BuiltinConfig::T2s).unwrap());
        let text: String = text.nfkc().collect();
        let text: String = text.chars().flat_map(char::to_lowercase).collect();
        let text = text.replace('ς', "σ");
        let text = if simplify { T2S.convert(&text) } else { text };
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn check(text: &str, expected: &str) {
        let mut out = "left over".to_owned();
        Normalizer::new(true).normalize(text, &mut out);
        assert_eq!(out, expected, "{text:?}");
        assert_eq!(plain(text, true), expected, "{text:?}, by the libraries");
    }

    #[test]
    fn normal_forms() {
        for (text, expected) in [
            ("", ""),
            (" \u{3000}\t\r\n ", ""),
            ("  A\u{3000}\u{3000}b\n", "a b"),
            ("ＡＢＣ１２３，。", "abc123,。"),
            ("ﬁn ① ㎏ ｶﾞ", "fin 1 kg ガ"),
            ("e\u{301}É", "éé"),
            ("´x´", "\u{301}x \u{301}"),
            ("a ´", "a \u{301}"),
            ("각 각", "각 각"),
            ("İstanbul ẞ", "i\u{307}stanbul ß"),
            ("ΟΔΟΣ ὁδός", "οδοσ ὁδόσ"),
            ("\0\u{feff}x", "\0\u{feff}x"),
            ("漢語簡體", "汉语简体"),
            ("乾隆皇帝乾杯", "乾隆皇帝干杯"),
            ("登高瞭望，一目瞭然，不瞭解", "登高瞭望,一目了然,不了解"),
            ("憑藉 慰藉 藉口 藉藉", "凭借 慰藉 借口 藉藉"),
            ("覆蓋面 答覆 反反覆覆", "覆盖面 答复 反反复复"),
            ("樊於期與於是", "樊於期与于是"),
            ("豈豈 ⼀", "岂岂 一"),
            ("👍🏽乾隆", "👍🏽乾隆"),
            ("𠀀乾隆𪚥", "𠀀乾隆𪚥"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn every_character_alone_and_between_others() {
        for simplify in [true, false] {
            let normalizer = Normalizer::new(simplify);
            let mut out = String::new();
            for c in
                ('\0'..=char::MAX).filter(|&c| c < '\u{32000}' || ('\u{e0000}'..'\u{e0200}').contains(&c))
            {
                for text in [c.to_string(), format!("a{c}b"), format!("乾{c}隆")] {
                    normalizer.normalize(&text, &mut out);
                    assert_eq!(out, plain(&text, simplify), "U+{:04X} in {text:?}", u32::from(c));
                }
            }
        }
    }

    /// Pieces of many scripts, with everything that composes, reorders, expands or depends on its neighbours.
    pub(crate) fn mixed_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-zA-Z0-9 .,'_-]{0,8}",
            4 => proptest::sample::select(PIECES).prop_map(str::to_owned),
            2 => "[\u{4e00}-\u{9fff}]{1,4}",
            1 => "[乾隆坤瞭望解藉口覆答於樊期鍊項鍾馗沈徵麼么些一目然不以免清淨]{1,6}",
            1 => "[\u{300}-\u{345}\u{1100}-\u{11ff}\u{ac00}-\u{ad00}\u{3099}-\u{309a}か-ゔｦ-ﾟ]{1,4}",
            1 => any::<char>().prop_map(String::from),
            1 => "[ \t\n\u{a0}\u{3000}\u{2028}´]{1,3}",
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    const PIECES: &[&str] = &[
        "中华人民共和国",
        "公司4.3亿元",
        "T恤",
        "一目瞭然",
        "乾隆",
        "乾乾淨淨",
        "藉口",
        "覆蓋",
        "書中自有千鍾粟",
        "於",
        "東京タワーで",
        "안녕하세요",
        "Привет мир",
        "ΌΔΟΣ",
        "שלום",
        "مرحبا",
        "नमस्ते",
        "ภาษาไทย",
        "e\u{301}",
        "ﬃ",
        "don't",
        "3.14",
        "C++",
        "👩‍👩‍👧",
        "🇨🇳",
        "naïve",
        "①",
        "㍿",
        "豈",
        "⼀",
        "\u{fe00}",
        "\u{200d}",
        "\0",
        "……",
        "——",
        "。",
        "，",
        "！？",
        "́",
        "ｶﾞ",
        "𠀀",
        "𪚥",
        "々",
        "〇",
        "a\u{2f800}b",
        "_",
        "x_y",
        "1,000",
        "can’t",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn the_table_answers_as_the_libraries_do(text in mixed_text(), simplify: bool) {
            let mut out = String::new();
            Normalizer::new(simplify).normalize(&text, &mut out);
            prop_assert_eq!(out, plain(&text, simplify));
        }
    }
}
