//! Letters of version 2: case folding, diacritics, and variants of Han characters.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Hands to `emit` the lower case of the capitals of the lower case of a letter: Unicode's full
/// case folding, but for `ı`, which becomes `i`, and for Cherokee, whose small letters stand for
/// both.
pub(super) fn fold_case(c: char, mut emit: impl FnMut(char)) {
    if has_no_case(c) {
        emit(c);
    } else {
        c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase).for_each(emit);
    }
}

/// Returns true for the scripts without capitals: Hebrew to Burmese, hangul to Ethiopic, Canadian
/// syllables to Tibetan's neighbours, and the scripts of East Asia.
fn has_no_case(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{109f}'
        | '\u{1100}'..='\u{139f}'
        | '\u{1400}'..='\u{1c7f}'
        | '\u{2e80}'..='\u{a63f}'
        | '\u{a980}'..='\u{ab2f}'
        | '\u{abc0}'..='\u{faff}'
        | '\u{1f000}'..='\u{3ffff}')
}

/// Appends a folded character, but not the dot above an `i` that the small form of `İ` has.
pub(super) fn push_folded(c: char, out: &mut String) {
    if c != '\u{307}' || !out.ends_with('i') {
        out.push(c);
    }
}

/// Returns the text without marks on letters of the alphabets and without strokes through them.
pub(super) fn without_diacritics(text: &str) -> String {
    let (mut out, mut on_letter) = (String::with_capacity(text.len()), false);
    for c in text.nfd() {
        if is_combining_mark(c) {
            if !(on_letter && is_diacritic(c)) {
                out.push(c);
            }
            continue;
        }
        on_letter = is_alphabetic_letter(c);
        match without_stroke(c) {
            Some(letters) => out.push_str(letters),
            None => out.push(c),
        }
    }
    out
}

/// Returns true for marks in use on letters of more than one alphabet.
fn is_diacritic(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{487}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{fe20}'..='\u{fe2f}')
}

/// Returns true for letters of Latin, Greek, Coptic, Cyrillic and Armenian.
fn is_alphabetic_letter(c: char) -> bool {
    matches!(c,
        'A'..='Z'
        | 'a'..='z'
        | '\u{aa}'..='\u{588}'
        | '\u{1c80}'..='\u{1c8f}'
        | '\u{1d00}'..='\u{1fff}'
        | '\u{2c60}'..='\u{2cff}'
        | '\u{2de0}'..='\u{2dff}'
        | '\u{a640}'..='\u{a69f}'
        | '\u{a720}'..='\u{a7ff}'
        | '\u{ab30}'..='\u{ab6f}')
        && c.is_alphabetic()
}

/// Returns the letters for a small letter with a stroke that Unicode does not decompose.
fn without_stroke(c: char) -> Option<&'static str> {
    Some(match c {
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ⱥ' => "a",
        'ƀ' => "b",
        'ȼ' => "c",
        'đ' | 'ð' => "d",
        'ɇ' => "e",
        'ǥ' => "g",
        'ħ' => "h",
        'ɨ' => "i",
        'ɉ' => "j",
        'ł' | 'ƚ' => "l",
        'ø' => "o",
        'ɍ' => "r",
        'ŧ' => "t",
        'ʉ' => "u",
        'ɏ' => "y",
        'ƶ' => "z",
        'ґ' | 'ғ' => "г",
        _ => return None,
    })
}

/// Returns a simplified character as later data of OpenCC write it. These are the characters that
/// `TSCharacters.txt` of OpenCC 1.4.2 (Apache-2.0) converts otherwise than the file of
/// ferrous-opencc 0.4.0; no released crate has the later data.
pub(super) fn later_simplified(c: char) -> char {
    match c {
        '劄' | '箚' => '札',
        '幷' => '并',
        '扞' => '捍',
        '拚' => '拼',
        '搧' => '扇',
        '擡' => '抬',
        '牴' => '抵',
        '舖' => '铺',
        '袷' => '夹',
        '谿' => '溪',
        '貍' => '狸',
        '逕' | '迳' => '径',
        '遶' => '绕',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_without_capitals_have_none() {
        for c in ('\0'..=char::MAX).filter(|&c| has_no_case(c)) {
            let folded = c.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
            assert!(folded.eq([c]), "U+{:04X}", u32::from(c));
        }
    }
}
