//! Made-up texts: the same on every machine.

use anyhow::Context;
use minhash::hash_words;

/// A kind of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words of letters, in paragraphs of some 3 kB.
    English,
    /// Words of one to three Chinese characters, in paragraphs of some 2 kB.
    Chinese,
    /// English-like, of 14 to 29 words: some 140 B.
    Short,
}

/// Different words of a kind. The `n`th is as frequent as 1 / (n + 3), as words are.
const WORDS: usize = 30_000;

/// The frequent words of English, which come first.
const ENGLISH: &str = "the of and to a in is it that was for on are as with his they at be this from have or by one \
    had not but what all were when we there can an your which their said if do will each about how up out them then \
    she many some so these would other into has more her two like him see time could no make than first been its who \
    now people my made over did down only way find use may water long little very after words called just where most \
    know get through back much before go good new write our used me man too any day same right look think also around \
    another came come work three word must because does part even place well such here take why things help put years \
    different away again off went old number great tell men say small every found still between name should home big";

/// The frequent words of Chinese, which come first.
const CHINESE: &str = "的 了 在 是 我 有 和 就 不 人 都 一 一个 上 也 很 到 说 要 去 你 会 着 没有 看 好 自己 这 他们 我们 \
    中国 公司 市场 发展 经济 问题 工作 企业 国家 进行 通过 社会 可以 管理 表示 政府 记者 目前 北京 时间 已经 投资 项目 \
    技术 服务 今年 活动 生活 建设 城市 世界 关系 学生 教育 文化 研究 环境 系统 产品 信息 网络 需要 开始 成为 情况 地区 \
    重要 提高 增长 历史 科学 学校 银行 价格 政策 影响 人民 方面 组织 合作 能力 安全 国际 消费 比赛 中心 新闻 报道 昨天";

/// Characters of which further Chinese words are made.
const CHARACTERS: &str = "大小多少高低长短东西南北天地山水火木金土日月星风云雨雪花草树林石江河湖海春夏秋冬年时分家门口手足心头目耳\
    父母子女男兄弟友师生王公民军兵官商农工车马牛羊鱼鸟米面衣食住行走来出入开关坐立听读写学问教知思想爱恨喜怒哀乐病死新旧\
    红黄青白黑色光明暗声音乐画书文字语言话题电机器钱买卖价值利益法律制度政治权力战争和平安危真假美丑善恶前后左右中内外上下";

/// Seeds of the words, and of the texts.
const WORD_SEED: u64 = 7;
const TEXT_SEED: u64 = 11;

/// One text in so many is an earlier one with some words changed.
const REPEATED: usize = 5;

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::English, Self::Chinese, Self::Short];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::English => "english",
            Self::Chinese => "chinese",
            Self::Short => "short",
        }
    }

    pub(super) fn named(name: &str) -> anyhow::Result<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name).context("no kind of texts has this name")
    }

    /// Texts of `n_bytes` in all, or a few more. One in five repeats an earlier one with up to
    /// three words changed.
    pub(super) fn texts(self, n_bytes: u64) -> Vec<String> {
        let words = self.words();
        let mut draw = Draw { seed: TEXT_SEED ^ self as u64, n: 0 };
        let (mut drawn, mut texts) = (Vec::<Vec<u32>>::new(), Vec::new());
        let mut n_made = 0;
        while n_made < n_bytes {
            let numbers = if !drawn.is_empty() && draw.below(REPEATED) == 0 {
                let mut numbers = drawn[draw.below(drawn.len())].clone();
                for _ in 0..draw.below(4) {
                    let changed = draw.below(numbers.len());
                    numbers[changed] = draw.word();
                }
                numbers
            } else {
                let (least, more) = match self {
                    Self::English => (250, 500),
                    Self::Chinese => (200, 400),
                    Self::Short => (14, 16),
                };
                (0..least + draw.below(more)).map(|_| draw.word()).collect()
            };
            let text = self.written(&words, &numbers);
            n_made += text.len() as u64;
            texts.push(text);
            drawn.push(numbers);
        }
        texts
    }

    /// The words, the most frequent first.
    fn words(self) -> Vec<String> {
        let mut draw = Draw { seed: WORD_SEED, n: 0 };
        let characters: Vec<char> = CHARACTERS.chars().collect();
        let syllable = |draw: &mut Draw| {
            let start = ["b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "st", "t", "tr", "v", "w"];
            let end =
                ["a", "e", "i", "o", "u", "ai", "ea", "en", "er", "in", "on", "or", "al", "y", "ing", "ed"];
            [start[draw.below(start.len())], end[draw.below(end.len())]].concat()
        };
        let mut word = || {
            let n = 2 + draw.below(5) / 2;
            match self {
                Self::Chinese => (0..2 + n / 4).map(|_| characters[draw.below(characters.len())]).collect(),
                Self::English | Self::Short => (0..n).map(|_| syllable(&mut draw)).collect::<String>(),
            }
        };
        let frequent = if self == Self::Chinese { CHINESE } else { ENGLISH };
        let mut words: Vec<String> = frequent.split_whitespace().map(str::to_owned).collect();
        while words.len() < WORDS {
            words.push(word());
        }
        words
    }

    /// The text of words by number: sentences end by the numbers, so that a changed word changes
    /// little else.
    fn written(self, words: &[String], numbers: &[u32]) -> String {
        let (space, comma, stop, line) = match self {
            Self::English => (" ", ", ", ". ", ".\n"),
            Self::Short => (" ", " ", " ", " "),
            Self::Chinese => ("", "，", "。", "。\n"),
        };
        let mut text = String::new();
        for (n, &number) in numbers.iter().enumerate() {
            if n > 0 {
                text += match hash_words(TEXT_SEED, u64::from(numbers[n - 1])) % 64 {
                    0 => line,
                    1..=4 => stop,
                    5..=9 => comma,
                    _ => space,
                };
            }
            text += &words[number as usize];
        }
        text
    }
}

