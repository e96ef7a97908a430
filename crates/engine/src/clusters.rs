//! Which documents of a corpus are near to one another, and which hang together by steps of that.
//!
//! ```
//! use pigeonhole_engine::clusters::{Groups, Join};
//! use pigeonhole_engine::{Engine, Options};
//!
//! let engine = Engine::open("memory:", &Options::default())?;
//! let texts = ["The harbour office closes at noon.", "A dog ran past.", "the harbour office closes at noon"];
//! let features: Vec<_> = engine.features(&texts).into_iter().flatten().collect();
//! let parts = Join::of(engine.index()).components(&Groups::new(&features));
//! assert_eq!(parts.iter().collect::<Vec<_>>(), [[0, 2]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bands;
mod groups;

use index::{Index, Nearness, Rule, SketchKind};
use simhash::Fingerprint;

pub use groups::Groups;

/// Finds which of the documents at hand are near to one another, as an index would.
#[derive(Clone, Debug)]
pub struct Join {
    kind: SketchKind,
    rule: Rule,
}

/// Two groups that are near.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The one with the lesser number.
    pub first: usize,
    /// The other one.
    pub second: usize,
    /// How near.
    pub nearness: Nearness,
}

/// Sets of two documents and more, by position.
#[derive(Clone, Debug)]
pub struct Parts {
    /// A part's label and a document of it, ascending.
    documents: Vec<(u32, u32)>,
}

/// Trees of nodes, each of which hangs together (Galler and Fischer, "An improved equivalence algorithm", CACM 1964).
#[derive(Clone, Debug)]
pub struct Forest {
    /// A root is its own parent.
    parents: Vec<u32>,
}

impl Join {
    /// By the kind of an index and its rule.
    #[must_use]
    pub fn of(index: &Index) -> Self {
        Self { kind: index.kind().clone(), rule: index.rule() }
    }

    /// Calls `visit` once for each pair of different groups that are near, always in the same order.
    ///
    /// By simhashes and by each band in turn, groups are brought together by what must agree, and what meets is confirmed; a
    /// pair counts where it meets first. Time is O(n) for each band while buckets are small, plus what meets: of m different
    /// documents with one simhash, or in one bucket, all pairs do.
    pub fn pairs(&self, groups: &Groups<'_>, visit: &mut dyn FnMut(Pair)) {
        self.propose(groups, &mut |first, second| {
            if let Some(nearness) = self.confirm(groups, first, second) {
                visit(Pair { first, second, nearness });
            }
        });
    }

    /// How near two groups are, if they are, given that they met.
    fn confirm(&self, groups: &Groups<'_>, first: usize, second: usize) -> Option<Nearness> {
        self.rule.confirms(groups.features(first), groups.features(second))
    }

    /// Calls `visit` once for each pair that meets, the lesser number first.
    fn propose(&self, groups: &Groups<'_>, visit: &mut dyn FnMut(usize, usize)) {
        let simhash = |group: usize| groups.features(group).simhash;
        if self.kind.files_by_simhash() {
            let (numbers, simhashes): (Vec<usize>, Vec<Fingerprint>) =
                (0..groups.len()).filter_map(|group| Some((group, simhash(group)?))).unzip();
            let equal = index::Groups::new(&simhashes);
            let members = |n: usize| equal.members(n).iter().map(|&member| numbers[member as usize]);
            let mut both = |a: usize, b: usize| visit(a.min(b), a.max(b));
            for n in 0..equal.len() {
                for (at, a) in members(n).enumerate() {
                    members(n).skip(at + 1).for_each(|b| both(a, b));
                }
            }
            self.kind.self_join(&equal, &mut |pair| {
                if pair.distance <= self.rule.max_distance {
                    for a in members(pair.first) {
                        members(pair.second).for_each(|b| both(a, b));
                    }
                }
            });
        }
        if self.kind.files_by_sets() {
            let has_met = |a: usize, b: usize| {
                let simhashes = simhash(a).zip(simhash(b)).filter(|_| self.kind.files_by_simhash());
                simhashes.is_some_and(|(a, b)| a.distance(b) <= self.rule.max_distance)
            };
            bands::propose(groups, &mut |a, b| {
                if !has_met(a, b) {
                    visit(a, b);
                }
            });
        }
    }

    /// Parts documents into those that can be reached from one another, in the order of their first documents.
    ///
    /// The pairs are not held: of a million texts that are all alike there may be 10^10. Fewer than 2^32 documents.
    #[must_use]
    pub fn components(&self, groups: &Groups<'_>) -> Parts {
        let mut forest = Forest::new(groups.len());
        self.propose(groups, &mut |first, second| {
            // What hangs together already need not be confirmed.
            if forest.root(first) != forest.root(second) && self.confirm(groups, first, second).is_some() {
                forest.connect(first, second);
            }
        });
        let mut sizes = vec![0_u32; groups.len()];
        let mut firsts = vec![u32::MAX; groups.len()];
        for group in 0..groups.len() {
            let root = forest.root(group);
            let members = groups.members(group);
            sizes[root] += members.len() as u32;
            firsts[root] = firsts[root].min(members[0]);
        }
        let mut documents = Vec::new();
        for group in 0..groups.len() {
            let root = forest.root(group);
            // Most documents of a corpus are alone.
            if sizes[root] > 1 {
                documents.extend(groups.members(group).iter().map(|&document| (firsts[root], document)));
            }
        }
        Parts::new(documents)
    }
}

impl Parts {
    /// From pairs of a part's label and a document, each document once.
    #[must_use]
    pub fn new(mut documents: Vec<(u32, u32)>) -> Self {
        documents.sort_unstable();
        Self { documents }
    }

    /// Each with its documents ascending, in the order of their labels.
    pub fn iter(&self) -> impl Iterator<Item = Vec<u32>> {
        let parts = self.documents.chunk_by(|a, b| a.0 == b.0).filter(|part| part.len() > 1);
        parts.map(|part| part.iter().map(|&(_, document)| document).collect())
    }
}

impl Forest {
    /// `n` nodes, fewer than 2^32, of which none hangs together with another.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self { parents: (0..n as u32).collect() }
    }

    /// Makes one tree of the trees of two nodes, both below `n`; false where it was one already.
    pub fn connect(&mut self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|node| self.root(node));
        self.parents[a.max(b)] = a.min(b) as u32;
        a != b
    }

    /// The node that stands for the tree of `node`.
    fn root(&mut self, mut node: usize) -> usize {
        while self.parents[node] as usize != node {
            let parent = self.parents[node] as usize;
            // Halves the way for the next call.
            self.parents[node] = self.parents[parent];
            node = parent;
        }
        node
    }
}
