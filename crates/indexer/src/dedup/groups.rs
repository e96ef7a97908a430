//! Groups of a deduplication as printed for the user, with the beginning of each text.

use std::collections::HashMap;
use std::fmt;

use engine::dedup::{Original, Verdict};
use index::{DocumentId, Nearness};
use minhash::Similarity;

use crate::excerpt::excerpt;
use crate::numbers::Grouped;
use crate::pipeline::Fingerprinted;

/// Duplicates shown in one group.
const SHOWN_PER_GROUP: usize = 10;

/// Columns of an excerpt, for one line of a terminal.
pub(crate) const EXCERPT_COLUMNS: usize = 60;

/// Bound on the kept documents whose beginnings are held for later duplicates.
const EXCERPTS_MAX: usize = 200_000;

/// The first groups found, each with the duplicates of one kept document.
pub(crate) struct Groups {
    n_shown: usize,
    shown: Vec<Group>,
    /// Index into `shown` by kept document; beyond its length for groups that are only counted.
    by_kept: HashMap<DocumentId, usize>,
    excerpts: HashMap<DocumentId, Box<str>>,
}

struct Group {
    kept: DocumentId,
    excerpt: Box<str>,
    n_duplicates: u64,
    duplicates: Vec<(DocumentId, Nearness, Box<str>)>,
}

impl Groups {
    pub(crate) fn new(n_shown: usize) -> Self {
        Self { n_shown, shown: Vec::new(), by_kept: HashMap::new(), excerpts: HashMap::new() }
    }

    /// Notes a document and its verdict.
    pub(crate) fn add(&mut self, document: &Fingerprinted, verdict: &Verdict) {
        match verdict {
            Verdict::Kept => {
                if let Some(&number) = self.by_kept.get(&document.id) {
                    // Duplicates of this document came before it.
                    if let Some(group) = self.shown.get_mut(number) {
                        group.excerpt = line(document);
                    }
                } else if document.features.is_some()
                    && self.shown.len() < self.n_shown
                    && self.excerpts.len() < EXCERPTS_MAX
                {
                    self.excerpts.insert(document.id.clone(), line(document));
                }
            }
            Verdict::Duplicate { of, .. } => self.add_duplicate(document, of),
        }
    }

    fn add_duplicate(&mut self, document: &Fingerprinted, of: &Original) {
        let n_groups = self.by_kept.len();
        let number = *self.by_kept.entry(of.id.clone()).or_insert(n_groups);
        if number == self.shown.len() && number < self.n_shown {
            let without = if of.in_this_run { "(beginning not held)" } else { "(in the index before)" };
            let excerpt = self.excerpts.remove(&of.id).unwrap_or_else(|| without.into());
            self.shown.push(Group { kept: of.id.clone(), excerpt, n_duplicates: 0, duplicates: Vec::new() });
        }
        if let Some(group) = self.shown.get_mut(number) {
            group.n_duplicates += 1;
            if group.duplicates.len() < SHOWN_PER_GROUP {
                group.duplicates.push((document.id.clone(), of.nearness, line(document)));
            }
        }
    }
}

/// A similarity in percent, rounded down: only equal texts show 100 %.
struct Percent(Similarity);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:3.0} %", (self.0.get() * 100.0 + 1e-9).floor())
    }
}

/// Cuts the excerpt, which is longer if a report needs more.
fn line(document: &Fingerprinted) -> Box<str> {
    excerpt(&document.excerpt, EXCERPT_COLUMNS).into()
}

impl fmt::Display for Groups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for group in &self.shown {
            writeln!(f, "kept      {}  {}", group.kept, group.excerpt)?;
            for (id, Nearness { similarity, distance, .. }, excerpt) in &group.duplicates {
                match similarity {
                    // Signatures are precise to about two decimals.
                    Some(similarity) => writeln!(f, "  {}  {id}  {excerpt}", Percent(*similarity))?,
                    None => {
                        let unit = if distance.as_bits() == 1 { "bit " } else { "bits" };
                        writeln!(f, "  {distance} {unit}  {id}  {excerpt}")?;
                    }
                }
            }
            let more = group.n_duplicates - group.duplicates.len() as u64;
            if more > 0 {
                writeln!(f, "  and {} more", Grouped(more))?;
            }
            writeln!(f)?;
        }
        let n_groups = self.by_kept.len();
        write!(
            f,
            "{} {} of near-duplicates",
            Grouped(n_groups as u64),
            if n_groups == 1 { "group" } else { "groups" }
        )?;
        if n_groups > self.shown.len() {
            let n_shown = self.shown.len();
            let verb = if n_shown == 1 { "is" } else { "are" };
            write!(
                f,
                ", of which {n_shown} {verb} shown (--groups N shows more, --duplicates FILE has all)"
            )?;
        }
        writeln!(f)
    }
}
