//! Which documents of a corpus hang together by steps within the distance.
//!
//! ```
//! use pigeonhole_engine::clusters::Join;
//! use pigeonhole_engine::{Engine, Options};
//!
//! let engine = Engine::open("memory:", &Options::default())?;
//! let texts = ["The harbour office closes at noon.", "A dog ran past.", "the harbour office closes at noon"];
//! let fingerprints: Vec<_> = engine.fingerprints(&texts).into_iter().flatten().collect();
//! let parts = Join::of(engine.index()).components(&fingerprints);
//! assert_eq!(parts.iter().collect::<Vec<_>>(), [[0, 2]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use index::{Groups, Index, Pair, SketchKind};
use simhash::{Distance, Fingerprint};

/// Finds which of the fingerprints at hand are near to one another, as an index would.
#[derive(Clone, Debug)]
pub struct Join {
    kind: SketchKind,
    /// That of the index, which may be less than the kind's.
    max_distance: Distance,
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
    /// By the sketches of an index, within its distance.
    #[must_use]
    pub fn of(index: &Index) -> Self {
        Self { kind: index.kind().clone(), max_distance: index.max_distance() }
    }

    /// Calls `visit` once for each pair of different fingerprints within the distance, always in the same order.
    pub fn pairs(&self, groups: &Groups, visit: &mut dyn FnMut(Pair)) {
        self.kind.self_join(groups, &mut |pair| {
            if pair.distance <= self.max_distance {
                visit(pair);
            }
        });
    }

    /// Parts documents into those that can be reached from one another, in the order of their first documents.
    ///
    /// The pairs are not held: of a million texts that are all alike there may be 10^10. Fewer than 2^32 fingerprints.
    #[must_use]
    pub fn components(&self, fingerprints: &[Fingerprint]) -> Parts {
        let groups = Groups::new(fingerprints);
        let mut forest = Forest::new(groups.len());
        self.pairs(&groups, &mut |pair| {
            forest.connect(pair.first, pair.second);
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
            // Halves the way for the next who comes along.
            self.parents[node] = self.parents[parent];
            node = parent;
        }
        node
    }
}
