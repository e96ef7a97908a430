//! The whole pipeline against a slow and plain one: the libraries on the whole text, strings as
//! terms, no table, no fixed tricks.
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::LazyLock;

use ferrous_opencc::OpenCC;
use ferrous_opencc::config::BuiltinConfig;
use jieba_rs::Jieba;
use pigeonhole_features::shingles::TextSketcher;
use pigeonhole_features::{Dictionaries, Fingerprinter, Recipe, Segmenter, Weights};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

static T2S: LazyLock<OpenCC> = LazyLock::new(|| OpenCC::from_config(BuiltinConfig::T2s).unwrap());
static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// The normal form of version 1 by the libraries. Version 2 is tested against the libraries beside
/// the normaliser; here its form is taken as given.
fn normalize(text: &str, recipe: &Recipe) -> String {
    if recipe.version > 1 {
        assert!(recipe.simplify, "no sketcher keeps traditional Chinese");
        let mut normal_form = String::new();
        TextSketcher::new(recipe.normal_form()).normal_form(text, &mut normal_form);
        return normal_form;
    }
    let text: String = text.nfkc().collect();
    let text: String = text.chars().flat_map(char::to_lowercase).collect();
    let text = text.replace('ς', "σ");
    let text = if recipe.simplify { T2S.convert(&text) } else { text };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn is_han(c: char) -> bool {
    let ranges = [
        0x3400..=0x4dbf,
        0x4e00..=0x9fff,
        0xf900..=0xfaff,
        0x20000..=0x2a6df,
        0x2a700..=0x2ebef,
        0x2f800..=0x2fa1f,
    ];
    ranges.iter().any(|range| range.contains(&u32::from(c)))
}

fn is_jieba_ascii(c: char) -> bool {
    c.is_ascii_alphanumeric() || "+#&._%-".contains(c)
}

fn binds(c: char) -> bool {
    c.is_alphanumeric()
        || unicode_normalization::char::is_combining_mark(c)
        || "'’‘:·‧,;\u{200c}\u{200d}\u{ad}".contains(c)
}

fn jieba_words(jieba: &Jieba, hmm: bool, text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let in_run = |&c: &char| is_han(c) || is_jieba_ascii(c);
    let words = |chars: &[char]| -> Vec<String> {
        String::from_iter(chars).unicode_words().map(str::to_owned).collect()
    };
    let (mut terms, mut done, mut at) = (Vec::new(), 0, 0);
    while at < chars.len() {
        let len = chars[at..].iter().take_while(|c| in_run(c)).count();
        let (mut start, mut end) = (at, at + len);
        at = end.max(at + 1);
        if !chars[start..end].iter().any(|&c| is_han(c)) {
            continue;
        }
        if start > 0 && binds(chars[start - 1]) {
            start += chars[start..].iter().position(|&c| is_han(c)).unwrap();
        }
        if end < chars.len() && binds(chars[end]) {
            end = start + chars[start..end].iter().rposition(|&c| is_han(c)).unwrap() + 1;
        }
        terms.extend(words(&chars[done..start]));
        let run = String::from_iter(&chars[start..end]);
        let tokens = jieba.cut(&run, hmm);
        terms.extend(
            tokens.iter().map(|t| t.word.to_owned()).filter(|t| t.chars().any(char::is_alphanumeric)),
        );
        done = end;
    }
    terms.extend(words(&chars[done..]));
    terms
}

fn terms(recipe: &Recipe, jieba: &Jieba, stop_words: &HashSet<String>, text: &str) -> Vec<String> {
    let text = normalize(text, recipe);
    let stop =
        |terms: Vec<String>| terms.into_iter().filter(|term| !stop_words.contains(term)).collect::<Vec<_>>();
    let words = || text.unicode_words().map(str::to_owned).collect::<Vec<_>>();
    match recipe.segmenter {
        Segmenter::Jieba { hmm } => stop(jieba_words(jieba, hmm, &text)),
        Segmenter::Words => stop(words()),
        Segmenter::CharNgrams(n) => {
            let chars: Vec<char> = text.chars().map(|c| if c == '\n' { ' ' } else { c }).collect();
            let n = usize::from(n).min(chars.len()).max(1);
            let grams = chars.windows(n).filter(|gram| gram.iter().any(|c| c.is_alphanumeric()));
            stop(grams.map(String::from_iter).collect())
        }
        Segmenter::Shingles(n) => {
            let words = stop(words());
            let n = usize::from(n).min(words.len()).max(1);
            words.windows(n).map(|shingle| shingle.join(" ")).collect()
        }
    }
}

fn murmur(term: &str, seed: u32) -> u64 {
    murmur3::murmur3_x64_128(&mut term.as_bytes(), seed).unwrap() as u64
}

/// The rank among equally heavy terms: MurmurHash3's `fmix64` of the hash.
fn rank(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// The built-in idf, or the user's, by normalised term; and the median.
fn idf(recipe: &Recipe, dictionaries: &Dictionaries) -> (HashMap<String, u64>, u64) {
    let built_in = || {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/idf.txt.zst");
        String::from_utf8(zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()).unwrap()
    };
    let text = dictionaries.idf.clone().unwrap_or_else(built_in);
    let entries: Vec<(String, u64)> = text
        .lines()
        .map(|line| {
            let (term, value) = line.split_once([' ', '\t']).unwrap();
            (normalize(term, recipe), (value.parse::<f64>().unwrap() * 1024.0).round() as u64)
        })
        .collect();
    let mut values: Vec<u64> = entries.iter().map(|&(_, value)| value).collect();
    values.sort_unstable();
    let median = values[(values.len() - 1) / 2];
    let mut by_term = HashMap::new();
    for (term, value) in entries {
        by_term.entry(term).and_modify(|v: &mut u64| *v = value.min(*v)).or_insert(value);
    }
    (by_term, median)
}

/// A recipe, carried out both ways.
struct Pair {
    recipe: Recipe,
    fingerprinter: Fingerprinter,
    jieba: Jieba,
    stop_words: HashSet<String>,
    idf: HashMap<String, u64>,
    median: u64,
}

impl Pair {
    fn new(segmenter: Segmenter, weights: Weights, top_terms: u32, dictionaries: &Dictionaries) -> Self {
        let recipe = Recipe { version: 1, segmenter, weights, top_terms, ..Recipe::default() };
        Self::of(recipe, dictionaries)
    }

    fn of(recipe: Recipe, dictionaries: &Dictionaries) -> Self {
        let recipe = recipe.with_dictionaries(dictionaries);
        let mut jieba = JIEBA.clone();
        for line in dictionaries.user_dictionary.iter().flat_map(|text| text.lines()) {
            let mut parts = line.split(' ');
            let word = normalize(parts.next().unwrap(), &recipe);
            jieba.add_word(&word, parts.next().map(|frequency| frequency.parse().unwrap()), None);
        }
        let stop_words = dictionaries.stop_words.iter().flat_map(|text| text.lines());
        let stop_words = stop_words.map(|word| normalize(word, &recipe)).collect();
        let (idf, median) = idf(&recipe, dictionaries);
        let fingerprinter = Fingerprinter::new(recipe.clone(), dictionaries).unwrap();
        Self { recipe, fingerprinter, jieba, stop_words, idf, median }
    }

    /// Returns (weight, hash, text, count) of each term that counts, heaviest first.
    fn naive(&self, text: &str) -> Vec<(u64, u64, String, u64)> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for term in terms(&self.recipe, &self.jieba, &self.stop_words, text) {
            *counts.entry(term).or_default() += 1;
        }
        let weight = |term: &String, count: u64| match self.recipe.weights {
            Weights::Uniform => 1,
            _ => (count * self.idf.get(term).unwrap_or(&self.median)).min(u64::from(u32::MAX)),
        };
        let mut terms: Vec<(u64, u64, String, u64)> = counts
            .into_iter()
            .map(|(term, count)| (weight(&term, count), murmur(&term, self.recipe.seed), term, count))
            .filter(|term| term.0 > 0)
            .collect();
        terms.sort_by(|a, b| b.0.cmp(&a.0).then(rank(a.1).cmp(&rank(b.1))));
        if self.recipe.top_terms > 0 {
            terms.truncate(self.recipe.top_terms as usize);
        }
        if self.recipe.weights == Weights::Levels {
            let max = terms.first().map_or(1, |term| term.0) as f64;
            terms.iter_mut().for_each(|term| term.0 = (5.0 * term.0 as f64 / max).ceil() as u64);
            terms.sort_by(|a, b| b.0.cmp(&a.0).then(rank(a.1).cmp(&rank(b.1))));
        }
        terms
    }

    fn check(&self, text: &str) {
        let expected = self.naive(text);
        let margins: [i128; 64] = std::array::from_fn(|bit| {
            let vote = |&(weight, hash, ..): &(u64, u64, String, u64)| {
                if hash >> bit & 1 == 1 { i128::from(weight) } else { -i128::from(weight) }
            };
            expected.iter().map(vote).sum()
        });
        let bits = (0..64).filter(|&bit| margins[bit] > 0).fold(0, |bits, bit| bits | 1 << bit);
        let fingerprint = (!expected.is_empty()).then_some(bits);

        let analysis = self.fingerprinter.analyze(text);
        let got: Vec<_> = analysis
            .terms
            .iter()
            .map(|term| (u64::from(term.weight.0), term.hash, term.text.clone(), u64::from(term.count)))
            .collect();
        assert_eq!(got, expected, "{} of {text:?}", self.recipe.segmenter);
        assert_eq!(analysis.margins, margins);
        assert_eq!(analysis.fingerprint.map(|fp| fp.0), fingerprint);
        assert_eq!(self.fingerprinter.fingerprint(text), analysis.fingerprint);
    }
}

static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let none = Dictionaries::default();
    let all = Dictionaries {
        user_dictionary: Some("鴿巢原理 50\n中华人\n瞭望c++ 9\n公司4\n".to_owned()),
        stop_words: Some("於\nTHE\n中\n是\n".to_owned()),
        idf: Some("公司 7.5\n一目瞭然\t3.25\nthe 2\nb 0\n亿 1000000\n".to_owned()),
    };
    let jieba = Segmenter::Jieba { hmm: true };
    let newest = |segmenter, weights| Recipe { segmenter, weights, ..Recipe::default() };
    let folded = Recipe { fold_diacritics: true, ..newest(Segmenter::Words, Weights::Uniform) };
    vec![
        Pair::of(newest(jieba, Weights::TfIdf), &all),
        Pair::of(newest(Segmenter::CharNgrams(5), Weights::Uniform), &none),
        Pair::of(newest(Segmenter::Shingles(2), Weights::Uniform), &none),
        Pair::of(folded, &none),
        Pair::new(jieba, Weights::TfIdf, 200, &none),
        Pair::new(Segmenter::Jieba { hmm: false }, Weights::Levels, 5, &none),
        Pair::of(Recipe { version: 1, simplify: false, seed: 7, ..Recipe::default() }, &none),
        Pair::new(jieba, Weights::TfIdf, 3, &all),
        Pair::new(Segmenter::Words, Weights::TfIdf, 0, &none),
        Pair::new(Segmenter::CharNgrams(1), Weights::Uniform, 7, &none),
        Pair::new(Segmenter::CharNgrams(5), Weights::TfIdf, 0, &none),
        Pair::new(Segmenter::Shingles(3), Weights::Uniform, 0, &none),
    ]
});

