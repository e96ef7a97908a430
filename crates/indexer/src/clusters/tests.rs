//! Compares clusters with a naive scan of all pairs.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use engine::dedup::Original;
use index::{DocumentId, Nearness, OpenOptions, Profile};
use serde_json::{Value, json};
use simhash::{Distance, Fingerprint};

use super::*;

/// A document, its result, and the position of the document for which it was dropped.
#[derive(Clone)]
struct Noticed {
    id: String,
    fingerprint: Fingerprint,
    status: &'static str,
    centre: Option<usize>,
}

/// A small generator with the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    /// A fingerprint in one of few narrow clusters, so that all cases occur.
    fn fingerprint(&mut self) -> Fingerprint {
        let centre = (self.below(4) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Fingerprint((0..self.below(5)).fold(centre, |bits, _| bits ^ 1 << self.below(9)))
    }
}

/// Makes an index and a corpus, and decides each document: one near to a kept document is dropped.
/// Documents of the index come first. The choice runs from the beginning of the input or from its
/// end.
fn documents(seed: u64, max_distance: Distance) -> Vec<Noticed> {
    let mut random = Random(seed);
    let (n_in_index, n_run) = (random.below(5), 5 + random.below(25));
    let mut documents = Vec::new();
    for i in 0..n_in_index {
        let fingerprint = random.fingerprint();
        documents.push(Noticed { id: format!("index/{i}"), fingerprint, status: "in_index", centre: None });
    }
    for i in 0..n_run {
        // Now and then a document of the index, or another version of one.
        let (id, fingerprint) = match random.below(8) {
            0 if n_in_index > 0 => {
                let old = &documents[random.below(n_in_index)];
                (old.id.clone(), old.fingerprint)
            }
            1 if n_in_index > 0 => (format!("index/{}", random.below(n_in_index)), random.fingerprint()),
            _ => (format!("run/{i}"), random.fingerprint()),
        };
        documents.push(Noticed { id, fingerprint, status: "", centre: None });
    }
    let mut stay: Vec<usize> = (0..n_in_index).collect();
    let mut kept_ids = HashSet::new();
    let mut order: Vec<usize> = (n_in_index..documents.len()).collect();
    if random.below(2) == 0 {
        order.reverse();
    }
    let mut rejected = HashSet::new();
    for i in order {
        let Noticed { id, fingerprint, .. } = documents[i].clone();
        let is_unchanged =
            stay.iter().any(|&j| documents[j].id == id && documents[j].fingerprint == fingerprint);
        let distance = |j: usize| documents[j].fingerprint.distance(fingerprint);
        let near = stay.iter().copied().filter(|&j| documents[j].id != id && distance(j) <= max_distance);
        let centre = near.min_by_key(|&j| distance(j));
        if kept_ids.contains(&id) {
            match stay
                .iter()
                .copied()
                .find(|&j| documents[j].id == id && documents[j].fingerprint == fingerprint)
            {
                // A repeated document duplicates itself; another text under the same id is
                // rejected.
                Some(same) => (documents[i].status, documents[i].centre) = ("dropped", Some(same)),
                None => _ = rejected.insert(i),
            }
        } else if let (Some(centre), false) = (centre, is_unchanged) {
            (documents[i].status, documents[i].centre) = ("dropped", Some(centre));
        } else {
            documents[i].status = "kept";
            stay.retain(|&j| documents[j].id != id);
            stay.push(i);
            kept_ids.insert(id);
        }
    }
    without(&documents, &rejected)
}

/// Removes rejected documents, and documents of the index without dropped ones or kept again by the
/// run.
fn without(documents: &[Noticed], rejected: &HashSet<usize>) -> Vec<Noticed> {
    let kept_as = |old: &Noticed| {
        documents
            .iter()
            .position(|new| new.status == "kept" && new.id == old.id && new.fingerprint == old.fingerprint)
    };
    let centre_of = |document: &Noticed| {
        let centre = document.centre?;
        let kept = (documents[centre].status == "in_index").then(|| kept_as(&documents[centre])).flatten();
        Some(kept.unwrap_or(centre))
    };
    let centres: Vec<Option<usize>> = documents.iter().map(centre_of).collect();
    // Documents of the index, in the order of their first mention.
    let mut order: Vec<usize> = Vec::new();
    for &centre in centres.iter().flatten() {
        if documents[centre].status == "in_index" && !order.contains(&centre) {
            order.push(centre);
        }
    }
    order
        .extend((0..documents.len()).filter(|i| documents[*i].status != "in_index" && !rejected.contains(i)));
    let new_position: HashMap<usize, usize> =
        order.iter().enumerate().map(|(new, &old)| (old, new)).collect();
    let moved = |&i: &usize| Noticed {
        centre: centres[i].map(|centre| new_position[&centre]),
        ..documents[i].clone()
    };
    order.iter().map(moved).collect()
}

