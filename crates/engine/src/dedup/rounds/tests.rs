use std::collections::{BTreeMap, HashMap};

use index::{DocumentId, Features, Nearness, Profile, Text};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::{Candidate, Kept, Verdict};
use super::*;
use crate::clusters::{Groups, Join, TextsInMemory};
use crate::{Engine, Options};

/// For each document the earlier near ones, the nearest first.
type Graph = Vec<Vec<usize>>;

/// For each document the kept one for which it is dropped, decided one after another.
fn one_by_one(graph: &Graph) -> Vec<Option<usize>> {
    let mut originals: Vec<Option<usize>> = Vec::new();
    for earlier in graph {
        let original = earlier.iter().copied().find(|&near| originals[near].is_none());
        originals.push(original);
    }
    originals
}

/// A run of rounds over partitions.
struct Run<'a> {
    graph: &'a Graph,
    /// The documents of each partition, in any order.
    partitions: Vec<Vec<usize>>,
    known: HashMap<usize, Standing>,
}

impl<'a> Run<'a> {
    /// Makes a run that has `partition_of` each document.
    fn new(graph: &'a Graph, partition_of: impl Fn(usize) -> usize) -> Self {
        let mut partitions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        (0..graph.len())
            .for_each(|document| partitions.entry(partition_of(document)).or_default().push(document));
        Self { graph, partitions: partitions.into_values().collect(), known: HashMap::new() }
    }

    fn is_done(&self) -> bool {
        self.known.len() == self.graph.len()
    }

    /// One round of the partitions for which `answers` is true.
    fn round(&mut self, answers: impl Fn(usize) -> bool) {
        let known = |document: usize| self.known.get(&document).copied();
        let answering = self.partitions.iter().enumerate().filter(|(place, _)| answers(*place));
        let new = answering.flat_map(|(_, documents)| {
            let undecided = documents.iter().filter(|&&document| known(document).is_none());
            round(undecided.map(|&document| self.undecided(document)), known)
        });
        let new: Vec<_> = new.collect();
        for (document, standing) in new {
            assert_eq!(self.known.insert(document, standing), None);
        }
    }

    fn undecided(&self, document: usize) -> Undecided<'a, usize> {
        Undecided { document, earlier: &self.graph[document] }
    }

    /// Takes rounds to the end; returns their number.
    fn finish(&mut self) -> usize {
        let mut n_rounds = 0;
        while !self.is_done() {
            let earliest = (0..self.graph.len()).find(|document| !self.known.contains_key(document));
            self.round(|_| true);
            assert!(earliest.is_some_and(|earliest| self.known.contains_key(&earliest)));
            n_rounds += 1;
        }
        n_rounds
    }

    fn originals(&self) -> Vec<Option<usize>> {
        let known = |document: usize| self.known.get(&document).copied();
        let original = |document: usize| {
            let original = self.undecided(document).original(known);
            assert_eq!(original.is_none(), known(document) == Some(Standing::Kept));
            original
        };
        (0..self.graph.len()).map(original).collect()
    }
}

/// Documents with up to 8 near ones each, in any order of nearness.
fn graphs() -> impl Strategy<Value = Graph> {
    vec(vec(any::<prop::sample::Index>(), 0..8), 0..60).prop_map(|near| {
        let earlier = |(document, near): (usize, Vec<prop::sample::Index>)| {
            let mut earlier: Vec<usize> = Vec::new();
            for near in near.iter().filter(|_| document > 0) {
                let near = near.index(document);
                if !earlier.contains(&near) {
                    earlier.push(near);
                }
            }
            earlier
        };
        near.into_iter().enumerate().map(earlier).collect()
    })
}

proptest! {
    #[test]
    fn any_partition_decides_as_one_after_another(
        graph in graphs(),
        partition_of in vec(0..7_usize, 60),
        is_turned in vec(any::<bool>(), 7),
    ) {
        let mut run = Run::new(&graph, |document| partition_of[document]);
        for (documents, _) in run.partitions.iter_mut().zip(&is_turned).filter(|(_, is_turned)| **is_turned) {
            documents.reverse();
        }
        run.finish();
        prop_assert_eq!(run.originals(), one_by_one(&graph));
    }

    /// The documents lie in other partitions in each round, as a shuffle leaves them, and some
    /// partitions do not answer.
    #[test]
    fn lost_answers_and_other_partitions_change_nothing(
        graph in graphs(),
        rounds in vec((vec(0..5_usize, 60), vec(any::<bool>(), 5)), 0..6),
    ) {
        let mut known = HashMap::new();
        for (partition_of, answers) in rounds {
            let mut run = Run { known, ..Run::new(&graph, |document| partition_of[document]) };
            run.round(|place| answers[place]);
            known = run.known;
        }
        let mut run = Run { known, ..Run::new(&graph, |document| document % 3) };
        run.finish();
        prop_assert_eq!(run.originals(), one_by_one(&graph));
    }
}

