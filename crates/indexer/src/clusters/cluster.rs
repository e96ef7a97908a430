//! One cluster: its documents by fingerprint, who is near to whom in it, and the line that says so.

use engine::clusters::{Forest, Join};
use index::Groups;
use serde::{Serialize, Serializer};
use simhash::{Distance, Fingerprint};

use super::documents::{Documents, Status};

/// Bounds on what is held, written and computed of one cluster.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Edges beyond those that hold the cluster together, which are one less than its nodes.
    pub(super) n_more_edges_max: usize,
    /// Nodes of which all pairs are compared for the widest.
    pub(super) n_compared_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // A line of some 10 MB, and some tenths of a second.
        Self { n_more_edges_max: 100_000, n_compared_max: 1 << 14 }
    }
}

pub(super) struct Cluster<'a> {
    documents: &'a Documents,
    /// Equal fingerprints are one node, in the order of their first documents.
    nodes: Vec<Vec<u32>>,
    n_edges: u64,
    edges: Vec<Edge>,
    limits: Limits,
}

/// Two nodes within the distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    nodes: [usize; 2],
    distance: Distance,
}

impl<'a> Cluster<'a> {
    /// Of `members`, ascending.
    pub(super) fn new(members: &[u32], documents: &'a Documents, join: &Join, limits: Limits) -> Self {
        let fingerprints: Vec<Fingerprint> =
            members.iter().map(|&document| documents.fingerprint(document)).collect();
        let groups = Groups::new(&fingerprints);
        let mut by_first: Vec<usize> = (0..groups.len()).collect();
        by_first.sort_unstable_by_key(|&group| groups.members(group)[0]);
        let mut node_of = vec![0; groups.len()];
        for (node, &group) in by_first.iter().enumerate() {
            node_of[group] = node;
        }
        let documents_of =
            |&group: &usize| groups.members(group).iter().map(|&i| members[i as usize]).collect();

        let mut forest = Forest::new(groups.len());
        let (mut n_edges, mut n_more) = (0, 0);
        let mut edges = Vec::new();
        join.pairs(&groups, &mut |pair| {
            n_edges += 1;
            let holds = forest.connect(pair.first, pair.second);
            if holds || n_more < limits.n_more_edges_max {
                n_more += usize::from(!holds);
                let [a, b] = [node_of[pair.first], node_of[pair.second]];
                edges.push(Edge { nodes: [a.min(b), a.max(b)], distance: pair.distance });
            }
        });
        edges.sort_unstable();
        let nodes = by_first.iter().map(documents_of).collect();
        Self { documents, nodes, n_edges, edges, limits }
    }

    /// Whether two of its nodes are further apart than the distance, so that only others between them hold it together.
    pub(super) fn is_chained(&self) -> bool {
        let n_nodes = self.nodes.len() as u64;
        self.n_edges < n_nodes * (n_nodes - 1) / 2
    }

    /// Its name: the id of the first document that stays. What was in the index before comes first.
    pub(super) fn group(&self) -> &'a str {
        let members = self.nodes.iter().flatten().copied();
        let stays = members.clone().filter(|&document| self.documents.status(document) != Status::Dropped);
        // Where something was dropped, what it was dropped for is here.
        let first = stays.min().or_else(|| members.min());
        self.documents.id(first.expect("a cluster has two documents or more"))
    }

    /// What is written of it; with the name of the one that it is a part of.
    pub(super) fn line(&self, split_from: Option<&'a str>) -> Line<'a> {
        let member = |&document: &u32| Member {
            id: self.documents.id(document),
            status: self.documents.status(document),
        };
        let node = |node: &Vec<u32>| Node {
            fingerprint: self.documents.fingerprint(node[0]),
            documents: node.iter().map(member).collect(),
        };
        Line {
            group: self.group(),
            split_from,
            chained: self.is_chained(),
            widest: self.is_chained().then(|| self.widest()),
            n_documents: self.nodes.iter().map(Vec::len).sum(),
            n_edges: self.n_edges,
            edges_cut: self.n_edges > self.edges.len() as u64,
            nodes: self.nodes.iter().map(node).collect(),
            edges: self.edges.iter().map(|edge| self.near(edge)).collect(),
        }
    }

    fn fingerprint(&self, node: usize) -> Fingerprint {
        self.documents.fingerprint(self.nodes[node][0])
    }

    fn near(&self, edge: &Edge) -> Near {
        Near { between: edge.nodes.map(|node| self.fingerprint(node)), distance: edge.distance.as_bits() }
    }

    /// The two nodes that are furthest apart, the first such two. In a very large cluster not all are compared: from the
    /// first to the one furthest from it, and on from there.
    fn widest(&self) -> Widest {
        let at_least = self.nodes.len() > self.limits.n_compared_max;
        let fingerprints: Vec<Fingerprint> =
            (0..self.nodes.len()).map(|node| self.fingerprint(node)).collect();
        let furthest_of = |a: Fingerprint, others: &[Fingerprint]| {
            let furthest = others.iter().rev().map(|&b| ([a, b], a.distance(b)));
            furthest.max_by_key(|&(_, distance)| distance)
        };
        let mut widest: Option<([Fingerprint; 2], Distance)> = None;
        if at_least {
            let from_first = furthest_of(fingerprints[0], &fingerprints);
            widest = from_first.and_then(|([_, far], _)| furthest_of(far, &fingerprints));
        } else {
            for (i, &a) in fingerprints.iter().enumerate() {
                let furthest = furthest_of(a, &fingerprints[i + 1..]);
                if furthest.map(|(_, distance)| distance) > widest.map(|(_, distance)| distance) {
                    widest = furthest;
                }
            }
        }
        let (between, distance) = widest.expect("a chained cluster has nodes");
        Widest { between, distance: distance.as_bits(), at_least }
    }
}

/// A line of the file, or the rows of a table.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) group: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) split_from: Option<&'a str>,
    pub(super) chained: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) widest: Option<Widest>,
    pub(super) n_documents: usize,
    pub(super) n_edges: u64,
    edges_cut: bool,
    pub(super) nodes: Vec<Node<'a>>,
    edges: Vec<Near>,
}

#[derive(Serialize)]
pub(super) struct Node<'a> {
    #[serde(serialize_with = "digits")]
    pub(super) fingerprint: Fingerprint,
    pub(super) documents: Vec<Member<'a>>,
}

#[derive(Serialize)]
pub(super) struct Member<'a> {
    pub(super) id: &'a str,
    pub(super) status: Status,
}

#[derive(Serialize)]
struct Near {
    #[serde(serialize_with = "both_digits")]
    between: [Fingerprint; 2],
    distance: u32,
}

#[derive(Serialize)]
pub(super) struct Widest {
    #[serde(serialize_with = "both_digits")]
    pub(super) between: [Fingerprint; 2],
    pub(super) distance: u32,
    /// There may be wider ones: not all were compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) at_least: bool,
}

fn digits<S: Serializer>(fingerprint: &Fingerprint, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(fingerprint)
}

fn both_digits<S: Serializer>(fingerprints: &[Fingerprint; 2], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(fingerprints.iter().map(ToString::to_string))
}
