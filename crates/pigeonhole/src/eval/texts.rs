//! A corpus in memory, with all that verdicts and the truth are made of.

use std::num::NonZeroUsize;
use std::thread;

use anyhow::{Context, ensure};
use corpus::{Fields, InputOptions, Inputs};
use features::shingles::{ShingleSets, TextSketcher};
use features::{Fingerprinter, Scratch};
use minhash::{Filing, Signature};
use simhash::Fingerprint;

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
    pub(super) rows: Vec<Vec<Filing>>,
    /// `None` where a text has nothing to be compared by.
    pub(super) signatures: Vec<Option<Signature>>,
    pub(super) n_rejected: u64,
}

/// What one text gave.
struct Read {
    length: usize,
    sets: ShingleSets,
    fingerprint: Option<Fingerprint>,
    rows: Vec<Filing>,
    signature: Option<Signature>,
}

impl Texts {
    pub(super) fn read(
        options: &InputOptions,
        fingerprinter: &Fingerprinter,
        progress: &mut Progress,
    ) -> anyhow::Result<Self> {
        let mut texts = Self::default();
        for document in Inputs::open(options)?.documents(Fields::of(options)) {
            match document {
                Ok(document) => {
                    texts.ids.push(document.id.as_str().to_owned());
                    texts.texts.push(document.text);
                    progress.show(format_args!("{} documents read", texts.ids.len()));
                }
                Err(rejected) => {
                    texts.n_rejected += 1;
                    if texts.n_rejected <= NAMED_MAX {
                        complain(format_args!("rejected {}", program::line(&rejected.to_string())));
                    }
                }
            }
        }
        ensure!(u32::try_from(texts.len()).is_ok(), "a corpus to evaluate has fewer than 2^32 documents");
        let n_threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let n_each = texts.len().div_ceil(n_threads).max(1);
        let parts: Vec<Vec<Read>> = thread::scope(|scope| {
            let parts: Vec<_> = texts
                .texts
                .chunks(n_each)
                .map(|texts| scope.spawn(move || read_all(texts, fingerprinter)))
                .collect();
            parts.into_iter().map(|part| part.join().ok()).collect::<Option<_>>()
        })
        .context("a thread that sketches texts has ended early; report a bug")?;
        for Read { length, sets, fingerprint, rows, signature } in parts.into_iter().flatten() {
            texts.lengths.push(length);
            texts.sets.push(sets);
            texts.fingerprints.push(fingerprint);
            texts.rows.push(rows);
            texts.signatures.push(signature);
        }
        Ok(texts)
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
    let read = |text: &String| {
        let signature = sketcher.signature(text);
        Read {
            length: text.chars().count(),
            sets: sketcher.sets(text),
            fingerprint: fingerprinter.fingerprint_with(&mut scratch, text),
            rows: signature.as_ref().map(Signature::filings).unwrap_or_default(),
            signature,
        }
    };
    texts.iter().map(read).collect()
}
