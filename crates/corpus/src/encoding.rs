//! Decoding of bytes to text without a promise of UTF-8.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding;

/// Decodes by the byte order mark, else as UTF-8 if valid, else by the most likely encoding;
/// GB18030 is among the candidates.
///
/// The error is the reason shown to the user.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    if let Some((encoding, mark_len)) = Encoding::for_bom(bytes) {
        return Ok(encoding.decode_without_bom_handling(&bytes[mark_len..]).0);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(Cow::Borrowed(text));
    }
    if bytes.contains(&0) {
        return Err("no text: zero bytes, and no UTF-8 (UTF-16 needs a byte order mark)".to_owned());
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Allow);
    let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
    if has_errors {
        return Err(format!("the encoding cannot be told: not UTF-8, and not quite {}", encoding.name()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use encoding_rs::{BIG5, EUC_JP, GB18030, SHIFT_JIS, UTF_8, WINDOWS_1252};

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
            (UTF_8, CHINESE),
        ] {
            let (bytes, _, unmappable) = encoding.encode(text);
            assert!(!unmappable);
            assert_eq!(decode(&bytes).unwrap(), text, "{}", encoding.name());
        }
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
    fn what_is_no_text_is_refused() {
        assert!(decode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap_err().contains("zero bytes"));
        assert_eq!(decode(b"").unwrap(), "");
    }
}
