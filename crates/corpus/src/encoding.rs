//! Decoding of bytes to text without a promise of UTF-8.

mod western;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, REPLACEMENT, UTF_8, WINDOWS_1252};
use memchr::memchr_iter;

use western::is_western;

/// Least number of characters beyond ASCII for each character that cannot be decoded, for a text to
/// be in an encoding all the same: a byte that does not fit then costs itself.
const READ_FOR_EACH_LOST: usize = 10;

/// Maximum share of lost characters in a text, one in so many. Up to [`LOST_MAX`] are never too
/// many.
const ONE_LOST_IN: usize = 20;
const LOST_MAX: usize = 2;

const LOST: char = char::REPLACEMENT_CHARACTER;

pub(super) const ESCAPE: u8 = 0x1b;

/// The byte order mark of UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Decodes by the byte order mark, else as UTF-8 if valid, else by the most likely encoding;
/// GB18030 is among the candidates.
///
/// The error is the reason shown to the user.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    decode_guessed(bytes).map(|(text, _)| text)
}

/// The same, with the name of the encoding if nothing but the text tells it.
pub(super) fn decode_guessed(bytes: &[u8]) -> Result<(Cow<'_, str>, Option<&'static str>), String> {
    let (text, used) = decode_by(bytes, &[])?;
    check_legible(&text)?;
    let is_guessed = used != UTF_8 && Encoding::for_bom(bytes).is_none();
    Ok((text, is_guessed.then(|| used.name())))
}

/// Decodes by the byte order mark, else in the encoding given by the user. The error is the reason
/// shown to the user.
pub(super) fn decode_given(bytes: &[u8], encoding: &'static Encoding) -> Result<String, String> {
    let (text, used, has_errors) = encoding.decode(bytes);
    match has_errors {
        false => Ok(text.into_owned()),
        true => Err(format!(
            "no text in {}: it has bytes that the encoding does not have; --encoding names another one, and without it \
             each file tells its own",
            used.name()
        )),
    }
}

/// Refuses a text of which too much was lost where it was decoded, here or before.
pub(super) fn check_legible(text: &str) -> Result<(), String> {
    let n_lost = count_lost(text);
    if n_lost <= LOST_MAX {
        return Ok(());
    }
    let n = text.chars().filter(|c| !c.is_whitespace()).count();
    if n_lost * ONE_LOST_IN <= n {
        return Ok(());
    }
    Err(format!(
        "no text: {n_lost} of its {n} characters are U+FFFD, which stands for what could not be decoded"
    ))
}

/// Decodes by the byte order mark, else as UTF-8 if valid or all but valid, else by the first
/// encoding of `declared` that fits, else by the most likely one. The bytes decide between two that
/// fit. The escapes of ISO-2022-JP come before UTF-8.
pub(super) fn decode_declared<'a>(
    bytes: &'a [u8],
    declared: &[&'static Encoding],
) -> Result<Cow<'a, str>, String> {
    decode_by(bytes, declared).map(|(text, _)| text)
}

/// The same, with the encoding.
fn decode_by<'a>(
    bytes: &'a [u8],
    declared: &[&'static Encoding],
) -> Result<(Cow<'a, str>, &'static Encoding), String> {
    if let Some((encoding, mark_len)) = Encoding::for_bom(bytes) {
        return Ok((encoding.decode_without_bom_handling(&bytes[mark_len..]).0, encoding));
    }
    let declared: Vec<_> = declared.iter().copied().filter(|encoding| *encoding != REPLACEMENT).collect();
    let whole = |encoding: &'static Encoding| {
        let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
        (!has_errors).then_some((text, encoding))
    };
    // Text in these may be valid UTF-8 too, but each has a byte that a text in UTF-8 lacks.
    let is_beyond_ascii = |encoding: &'static Encoding| match encoding {
        encoding if encoding == ISO_2022_JP => bytes.contains(&ESCAPE),
        encoding => !encoding.is_ascii_compatible() && bytes.contains(&0),
    };
    let mut beyond_ascii = declared.iter().copied().filter(|encoding| is_beyond_ascii(encoding));
    if let Some(decoded) = beyond_ascii.find_map(whole) {
        return Ok(decoded);
    }
    if let Some(text) = in_iso_2022_jp(bytes) {
        return Ok((text, ISO_2022_JP));
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok((Cow::Borrowed(text), UTF_8));
    }
    if declared.is_empty() && bytes.contains(&0) {
        return Err("no text: zero bytes, and no UTF-8 (UTF-16 needs a byte order mark)".to_owned());
    }
    let declared: Vec<_> = declared.into_iter().filter(|e| e.is_ascii_compatible() && *e != UTF_8).collect();
    if let Some(text) = nearly(UTF_8, bytes) {
        return Ok((text, UTF_8));
    }
    let detected = detected(bytes, true);
    let mut fitting: Vec<_> = declared.iter().filter_map(|encoding| whole(encoding)).collect();
    // Every byte fits the single-byte encodings, and the Western one is what servers name unasked.
    fitting.sort_by_key(|(_, encoding)| (*encoding != detected, *encoding == WINDOWS_1252));
    if let Some(decoded) = fitting.into_iter().next() {
        return Ok(decoded);
    }
    if let Some(decoded) = declared.iter().find_map(|encoding| Some((nearly(encoding, bytes)?, *encoding))) {
        return Ok(decoded);
    }
    let guess = by_evidence(detected, bytes);
    whole(guess)
        .ok_or_else(|| format!("the encoding cannot be told: not UTF-8, and not quite {}", guess.name()))
}

