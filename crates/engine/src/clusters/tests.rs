use std::collections::BTreeSet;

use index::{Features, Profile, Text};

use super::*;
use crate::{Engine, Options};

/// Texts in memory, and how many were read.
#[derive(Default)]
struct Told {
    texts: Vec<Text>,
    n_read: std::cell::Cell<usize>,
}

impl Texts for Told {
    fn text(&self, document: u32) -> Result<Option<Text>> {
        self.n_read.set(self.n_read.get() + 1);
        Ok(self.texts.get(document as usize).cloned())
    }

    fn digest(&self, document: u32) -> Option<u64> {
        let text: &str = self.texts.get(document as usize)?;
        self.texts.iter().position(|known| **known == *text).map(|at| at as u64)
    }
}

fn engine(profile: Profile, verify: Option<bool>) -> Engine {
    let options = Options { profile: Some(profile), verify, ..Options::of_words() };
    Engine::open("memory:", &options).unwrap()
}

/// Features without their texts, and these.
fn corpus(engine: &Engine, texts: &[String]) -> (Vec<Features>, Told) {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut features: Vec<Features> =
        engine.features(&texts).into_iter().map(|features| features.unwrap()).collect();
    features.iter_mut().for_each(|features| features.text = None);
    (features, Told { texts: texts.into_iter().map(Text::from).collect(), ..Told::default() })
}

fn word(n: u64) -> String {
    format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 36)
}

/// A page of 120 words, of which `n_own` are its own.
fn page(site: u64, page: u64, n_own: u64) -> String {
    let of = |k: u64| {
        if k < n_own { word(site * 1_000_000 + page * 1_000 + 500 + k) } else { word(site * 1_000_000 + k) }
    };
    (0..120).map(of).collect::<Vec<_>>().join(" ")
}

fn pairs(join: &Join, groups: &Groups<'_>, texts: &dyn Texts) -> (Vec<Pair>, usize) {
    let mut pairs = Vec::new();
    let visit = &mut |pair| {
        pairs.push(pair);
        Ok::<_, index::Error>(())
    };
    let Compared { n_bounded, .. } = join.pairs(groups, texts, visit).unwrap();
    let met: BTreeSet<_> = pairs.iter().map(|pair| (pair.first, pair.second)).collect();
    assert!(met.len() == pairs.len() && met.iter().all(|(a, b)| a < b), "each pair once");
    (pairs, n_bounded)
}

/// The verdicts of the rule on every two groups.
fn naive(join: &Join, groups: &Groups<'_>, texts: &dyn Texts) -> BTreeSet<(usize, usize)> {
    let all = (0..groups.len()).flat_map(|a| (a + 1..groups.len()).map(move |b| (a, b)));
    let sketch = |group: usize| join.kind.sketch(groups.features(group).clone());
    let is_near = |&(a, b): &(usize, usize)| {
        join.rule.proposes(&sketch(a), &sketch(b)) && join.confirm(groups, texts, a, b).unwrap().is_some()
    };
    all.filter(is_near).collect()
}

fn mixed() -> Vec<String> {
    let mut texts: Vec<String> = (0..12).flat_map(|site| (0..6).map(move |n| page(site, n, 2 + n))).collect();
    texts.extend((0..12).map(|n| page(n, 0, 2).to_uppercase()));
    texts.extend((0..20).map(|n| format!("The ferry of {n} o'clock leaves from pier {}", n % 3)));
    texts.extend((0..5).map(|n| page(n, 1, 3)));
    texts.push("😂😂😂".to_owned());
    texts.push("😂😂😂".to_owned());
    texts
}

