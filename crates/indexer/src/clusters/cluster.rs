//! One cluster: its documents by features, their near pairs, and its line in the file.

use engine::clusters::{Forest, Groups, Join, Pair, Texts};
use index::{Features, Nearness};
use minhash::Signature;
use minhash::Similarity;
use serde::{Serialize, Serializer};
use simhash::Fingerprint;

use super::documents::{Documents, Status};

/// Bounds on the memory, output and computation of one cluster.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Bound on the edges beyond a spanning tree, which has one edge less than nodes.
    pub(super) n_more_edges_max: usize,
    /// Bound on the nodes for which all pairs are compared to find the widest.
    pub(super) n_compared_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        // At most a line of some 10 MB, and some tenths of a second.
        Self { n_more_edges_max: 100_000, n_compared_max: 1 << 12 }
    }
}

/// Bound on the nodes for which the widest pair is found by exact counts. Larger clusters use
/// estimates, and count the found pair exactly.
const N_COUNTED_MAX: usize = 32;

/// Data shared by all clusters of a run.
#[derive(Clone, Copy)]
pub(super) struct Whole<'a> {
    pub(super) documents: &'a Documents,
    /// Groups of all documents.
    pub(super) groups: &'a Groups<'a>,
    pub(super) join: &'a Join,
    pub(super) texts: &'a dyn Texts,
    pub(super) limits: Limits,
}

pub(super) struct Cluster<'a> {
    whole: Whole<'a>,
    /// Groups of documents with equal features, in the order of their first documents.
    nodes: Groups<'a>,
    n_edges: u64,
    edges: Vec<Edge>,
    /// True if some pairs were not compared.
    is_bounded: bool,
    is_chained: bool,
}

/// Two near nodes, the lower first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    nodes: [usize; 2],
    nearness: Nearness,
}

impl<'a> Cluster<'a> {
    /// Builds the cluster of `members`, which ascend.
    pub(super) fn new(members: &[u32], whole: Whole<'a>) -> index::Result<Self> {
        let nodes = whole.groups.among(members);
        let mut forest = Forest::new(nodes.len());
        let (mut n_edges, mut n_more) = (0, 0);
        let mut edges = Vec::new();
        let compared = whole.join.pairs(&nodes, whole.texts, &mut |Pair { first, second, nearness }| {
            n_edges += 1;
            let holds = forest.connect(first, second);
            if holds || n_more < whole.limits.n_more_edges_max {
                n_more += usize::from(!holds);
                edges.push(Edge { nodes: [first, second], nearness });
            }
            Ok::<_, index::Error>(())
        })?;
        edges.sort_unstable();
        let n_nodes = nodes.len() as u64;
        let is_chained = n_edges < n_nodes * (n_nodes - 1) / 2;
        let is_bounded = compared.n_bounded > 0;
        let mut cluster = Self { whole, nodes, n_edges, edges, is_bounded, is_chained };
        if is_bounded && is_chained {
            // A missing edge proves nothing where pairs were left out.
            let (_, widest, _) = cluster.widest()?;
            cluster.is_chained = !whole.join.rule().is_near(&widest);
        }
        Ok(cluster)
    }

    /// Returns true if two of its nodes are not near, and only nodes between them connect the
    /// cluster. Where not all pairs were compared, decides by the widest compared pair.
    pub(super) fn is_chained(&self) -> bool {
        self.is_chained
    }