#[test]
fn chains_and_crowds_take_the_rounds_that_are_promised() {
    let chain: Graph = (0..24_usize).map(|document| document.checked_sub(1).into_iter().collect()).collect();
    let crowd: Graph = (0..24).map(|document| (0..document).collect()).collect();
    let run = |graph: &Graph, partition_of: &dyn Fn(usize) -> usize| {
        let mut run = Run::new(graph, partition_of);
        let n_rounds = run.finish();
        assert_eq!(run.originals(), one_by_one(graph));
        n_rounds
    };
    for graph in [&chain, &crowd] {
        assert_eq!(run(graph, &|_| 0), 1);
    }
    assert_eq!(run(&chain, &|document| document), 24);
    assert_eq!(run(&chain, &|document| document / 6), 4);
    assert_eq!(run(&crowd, &|document| document), 2);
    assert_eq!(run(&crowd, &|document| document % 5), 2);
}

/// Pages of a few sites, some of them near; a page in another case is a copy.
fn pages() -> Vec<String> {
    let word = |n: u64| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36);
    let page = |site: u64, page: u64| {
        let word = |k| word(site * 1_000_000 + if k < 3 * page { 500 + page * 1_000 + k } else { k });
        (0..120).map(word).collect::<Vec<_>>().join(" ")
    };
    let mut pages: Vec<String> =
        (0..9).flat_map(|n| (0..8).map(move |site| page(site, (n * 5) % 9))).collect();
    pages.extend((0..8).map(|site| page(site, site).to_uppercase()));
    pages
}

/// The pairs of a join, decided in rounds, are the verdicts of an index that takes the documents
/// one after another.
#[test]
fn rounds_over_pairs_decide_as_an_index() {
    for profile in [Profile::Classic, Profile::Minhash, Profile::Full] {
        let engine =
            Engine::open("memory:", &Options { profile: Some(profile), ..Options::of_words() }).unwrap();
        let texts = pages();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut features: Vec<Features> =
            engine.features(&texts).into_iter().map(|features| features.unwrap()).collect();
        for (features, text) in features.iter_mut().zip(&texts) {
            features.text = Some(Text::from(*text));
        }
        let join = Join::of(engine.index());
        let told = TextsInMemory::of(&features);
        let groups = Groups::counted(&features, join.rule(), &told).unwrap();
        // An index takes the nearest, then the least id, and ids ascend here.
        let mut near: Vec<Vec<(Nearness, usize)>> = vec![Vec::new(); features.len()];
        let visit = &mut |earlier: u32, later: u32, nearness| {
            near[later as usize].push((nearness, earlier as usize));
            Ok::<_, index::Error>(())
        };
        join.document_pairs(&groups, &told, visit).unwrap();
        near.iter_mut().for_each(|near| near.sort_unstable());
        let graph: Graph =
            near.into_iter().map(|near| near.into_iter().map(|(_, earlier)| earlier).collect()).collect();
        let mut run = Run::new(&graph, |document| document % 5);
        assert!(run.finish() > 1);

        let ids: Vec<DocumentId> = (0..features.len()).map(|n| format!("{n:04}").parse().unwrap()).collect();
        let candidates: Vec<Candidate<'_>> = ids
            .iter()
            .zip(&features)
            .map(|(id, features)| Candidate { id, features: Some(features), source: None })
            .collect();
        let verdicts = Kept::default().decide(engine.index(), &candidates).unwrap();
        let originals: Vec<Option<usize>> = verdicts
            .into_iter()
            .map(|verdict| match verdict.unwrap() {
                Verdict::Kept => None,
                Verdict::Duplicate { of, .. } => Some(of.id.as_str().parse().unwrap()),
            })
            .collect();
        let n_kept = originals.iter().filter(|original| original.is_none()).count();
        assert!(n_kept >= 8 && n_kept + 8 <= features.len(), "{profile}: {n_kept}");
        assert_eq!(run.originals(), originals, "{profile}");
    }
}