/// Random numbers of a seed.
struct Draw {
    seed: u64,
    n: u64,
}

impl Draw {
    fn next(&mut self) -> u64 {
        self.n += 1;
        hash_words(self.seed, self.n)
    }

    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// The number of a word. Its frequency is that of a rank by Zipf's law, of which the
    /// distribution is the logarithm.
    fn word(&mut self) -> u32 {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = 3.0 * ((WORDS as f64 + 3.0) / 3.0).powf(share) - 3.0;
        (rank as u32).min(WORDS as u32 - 1)
    }
}

/// Returns fingerprints of which one in ten differs in 1 to 3 bits from an earlier one, and for
/// each the number of that earlier one, if any.
pub(super) fn fingerprints(n: usize) -> (Vec<u64>, Vec<Option<usize>>) {
    let mut draw = Draw { seed: TEXT_SEED, n: 0 };
    let (mut all, mut near) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for i in 0..n {
        let (bits, of) = match i % 10 {
            9 => {
                let of = draw.below(i);
                (neighbour(all[of], &mut || draw.next()), Some(of))
            }
            _ => (draw.next(), None),
        };
        all.push(bits);
        near.push(of);
    }
    (all, near)
}

/// Bits that differ from `bits` in 1 to 3 places.
fn neighbour(bits: u64, next: &mut impl FnMut() -> u64) -> u64 {
    let n_flips = 1 + (next() % 3) as u32;
    let mut flips = 0_u64;
    while flips.count_ones() < n_flips {
        flips |= 1 << (next() % 64);
    }
    bits ^ flips
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of instructions in the tests are of these texts: other ones need new counts.
    #[test]
    fn texts_are_the_same_everywhere() {
        for (kind, bytes_min, bytes_max) in
            [(Kind::English, 2_000, 4_500), (Kind::Chinese, 1_500, 4_500), (Kind::Short, 90, 220)]
        {
            let texts = kind.texts(400_000);
            assert_eq!(texts, kind.texts(400_000));
            // A longer corpus begins with a shorter one.
            assert_eq!(texts[..], kind.texts(800_000)[..texts.len()]);
            let n_bytes: usize = texts.iter().map(String::len).sum();
            assert!((400_000..410_000).contains(&n_bytes));
            assert!((bytes_min..bytes_max).contains(&(n_bytes / texts.len())), "{}", n_bytes / texts.len());
        }
    }

    #[test]
    fn a_tenth_of_the_fingerprints_is_near_an_earlier_one() {
        let (all, near) = fingerprints(1_000);
        assert_eq!(near.iter().flatten().count(), 100);
        for (bits, of) in all.iter().zip(&near) {
            assert!(of.is_none_or(|of| (1..=3).contains(&(all[of] ^ bits).count_ones())));
        }
    }
}
