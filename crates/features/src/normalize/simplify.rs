//! Traditional → simplified Chinese, by OpenCC's dictionaries.

use std::sync::LazyLock;

use ferrous_opencc::OpenCC;
use ferrous_opencc::config::BuiltinConfig;

/// The characters whose simplified form depends on their neighbours: some phrase of OpenCC's
/// `TSPhrases.txt` (as in ferrous-opencc 0.4.0) writes these otherwise than `TSCharacters.txt`
/// does. Beside each stand the characters before it and after it in those phrases. Text without
/// such a pair converts character by character.
///
/// A constant, because the library does not give its phrases out; its version is pinned for that
/// reason.
pub(super) const NEIGHBOUR_DEPENDENT: [(char, &str, &str); 23] = [
    ('么', "", "麼麽"),
    ('乾', "倒子尼康旋朝李法目竺蕩蕭裏轉顛", "倒元卦嘉圖坤夕子宅德斷旦曜清盛紅綱縣象轉造連道陀陵隆"),
    ('俱', "傢", ""),
    ('吒', "哪木金", ""),
    ('噁', "二", "英"),
    ('彷', "", "彿"),
    ('徵', "流角變", "之弦絃羽聲調音"),
    ('於', "樊", "世乎仲倫其則勇呼單坦崇忠惟戲敖期梨清潛琳穆竹菟邑陵"),
    ('昇', "畢", ""),
    ('沈', "魚", "沒積船默"),
    ('濛', "八", "山"),
    ('牴', "", "牾觸"),
    ('畫', "籌計", ""),
    ('瞭', "不據明目門", "如戶然若解"),
    ('薹', "蒜蕓", ""),
    ('藉', "免凌憑找滑狐素茵躪醞顧", "代以助卉口喻寇手據故方條槁機此甚由着端箸草虎詞讀資"),
    ('衹', "", "得見"),
    (
        '覆',
        "函功反名回德拜明申發示稟答臣蕩覆見貂重鈞錦電露頗",
        "上住信冒呈命墓宗帳幬思性成按文杯校水瓿盂育蕉覆載逆過醢醬金阱電露額鹿鼎",
    ),
    ('鉅', "澤甚", "子萬防"),
    ('鍊', "上手拉李金鉸銀鎖鐵項頸", "墜子工形條福足錘鎖"),
    ('鍾', "千李萬錢鍛黄", "公少書粟萬郁重鍛馗"),
    ('麼', "么幺篤", "些小"),
    ('麽', "么", ""),
];

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
        NEIGHBOUR_DEPENDENT.iter().any(|&(dependent, ..)| c == dependent)
    }

    /// Returns true if a phrase may change the simplified form of the character at `at`, by its
    /// neighbours. `is_inert` tells the characters over which no phrase reaches, and which stay in
    /// their place: all but ideographs may be asked for.
    #[cold]
    pub(super) fn may_be_in_phrase(text: &str, at: usize, is_inert: impl Fn(char) -> bool) -> bool {
        let mut from_here = text[at..].chars();
        let c = from_here.next();
        let phrases = NEIGHBOUR_DEPENDENT.iter().find(|&&(dependent, ..)| c == Some(dependent));
        // Another character may become a dependent one.
        let Some((_, before, after)) = phrases else { return true };
        let may_join = |neighbour: Option<char>, listed: &str| {
            neighbour.is_some_and(|c| if is_ideograph(c) { listed.contains(c) } else { !is_inert(c) })
        };
        may_join(text[..at].chars().next_back(), before) || may_join(from_here.next(), after)
    }
}

/// Returns true for the characters of the simplifier's phrases: CJK Unified Ideographs and
/// Extension A. (Ideographs of other planes are not in the table, and always go to the libraries.)
pub(super) fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}