/// Expected lines, from comparing all pairs.
fn expected(documents: &[Noticed], max_distance: Distance, chains: Chains) -> Vec<Value> {
    let mut labels: Vec<usize> = (0..documents.len()).collect();
    for _ in 0..documents.len() {
        for (i, a) in documents.iter().enumerate() {
            for (j, b) in documents.iter().enumerate() {
                if a.fingerprint.distance(b.fingerprint) <= max_distance {
                    labels[i] = labels[i].min(labels[j]);
                }
            }
        }
    }
    let mut lines = Vec::new();
    for label in 0..documents.len() {
        let members: Vec<usize> = (0..documents.len()).filter(|&i| labels[i] == label).collect();
        if members.len() < 2 {
            continue;
        }
        let whole = line(documents, &members, max_distance);
        if whole["chained"] == true && chains == Chains::Split {
            for &centre in &members {
                let piece = members.iter().copied();
                let piece: Vec<usize> =
                    piece.filter(|&i| documents[i].centre.unwrap_or(i) == centre).collect();
                if piece.len() > 1 {
                    let mut piece = line(documents, &piece, max_distance);
                    piece["split_from"] = whole["group"].clone();
                    lines.push(piece);
                }
            }
        } else {
            lines.push(whole);
        }
    }
    lines
}

fn line(documents: &[Noticed], members: &[usize], max_distance: Distance) -> Value {
    let mut nodes: Vec<Fingerprint> = Vec::new();
    for &i in members {
        if !nodes.contains(&documents[i].fingerprint) {
            nodes.push(documents[i].fingerprint);
        }
    }
    let pairs = || (0..nodes.len()).flat_map(|i| (i + 1..nodes.len()).map(move |j| (i, j)));
    let pair = |(i, j): (usize, usize)| {
        let between = [nodes[i].to_string(), nodes[j].to_string()];
        json!({ "between": between, "distance": nodes[i].distance(nodes[j]).as_bits() })
    };
    let distance = |&(i, j): &(usize, usize)| nodes[i].distance(nodes[j]);
    let edges: Vec<Value> = pairs().filter(|pair| distance(pair) <= max_distance).map(pair).collect();
    let group = members.iter().find(|&&i| documents[i].status != "dropped").unwrap();
    let node = |fingerprint: &Fingerprint| {
        let of_node = members.iter().filter(|&&i| documents[i].fingerprint == *fingerprint);
        let of_node = of_node.map(|&i| json!({ "id": documents[i].id, "status": documents[i].status }));
        json!({ "fingerprint": fingerprint.to_string(), "documents": of_node.collect::<Vec<_>>() })
    };
    let is_chained = edges.len() < pairs().count();
    let mut line = json!({
        "group": documents[*group].id,
        "chained": is_chained,
        "n_documents": members.len(),
        "n_edges": edges.len(),
        "edges_cut": false,
        "nodes": nodes.iter().map(node).collect::<Vec<_>>(),
        "edges": edges,
    });
    if is_chained {
        let widest = pairs().rev().max_by_key(distance);
        line["widest"] = pair(widest.unwrap());
    }
    line
}

/// An index by simhashes alone.
fn classic() -> OpenOptions {
    OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() }
}

/// The lines that `Clusters` writes for the same documents.
fn written(
    documents: &[Noticed],
    max_distance: Distance,
    chains: Chains,
    limits: Limits,
) -> (Vec<Value>, Clustered) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clusters.jsonl");
    let options = OpenOptions { max_distance: Some(max_distance), ..classic() };
    let index = engine::open_index("memory:", &options).unwrap();
    let mut clusters = Clusters::new(ClustersFile::create(&path).unwrap(), chains, &index);
    clusters.limits = limits;
    for document in documents.iter().filter(|document| document.status != "in_index") {
        let fingerprint = document.fingerprint;
        let id: DocumentId = document.id.parse().unwrap();
        let verdict = document.centre.map_or(Verdict::Kept, |centre| {
            let centre = &documents[centre];
            let of = Original {
                id: centre.id.parse().unwrap(),
                fingerprint: centre.fingerprint,
                nearness: Nearness::by_distance(centre.fingerprint.distance(fingerprint)),
                in_this_run: centre.status == "kept",
            };
            Verdict::Duplicate { fingerprint, of }
        });
        let document = Fingerprinted::of_features(id, Some(fingerprint.into()));
        clusters.add(&document, &verdict).unwrap();
    }
    let clustered = clusters.finish(Some(&index), &engine::clusters::NoTexts).unwrap();
    let lines = std::fs::read_to_string(path).unwrap();
    (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), clustered)
}

