//! Unnatural input: everything must end soon, with an answer, in memory of the order of the text.
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]
#![expect(clippy::print_stdout, reason = "the slow one reports its times")]

use pigeonhole_features::{Dictionaries, Fingerprinter, Recipe, Segmenter, Weights};

const MB: usize = 1 << 20;

/// Returns texts of about `len` bytes, each hard for some part.
fn texts(len: usize) -> Vec<(&'static str, String)> {
    let of = |piece: &str| piece.repeat(len / piece.len());
    let counted = |piece: fn(usize) -> String| {
        (0..)
            .map(piece)
            .scan(0, |sum, piece| {
                *sum += piece.len();
                (*sum <= len).then_some(piece)
            })
            .collect::<String>()
    };
    vec![
        ("han without punctuation", of("人民法院依照本法规定审理民事案件")),
        ("one han character", of("的")),
        ("unknown han characters", of("龘靐齉爩鱻")),
        ("han that depends on its neighbours", of("乾藉覆於瞭鍾")),
        ("han of another plane", of("𠀀𪚥")),
        ("one ascii token", of("a")),
        ("one ascii token beside han", format!("汉{}字", of("a1"))),
        ("one number", of("1,000.5")),
        ("connectors", of("a.b-c_d")),
        ("apostrophes", of("a'")),
        ("apostrophes and marks", of("a'\u{301}\u{301}\u{301}")),
        ("one base and its marks", format!("a{}", of("\u{301}\u{316}"))),
        ("marks alone", of("\u{301}")),
        ("hangul jamo", of("\u{1100}\u{1161}\u{11a8}")),
        ("joined emoji", of("👩\u{200d}")),
        ("regional indicators", of("🇨")),
        ("zeros", of("\0")),
        ("white space", of("\u{3000} \t")),
        ("punctuation", of("。，…-")),
        ("expanding compatibility forms", of("\u{fdfa}㍿")),
        ("thai", of("มนุษย์ทั้งหลาย")),
        ("all different", counted(|i| format!("w{i} "))),
        ("han and ascii by turns", of("汉a")),
    ]
}

fn fingerprinters() -> Vec<Fingerprinter> {
    let recipe = |segmenter, weights, top_terms| {
        let recipe = Recipe { segmenter, weights, top_terms, ..Recipe::default() };
        let none = Dictionaries::default();
        Fingerprinter::new(recipe.with_dictionaries(&none), &none).unwrap()
    };
    vec![
        recipe(Segmenter::Jieba { hmm: true }, Weights::TfIdf, 200),
        recipe(Segmenter::Words, Weights::Levels, 200),
        recipe(Segmenter::CharNgrams(5), Weights::Uniform, 0),
        recipe(Segmenter::CharNgrams(255), Weights::Uniform, 200),
        recipe(Segmenter::Shingles(255), Weights::Uniform, 200),
    ]
}

fn check(len: usize, fingerprinters: &[Fingerprinter]) {
    for (name, text) in texts(len) {
        for fingerprinter in fingerprinters {
            let started = std::time::Instant::now();
            let fingerprint = fingerprinter.fingerprint(&text);
            println!(
                "{name}, {}: {:.2} s",
                fingerprinter.recipe().segmenter,
                started.elapsed().as_secs_f64()
            );
            let has_features = text.chars().any(char::is_alphanumeric);
            assert!(
                fingerprint.is_some() == has_features || name.contains("marks"),
                "{name}: {fingerprint:?}"
            );
        }
    }
}

#[test]
fn a_quarter_of_a_megabyte_of_each() {
    check(MB / 4, &fingerprinters());
}

/// `cargo test --release -p pigeonhole-features --test hard -- --ignored --nocapture`
#[test]
#[ignore = "takes minutes"]
fn a_hundred_megabytes_of_each() {
    // The fingerprinters whose time does not grow with an n of 255.
    check(100 * MB, &fingerprinters()[..3]);
}

#[test]
fn a_text_without_features_has_no_fingerprint() {
    for fingerprinter in fingerprinters() {
        for text in
            ["", " ", "\n\u{3000}\t", "……！？", "---", "。", "\0\0", "(((", "👍🏽", "\u{301}", "#@!+&%._-"]
        {
            assert_eq!(fingerprinter.fingerprint(text), None, "{text:?}");
            let analysis = fingerprinter.analyze(text);
            assert!(
                analysis.terms.is_empty() && analysis.fingerprint.is_none() && analysis.margins == [0; 64]
            );
        }
    }
}

/// A huge text must leave nothing in the buffers that changes the next one.
#[test]
fn scratch_is_as_good_as_new() {
    let mut scratch = pigeonhole_features::Scratch::new();
    let big: String = (0..400_000).map(|i| format!("w{i} ")).collect();
    for fingerprinter in fingerprinters() {
        for text in ["鸽巢原理 don't", &big, "鸽巢原理 don't", "", "a b c d e", &big[..5000]] {
            assert_eq!(fingerprinter.fingerprint_with(&mut scratch, text), fingerprinter.fingerprint(text));
        }
    }
}
