//! Makes a corpus of any size from the paragraphs of real ones, for measurements. Prints JSON
//! Lines.
//!
//! ```text
//! cargo run --release -p indexer --example synthetic -- BYTES SEED CORPUS…
//! ```
//! A document is 4 to 24 paragraphs of one corpus (JSON Lines, plain or gzip, text in `text`),
//! drawn at random. Three in ten documents repeat one of the 100,000 before them, with none to
//! three paragraphs changed in two characters. The same arguments make the same bytes.

#![expect(clippy::disallowed_methods, reason = "what it makes goes to a file or a measurement")]
#![expect(clippy::unwrap_used, reason = "what goes wrong here ends a measurement")]

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

/// Drops shorter paragraphs: headings and the like.
const PARAGRAPH_CHARS_MIN: usize = 60;

/// The number of latest documents that may be repeated.
const LATEST: usize = 100_000;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [n_bytes, seed, paths @ ..] = &args[..] else { panic!("usage: synthetic BYTES SEED CORPUS…") };
    let (n_bytes, mut random): (u64, _) = (n_bytes.parse().unwrap(), Random(seed.parse().unwrap()));
    let corpora: Vec<Corpus> = paths.iter().map(|path| Corpus::read(path)).collect();
    let n_paragraphs: usize = corpora.iter().map(|corpus| corpus.paragraphs.len()).sum();
    let mut output = BufWriter::new(std::io::stdout().lock());
    let (mut n_written, mut latest) = (0, VecDeque::<(usize, Vec<usize>)>::new());
    for n in 0u64.. {
        let is_repeated = !latest.is_empty() && random.below(0..10) < 3;
        let (corpus, paragraphs) = if is_repeated {
            latest[random.below(0..latest.len())].clone()
        } else {
            // Draws a corpus in proportion to its size.
            let corpus = corpus_of(&corpora, random.below(0..n_paragraphs));
            let len = corpora[corpus].paragraphs.len();
            (corpus, (0..random.below(4..25)).map(|_| random.below(0..len)).collect())
        };
        let Corpus { name, paragraphs: all } = &corpora[corpus];
        let mut texts: Vec<String> = paragraphs.iter().map(|&paragraph| all[paragraph].clone()).collect();
        if is_repeated {
            for _ in 0..random.below(0..4) {
                let changed = random.below(0..texts.len());
                let other = &all[random.below(0..all.len())];
                texts[changed] = with_two_of(&texts[changed], other, &mut random);
            }
        }
        let line =
            json!({ "id": format!("{name}-{n:09}"), "source": name, "text": texts.join("\n") }).to_string();
        writeln!(output, "{line}").unwrap();
        n_written += line.len() as u64 + 1;
        if n_written >= n_bytes {
            break;
        }
        latest.push_back((corpus, paragraphs));
        if latest.len() > LATEST {
            latest.pop_front();
        }
    }
    output.flush().unwrap();
}

/// The corpus of the `n`th of all paragraphs.
fn corpus_of(corpora: &[Corpus], n: usize) -> usize {
    let mut end = 0;
    let ends = corpora.iter().map(|corpus| {
        end += corpus.paragraphs.len();
        end
    });
    ends.take_while(|&end| end <= n).count()
}

/// Replaces two characters of `paragraph` by two of `other`.
fn with_two_of(paragraph: &str, other: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = paragraph.chars().collect();
    let other: Vec<char> = other.chars().collect();
    let (from, to) = (random.below(0..other.len() - 1), random.below(0..chars.len() - 1));
    chars[to..to + 2].copy_from_slice(&other[from..from + 2]);
    chars.into_iter().collect()
}

struct Corpus {
    name: String,
    paragraphs: Vec<String>,
}

impl Corpus {
    fn read(path: &str) -> Self {
        let file = File::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let reader: Box<dyn Read> =
            if path.ends_with(".gz") { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        let mut paragraphs = Vec::new();
        for line in BufReader::new(reader).lines() {
            let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let text = record["text"].as_str().unwrap();
            paragraphs.extend(
                text.lines().filter(|line| line.chars().count() >= PARAGRAPH_CHARS_MIN).map(str::to_owned),
            );
        }
        assert!(!paragraphs.is_empty(), "{path} has no paragraph of {PARAGRAPH_CHARS_MIN} characters");
        let name = Path::new(path).file_name().unwrap().to_str().unwrap();
        Self { name: name.split('.').next().unwrap_or(name).to_owned(), paragraphs }
    }
}

/// The splitmix64 generator.
struct Random(u64);

impl Random {
    fn below(&mut self, range: Range<usize>) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        range.start + ((z ^ (z >> 31)) % range.len() as u64) as usize
    }
}
