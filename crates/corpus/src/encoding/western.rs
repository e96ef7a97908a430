//! Thin evidence for an encoding: signs, or a few accents in an English text, are Western.
//!
//! A detector tells encodings by the letters of words. By a pound sign, or the one accent of an
//! English text, its guess is chance.

/// Least number of bytes of an English text for each one beyond ASCII.
const BYTES_FOR_EACH: usize = 6;

/// Words by which English is told: other languages with accents have few of them.
const ENGLISH: [&str; 19] = [
    "and", "for", "from", "has", "have", "her", "his", "it", "its", "not", "of", "that", "the", "they",
    "this", "were", "which", "with", "you",
];

/// Least number of these in a text, and maximum number of all words for each.
const ENGLISH_MIN: usize = 2;
const WORDS_FOR_EACH: usize = 16;

/// Least number of letters of a word that is no unit, as `ft` is.
const WORD_LETTERS: usize = 3;

/// Maximum number of bytes of a word that are looked at, to each side.
const WORD_BYTES_MAX: usize = 32;

/// Returns true for a text that is in windows-1252 by all that can be told: the characters beyond
/// ASCII are signs that stand alone, or it is English and has few.
pub(super) fn is_western(bytes: &[u8]) -> bool {
    let places = || (0..bytes.len()).filter(|at| !bytes[*at].is_ascii());
    let is_few = || places().count() * BYTES_FOR_EACH <= bytes.len();
    places().all(|at| is_alone(bytes, at))
        || (places().all(|at| is_usual(bytes, at)) && is_few() && is_english(bytes))
}

/// Returns true for a sign where no other encoding has a letter: no letter is next to it, nor a
/// byte that may be half of a character.
fn is_alone(bytes: &[u8], at: usize) -> bool {
    let (before, after) = letters_around(bytes, at);
    let next = bytes.get(at + 1).copied().unwrap_or(b' ');
    let is_free = before == 0 && !matches!(next, 0x40..=0x7e) && !has_other_beside(bytes, at);
    match bytes[at] {
        // A space that does not break lines.
        0xa0 => true,
        // ¢ £ ¥ § © « ® ° ± ² ³ µ · » ¼ ½ ¾ ×
        0xa2 | 0xa3 | 0xa5 | 0xa7 | 0xa9 | 0xab | 0xae | 0xb0..=0xb3 | 0xb7 | 0xbb..=0xbe | 0xd7
            if is_free =>
        {
            true
        }
        // m³
        0xb2 | 0xb3 => before == 1 && bytes[at - 1] == b'm' && after == 0 && !has_other_beside(bytes, at),
        // 5 µm
        0xb5 => {
            let is_unit = matches!(next, b'm' | b'g' | b's' | b'l' | b'L' | b'M' | b'F' | b'A' | b'V' | b'W');
            at > 0 && before == 0 && after == 1 && is_unit && !has_other_beside(bytes, at)
        }
        _ => false,
    }
}

/// Returns true for a character that an English text may well have at this place.
fn is_usual(bytes: &[u8], at: usize) -> bool {
    let (before, after) = letters_around(bytes, at);
    match bytes[at] {
        // Spaces, quotes, dashes: most are the same in all code pages of Windows.
        0x80 | 0x82 | 0x84..=0x87 | 0x89 | 0x8b | 0x91..=0x97 | 0x99 | 0x9b | 0xa0 => true,
        // No character, or hardly one of any text.
        0x81 | 0x83 | 0x88 | 0x8d | 0x8f | 0x90 | 0x98 | 0x9d | 0xa4 | 0xa6 | 0xa8 | 0xac | 0xaf | 0xb8 => {
            false
        }
        // Letters of Iceland, in whose places others have ş and ğ, or Š.
        0xd0 | 0xdd | 0xde | 0xf0 | 0xfd | 0xfe => false,
        // £ and ³, which elsewhere are Ł and ł.
        0xa3 | 0xb3 => (before == 0 || after == 0) && before.max(after) < WORD_LETTERS,
        // No word ends in æ, but names in its place in windows-1250, in ć.
        0xe6 if before > 0 && after == 0 => false,
        byte if is_letter(byte) => is_only_accent(bytes, at),
        _ => before == 0 || after == 0,
    }
}

/// Returns true for a letter of windows-1252.
fn is_letter(byte: u8) -> bool {
    match byte {
        0x8a | 0x8c | 0x8e | 0x9a | 0x9c | 0x9e | 0x9f => true,
        0xc0..=0xff => byte != 0xd7 && byte != 0xf7,
        _ => byte.is_ascii_alphabetic(),
    }
}