    /// The name of the cluster: the id of the first document that stays. Documents of the index
    /// come first.
    pub(super) fn group(&self) -> &'a str {
        let documents = self.whole.documents;
        let members = (0..self.nodes.len()).flat_map(|node| self.nodes.members(node)).copied();
        let stays = members.clone().filter(|&document| documents.status(document) != Status::Dropped);
        // A dropped document is in one cluster with the document for which it was dropped.
        let first = stays.min().or_else(|| members.min());
        documents.id(first.expect("a cluster has two documents or more"))
    }

    /// The line of the cluster. `split_from` names the cluster of which it is a part.
    pub(super) fn line(&self, split_from: Option<&'a str>) -> index::Result<Line<'a>> {
        let documents = self.whole.documents;
        let member =
            |&document: &u32| Member { id: documents.id(document), status: documents.status(document) };
        let node = |node: usize| {
            let members = self.nodes.members(node);
            let copies = (members.len() > 1).then(|| self.whole.join.nearness_of_copies(&self.nodes, node));
            Node {
                fingerprint: self.fingerprint(node),
                numbers_differ: copies.and_then(|copies| copies.numbers_differ),
                documents: members.iter().map(member).collect(),
            }
        };
        let nodes: Vec<Node<'_>> = (0..self.nodes.len()).map(node).collect();
        let widest = if self.is_chained { Some(self.widest()?) } else { None };
        let widest = widest.map(|(between, nearness, at_least)| Widest {
            between: between.map(|node| self.fingerprint(node)),
            distance: nearness.distance.as_bits(),
            similarity: nearness.similarity.map(Similarity::four_decimals),
            at_least,
        });
        Ok(Line {
            group: self.group(),
            split_from,
            chained: self.is_chained,
            widest,
            n_documents: nodes.iter().map(|node| node.documents.len()).sum(),
            n_edges: self.n_edges,
            edges_cut: self.is_bounded || self.n_edges > self.edges.len() as u64,
            nodes,
            edges: self.edges.iter().map(|edge| self.near(edge)).collect(),
        })
    }

    fn fingerprint(&self, node: usize) -> Fingerprint {
        self.nodes.features(node).fingerprint()
    }

    fn near(&self, edge: &Edge) -> Near {
        let Nearness { similarity, distance, exact, shares, numbers_differ } = edge.nearness;
        let shares = shares.map(|shares| shares.map(Similarity::four_decimals));
        Near {
            between: edge.nodes.map(|node| self.fingerprint(node)),
            distance: distance.as_bits(),
            // Several nodes may share a fingerprint.
            nodes: similarity.map(|_| edge.nodes),
            similarity: similarity.map(Similarity::four_decimals),
            exact: similarity.map(|_| exact),
            numbers_differ,
            share_of_a: shares.map(|[a, _]| a),
            share_of_b: shares.map(|[_, b]| b),
        }
    }

    /// Returns the first of the widest pairs of nodes, and true if wider ones may exist. In a very
    /// large cluster not all pairs are compared: the search takes the node furthest from the first,
    /// and then the node furthest from there.
    fn widest(&self) -> index::Result<([usize; 2], Nearness, bool)> {
        let Whole { join, texts, limits, .. } = self.whole;
        let n_nodes = self.nodes.len();
        let counted = |a: usize, b: usize| join.nearness(&self.nodes, texts, a.min(b), a.max(b));
        let is_counted = n_nodes <= N_COUNTED_MAX;
        let apart = |a: usize, b: usize| {
            if is_counted { counted(a, b) } else { Ok(apart(self.nodes.features(a), self.nodes.features(b))) }
        };
        let furthest_of = |a: usize, others: std::ops::Range<usize>| {
            let mut furthest: Option<([usize; 2], Nearness)> = None;
            for b in others {
                let nearness = apart(a, b)?;
                if furthest.is_none_or(|(_, furthest)| nearness > furthest) {
                    furthest = Some(([a, b], nearness));
                }
            }
            Ok::<_, index::Error>(furthest)
        };
        let at_least = n_nodes > limits.n_compared_max;
        let mut widest: Option<([usize; 2], Nearness)> = None;
        if at_least {
            let from_first = furthest_of(0, 0..n_nodes)?;
            widest = from_first.map_or(Ok(None), |([_, far], _)| furthest_of(far, 0..n_nodes))?;
        } else {
            for a in 0..n_nodes {
                let furthest = furthest_of(a, a + 1..n_nodes)?;
                if furthest.map(|(_, nearness)| nearness) > widest.map(|(_, nearness)| nearness) {
                    widest = furthest;
                }
            }
        }
        let (between, nearness) = widest.expect("a chained cluster has nodes");
        let nearness = if is_counted { nearness } else { counted(between[0], between[1])? };
        Ok((between, nearness, at_least))
    }
}

/// Distance of any two documents; by signatures if both have one.
fn apart(a: &Features, b: &Features) -> Nearness {
    let signatures = a.signature.as_ref().zip(b.signature.as_ref());
    let similarity = signatures.map(|(a, b)| Signature::compare(a, b).similarity);
    Nearness { similarity, ..Nearness::by_distance(a.distance(b)) }
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
    /// True if the numbers in its documents differ; absent for a single document or unknown
    /// numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers_differ: Option<bool>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers_differ: Option<bool>,
    /// Share of the first of `nodes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_a: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share_of_b: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct Widest {
    #[serde(serialize_with = "both_digits")]
    pub(super) between: [Fingerprint; 2],
    pub(super) distance: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) similarity: Option<f64>,
    /// True if wider pairs may exist, because not all were compared.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) at_least: bool,
}

fn digits<S: Serializer>(fingerprint: &Fingerprint, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(fingerprint)
}

fn both_digits<S: Serializer>(fingerprints: &[Fingerprint; 2], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(fingerprints.iter().map(ToString::to_string))
}
