//! Text → sketch on one thread, the whole way and its parts.
//!
//! `cargo bench -p pigeonhole-features --bench shingles -- FILE.jsonl[.gz]…`, by the newest normal
//! form, or by another: `PIGEONHOLE_BENCH_FORM=1`, or `folded` for one without diacritics.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod data;

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use data::{cpu_seconds, read};
use minhash::FilingScheme;
use pigeonhole_features::NormalForm;
use pigeonhole_features::shingles::TextSketcher;

const ROUNDS: usize = 5;
const ROUND_MS: u128 = 200;

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    if paths.is_empty() {
        println!("skipped: no JSONL file given");
        return;
    }
    let form = match std::env::var("PIGEONHOLE_BENCH_FORM").as_deref() {
        Ok("1") => NormalForm::FIRST,
        Ok("folded") => NormalForm { fold_diacritics: true, ..NormalForm::default() },
        _ => NormalForm::default(),
    };
    println!("| file | texts | bytes a text | MB/s | texts/s | with keys, MB/s |\n|---|---|---|---|---|---|");
    for path in paths {
        let texts = read(Path::new(&path));
        let bytes: usize = texts.iter().map(String::len).sum();
        let mut sketcher = TextSketcher::new(form);
        let scheme = FilingScheme::default();
        let sketch_s = median_s(|| {
            for text in &texts {
                black_box(sketcher.signature(text));
            }
        });
        let whole_s = median_s(|| {
            for text in &texts {
                let signature = sketcher.signature(text);
                let filings = signature.iter().flat_map(|signature| scheme.filings(signature));
                black_box(filings.flat_map(|filing| filing.keys().collect::<Vec<_>>()).count());
            }
        });
        let name =
            Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.split('.').next().unwrap_or_default();
        let (n_texts, mb) = (texts.len(), bytes as f64 / 1e6);
        println!(
            "| {name} | {n_texts} | {} | {:.0} | {:.0} | {:.0} |",
            bytes / n_texts,
            mb / sketch_s,
            n_texts as f64 / sketch_s,
            mb / whole_s
        );
    }
}

/// Processor seconds of the median round.
fn median_s(mut work: impl FnMut()) -> f64 {
    let started = Instant::now();
    let now = || cpu_seconds().unwrap_or_else(|| started.elapsed().as_secs_f64());
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            // The system counts processor time in ticks of some milliseconds.
            let (before, wall, mut n_done) = (now(), Instant::now(), 0.0);
            while wall.elapsed().as_millis() < ROUND_MS {
                work();
                n_done += 1.0;
            }
            (now() - before) / n_done
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}
