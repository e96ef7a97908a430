//! Near pairs of a corpus, and the clusters that such pairs connect.
//!
//! ```
//! use pigeonhole_engine::clusters::{Groups, Join, NoTexts};
//! use pigeonhole_engine::{Engine, Options};
//!
//! let engine = Engine::open("memory:", &Options::default())?;
//! let texts = ["The harbour office closes at noon.", "A dog ran past.", "the harbour office closes at noon"];
//! let features: Vec<_> = engine.features(&texts).into_iter().flatten().collect();
//! let (parts, _) = Join::of(engine.index()).components(&Groups::new(&features), &NoTexts)?;
//! assert_eq!(parts.iter().collect::<Vec<_>>(), [[0, 2]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod buckets;
mod crowds;
mod groups;
#[cfg(test)]
mod tests;
mod texts;

use index::{Glance, Index, Nearness, Result, Rule, SketchKind, Text};
use minhash::Signature;

use self::buckets::Buckets;
pub use self::buckets::CROWD_MIN;
pub use self::crowds::COMPARED_MAX;
use self::crowds::Crowds;
pub use self::groups::Groups;
pub use self::texts::{NoTexts, RunTexts, Texts, TextsInMemory};

/// Finds the near pairs among documents at hand, as an index would.
///
/// A group is crowded if one of its buckets has more than [`CROWD_MIN`] groups. Every two groups of
/// a bucket are compared, unless both are crowded. A crowded group is compared with at most
/// [`COMPARED_MAX`] earlier crowded ones, the most promising by their signatures;
/// [`Compared::n_bounded`] is the number of crowded groups. Time and output are therefore linear in
/// the number of documents.
#[derive(Clone, Debug)]
pub struct Join {
    kind: SketchKind,
    rule: Rule,
    crowd_min: usize,
}

/// Two groups that are near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The group with the lesser number.
    pub first: usize,
    /// The other group.
    pub second: usize,
    /// The nearness of the two.
    pub nearness: Nearness,
}

/// Two documents of near texts, as a file of pairs tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPair {
    /// The position of the document that comes first.
    pub first: u32,
    /// The position of the other one.
    pub second: u32,
    /// The nearness of the two.
    pub nearness: Nearness,
    /// True if `second` has the text of `first`, which is the first document of that text.
    pub is_copy: bool,
}

/// Counts of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Pairs of groups whose signatures were compared to decide, or of documents.
    pub n_pairs: u64,
    /// Groups in crowded buckets, which were not compared with all others there.
    pub n_bounded: usize,
}

/// Memory of [`Join::pairs`] and [`Join::components`] for a group while they run, with the room to
/// grow, in bytes: its segments and suffixes by each facet, and its place in the order of a band.
pub const STEP_BYTES_A_GROUP: u64 = 300;

/// Sets of two documents and more, by position.
#[derive(Clone, Debug)]
pub struct Parts {
    /// A part's label and a document of it, ascending.
    documents: Vec<(u32, u32)>,
}

/// A union-find structure over nodes (Galler and Fischer, "An improved equivalence algorithm", CACM
/// 1964).
#[derive(Clone, Debug)]
pub struct Forest {
    /// A root is its own parent.
    parents: Vec<u32>,
}

impl Join {
    /// Makes a join by the kind of an index and its rule.
    #[must_use]
    pub fn of(index: &Index) -> Self {
        Self { kind: index.kind().clone(), rule: index.rule(), crowd_min: CROWD_MIN }
    }

    /// The same join, which compares every two groups of a bucket, however many share it: the time
    /// is quadratic in crowds.
    #[must_use]
    pub fn of_all_pairs(self) -> Self {
        Self { crowd_min: usize::MAX, ..self }
    }

