//! A corpus in memory, with all that verdicts and the truth are made of.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use corpus::{FieldNames, FieldPath, Fields, InputOptions, Inputs};
use features::shingles::{ShingleSets, TextSketcher};
use features::{Fingerprinter, Scratch};
use minhash::{BandScheme, Signature};
use simhash::{Fingerprint, Sketch};

use crate::progress::{Progress, complain};

/// So many rejected records are named; the others are counted.
const NAMED_MAX: u64 = 10;

/// Documents by number, in the order of the input.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) ids: Vec<String>,
    pub(super) texts: Vec<String>,
    /// In characters.
    pub(super) lengths: Vec<usize>,
    pub(super) sets: Vec<ShingleSets>,
    /// `None` where a text has no features.
    pub(super) fingerprints: Vec<Option<Fingerprint>>,
    /// Where each is filed by its bands.
    pub(super) rows: Vec<Vec<Sketch>>,
    /// `None` where a text has nothing to be compared by.
    pub(super) signatures: Vec<Option<Signature>>,
    /// Of which family each is, by a number; `None` where its record names none, or nobody asks.
    pub(super) families: Vec<Option<u32>>,
    pub(super) n_rejected: u64,
    /// What fingerprints took, of all threads together.
    pub(super) fingerprinting: Duration,
    /// What bands and signatures took.
    pub(super) sketching: Duration,
}

/// What one text gave.
struct Read {
    length: usize,
    sets: ShingleSets,
    fingerprint: Option<Fingerprint>,
    rows: Vec<Sketch>,
    signature: Option<Signature>,
    fingerprinting: Duration,
    sketching: Duration,
}

impl Texts {
    /// Reads a whole corpus; `families` is the field that names the family of a document.
    pub(super) fn read(
        options: &InputOptions,
        families: Option<&FieldPath>,
        fingerprinter: &Fingerprinter,
        progress: &mut Progress,
    ) -> anyhow::Result<Self> {
        let mut texts = Self::default();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        // A family is read as the source of a document is: a short string, or an integer.
        let fields = Fields::new(FieldNames { source: families.cloned(), ..FieldNames::of(options) });
        for document in Inputs::open(options)?.documents(fields) {
            match document {
                Ok(document) => {
                    let next = numbers.len() as u32;
                    let number = |name: &str| *numbers.entry(name.to_owned()).or_insert(next);
                    texts.families.push(document.source.as_ref().map(|source| source.as_str()).map(number));
                    texts.ids.push(document.id.as_str().to_owned());
                    texts.texts.push(document.text);
                    progress.show(format_args!("{} documents read", texts.ids.len()));
                }
                Err(rejected) => {
                    texts.n_rejected += 1;
                    if texts.n_rejected <= NAMED_MAX {
                        let reason = rejected.to_string().replace("--source-field", "--families");
                        complain(format_args!("rejected {}", program::line(&reason)));
                    }
                }
            }
        }
        texts.sketch(fingerprinter)?;
        Ok(texts)
    }

    /// All that is made of the texts, by as many threads as there are processors.
    fn sketch(&mut self, fingerprinter: &Fingerprinter) -> anyhow::Result<()> {
        ensure!(u32::try_from(self.len()).is_ok(), "a corpus to evaluate has fewer than 2^32 documents");
        let n_threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let n_each = self.len().div_ceil(n_threads).max(1);
        let parts: Vec<Vec<Read>> = thread::scope(|scope| {
            let parts: Vec<_> = self
                .texts
                .chunks(n_each)
                .map(|texts| scope.spawn(move || read_all(texts, fingerprinter)))
                .collect();
            parts.into_iter().map(|part| part.join().ok()).collect::<Option<_>>()
        })
        .context("a thread that sketches texts has ended early; report a bug")?;
        for read in parts.into_iter().flatten() {
            self.lengths.push(read.length);
            self.sets.push(read.sets);
            self.fingerprints.push(read.fingerprint);
            self.rows.push(read.rows);
            self.signatures.push(read.signature);
            self.fingerprinting += read.fingerprinting;
            self.sketching += read.sketching;
        }
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Of the lengths in characters the one in the middle.
    pub(super) fn median_length(&self) -> usize {
        let mut lengths = self.lengths.clone();
        lengths.sort_unstable();
        lengths.get(lengths.len() / 2).copied().unwrap_or_default()
    }
}

fn read_all(texts: &[String], fingerprinter: &Fingerprinter) -> Vec<Read> {
    let (mut sketcher, mut scratch) = (TextSketcher::new(), Scratch::new());
    let (long, short) = (BandScheme::long(), BandScheme::short());
    let read = |text: &String| {
        let start = Instant::now();
        let fingerprint = fingerprinter.fingerprint_with(&mut scratch, text);
        let fingerprinting = start.elapsed();
        let start = Instant::now();
        let sketch = sketcher.sketch(text);
        let (rows, signature) = (sketch.sketches(&long, &short), sketch.signature());
        let sketching = start.elapsed();
        let (length, sets) = (text.chars().count(), sketcher.sets(text));
        Read { length, sets, fingerprint, rows, signature, fingerprinting, sketching }
    };
    texts.iter().map(read).collect()
}