const PIECES: &[&str] = &[
    "中华人民共和国",
    "公司4.3亿元",
    "T恤",
    "一目瞭然",
    "乾隆",
    "藉口",
    "覆蓋",
    "鴿巢原理",
    "於",
    "是",
    "瞭望C++",
    "k歌",
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
    "the ",
    "don't",
    "3.14",
    "C++",
    "👩‍👩‍👧",
    "naïve",
    "①",
    "豈",
    "\u{fe00}",
    "\u{200d}",
    "\0",
    "……",
    "。",
    "，",
    " ",
    "  ",
    "\n",
    "\u{301}",
    "𠀀",
    "々",
    "〇",
    "_",
    "x_y",
    "1,000",
    "can’t",
    "喵星人",
    "杭研大厦",
    "-",
    "+",
    "'",
    "（",
    "）",
    "“",
    "”",
];

fn mixed_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        5 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        2 => "[a-zA-Z0-9.,:;'’+#&_%-]{1,5}",
        3 => "[\u{4e00}-\u{9fff}]{1,6}",
        1 => "[的是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想已通并提直题党程展五果料象员革位入常文总次品式活设及管特件长求老头基资边流路级少图山统接知较将组见计别她手角期根论运农指几九区强放决西被干做必战先回则任取据处队南给色光门即保治北造百规热领七海口东导器压志世金增争济阶油思术极交受联什认六共权收证改清己美再采转更单风切打白教速花带安场身车例真务具万每目至达走积示议声报斗完类八离华名确才科张信马节话米整空元况今集温传土许步群广石记需段研界拉林律叫且究观越织装影算低持音众书布复容儿须际商非验连断深难近矿千周委素技备半办青省列习响约支般史感劳便团往酸历市克何除消构府称太准精值号率族维划选标写存候毛亲快效斯院查江型眼王按格养易置派层片始却专状育厂京识适属圆包火住调满县局照参红细引听该铁价严]{2,12}",
        1 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn the_pipeline_equals_the_plain_one(text in mixed_text()) {
        PAIRS.iter().for_each(|pair| pair.check(&text));
    }
}

/// Real texts, if at hand: `shared/corpora` beside the work tree, which is not part of the project.
#[test]
fn real_texts() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora");
    for name in ["udhr_multilingual", "poetry_zh", "pingcap_docs_zh", "peps_en"] {
        let Ok(file) = std::fs::File::open(corpora.join(name).with_extension("jsonl.gz")) else {
            eprintln!("skipped: no {name}.jsonl.gz in {}", corpora.display());
            continue;
        };
        let lines = std::io::read_to_string(flate2::read::MultiGzDecoder::new(file)).unwrap();
        // A spread of the texts: the plain pipeline is slow.
        for line in lines.lines().step_by(lines.lines().count() / 40 + 1) {
            let document: serde_json::Value = serde_json::from_str(line).unwrap();
            let text: String = document["text"].as_str().unwrap().chars().take(4000).collect();
            PAIRS.iter().for_each(|pair| pair.check(&text));
        }
    }
}