    /// The rule that decides.
    #[must_use]
    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// Calls `visit` once for each pair of different near groups, always in the same order. A pair
    /// is counted over its texts if the rule counts, both texts are at hand, and the signatures
    /// make a count worth while.
    ///
    /// # Errors
    /// A failure to read texts, or of `visit`.
    pub fn pairs<E: From<index::Error>>(
        &self,
        groups: &Groups<'_>,
        texts: &dyn Texts,
        visit: &mut dyn FnMut(Pair) -> Result<(), E>,
    ) -> Result<Compared, E> {
        let mut n_pairs = 0;
        let n_bounded = self.propose::<E>(groups, &mut |first, second| {
            n_pairs += 1;
            match self.confirm(groups, texts, first, second)? {
                Some(nearness) => visit(Pair { first, second, nearness }),
                None => Ok(()),
            }
        })?;
        Ok(Compared { n_pairs, n_bounded })
    }

    /// Calls `visit` once for each pair of near texts: first for each copy with the first document
    /// of its text, then for the first documents of each two [near groups](Self::pairs). The pairs
    /// are linear in the documents.
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub fn text_pairs<E: From<index::Error>>(
        &self,
        groups: &Groups<'_>,
        texts: &dyn Texts,
        visit: &mut dyn FnMut(TextPair) -> Result<(), E>,
    ) -> Result<Compared, E> {
        for group in 0..groups.len() {
            let Some((&first, copies)) = groups.members(group).split_first() else { continue };
            let nearness = self.nearness_of_copies(groups, group);
            for &second in copies {
                visit(TextPair { first, second, nearness, is_copy: true })?;
            }
        }
        self.pairs(groups, texts, &mut |Pair { first, second, nearness }| {
            let [first, second] = [first, second].map(|group| groups.first(group));
            visit(TextPair { first, second, nearness, is_copy: false })
        })
    }

    /// Calls `visit` once for each pair of documents that are near, by their positions, the lesser
    /// first: all members of two [near groups](Self::pairs), and every two of one group, which are
    /// m (m - 1) / 2 of m copies.
    ///
    /// # Errors
    /// As [`pairs`](Self::pairs).
    pub fn document_pairs<E: From<index::Error>>(
        &self,
        groups: &Groups<'_>,
        texts: &dyn Texts,
        visit: &mut dyn FnMut(u32, u32, Nearness) -> Result<(), E>,
    ) -> Result<Compared, E> {
        let mut n_same = 0;
        for group in 0..groups.len() {
            let members = groups.members(group);
            let same = self.nearness_of_copies(groups, group);
            for (at, &a) in members.iter().enumerate() {
                n_same += (members.len() - at - 1) as u64;
                members[at + 1..].iter().try_for_each(|&b| visit(a, b, same))?;
            }
        }
        let compared = self.pairs::<E>(groups, texts, &mut |Pair { first, second, nearness }| {
            for &a in groups.members(first) {
                for &b in groups.members(second) {
                    let (from, to, nearness) =
                        if a < b { (a, b, nearness) } else { (b, a, nearness.turned()) };
                    visit(from, to, nearness)?;
                }
            }
            Ok(())
        })?;
        Ok(Compared { n_pairs: compared.n_pairs + n_same, ..compared })
    }

    /// The nearness of two members of a group. Their signatures are equal, and so are the digests
    /// of their numbers, if there are some: `1000` is no copy of `10000`.
    #[must_use]
    pub fn nearness_of_copies(&self, groups: &Groups<'_>, group: usize) -> Nearness {
        let signature =
            groups.features(group).signature.as_ref().filter(|_| self.rule.min_similarity.is_some());
        Nearness {
            // Without texts, equal signatures are an estimate.
            exact: signature.is_some() && self.rule.counter.is_some(),
            numbers_differ: signature.and_then(Signature::numbers).map(|_| false),
            ..Nearness::same(signature.is_some())
        }
    }

    /// The nearness of two groups of one bucket; `None` if far.
    fn confirm(
        &self,
        groups: &Groups<'_>,
        texts: &dyn Texts,
        first: usize,
        second: usize,
    ) -> Result<Option<Nearness>> {
        let [a, b] = [first, second].map(|group| groups.features(group));
        match self.rule.glance_at(a, b, self.rule.counter.is_some()) {
            Glance::Far => Ok(None),
            Glance::Near(nearness) => Ok(Some(nearness)),
            Glance::Worth { .. } => {
                let [of_a, of_b] = self.texts(groups, texts, [first, second])?;
                Ok(self.rule.count_texts((a, of_a.as_ref()), (b, of_b.as_ref())))
            }
        }
    }

