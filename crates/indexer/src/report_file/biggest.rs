//! The groups with the most duplicates, with the beginnings of their texts. The biggest groups are
//! known only at the end, and the texts of all groups until then would not fit into memory.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use engine::dedup::Original;
use index::{DocumentId, Nearness};
use minhash::Similarity;

use super::findings::step;
use super::{Example, Group};
use crate::pipeline::Fingerprinted;

/// Memory for the beginnings of the latest kept documents, for later duplicates.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Memory for the beginnings in groups. Beyond it, the smaller groups lose theirs.
const GROUPS_BYTES_MAX: usize = 64 << 20;

/// Bytes of a beginning beside its text.
const BEGINNING_BYTES: usize = 128;

pub(super) struct Biggest {
    groups: HashMap<DocumentId, Members>,
    /// Bytes of the beginnings in `groups`.
    n_bytes: usize,
    kept: Kept,
    groups_bytes_max: usize,
}

/// The duplicates of one kept document.
struct Members {
    /// Number of groups that began before this one.
    number: usize,
    n_duplicates: u64,
    kept: Option<Box<str>>,
    /// The first duplicate at each rung: examples as different as possible.
    examples: Vec<(u8, Example)>,
}

/// The beginnings of the latest kept documents.
#[derive(Default)]
struct Kept {
    beginnings: HashMap<DocumentId, Box<str>>,
    order: VecDeque<DocumentId>,
    n_bytes: usize,
}

impl Biggest {
    pub(super) fn new() -> Self {
        Self { groups: HashMap::new(), n_bytes: 0, kept: Kept::default(), groups_bytes_max: GROUPS_BYTES_MAX }
    }

    pub(super) fn add_kept(&mut self, document: &Fingerprinted) {
        match self.groups.get_mut(&document.id) {
            // Duplicates came before this document; the group may have lost its texts since.
            Some(group) if !group.examples.is_empty() => {
                self.n_bytes += document.excerpt.len() + BEGINNING_BYTES;
                group.kept = Some(document.excerpt.clone());
            }
            Some(_) => {}
            None => self.kept.add(document, KEPT_BYTES_MAX),
        }
    }

    pub(super) fn add_duplicate(&mut self, document: &Fingerprinted, of: &Original) {
        let number = self.groups.len();
        let group = self.groups.entry(of.id.clone()).or_insert_with(|| {
            let kept = self.kept.beginnings.remove(&of.id);
            self.n_bytes += kept.as_ref().map_or(0, |text| text.len() + BEGINNING_BYTES);
            Members { number, n_duplicates: 0, kept, examples: Vec::new() }
        });
        group.n_duplicates += 1;
        let rung = rung(of.nearness);
        if group.examples.iter().all(|(other, _)| *other != rung) {
            let example = Example {
                id: document.id.as_str().to_owned(),
                distance: of.nearness.distance.as_bits(),
                similarity: of.nearness.similarity.map(Similarity::four_decimals),
                excerpt: document.excerpt.to_string(),
            };
            self.n_bytes += n_bytes(&example);
            group.examples.push((rung, example));
        }
        if self.n_bytes > self.groups_bytes_max {
            self.forget_small();
        }
    }

    /// The beginning of a kept document, if it is in memory.
    pub(super) fn beginning(&self, id: &DocumentId) -> Option<&str> {
        let in_group = self.groups.get(id).and_then(|members| members.kept.as_deref());
        in_group.or_else(|| self.kept.beginnings.get(id).map(|text| &**text))
    }

    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The `n` groups with the most duplicates, equally big ones in the order of their beginnings.
    pub(super) fn first(&self, n: usize) -> Vec<Group> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_unstable_by_key(|(_, members)| members.rank());
        let group = |(kept, members): (&DocumentId, &Members)| {
            let mut examples = members.examples.clone();
            examples.sort_unstable_by_key(|(rung, _)| *rung);
            let examples = examples.into_iter().map(|(_, example)| example).collect();
            Group {
                kept: kept.as_str().to_owned(),
                excerpt: members.kept.as_deref().map(str::to_owned),
                n_duplicates: members.n_duplicates,
                examples,
            }
        };
        groups.into_iter().take(n).map(group).collect()
    }

    /// Removes the texts of the smaller groups, until the others fill half of the memory.
    fn forget_small(&mut self) {
        let mut groups: Vec<&mut Members> =
            self.groups.values_mut().filter(|members| members.n_bytes() > 0).collect();
        groups.sort_unstable_by_key(|members| members.rank());
        self.n_bytes = 0;
        for members in groups {
            if self.n_bytes + members.n_bytes() <= self.groups_bytes_max / 2 {
                self.n_bytes += members.n_bytes();
            } else {
                (members.kept, members.examples) = (None, Vec::new());
            }
        }
    }
}

