//! The dictionaries that come with the program: jieba's words (inside jieba-rs) and jieba's idf
//! (`data/`).

use std::sync::LazyLock;

use jieba_rs::Jieba;

use crate::Digest;

/// jieba's idf dictionary (MIT licence, `data/README.md`), sorted by value, as `term value` lines.
const IDF_ZSTD: &[u8] = include_bytes!("../data/idf.txt.zst");

/// SHA-256 of jieba's `dict.txt` in jieba-rs 0.11.0. A constant, as jieba-rs does not give the file
/// out; the test below compares the figures that jieba-rs does show of its dictionary.
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
    static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);
    &JIEBA
}

/// Returns the text of the idf dictionary.
pub(crate) fn idf() -> String {
    let bytes = zstd::decode_all(IDF_ZSTD).expect("the embedded file is intact");
    String::from_utf8(bytes).expect("the embedded file is UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digests_name_what_is_built_in() {
        assert_eq!(Digest::of(idf().as_bytes()), IDF_DIGEST);
        // Everything that jieba-rs shows of its dictionary. A change here means another dictionary:
        // another digest, and a new recipe version.
        assert_eq!(format!("{:?}", jieba()), "Jieba { records_len: 349045, total_freq: 60101964 }");
    }
}
