//! Text → fingerprint on one thread, recipe by recipe, beside jieba-rs's own `cut` and `TfIdf` on
//! the same text.
//!
//! `cargo bench -p pigeonhole-features --bench throughput -- FILE.jsonl[.gz]`, or the path in
//! `PIGEONHOLE_BENCH_TEXT`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod data;

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use data::{cpu_seconds, read};
use jieba_rs::{Jieba, KeywordExtract, TfIdf};
use pigeonhole_features::{Dictionaries, Fingerprinter, Recipe, Scratch, Segmenter, Weights};

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
    let clock = if cpu_seconds().is_some() { "processor" } else { "wall-clock" };
    let (path, n_texts, mb) = (path.display(), texts.len(), bytes as f64 / 1e6);
    println!("{path}: {n_texts} texts, {mb:.1} MB; median of {ROUNDS} rounds, {clock} time");

    let started = Instant::now();
    let jieba = Jieba::new();
    println!("Jieba::new alone: {:.0} ms", ms(started));
    let mut subjects: Vec<Subject> =
        RECIPES.into_iter().map(|recipe| fingerprinter(recipe, &texts)).collect();
    let jieba = &jieba;
    for hmm in [true, false] {
        let name = format!("jieba-rs cut, hmm {hmm}");
        subjects.push(Subject::new(name, &texts, move |text| drop(black_box(jieba.cut(text, hmm)))));
    }
    let tf_idf = TfIdf::default();
    subjects.push(Subject::new("jieba-rs TfIdf top 200".to_owned(), &texts, move |text| {
        drop(black_box(tf_idf.extract_keywords(jieba, text, 200, vec![])));
    }));

    // All in every round: a noisy minute does not fall on one of them.
    for _ in 0..=ROUNDS {
        subjects.iter_mut().for_each(|subject| subject.round());
    }
    for subject in &mut subjects {
        subject.report(bytes);
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn fingerprinter(
    (segmenter, weights, top_terms): (Segmenter, Weights, u32),
    texts: &[String],
) -> Subject<'_> {
    let recipe = Recipe { segmenter, weights, top_terms, ..Recipe::default() };
    let recipe = recipe.with_dictionaries(&Dictionaries::default());
    let started = Instant::now();
    let fingerprinter = Fingerprinter::new(recipe, &Dictionaries::default()).expect("nothing to mismatch");
    println!("Fingerprinter::new, {segmenter} {weights}: {:.0} ms", ms(started));
    let mut scratch = Scratch::new();
    Subject::new(format!("{segmenter} {weights} {top_terms}"), texts, move |text| {
        black_box(fingerprinter.fingerprint_with(&mut scratch, text));
    })
}

/// A method applied to every text, and the time of each round.
struct Subject<'t> {
    name: String,
    texts: &'t [String],
    work: Box<dyn FnMut(&str) + 't>,
    seconds: Vec<f64>,
}

impl<'t> Subject<'t> {
    fn new(name: String, texts: &'t [String], work: impl FnMut(&str) + 't) -> Self {
        Self { name, texts, work: Box::new(work), seconds: Vec::new() }
    }

    fn round(&mut self) {
        let (started, cpu_started) = (Instant::now(), cpu_seconds());
        self.texts.iter().for_each(|text| (self.work)(text));
        let wall = started.elapsed().as_secs_f64();
        self.seconds.push(cpu_seconds().zip(cpu_started).map_or(wall, |(end, start)| end - start));
    }

    /// The median of all rounds but the first, which warms up.
    fn report(&mut self, bytes: usize) {
        let rounds = &mut self.seconds[1..];
        rounds.sort_by(f64::total_cmp);
        let rate = |seconds: f64| bytes as f64 / 1e6 / seconds;
        let [slowest, median, fastest] = [ROUNDS - 1, ROUNDS / 2, 0].map(|i| rate(rounds[i]));
        println!("{:<24}{median:>8.1} MB/s ({slowest:.1} to {fastest:.1})", self.name);
    }
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