#[test]
fn every_near_pair_of_small_buckets_comes_once_and_is_counted() {
    for (profile, verify) in [
        (Profile::Classic, Some(false)),
        (Profile::Classic, None),
        (Profile::Minhash, None),
        (Profile::Full, None),
    ] {
        let engine = engine(profile, verify);
        let join = Join::of(engine.index());
        let mut texts = mixed();
        if profile == Profile::Classic {
            texts.truncate(texts.len() - 2);
        }
        let (features, told) = corpus(&engine, &texts);
        let groups = Groups::counted(&features, join.rule(), &told).unwrap();
        assert!(
            groups.len() < features.len() && (0..groups.len()).any(|group| groups.members(group).len() > 1)
        );
        let (found, n_bounded) = pairs(&join, &groups, &told);
        let met: BTreeSet<_> = found.iter().map(|pair| (pair.first, pair.second)).collect();
        assert_eq!((met, n_bounded), (naive(&join, &groups, &told), 0), "{profile} {verify:?}");
        assert!(found.len() > 20, "{profile} {}", found.len());
        assert!(found.iter().all(|pair| pair.nearness.exact == (verify != Some(false))));
        for Pair { first, second, nearness } in found {
            assert_eq!(join.nearness(&groups, &told, first, second).unwrap(), nearness);
            assert!(join.rule().is_near(&nearness));
        }
    }
}

#[test]
fn a_forged_signature_brings_no_other_text_into_a_group() {
    let engine = engine(Profile::Full, None);
    let join = Join::of(engine.index());
    let texts: Vec<String> = [0, 0, 1, 0, 1, 2].iter().map(|&n| page(n, 0, 0)).collect();
    let (mut features, told) = corpus(&engine, &texts);
    let copied = features[0].clone();
    features.iter_mut().for_each(|features| *features = copied.clone());
    let groups = Groups::counted(&features, join.rule(), &told).unwrap();
    let members: Vec<&[u32]> = (0..groups.len()).map(|group| groups.members(group)).collect();
    assert_eq!(members, [&[0, 1, 3][..], &[2, 4], &[5]]);
    assert_eq!(pairs(&join, &groups, &told), (Vec::new(), 0));
    let (parts, _) = join.components(&groups, &told).unwrap();
    assert_eq!(parts.iter().collect::<Vec<_>>(), [vec![0, 1, 3], vec![2, 4]]);
    assert_eq!(Groups::new(&features).len(), 1);
    // Many such texts take linear time: beyond a few, each is a group of its own.
    let texts: Vec<String> = (0..200).map(|n| page(n, 0, 0)).collect();
    let (_, told) = corpus(&engine, &texts);
    let forged = vec![copied; 200];
    let groups = Groups::counted(&forged, join.rule(), &told).unwrap();
    assert_eq!((groups.len(), told.n_read.get()), (200, 200));
}

#[test]
fn copies_are_not_read() {
    let engine = engine(Profile::Full, None);
    let join = Join::of(engine.index());
    let texts: Vec<String> = (0..500).map(|n| page(n % 2, 0, 0)).collect();
    let (features, told) = corpus(&engine, &texts);
    let groups = Groups::counted(&features, join.rule(), &told).unwrap();
    assert_eq!((groups.len(), told.n_read.get()), (2, 0));
    assert_eq!(groups.among(&[3, 4, 7]).members(0), [3, 7]);
    assert_eq!(groups.among(&[3, 4, 7]).members(1), [4]);
}

/// Each page of a crowd of near-equal pages is compared with a few, among them the most similar,
/// and all are connected.
#[test]
fn a_crowd_takes_linear_time_and_hangs_together() {
    let engine = engine(Profile::Full, None);
    let join = Join { crowd_min: 20, ..Join::of(engine.index()) };
    let n = 300;
    let mut texts: Vec<String> = (0..n).map(|n| page(0, n, 5)).collect();
    // Each of these differs from an earlier one in a letter.
    let twins: Vec<(usize, usize)> = (0..10).map(|k| (k * 29 + 3, n as usize + k)).collect();
    let changed: Vec<String> = twins.iter().map(|&(of, _)| format!("{}e", texts[of])).collect();
    texts.extend(changed);
    let (features, told) = corpus(&engine, &texts);
    let groups = Groups::counted(&features, join.rule(), &told).unwrap();
    assert_eq!(groups.len(), texts.len());
    let (found, n_bounded) = pairs(&join, &groups, &told);
    assert!(n_bounded >= groups.len() - 1, "{n_bounded}");
    // Buckets of up to 20 are compared whole, and every two of all are near.
    let n_most = groups.len() * (COMPARED_MAX + 10);
    assert!(found.len() <= n_most && n_most * 8 < groups.len() * groups.len(), "{}", found.len());
    for twin in &twins {
        assert!(found.iter().any(|pair| (pair.first, pair.second) == *twin), "{twin:?}");
    }
    let (parts, _) = join.components(&groups, &told).unwrap();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [texts.len()]);
    let mut forest = Forest::new(groups.len());
    assert_eq!(found.iter().filter(|pair| forest.connect(pair.first, pair.second)).count(), texts.len() - 1);
    // Every run gives the same pairs.
    assert_eq!(pairs(&join, &groups, &told).0, found);
}