/// Returns the number of letters before a byte and after it, up to those of a word.
fn letters_around(bytes: &[u8], at: usize) -> (usize, usize) {
    let n = |around: &mut dyn Iterator<Item = &u8>| {
        around.take(WORD_LETTERS).take_while(|byte| is_letter(**byte)).count()
    };
    (n(&mut bytes[..at].iter().rev()), n(&mut bytes[at + 1..].iter()))
}

/// Returns true if a byte beyond ASCII is next to another one.
fn has_other_beside(bytes: &[u8], at: usize) -> bool {
    let is_other = |byte: Option<&u8>| byte.is_some_and(|byte| !byte.is_ascii());
    is_other(at.checked_sub(1).and_then(|before| bytes.get(before))) || is_other(bytes.get(at + 1))
}

/// Returns true if no other letter beyond ASCII is in the word: names of other languages have
/// several, words in English do not.
fn is_only_accent(bytes: &[u8], at: usize) -> bool {
    let is_same = |byte: u8| byte.is_ascii() || byte == bytes[at];
    let letters = |around: &mut dyn Iterator<Item = &u8>| {
        around.take(WORD_BYTES_MAX).copied().take_while(|byte| is_letter(*byte)).all(is_same)
    };
    letters(&mut bytes[..at].iter().rev()) && letters(&mut bytes[at..].iter())
}

fn is_english(bytes: &[u8]) -> bool {
    let words = bytes.split(|byte| !is_letter(*byte)).filter(|word| !word.is_empty());
    let (mut n_words, mut n_english) = (0, 0);
    for word in words {
        n_words += 1;
        n_english += usize::from(ENGLISH.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes())));
    }
    n_english >= ENGLISH_MIN && n_english * WORDS_FOR_EACH >= n_words
}

#[cfg(test)]
mod tests {
    use encoding_rs::{
        BIG5, EUC_KR, Encoding, GBK, ISO_8859_2, KOI8_R, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252,
        WINDOWS_1253, WINDOWS_1254, WINDOWS_1257,
    };

    use super::super::decode;

    #[track_caller]
    fn check(encoding: &'static Encoding, text: &str) {
        let (bytes, _, unmappable) = encoding.encode(text);
        assert!(!unmappable, "{text}");
        assert_eq!(decode(&bytes).unwrap(), text, "{}", encoding.name());
    }

    #[test]
    fn one_sign_or_accent_in_english_is_western() {
        for text in [
            "A price of £500 for the old harbour building near the station.",
            "It was a naïve plan for the old harbour building near the station.",
            "It was a fête for the maître d’hôtel of the château, with crêpes and a naïve façade.",
            "The voltage of the pump was within ±5 of that.",
            "This is the Zeneca® pump for the garden, which they call «hi» and not «ho»",
            "The filter of the pump has holes of 5µm, and not of 10 µm or 12 µm.",
            "It was a price\u{a0}x for the harbour, of 5 m³ and ¥500 for the rest of it.",
            "Harbour mile: ±5 and 5µm, ®, «hi» and the price of 10\u{a0}x",
            "“It’s the encyclopædia of £5 notes and of the banks that made them” – for you",
        ] {
            check(WINDOWS_1252, text);
        }
    }

    #[test]
    fn signs_that_stand_alone_are_western_in_any_language() {
        for text in ["Price: £500", "10\u{a0}x 5", "± 5", "5 m³ Holz", "Filter 10 µm", "a × b", "« 5 »"]
        {
            check(WINDOWS_1252, text);
        }
    }

    #[test]
    fn few_letters_of_other_languages_stay_what_they_are() {
        for (encoding, text) in [
            (WINDOWS_1250, "Stary dom był pusty."),
            (WINDOWS_1250, "Ten dom jest mały"),
            (ISO_8859_2, "Kde je tvoje síť"),
            (ISO_8859_2, "Dom na wzgórzu"),
            (WINDOWS_1250, "The house of Wałęsa and that of Kołodko, with the city of Łódź"),
            (WINDOWS_1250, "The words of Mladić and of Modrić were not for this court"),
            (WINDOWS_1254, "İstanbul said that the plan of the city was for all"),
            (WINDOWS_1251, "Москва"),
            (KOI8_R, "Город и река"),
            (WINDOWS_1253, "Η πόλη"),
            (WINDOWS_1257, "Doumentacijos greitosios žymės"),
            (GBK, "新的灯塔"),
            (BIG5, "新增 5"),
            (BIG5, "無"),
            (SHIFT_JIS, "新しい灯台"),
            (EUC_KR, "새로운 등대"),
        ] {
            check(encoding, text);
        }
    }
}
