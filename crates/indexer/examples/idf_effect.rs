//! What an idf dictionary does to precision and recall: a table on standard output.
//!
//! ```text
//! cargo run --release --locked -p indexer --example idf_effect -- CORPUS.jsonl.gz jieba IDF…
//! ```
//! A row for each dictionary, `jieba` being the one that comes with the program. Pairs are those within 3 bits, by comparing
//! all; what they are worth is told by the exact Jaccard similarity J of the texts' sets of five characters in a row, after
//! NFKC, lower case, and white space made one space. Nothing in it is random.

#![expect(clippy::disallowed_methods, reason = "what it makes goes to a file or a measurement")]
#![expect(clippy::unwrap_used, reason = "what goes wrong here ends a measurement")]

use std::cmp::Ordering;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use features::cli::{RecipeArgs, TermArgs};
use features::{Fingerprinter, Scratch, Segmenter, Weights};
use flate2::read::MultiGzDecoder;
use serde_json::Value;

const MAX_DISTANCE: u32 = 3;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [corpus, dictionaries @ ..] = &args[..] else {
        panic!("usage: idf_effect CORPUS.jsonl.gz jieba IDF…")
    };
    let texts: Vec<String> = BufReader::new(MultiGzDecoder::new(File::open(corpus).unwrap()))
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(&line.unwrap()).unwrap()["text"].as_str().unwrap().to_owned()
        })
        .collect();
    let sets = five_grams(&texts);
    let n_true = pairs(texts.len()).filter(|&(a, b)| is_at_least(&sets[a], &sets[b], 0.8)).count();
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{} texts, {n_true} pairs of J >= 0.8", texts.len()).unwrap();
    writeln!(stdout, "| idf | pairs found | J >= 0.8 | J >= 0.4 | of the pairs of J >= 0.8 found |").unwrap();
    writeln!(stdout, "|---|---|---|---|---|").unwrap();
    for dictionary in dictionaries {
        let idf = (dictionary != "jieba").then(|| PathBuf::from(dictionary));
        let fingerprinter = fingerprinter(&RecipeArgs { idf, ..RecipeArgs::default() });
        let fingerprints: Vec<_> = texts.iter().map(|text| fingerprinter.fingerprint(text)).collect();
        let found: Vec<(usize, usize)> = pairs(texts.len())
            .filter(|&(a, b)| match (fingerprints[a], fingerprints[b]) {
                (Some(a), Some(b)) => a.distance(b).as_bits() <= MAX_DISTANCE,
                _ => false,
            })
            .collect();
        let n = |least| found.iter().filter(|&&(a, b)| is_at_least(&sets[a], &sets[b], least)).count();
        let (n_near, n_related) = (n(0.8), n(0.4));
        let percent = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
        let n_found = found.len();
        writeln!(
            stdout,
            "| {dictionary} | {n_found} | {n_near} ({:.1} %) | {n_related} ({:.1} %) | {:.1} % |",
            percent(n_near, n_found),
            percent(n_related, n_found),
            percent(n_near, n_true)
        )
        .unwrap();
    }
}

fn fingerprinter(args: &RecipeArgs) -> Fingerprinter {
    let dictionaries = args.dictionaries().unwrap();
    Fingerprinter::new(args.recipe(&dictionaries), &dictionaries).unwrap()
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |b| (0..b).map(move |a| (a, b)))
}

/// For each text the hashes of its five characters in a row, sorted, none twice.
fn five_grams(texts: &[String]) -> Vec<Vec<u64>> {
    let terms =
        TermArgs { segmenter: Some(Segmenter::CharNgrams(5)), simplify: Some(false), ..TermArgs::default() };
    let maker =
        fingerprinter(&RecipeArgs { terms, weights: Some(Weights::Uniform), ..RecipeArgs::default() });
    let mut scratch = Scratch::new();
    let five_grams = |text: &String| {
        let mut set = Vec::new();
        maker.for_each_term(&mut scratch, text, |term| {
            let mut hasher = DefaultHasher::new();
            term.hash(&mut hasher);
            set.push(hasher.finish());
        });
        set.sort_unstable();
        set
    };
    texts.iter().map(five_grams).collect()
}

/// Whether J is at least so much. It is at most the lesser size over the greater one, which spares most comparisons.
fn is_at_least(a: &[u64], b: &[u64], least: f64) -> bool {
    let (less, greater) = (a.len().min(b.len()) as f64, a.len().max(b.len()) as f64);
    if less < least * greater || greater == 0.0 {
        return false;
    }
    let (mut i, mut j, mut n_common) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            Ordering::Less => i += 1,
            Ordering::Greater => j += 1,
            Ordering::Equal => {
                (i, j) = (i + 1, j + 1);
                n_common += 1;
            }
        }
    }
    f64::from(n_common) >= least * (a.len() + b.len()) as f64 - least * f64::from(n_common)
}
