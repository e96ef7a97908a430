//! One cluster: its documents by features, who is near to whom in it, and the line that says so.

use engine::clusters::{Forest, Groups, Join};
use index::{Features, Nearness};
use minhash::Signature;
use minhash::Similarity;
use serde::{Serialize, Serializer};
use simhash::Fingerprint;

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
    /// Equal features are one node, in the order of their first documents.
    nodes: Vec<Vec<u32>>,
    n_edges: u64,
    edges: Vec<Edge>,
    limits: Limits,
}

/// Two nodes that are near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    nodes: [usize; 2],
    nearness: Nearness,
}

impl<'a> Cluster<'a> {
    /// Of `members`, ascending.
    pub(super) fn new(members: &[u32], documents: &'a Documents, join: &Join, limits: Limits) -> Self {
        let features: Vec<Features> =
            members.iter().map(|&document| documents.features_of(document).clone()).collect();
        let groups = Groups::new(&features);
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
                edges.push(Edge { nodes: [a.min(b), a.max(b)], nearness: pair.nearness });
            }
        });
        edges.sort_unstable();
        let nodes = by_first.iter().map(documents_of).collect();
        Self { documents, nodes, n_edges, edges, limits }
    }

    /// Whether two of its nodes are not near, so that only others between them hold it together.
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
            fingerprint: self.documents.features_of(node[0]).fingerprint(),
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

    fn features(&self, node: usize) -> &'a Features {
        self.documents.features_of(self.nodes[node][0])
    }

    fn near(&self, edge: &Edge) -> Near {
        let Nearness { similarity, distance } = edge.nearness;
        Near {
            between: edge.nodes.map(|node| self.features(node).fingerprint()),
            distance: distance.as_bits(),
            // Of fingerprints there may be several alike.
            nodes: similarity.map(|_| edge.nodes),
            similarity: similarity.map(Similarity::four_decimals),
        }
    }

    /// The two nodes that are furthest apart, the first such two. In a very large cluster not all are compared: from the
    /// first to the one furthest from it, and on from there.
    fn widest(&self) -> Widest {
        let at_least = self.nodes.len() > self.limits.n_compared_max;
        let nodes: Vec<&Features> = (0..self.nodes.len()).map(|node| self.features(node)).collect();
        let furthest_of = |a: &'a Features, others: &[&'a Features]| {
            let furthest = others.iter().rev().map(|&b| ([a, b], apart(a, b)));
            furthest.max_by_key(|&(_, nearness)| nearness)
        };
        let mut widest: Option<([&Features; 2], Nearness)> = None;
        if at_least {
            let from_first = furthest_of(nodes[0], &nodes);
            widest = from_first.and_then(|([_, far], _)| furthest_of(far, &nodes));
        } else {
            for (i, &a) in nodes.iter().enumerate() {
                let furthest = furthest_of(a, &nodes[i + 1..]);
                if furthest.map(|(_, nearness)| nearness) > widest.map(|(_, nearness)| nearness) {
                    widest = furthest;
                }
            }
        }
        let (between, Nearness { similarity, distance }) = widest.expect("a chained cluster has nodes");
        Widest {
            between: between.map(Features::fingerprint),
            distance: distance.as_bits(),
            similarity: similarity.map(Similarity::four_decimals),
            at_least,
        }
    }
}

/// How far apart two documents are, near or not: by their signatures where they have some.
fn apart(a: &Features, b: &Features) -> Nearness {
    let signatures = a.signature.as_ref().zip(b.signature.as_ref());
    let similarity = signatures.map(|(a, b)| Signature::compare(a, b).similarity);
    Nearness { similarity, distance: a.distance(b) }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<[usize; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Widest {
    #[serde(serialize_with = "both_digits")]
    pub(super) between: [Fingerprint; 2],
    pub(super) distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) similarity: Option<f64>,
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
