//! What hangs together by steps within the distance.

use index::SketchKind;
use simhash::{Distance, Fingerprint};
use tables::{Groups, Pair};

/// Finds who is near to whom.
pub(super) struct Join {
    pub(super) kind: SketchKind,
    /// That of the index, which may be less than the kind's.
    pub(super) max_distance: Distance,
}

/// Sets of two documents and more.
pub(super) struct Parts {
    /// A part's label and a document of it, ascending.
    documents: Vec<(u32, u32)>,
}

/// Trees of nodes, each of which hangs together (Galler and Fischer, "An improved equivalence algorithm", CACM 1964).
pub(super) struct Forest {
    /// A root is its own parent.
    parents: Vec<u32>,
}

impl Join {
    /// Calls `visit` once for each pair of different fingerprints within the distance, always in the same order.
    pub(super) fn pairs(&self, groups: &Groups, visit: &mut dyn FnMut(Pair)) {
        self.kind.self_join(groups, &mut |pair| {
            if pair.distance <= self.max_distance {
                visit(pair);
            }
        });
    }

    /// Parts documents into those that can be reached from one another, in the order of their first documents.
    ///
    /// The pairs are not held: of a million texts that are all alike there may be 10^10.
    pub(super) fn components(&self, fingerprints: &[Fingerprint]) -> Parts {
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
    pub(super) fn new(mut documents: Vec<(u32, u32)>) -> Self {
        documents.sort_unstable();
        Self { documents }
    }

    /// Each with its documents ascending, in the order of their labels.
    pub(super) fn iter(&self) -> impl Iterator<Item = Vec<u32>> {
        let parts = self.documents.chunk_by(|a, b| a.0 == b.0).filter(|part| part.len() > 1);
        parts.map(|part| part.iter().map(|&(_, document)| document).collect())
    }
}

impl Forest {
    pub(super) fn new(n: usize) -> Self {
        Self { parents: (0..n as u32).collect() }
    }

    /// Makes one tree of the trees of two nodes; false where it was one already.
    pub(super) fn connect(&mut self, a: usize, b: usize) -> bool {
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