/// Pages with the same beginning share a bucket and are not near; near ones are found by their
/// other buckets.
#[test]
fn what_is_near_in_a_crowd_of_texts_that_begin_alike_is_found() {
    let engine = engine(Profile::Full, None);
    let join = Join { crowd_min: 20, ..Join::of(engine.index()) };
    let mut texts: Vec<String> = (0..300).map(|n| page(0, n, 40)).collect();
    let changed: Vec<String> = (0..40).map(|k| format!("{} and more", texts[k * 7])).collect();
    texts.extend(changed);
    let (features, told) = corpus(&engine, &texts);
    let groups = Groups::counted(&features, join.rule(), &told).unwrap();
    let (found, n_bounded) = pairs(&join, &groups, &told);
    assert!(n_bounded > 200, "they are a crowd: {n_bounded}");
    let met: BTreeSet<_> = found.iter().map(|pair| (pair.first, pair.second)).collect();
    assert_eq!(met, (0..40).map(|k| (k * 7, 300 + k)).collect());
    assert_eq!(met, naive(&join, &groups, &told));
}

#[test]
fn texts_of_a_run_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut texts = RunTexts::create(folder.path(), 0).unwrap();
    assert!(texts.is_empty());
    let told = ["a", "b", "a"].map(Text::from);
    for text in [Some(&told[0]), None, Some(&told[1]), Some(&told[2])] {
        texts.push(text).unwrap();
    }
    assert_eq!(texts.len(), 4);
    assert_eq!(texts.text(2).unwrap().as_ref(), Some(&told[1]));
    assert_eq!((texts.text(1).unwrap(), texts.digest(1), texts.digest(9)), (None, None, None));
    assert!(
        texts.digest(0).is_some() && texts.digest(0) == texts.digest(3) && texts.digest(0) != texts.digest(2)
    );
}

/// Pairs of documents are the pairs of groups, for all their members.
#[test]
fn pairs_of_documents_have_the_copies() {
    let engine = engine(Profile::Full, None);
    let join = Join::of(engine.index());
    let texts: Vec<String> =
        [1, 0, 0, 1, 2].map(|n| page(0, n, 3)).into_iter().chain([page(5, 0, 0)]).collect();
    let (mut features, told) = corpus(&engine, &texts);
    for (features, text) in features.iter_mut().zip(&told.texts) {
        features.text = Some(text.clone());
    }
    let texts = TextsInMemory::of(&features);
    assert!(texts.digest(1).is_some() && texts.digest(1) == texts.digest(2) && texts.digest(9).is_none());
    let groups = Groups::counted(&features, join.rule(), &texts).unwrap();
    let mut found = BTreeSet::new();
    let compared = join.document_pairs(&groups, &texts, &mut |a, b, nearness| {
        assert!(a < b && nearness.exact);
        assert!(found.insert((a, b)), "each pair once");
        let (of_a, of_b) = (&features[a as usize], &features[b as usize]);
        assert_eq!(join.rule().confirms(of_a, of_b).map(|near| near.shares), Some(nearness.shares));
        Ok::<_, index::Error>(())
    });
    assert_eq!(found, (0..5).flat_map(|b| (0..b).map(move |a| (a, b))).collect());
    assert!(compared.unwrap().n_pairs >= 5);
}
