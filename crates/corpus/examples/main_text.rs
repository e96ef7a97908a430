//! Writes the main texts of a folder of pages as JSON, by the names of their files: the input of
//! `evaluate.py` of article-extraction-benchmark.
#![expect(clippy::print_stdout, reason = "it says what it did")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use pigeonhole_corpus::{Fields, InputOptions, Inputs};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, output] = &args[..] else { return Err("usage: main_text FOLDER OUTPUT".into()) };
    let options = InputOptions::of([folder]);
    let (start, inputs) = (Instant::now(), Inputs::open(&options)?);
    let n_bytes = inputs.n_bytes.unwrap_or_default();
    let (mut texts, mut n_rejected) = (BTreeMap::new(), 0);
    for document in inputs.documents(Fields::of(&options)) {
        let Ok(document) = document else {
            n_rejected += 1;
            continue;
        };
        let name = Path::new(document.id.as_str()).file_stem().unwrap_or_default();
        texts.insert(name.to_string_lossy().into_owned(), json!({ "articleBody": document.text }));
    }
    let seconds = start.elapsed().as_secs_f64();
    let speed = n_bytes as f64 / 1e6 / seconds;
    println!("{} pages, {n_rejected} rejected, {speed:.1} MB/s", texts.len());
    std::fs::write(output, serde_json::to_string(&texts)?)?;
    Ok(())
}
