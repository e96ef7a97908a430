//! The reads and confirmations of a search as an index grows, over real texts: their sentences, and
//! each two that follow one another.
//!
//! `cargo bench -p pigeonhole-engine --bench growth -- [OPTION…] FILE.jsonl[.gz]…`, where an option
//! is `--profile NAME` or `--frame CHARACTERS`.
//!
//! With `--frame` every text begins with the first characters of the first document, as pages of
//! one site do.
#![expect(clippy::print_stdout, reason = "the table is its output")]

#[path = "../../features/benches/data/mod.rs"]
#[expect(dead_code, reason = "its clock is for work on one thread")]
mod data;

use std::path::Path;
use std::time::{Duration, Instant};

use index::{Document, DocumentId, Features, MemoryStore, Profile, Rule, Sketch, Store};
use minhash::Similarity;
use pigeonhole_engine::{Engine, Options, Outcome, Text};

/// The numbers of offered texts at which a line is printed; the last is that of all texts.
const SIZES: [usize; 6] = [10_000, 30_000, 100_000, 300_000, 1_000_000, usize::MAX];
const QUERIES: usize = 1_000;
const BATCH: usize = 1_000;
/// The least number of characters of a sentence; shorter ones are left out.
const CHARACTERS_MIN: usize = 8;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (mut profile, mut frame_len, mut paths) = (Profile::Full, 0, Vec::new());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--profile" => {
                profile = args.next().and_then(|name| name.parse().ok()).expect("--profile NAME");
            }
            "--frame" => {
                frame_len = args.next().and_then(|len| len.parse().ok()).expect("--frame CHARACTERS");
            }
            _ => paths.push(arg),
        }
    }
    if paths.is_empty() {
        println!("skipped: no JSONL file given");
        return;
    }
    let documents: Vec<String> = paths.iter().flat_map(|path| data::read(Path::new(path))).collect();
    let frame: String = documents[0].chars().take(frame_len).collect();
    let mut texts: Vec<String> = documents.iter().flat_map(|document| sentences(document)).collect();
    drop(documents);
    shuffle(&mut texts);
    texts.iter_mut().for_each(|text| text.insert_str(0, &frame));
    let engine = Engine::open("memory:", &Options { profile: Some(profile), ..Options::default() })
        .expect("an index in memory");
    // This rule confirms every comparison, to count the proposals.
    let same = MemoryStore::new();
    same.create(engine.index().metadata()).expect("memory takes it in");
    println!(
        "{profile}, {} texts, {:.0} MB\n",
        texts.len(),
        texts.iter().map(String::len).sum::<usize>() as f64 / 1e6
    );
    println!(
        "| texts | kept | texts/s | rows read a search | left by the bits | confirmed | ms a search |\n\
         |---|---|---|---|---|---|---|"
    );
    let (mut n_offered, mut n_kept) = (0, 0);
    for size in SIZES {
        let size = size.min(texts.len());
        if size == n_offered {
            break;
        }
        let mut took = Duration::ZERO;
        for (place, batch) in texts[n_offered..size].chunks(BATCH).enumerate() {
            let batch = named(n_offered + place * BATCH, batch);
            let started = Instant::now();
            let outcomes = engine.insert_if_new(&batch).expect("memory takes it in");
            took += started.elapsed();
            let new: Vec<Document> = batch
                .iter()
                .zip(outcomes)
                .filter(|(_, outcome)| *outcome == Outcome::Inserted)
                .flat_map(|(Text { id, text, .. }, _)| {
                    sketches(&engine, &[text]).into_iter().map(|sketch| Document {
                        id: id.clone(),
                        sketch,
                        source: None,
                    })
                })
                .collect();
            same.insert(&new).expect("memory takes it in");
            n_kept += new.len();
        }
        let per_second = (size - n_offered) as f64 / took.as_secs_f64();
        n_offered = size;
        line(&engine, &same, &texts[..size], n_kept, per_second);
    }
}

fn named(from: usize, texts: &[String]) -> Vec<Text<'_>> {
    let id = |n: usize| DocumentId::new(n.to_string()).expect("digits");
    (from..).zip(texts).map(|(number, text)| Text::new(id(number), text)).collect()
}

fn line(engine: &Engine, same: &MemoryStore, texts: &[String], n_kept: usize, per_second: f64) {
    let queries: Vec<&str> =
        texts.iter().step_by(texts.len().div_ceil(QUERIES)).map(String::as_str).collect();
    let queries: Vec<Sketch> = sketches(engine, &queries);
    let features: Vec<Features> = queries.iter().map(|sketch| sketch.features().clone()).collect();
    let rule = engine.index().rule();
    let started = Instant::now();
    let found = engine.index().near(&features, &rule, 10).expect("it searches");
    let ms = started.elapsed().as_secs_f64() * 1e3 / queries.len() as f64;
    let all = Rule { min_similarity: Some(Similarity::ZERO), ..rule };
    let proposed = same.near(&queries, &all, 0).expect("it searches");
    let mean = |sum: u64| sum as f64 / queries.len() as f64;
    println!(
        "| {} | {n_kept} | {per_second:.0} | {:.2} | {:.2} | {:.2} | {ms:.3} |",
        texts.len(),
        mean(found.iter().map(|found| found.cost.n_candidates).sum()),
        mean(proposed.iter().map(|found| found.n_matches).sum()),
        mean(found.iter().map(|found| found.n_matches).sum()),
    );
}

/// Sketches as the index files them.
fn sketches(engine: &Engine, texts: &[&str]) -> Vec<Sketch> {
    let kind = engine.index().kind();
    engine.features(texts).into_iter().flatten().map(|features| kind.sketch(features)).collect()
}

/// The sentences of a text, and each two that follow one another.
fn sentences(text: &str) -> Vec<String> {
    let single: Vec<&str> = text
        .split(['\n', '。', '！', '？'])
        .flat_map(|part| part.split(". "))
        .map(str::trim)
        .filter(|sentence| sentence.chars().count() >= CHARACTERS_MIN)
        .collect();
    let double = single.chunks_exact(2).map(|two| two.join(" "));
    double.chain(single.iter().map(ToString::to_string)).collect()
}

/// Shuffles by the algorithm of Fisher and Yates with a linear congruential generator: the same
/// texts give the same order.
fn shuffle(texts: &mut [String]) {
    let mut state = 20_u64;
    for last in (1..texts.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        texts.swap(last, (state >> 33) as usize % (last + 1));
    }
}
