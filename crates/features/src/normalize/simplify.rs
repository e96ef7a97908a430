//! Traditional → simplified Chinese, by OpenCC's dictionaries.

use std::sync::LazyLock;

use ferrous_opencc::OpenCC;
use ferrous_opencc::config::BuiltinConfig;

/// The characters whose simplified form depends on their neighbours: some phrase of OpenCC's
/// `TSPhrases.txt` (as in ferrous-opencc 0.4.0) writes these otherwise than `TSCharacters.txt`
/// does. Text without such characters converts character by character.
///
/// A constant, because the library does not give its phrases out; its version is pinned for that
/// reason.
const NEIGHBOUR_DEPENDENT: &str = "么乾俱吒噁彷徵於昇沈濛牴畫瞭薹藉衹覆鉅鍊鍾麼麽";

/// The converter.
pub(super) struct Simplifier {
    opencc: OpenCC,
}

impl Simplifier {
    /// Returns the one converter of this process.
    pub(super) fn get() -> &'static Self {
        static SIMPLIFIER: LazyLock<Simplifier> = LazyLock::new(|| Simplifier {
            opencc: OpenCC::from_config(BuiltinConfig::T2s).expect("the dictionaries are inside the library"),
        });
        &SIMPLIFIER
    }

    /// Returns the library's answer for `text`.
    pub(super) fn convert(&self, text: &str) -> String {
        self.opencc.convert(text)
    }

    /// Returns the simplified form of `c` outside of any phrase.
    pub(super) fn convert_char(&self, c: char) -> char {
        let converted = self.opencc.convert(c.encode_utf8(&mut [0; 4]));
        let mut chars = converted.chars();
        chars.next().filter(|_| chars.next().is_none()).unwrap_or(c)
    }

    /// Returns true if a phrase may change the simplified form of `c`.
    pub(super) fn depends_on_neighbours(c: char) -> bool {
        NEIGHBOUR_DEPENDENT.contains(c)
    }
}
