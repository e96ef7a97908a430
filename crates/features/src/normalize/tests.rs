use super::*;
use ferrous_opencc::{OpenCC, config::BuiltinConfig};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::LazyLock;

const NEWEST: NormalForm = NormalForm { version: 2, fold_diacritics: false };
const FOLDED: NormalForm = NormalForm { version: 2, fold_diacritics: true };
const FORMS: [NormalForm; 3] = [NormalForm::FIRST, NEWEST, FOLDED];

/// The definition: the libraries, one step after the other, on the whole text.
pub(crate) fn plain(text: &str, form: NormalForm, simplify: bool) -> String {
    static T2S: LazyLock<OpenCC> = LazyLock::new(|| OpenCC::from_config(BuiltinConfig::T2s).unwrap());
    if form.version == 1 {
        let text: String = text.nfkc().collect();
        let text: String = text.chars().flat_map(char::to_lowercase).collect();
        let text = text.replace('ς', "σ");
        let text = if simplify { T2S.convert(&text) } else { text };
        return text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let keep = |text: String| text.chars().filter(|&c| !is_ignored(c)).collect::<String>();
    let text: String = keep(text.to_owned()).nfkc().collect();
    let upper_of_lower = text.chars().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    let text = keep(upper_of_lower.flat_map(char::to_lowercase).collect());
    let mut dotless = text.replace("i\u{307}", "i");
    while dotless.contains("i\u{307}") {
        dotless = dotless.replace("i\u{307}", "i");
    }
    let text = if form.fold_diacritics { letters::without_diacritics(&dotless) } else { dotless };
    let text: String = text.nfc().collect();
    let text = if simplify { T2S.convert(&text) } else { text };
    let text: String = if simplify { text.chars().map(letters::later_simplified).collect() } else { text };
    // Runs of white space.
    let mut out = String::new();
    for piece in text.split_inclusive(|c: char| !c.is_whitespace()) {
        let word = piece.trim_start();
        let space = &piece[..piece.len() - word.len()];
        if !out.is_empty() && !word.is_empty() && !space.is_empty() {
            let ends = |c| "\n\u{b}\u{c}\r\u{85}\u{2028}\u{2029}".contains(c);
            out.push(if space.contains(ends) { '\n' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

fn check(form: NormalForm, text: &str, expected: &str) {
    let mut out = "left over".to_owned();
    Normalizer::new(form, true).normalize(text, &mut out);
    assert_eq!(out, expected, "{text:?}");
    assert_eq!(plain(text, form, true), expected, "{text:?}, by the libraries");
}

#[test]
fn normal_forms_of_version_1() {
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
        check(NormalForm::FIRST, text, expected);
    }
}

#[test]
fn normal_forms_of_version_2() {
    for (text, expected) in [
        ("", ""),
        (" \u{3000}\t\r\n ", ""),
        ("  A\u{3000}\u{3000}b\n", "a b"),
        ("a \n b\r\n\r\nc\u{2028}d \u{85}", "a\nb\nc\nd"),
        ("a \n\u{301}b", "a\n\u{301}b"),
        ("Maße GRÖẞE ß́ ŉ", "masse grösse sś ʼn"),
        ("ΟΔΟΣ ὁδός ᾳ ΑΙ", "οδοσ ὁδόσ αι αι"),
        (
            "ISPARTA ısparta İSTANBUL istanbul I\u{307} i\u{307}\u{307}\u{301}",
            "isparta isparta istanbul istanbul i í",
        ),
        ("ΐ Ῥ և ﬗ ẖ", "ΐ ῥ եւ մխ ẖ"),
        ("\0\u{feff}x\u{8}y\u{3164}z\u{ffa0}\u{115f}\u{1f}\u{7f}\u{ad}\u{200b}\u{2066}\u{e0041}w", "xyzw"),
        ("e\u{200d}\u{301}e\u{34f}", "ée"),
        ("مُحَمَّدٌ مـحـمـد ﹰ", "محمد محمد"),
        ("ا\u{64e}\u{654} آ أ", "أ آ أ"),
        ("שָׁלוֹם שלום", "שלום שלום"),
        ("遶 繞 逕 徑 迳 谿 溪 幷 并 並 併", "绕 绕 径 径 径 溪 溪 并 并 并 并"),
        ("乾隆皇帝乾杯，一目\u{200b}瞭然", "乾隆皇帝干杯,一目了然"),
        ("沈阳 沉没", "沈阳 沉没"),
        ("Việt Đ é ≠", "việt đ é ≠"),
        ("👩‍👩‍👧\u{fe0f}", "👩👩👧"),
        ("각 각 ｶﾞ", "각 각 ガ"),
    ] {
        check(NEWEST, text, expected);
    }
}

#[test]
fn folded_diacritics() {
    for (text, expected) in [
        ("Tiếng Việt được Đà Nẵng ơ ư", "tieng viet duoc da nang o u"),
        ("Příliš žluťoučký kůň", "prilis zlutoucky kun"),
        ("Καλημέρα ΰ ᾳ", "καλημερα υ αι"),
        ("ёлка Йод ґанок", "елка иод ганок"),
        ("Łódź Ærø Þór Ħal œuvre Straße", "lodz aero thor hal oeuvre strasse"),
        ("ガ 각 ≠ = अं \u{301}x", "ガ 각 ≠ = अं \u{301}x"),
        ("x\u{338} 中\u{301}", "x 中\u{301}"),
    ] {
        check(FOLDED, text, expected);
    }
}

/// Case folds that must stay, even if `char::to_uppercase` of a later Unicode changes.
#[test]
fn case_folding_is_full() {
    for (a, b) in [
        ("ß", "SS"),
        ("ẞ", "ss"),
        ("ﬀ", "FF"),
        ("ﬅ", "ST"),
        ("ŉ", "ʼN"),
        ("ǰ", "J\u{30c}"),
        ("ΐ", "Ϊ\u{301}"),
        ("և", "ԵՒ"),
        ("ᾶ", "Α\u{342}"),
        ("ᾼ", "αι"),
        ("ſ", "S"),
        ("K", "k"),
        ("Å", "å"),
        ("ꭰ", "Ꭰ"),
        ("ა", "Ა"),
        ("ς", "Σ"),
    ] {
        let normalizer = Normalizer::new(NEWEST, true);
        let [mut x, mut y] = [String::new(), String::new()];
        normalizer.normalize(a, &mut x);
        normalizer.normalize(b, &mut y);
        assert_eq!(x, y, "{a} {b}");
    }
}

#[test]
fn every_character_alone_and_between_others() {
    for (form, simplify) in FORMS.into_iter().flat_map(|form| [(form, true), (form, false)]) {
        let normalizer = Normalizer::new(form, simplify);
        let mut out = String::new();
        for c in ('\0'..=char::MAX).filter(|&c| c < '\u{32000}' || ('\u{e0000}'..'\u{e0200}').contains(&c)) {
            for text in [c.to_string(), format!("a{c}b"), format!("乾{c}隆")] {
                normalizer.normalize(&text, &mut out);
                assert_eq!(out, plain(&text, form, simplify), "{form:?} U+{:04X} in {text:?}", u32::from(c));
            }
        }
    }
}

/// Each ideograph beside each character that depends on its neighbours.
#[test]
fn phrases_of_two_are_listed() {
    let simplifier = Simplifier::get();
    let simplified: Vec<char> = ('\u{4e00}'..='\u{9fff}').map(|c| simplifier.convert_char(c)).collect();
    for (c, ..) in simplify::NEIGHBOUR_DEPENDENT {
        let simplified_c = simplifier.convert_char(c);
        for (x, &simplified_x) in ('\u{4e00}'..='\u{9fff}').zip(&simplified) {
            for (text, at, expected) in [
                ([x, c], x.len_utf8(), [simplified_x, simplified_c]),
                ([c, x], 0, [simplified_c, simplified_x]),
            ] {
                let (text, expected) = (String::from_iter(text), String::from_iter(expected));
                let is_listed = Simplifier::may_be_in_phrase(&text, at, |_| false);
                assert!(is_listed || simplifier.convert(&text) == expected, "{text}");
            }
        }
    }
}

/// Each character of a phrase's neighbours beside each character that depends on them.
#[test]
fn neighbours_of_phrases() {
    let normalizer = Normalizer::new(NEWEST, true);
    let mut out = String::new();
    let all: BTreeSet<char> = simplify::NEIGHBOUR_DEPENDENT
        .iter()
        .flat_map(|&(c, before, after)| before.chars().chain(after.chars()).chain([c, 'a']))
        .collect();
    for (c, ..) in simplify::NEIGHBOUR_DEPENDENT {
        for (at, x) in all.iter().enumerate() {
            let y = all.iter().cycle().nth(at * 7 + 3).unwrap();
            for text in
                [format!("{x}{c}"), format!("{c}{x}"), format!("{x}{c}{y}"), format!("了{x}{y}{c}{x}")]
            {
                normalizer.normalize(&text, &mut out);
                assert_eq!(out, plain(&text, NEWEST, true), "{text}");
            }
        }
    }
}

/// Generates pieces of many scripts, among them all that compose, reorder, expand or depend on
/// neighbours.
pub(crate) fn mixed_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-zA-Z0-9 .,'_-]{0,8}",
        4 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        2 => "[\u{4e00}-\u{9fff}]{1,4}",
        1 => "[乾隆坤瞭望解藉口覆答於樊期鍊項鍾馗沈徵麼么些一目然不以免清淨]{1,6}",
        1 => "[\u{300}-\u{345}\u{1100}-\u{11ff}\u{ac00}-\u{ad00}\u{3099}-\u{309a}か-ゔｦ-ﾟ]{1,4}",
        1 => any::<char>().prop_map(String::from),
        1 => "[ßẞİıiI\u{307}\u{301}\u{323}đĐæς\u{338}=<\u{3164}\u{200d}\u{64e}\u{651}\u{640}\u{654}اأ]{1,5}",
        1 => "[ \t\n\u{a0}\u{3000}\u{2028}´]{1,3}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

const PIECES: &[&str] = &[
    "Straße",
    "مُحَمَّدٌ",
    "שָׁלוֹם",
    "Việt",
    "kůň",
    "İSTANBUL",
    "\r\n",
    " \n ",
    "\u{8}",
    "遶逕谿",
    "ΐᾳ",
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
    fn the_table_answers_as_the_libraries_do(text in mixed_text(), simplify: bool, form in proptest::sample::select(&FORMS)) {
        let mut out = String::new();
        Normalizer::new(form, simplify).normalize(&text, &mut out);
        prop_assert_eq!(out, plain(&text, form, simplify));
    }
}