/// Returns the most likely encoding of bytes that are not all ASCII, and not UTF-8. `is_whole` says
/// that they are all of the text.
pub(super) fn likely(bytes: &[u8], is_whole: bool) -> &'static Encoding {
    by_evidence(detected(bytes, is_whole), bytes)
}

/// Returns the encoding that the detector tells.
fn detected(bytes: &[u8], is_whole: bool) -> &'static Encoding {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, is_whole);
    detector.guess(None, Utf8Detection::Deny)
}

/// Returns the detected encoding, or the Western one where the evidence for another is thin.
fn by_evidence(detected: &'static Encoding, bytes: &[u8]) -> &'static Encoding {
    if detected != WINDOWS_1252 && is_western(bytes) { WINDOWS_1252 } else { detected }
}

/// Decodes a text in ISO-2022-JP, which has escapes that terminals do not know.
pub(super) fn in_iso_2022_jp(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let is_escape = |at: usize| matches!(bytes[at + 1..], [b'$', b'@' | b'B', ..] | [b'(', b'I' | b'J', ..]);
    memchr_iter(ESCAPE, bytes).any(is_escape).then(|| nearly(ISO_2022_JP, bytes)).flatten()
}

/// Decodes a text that is all but valid.
fn nearly<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
    let (text, _) = encoding.decode_without_bom_handling(bytes);
    let n_lost = count_lost(&text);
    let n_read = text.chars().filter(|c| !c.is_ascii()).count() - n_lost;
    (n_lost * READ_FOR_EACH_LOST <= n_read).then_some(text)
}

