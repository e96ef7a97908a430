//! Files of parts of a corpus, and their sum.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, bail, ensure};
use features::document_frequencies::{Header, Reader};

/// A file of document frequencies as part of a sum.
pub(crate) struct Part {
    /// The name in errors.
    name: String,
    reader: Reader<Box<dyn BufRead + Send>>,
}

impl Part {
    /// Opens a file named by the user.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("failed to open {name}"))?;
        Self::new(name, Box::new(BufReader::new(file)))
    }

    pub(super) fn new(name: String, input: Box<dyn BufRead + Send>) -> anyhow::Result<Self> {
        let reader = Reader::new(input).with_context(|| format!("failed to read {name}"))?;
        Ok(Self { name, reader })
    }

    pub(crate) fn header(&self) -> &Header {
        self.reader.header()
    }

    /// Refuses a part counted differently from the first one, or without its rare terms.
    pub(crate) fn check_addable(&self, first: &Self) -> anyhow::Result<()> {
        let name = &self.name;
        let min_df = self.header().min_df;
        ensure!(
            min_df == 1,
            "{name} cannot be added to others: it leaves out terms of fewer than {min_df} documents (`min-df`); count it \
             again with --min-df 1"
        );
        if let Some((field, value, first_value)) = self.header().difference(first.header()) {
            let first = &first.name;
            bail!(
                "{name} was counted with another `{field}` than {first}: with {value}, and there it is {first_value}"
            );
        }
        Ok(())
    }

    fn next_term(&mut self) -> anyhow::Result<Option<(String, u64)>> {
        let next = self.reader.next_term().with_context(|| format!("failed to read {}", self.name))?;
        Ok(next.map(|(term, n_documents)| (term.to_owned(), n_documents)))
    }
}

/// The header of the sum of parts, at least one.
pub(crate) fn header_of_sum(parts: &[Part]) -> anyhow::Result<Header> {
    let n_documents = parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.header().n_documents));
    let mut header = parts[0].header().clone();
    header.n_documents = n_documents.context("the parts have more documents than can be counted")?;
    Ok(header)
}

/// Passes each term of all parts to `emit`, sorted, with the sum of its counts.
pub(crate) fn merge(
    mut parts: Vec<Part>,
    mut emit: impl FnMut(&str, u64) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // The next term of each unfinished part.
    let mut next = BinaryHeap::new();
    for (i, part) in parts.iter_mut().enumerate() {
        next.extend(part.next_term()?.map(|(term, n_documents)| Reverse((term, i, n_documents))));
    }
    let mut sum: Option<(String, u64)> = None;
    while let Some(Reverse((term, i, n_documents))) = next.pop() {
        next.extend(parts[i].next_term()?.map(|(term, n_documents)| Reverse((term, i, n_documents))));
        match &mut sum {
            // No overflow: a count is at most the number of documents of its part, and the sum of
            // these fits.
            Some((present, sum)) if *present == term => *sum += n_documents,
            _ => {
                if let Some((term, n_documents)) = sum.replace((term, n_documents)) {
                    emit(&term, n_documents)?;
                }
            }
        }
    }
    sum.map_or(Ok(()), |(term, n_documents)| emit(&term, n_documents))
}
