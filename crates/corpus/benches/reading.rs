//! Bytes of a file → ids and texts, on one thread.
//!
//! `cargo bench -p pigeonhole-corpus --bench reading -- FILE…` prints for each file the records,
//! the megabytes of the file as it lies there, and megabytes a processor second: the median of
//! [`ROUNDS`] rounds. A page of HTML gives all of its text; its main text has figures of its own.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::{env, fs};

use pigeonhole_corpus::{Fields, InputOptions, Inputs, PageText};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 5;

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Reads all records; returns their number and the number of rejected ones.
fn read(path: &Path) -> (usize, usize) {
    let mut options = InputOptions::of([path]);
    options.records.html = PageText::Text;
    options.make_ids = true;
    let inputs = Inputs::open(&options).expect("the file can be read");
    let (mut n_read, mut n_rejected) = (0, 0);
    for document in inputs.documents(Fields::of(&options)) {
        n_read += 1;
        n_rejected += usize::from(black_box(document).is_err());
    }
    (n_read, n_rejected)
}

fn main() {
    let files: Vec<PathBuf> =
        env::args_os().skip(1).map(PathBuf::from).filter(|path| path.is_file()).collect();
    if files.is_empty() {
        println!("skipped: no files given");
    }
    for path in files {
        let n_bytes = fs::metadata(&path).expect("the file is there").len();
        let mut rates: Vec<f64> = Vec::new();
        let mut counts = (0, 0);
        for _ in 0..ROUNDS {
            let started = cpu_seconds();
            counts = read(&path);
            rates.push(n_bytes as f64 / 1e6 / (cpu_seconds() - started));
        }
        rates.sort_by(f64::total_cmp);
        let (n_read, n_rejected) = counts;
        println!(
            "{}: {n_read} records, {n_rejected} rejected, {:.1} MB, {:.0} MB/s",
            path.display(),
            n_bytes as f64 / 1e6,
            rates[ROUNDS / 2]
        );
    }
}