fn count_lost(text: &str) -> usize {
    text.matches(LOST).count()
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, EUC_JP, GB18030, GBK, SHIFT_JIS, UTF_16LE, WINDOWS_1250, WINDOWS_1251};

    use super::*;

    const CHINESE: &str = "地铁七号线南延段今天开始空载试运行，预计年底前载客运营。";

    #[test]
    fn encodings_are_told() {
        // 𠮷 has four bytes in GB18030, and no two in GBK.
        let rare = CHINESE.to_owned() + "𠮷";
        for (encoding, text) in [
            (GB18030, CHINESE),
            (GB18030, &rare),
            (BIG5, "捷運七號線南延段今天開始空載試運行，預計年底前載客營運。"),
            (SHIFT_JIS, "地下鉄七号線の延伸区間で、きょうから試運転が始まりました。"),
            (EUC_JP, "地下鉄七号線の延伸区間で、きょうから試運転が始まりました。"),
            (WINDOWS_1252, "Die Fähre über den Fluß fährt künftig öfter."),
            (ISO_2022_JP, "港の新しい灯台が点灯しました。"),
            (UTF_8, CHINESE),
        ] {
            let (bytes, _, unmappable) = encoding.encode(text);
            assert!(!unmappable);
            assert_eq!(decode(&bytes).unwrap(), text, "{}", encoding.name());
        }
    }

    #[test]
    fn a_guess_is_told() {
        let (gbk, ..) = GBK.encode(CHINESE);
        let (western, ..) = WINDOWS_1252.encode("Die Fähre über den Fluß fährt künftig öfter.");
        let marked = [b"\xff\xfe", &b"a\0b\0"[..]].concat();
        let damaged = [CHINESE.as_bytes(), b"\xff"].concat();
        for (bytes, expected) in [
            (&gbk[..], Some("GBK")),
            (&western, Some("windows-1252")),
            (&ISO_2022_JP.encode("港の新しい灯台が点灯しました。").0, Some("ISO-2022-JP")),
            (CHINESE.as_bytes(), None),
            (&damaged, None),
            (&marked, None),
            (b"ASCII", None),
        ] {
            assert_eq!(decode_guessed(bytes).unwrap().1, expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn escapes_of_japanese_are_not_those_of_terminals() {
        let red = "\u{1b}[31mred\u{1b}(B and \u{1b}[1mbold\u{1b}[0m";
        assert_eq!(decode(red.as_bytes()).unwrap(), red);
        // A text in UTF-8 that tells of an escape.
        let told = format!("{CHINESE} \u{1b}$B");
        assert_eq!(decode(told.as_bytes()).unwrap(), told);
        let (cut, ..) = ISO_2022_JP.encode("港の新しい灯台が点灯しました。");
        assert!(decode(&cut[..cut.len() - 4]).unwrap().starts_with("港の新しい灯台が点灯しました"));
    }

    #[test]
    fn byte_order_marks_come_first() {
        let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
        let text = format!("\u{feff}{CHINESE}");
        let big_endian: Vec<u8> =
            units(&text).iter().flat_map(|unit| [(unit >> 8) as u8, *unit as u8]).collect();
        let little_endian: Vec<u8> =
            units(&text).iter().flat_map(|unit| [*unit as u8, (unit >> 8) as u8]).collect();
        for bytes in [&big_endian, &little_endian, text.as_bytes()] {
            assert_eq!(decode(bytes).unwrap(), CHINESE);
        }
    }

    #[test]
    fn where_declarations_disagree_the_bytes_decide() {
        let russian = "Городской музей открыл выставку старинных часов и музыкальных шкатулок.";
        let western =
            "Die Fähre über den Fluß fährt künftig öfter, und größere Schiffe dürfen wieder anlegen.";
        let polish = "The port of Kraśnik is that of the city for which it was built.";
        let japanese = "地下鉄七号線の延伸区間で、きょうから試運転が始まりました。";
        let utf_16: Vec<u8> =
            "<p>text".encode_utf16().flat_map(|unit| [unit as u8, (unit >> 8) as u8]).collect();
        let encode = |encoding: &'static Encoding, text| encoding.encode(text).0.into_owned();
        for (bytes, declared, expected) in [
            (encode(WINDOWS_1251, russian), &[UTF_8, WINDOWS_1251][..], russian),
            (encode(WINDOWS_1251, russian), &[WINDOWS_1252, WINDOWS_1251], russian),
            (encode(WINDOWS_1251, russian), &[UTF_8], russian),
            (encode(WINDOWS_1251, russian), &[UTF_8, REPLACEMENT], russian),
            (encode(WINDOWS_1252, western), &[WINDOWS_1252, UTF_8], western),
            (encode(WINDOWS_1252, western), &[UTF_8], western),
            (encode(WINDOWS_1250, polish), &[WINDOWS_1252, WINDOWS_1250], polish),
            (encode(GBK, CHINESE), &[WINDOWS_1252, GBK], CHINESE),
            (encode(ISO_2022_JP, japanese), &[ISO_2022_JP], japanese),
            (encode(ISO_2022_JP, japanese), &[UTF_8, ISO_2022_JP], japanese),
            (CHINESE.as_bytes().to_vec(), &[GBK, WINDOWS_1252], CHINESE),
            (CHINESE.as_bytes().to_vec(), &[UTF_16LE, ISO_2022_JP], CHINESE),
            (utf_16, &[UTF_16LE], "<p>text"),
        ] {
            let names: Vec<_> = declared.iter().map(|encoding| encoding.name()).collect();
            assert_eq!(decode_declared(&bytes, declared).unwrap(), expected, "{names:?}");
        }
    }

    #[test]
    fn a_byte_that_does_not_fit_costs_itself() {
        let cut = &CHINESE.as_bytes()[..CHINESE.len() - 1];
        let expected = CHINESE.strip_suffix('。').unwrap().to_owned() + "\u{fffd}";
        for declared in [&[][..], &[UTF_8], &[GBK], &[WINDOWS_1252, GBK]] {
            assert_eq!(decode_declared(cut, declared).unwrap(), expected);
        }
        assert_eq!(decode(cut).unwrap(), expected);
        let gbk = [&GBK.encode(CHINESE).0[..], b"\xff"].concat();
        assert_eq!(decode_declared(&gbk, &[UTF_8, GBK]).unwrap(), format!("{CHINESE}\u{fffd}"));
    }

    #[test]
    fn a_text_whose_characters_are_lost_is_refused() {
        check_legible(&"word ".repeat(100)).unwrap();
        check_legible("a\u{fffd}\u{fffd}").unwrap();
        check_legible(&format!("{}\u{fffd}\u{fffd}\u{fffd}", "letter".repeat(10))).unwrap();
        let lost = "\u{fffd}\u{fffd}\u{fffd} \u{fffd}, and some more".repeat(9);
        assert!(decode(lost.as_bytes()).unwrap_err().contains("36 of its 144 characters are U+FFFD"));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(decode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap_err().contains("zero bytes"));
        assert_eq!(decode(b"").unwrap(), "");
    }
}
