//! Groups of documents that are compared alike.

use index::{Features, Result, Rule, Text};

use super::{NoTexts, Texts};

/// The number of groups with whose first texts a text of equal features is compared: forged
/// signatures must not cause quadratic work.
const EQUALS_MAX: usize = 8;

/// The features of a corpus, with documents that are compared alike in one group: equal features
/// and, where texts are at hand, the same text in normal form. Groups are numbered from 0 in the
/// order of their first documents.
///
/// Takes 12 bytes a document beside the features.
#[derive(Clone, Debug)]
pub struct Groups<'a> {
    corpus: &'a [Features],
    /// The first document of the group of each document.
    firsts: std::sync::Arc<[u32]>,
    /// The end of each group in `members`.
    ends: Vec<u32>,
    /// Positions in the corpus: group by group, ascending within each.
    members: Vec<u32>,
}

impl<'a> Groups<'a> {
    /// Groups a corpus by equal features, in O(n log n).
    ///
    /// # Panics
    /// Where there are 2^32 documents or more.
    #[must_use]
    pub fn new(corpus: &'a [Features]) -> Self {
        let mut firsts: Vec<u32> = vec![0; corpus.len()];
        for equal in
            equal_features(corpus, &NoTexts).chunk_by(|a, b| corpus[*a as usize] == corpus[*b as usize])
        {
            let first = equal.iter().copied().min().unwrap_or_default();
            equal.iter().for_each(|&document| firsts[document as usize] = first);
        }
        Self::by_firsts(corpus, firsts.into(), (0..corpus.len() as u32).collect())
    }

    /// Groups a corpus by a rule that counts: documents of equal features share a group only if
    /// their texts are the same in normal form, to keep other texts with forged signatures out. A
    /// text equal to another byte by byte is not read.
    ///
    /// # Errors
    /// A failure to read texts.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn counted(corpus: &'a [Features], rule: &Rule, texts: &dyn Texts) -> Result<Self> {
        let Some(counter) = rule.counter else { return Ok(Self::new(corpus)) };
        let mut firsts: Vec<u32> = vec![0; corpus.len()];
        let members = equal_features(corpus, texts);
        for equal in members.chunk_by(|a, b| corpus[*a as usize] == corpus[*b as usize]) {
            let is_same = |a: &u32, b: &u32| {
                let of_a = texts.digest(*a);
                of_a.is_some() && of_a == texts.digest(*b)
            };
            let mut same: Vec<&[u32]> = equal.chunk_by(is_same).collect();
            same.sort_unstable_by_key(|same| same[0]);
            let mut groups: Vec<(u32, Option<Text>)> = Vec::new();
            for same in same.iter() {
                let document = same[0];
                let mut first = document;
                if same.len() < equal.len() {
                    let text = texts.text(document)?;
                    let is_equal = |(_, of_first): &&(u32, Option<Text>)| match (of_first, &text) {
                        (Some(a), Some(b)) => counter.are_copies(a, b),
                        _ => true,
                    };
                    match groups.iter().find(is_equal) {
                        Some((of_group, _)) => first = *of_group,
                        None if groups.len() < EQUALS_MAX => groups.push((document, text)),
                        None => {}
                    }
                }
                same.iter().for_each(|&document| firsts[document as usize] = first);
            }
        }
        Ok(Self::by_firsts(corpus, firsts.into(), (0..corpus.len() as u32).collect()))
    }

    /// The groups of some documents only, given ascending.
    #[must_use]
    pub fn among(&self, documents: &[u32]) -> Self {
        Self::by_firsts(self.corpus, self.firsts.clone(), documents.to_vec())
    }

    fn by_firsts(corpus: &'a [Features], firsts: std::sync::Arc<[u32]>, mut members: Vec<u32>) -> Self {
        members.sort_unstable_by_key(|&document| (firsts[document as usize], document));
        let is_same = |a: &u32, b: &u32| firsts[*a as usize] == firsts[*b as usize];
        let mut groups: Vec<&[u32]> = members.chunk_by(is_same).collect();
        // The first document of a group may not be among the given ones.
        groups.sort_unstable_by_key(|group| group[0]);
        let ends = groups.iter().scan(0, |end, group| {
            *end += group.len() as u32;
            Some(*end)
        });
        let (ends, members) = (ends.collect(), groups.concat());
        Self { corpus, firsts, ends, members }
    }

    /// The number of groups.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no groups.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The features that the members of a group share.
    #[must_use]
    pub fn features(&self, group: usize) -> &'a Features {
        &self.corpus[self.first(group) as usize]
    }

    /// The position in the corpus of the group's first member.
    #[must_use]
    pub fn first(&self, group: usize) -> u32 {
        self.members(group)[0]
    }

    /// The positions in the corpus of the group's members, ascending; at least one.
    #[must_use]
    pub fn members(&self, group: usize) -> &[u32] {
        let start = if group == 0 { 0 } else { self.ends[group - 1] };
        &self.members[start as usize..self.ends[group] as usize]
    }
}

/// All positions: equal features side by side, and among them equal texts, ascending.
fn equal_features(corpus: &[Features], texts: &dyn Texts) -> Vec<u32> {
    let n = u32::try_from(corpus.len()).expect("a corpus has fewer than 2^32 documents");
    fn key(features: &Features) -> (Option<u64>, &[u8]) {
        let signature = features.signature.as_ref().map_or(&[][..], |signature| signature.as_bytes());
        (features.simhash.map(|simhash| simhash.0), signature)
    }
    let key_of = |member: u32| (key(&corpus[member as usize]), texts.digest(member), member);
    let mut members: Vec<u32> = (0..n).collect();
    members.sort_unstable_by(|&a, &b| key_of(a).cmp(&key_of(b)));
    members
}