/// The class of a duplicate by nearness, 0 for the nearest: by similarity in steps if known, else
/// by distance.
fn rung(Nearness { similarity, distance, .. }: Nearness) -> u8 {
    similarity.map_or(distance.as_bits() as u8, |similarity| 20 - step(similarity))
}

impl Members {
    fn rank(&self) -> (Reverse<u64>, usize) {
        (Reverse(self.n_duplicates), self.number)
    }

    fn n_bytes(&self) -> usize {
        let kept = self.kept.as_ref().map_or(0, |text| text.len() + BEGINNING_BYTES);
        kept + self.examples.iter().map(|(_, example)| n_bytes(example)).sum::<usize>()
    }
}

fn n_bytes(example: &Example) -> usize {
    example.id.len() + example.excerpt.len() + BEGINNING_BYTES
}

impl Kept {
    fn add(&mut self, document: &Fingerprinted, n_bytes_max: usize) {
        let n_bytes = |id: &DocumentId| 2 * id.as_str().len() + 2 * BEGINNING_BYTES;
        self.n_bytes += n_bytes(&document.id) + document.excerpt.len();
        self.beginnings.insert(document.id.clone(), document.excerpt.clone());
        self.order.push_back(document.id.clone());
        while self.n_bytes > n_bytes_max
            && let Some(oldest) = self.order.pop_front()
        {
            // The text may have moved to its group.
            let text = self.beginnings.remove(&oldest).map_or(0, |text| text.len());
            self.n_bytes = self.n_bytes.saturating_sub(n_bytes(&oldest) + text);
        }
    }
}

#[cfg(test)]
mod tests {
    use simhash::{Distance, Fingerprint};

    use super::*;

    fn document(id: &str, excerpt: &str) -> Fingerprinted {
        let document = Fingerprinted::of_features(id.parse().unwrap(), Some(Fingerprint(0).into()));
        Fingerprinted { n_text_bytes: excerpt.len(), excerpt: excerpt.into(), ..document }
    }

    fn add_duplicate(biggest: &mut Biggest, id: &str, of: &str, n_bits: u32) {
        let nearness = Nearness::by_distance(Distance::new(n_bits).unwrap());
        let of =
            Original { id: of.parse().unwrap(), fingerprint: Fingerprint(0), nearness, in_this_run: true };
        biggest.add_duplicate(&document(id, &format!("text of {id}")), &of);
    }

    #[test]
    fn the_big_keep_their_texts_and_the_small_their_counts() {
        let mut biggest = Biggest::new();
        biggest.groups_bytes_max = 20_000;
        for i in 0..1000 {
            biggest.add_kept(&document(&format!("kept {i}"), "x"));
            add_duplicate(&mut biggest, &format!("dup {i}"), &format!("kept {i}"), 2);
            // The 500th group grows all the time, at two distances.
            if i >= 500 {
                add_duplicate(&mut biggest, &format!("more {i}"), "kept 500", i % 2);
            }
            assert!(biggest.n_bytes <= 20_000);
        }
        let groups = biggest.first(1000);
        assert_eq!(groups.len(), 1000);
        assert_eq!((groups[0].kept.as_str(), groups[0].n_duplicates), ("kept 500", 501));
        assert_eq!(groups[0].excerpt.as_deref(), Some("x"));
        let examples: Vec<_> =
            groups[0].examples.iter().map(|example| (&*example.id, example.distance)).collect();
        assert_eq!(examples, [("more 500", 0), ("more 501", 1), ("dup 500", 2)]);
        assert!(groups[1..].iter().all(|group| group.n_duplicates == 1));
        assert!(groups.iter().any(|group| group.excerpt.is_none()));
        assert_eq!(groups[1].kept, "kept 0");
    }

    #[test]
    fn the_latest_kept_documents_are_held() {
        let mut kept = Kept::default();
        for i in 0..100 {
            kept.add(&document(&format!("{i}"), &"x".repeat(100)), 10_000);
        }
        assert!(kept.n_bytes <= 10_000 && kept.beginnings.len() > 10);
        assert!(kept.beginnings.contains_key(&"99".parse::<DocumentId>().unwrap()));
        assert!(!kept.beginnings.contains_key(&"0".parse::<DocumentId>().unwrap()));
    }
}