const NEAR: Distance = Distance::of_differing(0b111);

#[test]
fn clusters_are_those_of_the_naive_scan() {
    let mut seen = BTreeMap::<&str, usize>::new();
    for seed in 0..100 {
        let max_distance = [0b111, 0b111, 0b11, 0b1, 0].map(Distance::of_differing)[seed as usize % 5];
        let documents = documents(seed, max_distance);
        for chains in [Chains::Report, Chains::Split] {
            let expected = expected(&documents, max_distance, chains);
            let (lines, clustered) = written(&documents, max_distance, chains, Limits::default());
            assert_eq!(lines, expected, "seed {seed}");
            assert_eq!(clustered.n, lines.len() as u64);
            let text = Value::from(lines.clone()).to_string();
            let wide = lines.iter().any(|line| {
                line["widest"]["distance"].as_u64() > Some(u64::from(2 * max_distance.as_bits()))
            });
            for (case, is_so) in [
                ("a clique", lines.iter().any(|line| line["chained"] == false && line["n_edges"] == 3)),
                ("a chain", clustered.n_chained > 0),
                ("a long chain", wide),
                (
                    "a star",
                    lines.iter().any(|line| line["split_from"].is_string() && line["chained"] == true),
                ),
                ("copies", lines.iter().any(|line| line["n_edges"] == 0)),
                ("of the index", text.contains("in_index")),
                (
                    "replaced",
                    documents.iter().any(|old| {
                        old.status == "in_index"
                            && documents.iter().any(|new| new.id == old.id && new.status == "kept")
                    }),
                ),
                (
                    "for one that comes later",
                    documents.iter().enumerate().any(|(i, document)| document.centre > Some(i)),
                ),
                (
                    "alone",
                    documents.len()
                        > lines.iter().map(|line| line["n_documents"].as_u64().unwrap() as usize).sum(),
                ),
            ] {
                *seen.entry(case).or_default() += usize::from(is_so);
            }
        }
    }
    assert!(seen.values().all(|&n| n >= 5), "every case came up: {seen:?}");
}

#[test]
fn what_is_cut_still_holds_together() {
    let mut n_cut = 0;
    for seed in 0..40 {
        let documents = documents(seed, NEAR);
        let limits = Limits { n_more_edges_max: 2, n_compared_max: 3 };
        let (lines, _) = written(&documents, NEAR, Chains::Report, limits);
        for (line, whole) in lines.iter().zip(expected(&documents, NEAR, Chains::Report)) {
            let [edges, all] = [line, &whole].map(|line| line["edges"].as_array().unwrap());
            let n_nodes = line["nodes"].as_array().unwrap().len();
            assert_eq!(edges.len(), all.len().min(n_nodes - 1 + 2));
            assert_eq!(line["edges_cut"], edges.len() < all.len());
            assert_eq!(line["n_edges"], all.len());
            assert!(edges.iter().all(|edge| all.contains(edge)));
            let mut reached = BTreeSet::from([line["nodes"][0]["fingerprint"].as_str().unwrap()]);
            for _ in 0..n_nodes {
                for edge in edges {
                    let ends = [0, 1].map(|end| edge["between"][end].as_str().unwrap());
                    if ends.iter().any(|end| reached.contains(end)) {
                        reached.extend(ends);
                    }
                }
            }
            assert_eq!(reached.len(), n_nodes);
            if n_nodes > 3 && line["chained"] == true {
                assert_eq!(line["widest"]["at_least"], true);
                assert!(line["widest"]["distance"].as_u64() <= whole["widest"]["distance"].as_u64());
                assert!(line["widest"]["distance"].as_u64() > Some(0));
            }
            n_cut += usize::from(edges.len() < all.len());
        }
    }
    assert!(n_cut > 10, "{n_cut}");
}