    fn texts(&self, groups: &Groups<'_>, texts: &dyn Texts, of: [usize; 2]) -> Result<[Option<Text>; 2]> {
        let [a, b] = of.map(|group| texts.text(groups.first(group)));
        Ok([a?, b?])
    }

    /// The nearness of two groups, near or not: by count where possible, else by their signatures,
    /// else by their simhashes.
    ///
    /// # Errors
    /// A failure to read texts.
    pub fn nearness(
        &self,
        groups: &Groups<'_>,
        texts: &dyn Texts,
        first: usize,
        second: usize,
    ) -> Result<Nearness> {
        let [a, b] = [first, second].map(|group| groups.features(group));
        let [of_a, of_b] = match self.rule.counter {
            Some(_) => self.texts(groups, texts, [first, second])?,
            None => [None, None],
        };
        Ok(self.rule.measure((a, of_a.as_ref()), (b, of_b.as_ref())))
    }

    /// Calls `visit` once for each pair to compare, the lesser number first. Returns the number of
    /// crowded groups.
    fn propose<E>(
        &self,
        groups: &Groups<'_>,
        visit: &mut dyn FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<usize, E> {
        let buckets = Buckets::new(groups, &self.kind, &self.rule, self.crowd_min);
        let mut crowds = Crowds::new(groups, &self.rule, self.rule.counter.is_some());
        buckets.propose(&mut crowds, visit)?;
        crowds.propose(visit)?;
        Ok(buckets.n_crowded())
    }

    /// Partitions documents into connected sets, in the order of their first documents. Also
    /// returns the number of crowded groups, as [`pairs`](Self::pairs) does.
    ///
    /// The pairs are not held. Fewer than 2^32 documents.
    ///
    /// # Errors
    /// A failure to read texts.
    pub fn components(&self, groups: &Groups<'_>, texts: &dyn Texts) -> Result<(Parts, usize)> {
        let mut forest = Forest::new(groups.len());
        let n_bounded = self.propose::<index::Error>(groups, &mut |first, second| {
            // A pair that is connected already need not be confirmed.
            if forest.root(first) != forest.root(second)
                && self.confirm(groups, texts, first, second)?.is_some()
            {
                forest.connect(first, second);
            }
            Ok(())
        })?;
        let mut sizes = vec![0_u32; groups.len()];
        for group in 0..groups.len() {
            sizes[forest.root(group)] += groups.members(group).len() as u32;
        }
        let mut documents = Vec::new();
        for group in 0..groups.len() {
            let root = forest.root(group);
            // Most documents of a corpus are alone. The root is the group that comes first.
            if sizes[root] > 1 {
                documents
                    .extend(groups.members(group).iter().map(|&document| (groups.first(root), document)));
            }
        }
        Ok((Parts::new(documents), n_bounded))
    }
}

impl Parts {
    /// Makes parts from pairs of a part's label and a document, each document once.
    #[must_use]
    pub fn new(mut documents: Vec<(u32, u32)>) -> Self {
        documents.sort_unstable();
        Self { documents }
    }

    /// The parts in the order of their labels, each with its documents ascending.
    pub fn iter(&self) -> impl Iterator<Item = Vec<u32>> {
        let parts = self.documents.chunk_by(|a, b| a.0 == b.0).filter(|part| part.len() > 1);
        parts.map(|part| part.iter().map(|&(_, document)| document).collect())
    }
}

impl Forest {
    /// Makes `n` separate nodes, fewer than 2^32.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self { parents: (0..n as u32).collect() }
    }

    /// Joins the trees of two nodes, both below `n`; returns false if they were one already.
    pub fn connect(&mut self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|node| self.root(node));
        self.parents[a.max(b)] = a.min(b) as u32;
        a != b
    }

    /// The root of the tree of `node`: the least node of the tree.
    pub fn root(&mut self, mut node: usize) -> usize {
        while self.parents[node] as usize != node {
            let parent = self.parents[node] as usize;
            // Halves the way for the next call.
            self.parents[node] = self.parents[parent];
            node = parent;
        }
        node
    }
}
