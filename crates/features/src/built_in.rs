//! The dictionaries that come with the program, all jieba's (MIT licence, `data/README.md`).

use std::sync::{Arc, LazyLock};

use crate::Digest;
use crate::segment::jieba::{Hmm, Jieba};

/// Words, as `word frequency tag` lines, sorted by their bytes.
const DICTIONARY_ZSTD: &[u8] = include_bytes!("../data/dict.txt.zst");

/// The hidden Markov model.
const HMM_ZSTD: &[u8] = include_bytes!("../data/hmm.model.zst");

/// Inverse document frequencies, sorted by value, as `term value` lines.
const IDF_ZSTD: &[u8] = include_bytes!("../data/idf.txt.zst");

/// SHA-256 of jieba's `dict.txt`, as jieba-rs 0.11.0 has it.
pub(crate) const DICTIONARY_DIGEST: Digest = Digest([
    0x13, 0x95, 0x19, 0x82, 0x2f, 0xe8, 0xab, 0x9e, 0x10, 0xd9, 0xd0, 0x7e, 0x68, 0xea, 0x04, 0x51, 0x04,
    0x53, 0x80, 0xae, 0xda, 0xf5, 0x4e, 0xcc, 0x51, 0xe2, 0xa2, 0x8c, 0x6b, 0x42, 0xa1, 0x3f,
]);

/// SHA-256 of the idf dictionary, decompressed.
pub(crate) const IDF_DIGEST: Digest = Digest([
    0x60, 0x7d, 0x9f, 0x2d, 0xfb, 0x83, 0x61, 0x05, 0x59, 0x22, 0x87, 0xe6, 0xf5, 0x37, 0x3a, 0xf9, 0x93,
    0x18, 0x2e, 0x6c, 0xff, 0x8d, 0x32, 0x22, 0x57, 0x34, 0xee, 0x16, 0x52, 0x69, 0x66, 0xbd,
]);

/// Returns the process's one segmenter with jieba's own dictionary and model. The first call builds
/// it, which takes as long as fingerprints of some megabytes of text.
pub(crate) fn jieba() -> &'static Jieba {
    static JIEBA: LazyLock<Jieba> =
        LazyLock::new(|| Jieba::new(&words(&dictionary()), Arc::new(Hmm::new(&hmm()))));
    &JIEBA
}

/// Returns the text of jieba's dictionary.
pub(crate) fn dictionary() -> String {
    decompress(DICTIONARY_ZSTD)
}

/// Returns the words of the text of jieba's dictionary with their frequencies, sorted by their
/// bytes.
pub(crate) fn words(dictionary: &str) -> Vec<(&str, u64)> {
    dictionary.lines().map(|line| word(line).expect("a line has a word and its frequency")).collect()
}

/// Returns the word and the frequency of a line.
fn word(line: &str) -> Option<(&str, u64)> {
    let (word, rest) = line.split_at(line.bytes().position(|byte| byte == b' ')?);
    let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit);
    Some((word, digits.fold(0, |frequency, digit| frequency * 10 + u64::from(digit - b'0'))))
}

/// Returns the text of jieba's hidden Markov model.
pub(crate) fn hmm() -> String {
    decompress(HMM_ZSTD)
}

/// Returns the text of the idf dictionary.
pub(crate) fn idf() -> String {
    decompress(IDF_ZSTD)
}

/// The most bytes of an embedded text.
const TEXT_BYTES_MAX: usize = 8 << 20;

fn decompress(bytes: &[u8]) -> String {
    let bytes = zstd::bulk::decompress(bytes, TEXT_BYTES_MAX).expect("the embedded file is intact");
    String::from_utf8(bytes).expect("the embedded file is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_name_what_is_built_in() {
        assert_eq!(Digest::of(idf().as_bytes()), IDF_DIGEST);
        assert_eq!(Digest::of(dictionary().as_bytes()), DICTIONARY_DIGEST);
        let model = "f17790586ac86dd048c8adffed052c4bd2b28ed0682972c1275e59040c0589a7";
        assert_eq!(Digest::of(hmm().as_bytes()).to_string(), model);
        let text = dictionary();
        let words = words(&text);
        assert!(words.is_sorted_by(|(word, _), (next, _)| word < next), "sorted, and each there once");
        // What jieba-rs shows of its dictionary. Another one means a new recipe version.
        let total: u64 = words.iter().map(|(_, frequency)| frequency).sum();
        let shown = format!("Jieba {{ records_len: {}, total_freq: {total} }}", words.len());
        assert_eq!(shown, format!("{:?}", jieba_rs::Jieba::new()));
    }
}
