//! Text → fingerprint on one thread, recipe by recipe, beside jieba-rs's own `cut` and `TfIdf` on the same text.
//!
//! `cargo bench -p features --bench throughput -- FILE.jsonl[.gz]`, or the path in `PIGEONHOLE_BENCH_TEXT`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use features::{Dictionaries, Fingerprinter, Recipe, Scratch, Segmenter, Weights};
use jieba_rs::{Jieba, KeywordExtract, TfIdf};

const ROUNDS: usize = 7;

fn main() {
    let argument = std::env::args().skip(1).find(|arg| !arg.starts_with("--"));
    let Some(path) = argument.or_else(|| std::env::var("PIGEONHOLE_BENCH_TEXT").ok()).map(PathBuf::from)
    else {
        println!("skipped: no JSONL file given, as an argument or in PIGEONHOLE_BENCH_TEXT");
        return;
    };
    let texts = read(&path);
    let bytes: usize = texts.iter().map(String::len).sum();
    println!(
        "{}: {} texts, {:.1} MB; median of {ROUNDS} rounds",
        path.display(),
        texts.len(),
        bytes as f64 / 1e6
    );

    let started = Instant::now();
    let jieba = Jieba::new();
    println!("{:<24}{:>8.0} ms", "start Jieba::new", started.elapsed().as_secs_f64() * 1e3);
    for (segmenter, weights, top_terms) in RECIPES {
        let recipe = Recipe { segmenter, weights, top_terms, ..Recipe::default() };
        let recipe = recipe.with_dictionaries(&Dictionaries::default());
        let started = Instant::now();
        let fingerprinter =
            Fingerprinter::new(recipe, &Dictionaries::default()).expect("nothing to mismatch");
        let start_ms = started.elapsed().as_secs_f64() * 1e3;
        let mut scratch = Scratch::new();
        let name = format!("{segmenter} {weights} {top_terms}");
        measure(&name, bytes, &format!("started in {start_ms:.0} ms"), || {
            for text in &texts {
                black_box(fingerprinter.fingerprint_with(&mut scratch, text));
            }
        });
    }
    for hmm in [true, false] {
        measure(&format!("jieba-rs cut, hmm {hmm}"), bytes, "", || {
            for text in &texts {
                black_box(jieba.cut(text, hmm));
            }
        });
    }
    let tf_idf = TfIdf::default();
    measure("jieba-rs TfIdf top 200", bytes, "", || {
        for text in &texts {
            black_box(tf_idf.extract_keywords(&jieba, text, 200, vec![]));
        }
    });
}

const RECIPES: [(Segmenter, Weights, u32); 9] = [
    (Segmenter::Jieba { hmm: true }, Weights::TfIdf, 200),
    (Segmenter::Jieba { hmm: false }, Weights::TfIdf, 200),
    (Segmenter::Jieba { hmm: true }, Weights::Levels, 200),
    (Segmenter::Jieba { hmm: true }, Weights::TfIdf, 0),
    (Segmenter::Words, Weights::TfIdf, 200),
    (Segmenter::CharNgrams(3), Weights::Uniform, 0),
    (Segmenter::CharNgrams(5), Weights::TfIdf, 200),
    (Segmenter::CharNgrams(5), Weights::Uniform, 0),
    (Segmenter::Shingles(3), Weights::Uniform, 0),
];

fn measure(name: &str, bytes: usize, note: &str, mut round: impl FnMut()) {
    round();
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            round();
            started.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    let rate = |seconds: f64| bytes as f64 / 1e6 / seconds;
    let (slowest, fastest) = (rate(seconds[ROUNDS - 1]), rate(seconds[0]));
    println!("{name:<24}{:>8.1} MB/s ({slowest:.1} to {fastest:.1}) {note}", rate(seconds[ROUNDS / 2]));
}

/// The `text` of every line.
fn read(path: &Path) -> Vec<String> {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("failed to read `{}`: {e}", path.display()));
    let mut content = String::new();
    let result = if path.extension().is_some_and(|extension| extension == "gz") {
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut content)
    } else {
        (&bytes[..]).read_to_string(&mut content)
    };
    result.unwrap_or_else(|e| panic!("failed to decode `{}`: {e}", path.display()));
    let text = |line: &str| {
        let document: serde_json::Value = serde_json::from_str(line).expect("every line is JSON");
        document["text"].as_str().expect("every document has a text").to_owned()
    };
    content.lines().map(text).collect()
}
