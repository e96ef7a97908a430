use index::{Document, Index, MemoryStore, Profile, Rule, Store};
use proptest::prelude::*;
use simhash::BucketKey;

use super::*;
use crate::dedup::{Candidate, Kept, Verdict};
use crate::{Engine, Options};

/// Decides texts under ids in memory, in the order of their ranks.
fn in_memory(texts: &[(String, String)], profile: Profile, ranks: &[u64]) -> Vec<Option<Verdict>> {
    let folder = tempfile::tempdir().unwrap();
    let spool = Some(folder.path().to_owned());
    let options = Options { profile: Some(profile), spool, ..Options::of_words() };
    let engine = Engine::open("memory:", &options).unwrap();
    let (ids, features) = features(&engine, texts);
    let mut turns: Vec<usize> = (0..texts.len()).collect();
    turns.sort_by_key(|&n| ranks[n]);
    let candidates: Vec<Candidate<'_>> = turns.iter().map(|&n| candidate_of(&ids[n], &features[n])).collect();
    let mut kept = Kept::default().with_recipe(engine.index().recipe());
    kept.decide(engine.index(), &candidates).unwrap()
}

/// Decides the same, spilled with these bytes of memory.
fn spilled(
    texts: &[(String, String)],
    profile: Profile,
    ranks: &[u64],
    n_bytes_max: usize,
) -> Vec<Option<Verdict>> {
    let folder = tempfile::tempdir().unwrap();
    let has_ranks = ranks.iter().any(|rank| *rank > 0);
    let spilled = Spilled::create(folder.path(), n_bytes_max, has_ranks).unwrap();
    let options =
        Options { profile: Some(profile), spilled: Some(Arc::clone(&spilled)), ..Options::of_words() };
    let engine = Engine::open("memory:", &options).unwrap();
    let (ids, features) = features(&engine, texts);
    for ((id, features), rank) in ids.iter().zip(&features).zip(ranks) {
        spilled.take(id, features.as_ref(), 7, *rank).unwrap();
    }
    spilled.propose(1 << 20, &mut |_| {}).unwrap();
    for (number, (id, features)) in (0..).zip(ids.iter().zip(&features)) {
        let taken = spilled.taken(number).unwrap();
        assert_eq!((&taken.id, &taken.features), (id, features));
        assert_eq!(text_of(&taken.features), text_of(features));
    }
    let decided = decide_all(&spilled, engine.index());
    let keys_of = |features: &Option<Features>| {
        let sketch = features.as_ref().map(|features| engine.index().kind().sketch(features.clone()));
        sketch.map_or_else(Vec::new, |sketch| sketch.keys().collect())
    };
    let keys: Vec<Vec<BucketKey>> = features.iter().map(keys_of).collect();
    for (number, (id, features)) in (0..).zip(ids.iter().zip(&features)) {
        let is_same = |known: &str, n_bytes| known == id.as_str() && n_bytes == 7;
        let (turn, has_features) = spilled.turn_of(number, is_same).unwrap().unwrap();
        assert_eq!(has_features, features.is_some());
        assert_eq!(decided[turn as usize].has_features, has_features);
        let of_met = spilled.features_of_met(number).unwrap();
        assert!(of_met.is_none() || of_met == *features && text_of(&of_met) == text_of(features));
        let has_met =
            keys[number as usize].iter().any(|key| keys.iter().filter(|of| of.contains(key)).count() > 1);
        assert_eq!(of_met.is_some(), has_met, "{number}");
    }
    assert_eq!(spilled.turn_of(spilled.len(), |_, _| true).unwrap(), None);
    decided.into_iter().map(|decided| decided.verdict).collect()
}

/// Decides each document in its turn.
fn decide_all(spilled: &Spilled, index: &Index) -> Vec<Decided> {
    let decide = |turn| spilled.decide(turn, |_, _| true, index).unwrap();
    let decided: Vec<Decided> = (0..).map_while(decide).collect();
    assert_eq!(decided.len() as u32, spilled.len());
    decided
}

fn text_of(features: &Option<Features>) -> Option<&str> {
    features.as_ref()?.text.as_deref()
}

fn features(engine: &Engine, texts: &[(String, String)]) -> (Vec<DocumentId>, Vec<Option<Features>>) {
    let of_texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    (texts.iter().map(|(id, _)| id.parse().unwrap()).collect(), engine.features(&of_texts))
}

fn candidate_of<'a>(id: &'a DocumentId, features: &'a Option<Features>) -> Candidate<'a> {
    Candidate { id, features: features.as_ref(), source: None }
}

/// A document of a made-up corpus: its family, the places and new words of its changes, a length
/// and an id.
type Drawn = (u32, Vec<(usize, u32)>, u32, u32);

/// Made-up corpora: texts of words from families, so that copies, near-duplicates, chains and
/// crowds come about, and ids that come again.
fn corpus() -> impl Strategy<Value = Vec<(String, String)>> {
    let changes = proptest::collection::vec((0_usize..400, 0_u32..1000), 0..6);
    let text = |(n, (family, changes, len, id)): (usize, Drawn)| {
        let mut words: Vec<String> =
            (0..len * 2).map(|k| format!("w{}", (k * k * 7 + k * family) % 211 + family * 1000)).collect();
        for (at, word) in changes {
            if let Some(place) = words.get_mut(at) {
                *place = format!("n{word}");
            }
        }
        // A few ids come again, and one often.
        let id = match id {
            0..3 => format!("again {id}"),
            3..8 => "often".to_owned(),
            _ => n.to_string(),
        };
        (id, words.join(" "))
    };
    proptest::collection::vec((0_u32..6, changes, 0_u32..60, 0_u32..40), 1..160)
        .prop_map(move |documents| documents.into_iter().enumerate().map(text).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_spilled_run_decides_as_one_in_memory(texts in corpus(),
        profile in prop::sample::select(Profile::ALL.map(|(profile, _)| profile).to_vec()),
        n_ranks in 1_u64..7, n_bytes_max in prop::sample::select(vec![1 << 14, 1 << 24])) {
        let ranks: Vec<u64> = (0..texts.len() as u64).map(|n| n * n % n_ranks).collect();
        let expected = in_memory(&texts, profile, &ranks);
        prop_assert_eq!(spilled(&texts, profile, &ranks, n_bytes_max), expected);
    }
}

/// More documents in a bucket than become pairs.
#[test]
fn a_crowd_is_decided_as_in_memory() {
    let same = "The harbour office closes at noon on Fridays and opens again on Mondays. ".repeat(4);
    let texts: Vec<(String, String)> = (0..300_u32)
        .map(|n| {
            let own: String = (0..n % 7 * 2).map(|k| format!("word{} ", n * 31 + k)).collect();
            (n.to_string(), format!("{same}{own}"))
        })
        .collect();
    for n_ranks in [1, 5] {
        let ranks: Vec<u64> = (0..300).map(|n| n % n_ranks).collect();
        let expected = in_memory(&texts, Profile::Full, &ranks);
        let n_dropped = expected.iter().filter(|verdict| !matches!(verdict, Some(Verdict::Kept))).count();
        assert!((50..290).contains(&n_dropped), "{n_dropped}");
        assert_eq!(spilled(&texts, Profile::Full, &ranks, 1 << 20), expected);
    }
}

/// A record comes again under its id with the same text, in another form, with another text of the
/// same set of n-grams, with another text, and without words.
#[test]
fn ids_that_come_again_are_decided_as_in_memory() {
    let part = "The ferry to the island leaves at noon. ".repeat(2);
    let of_id = |n: u64| {
        let one = format!(
            "The fine of {} is 1000. {part}The harbour office closes. {part}",
            "abcdefgh".repeat(n as usize)
        );
        let [capitals, same_set] = [one.to_uppercase(), one.clone() + &part];
        let other = "A dog ran past the church on the hill, and no one saw where it went.".to_owned();
        let texts = [String::new(), capitals, same_set, one.clone(), one, other, String::new()];
        texts.into_iter().cycle().skip(n as usize).take(21).map(move |text| (format!("id {n}"), text))
    };
    let texts: Vec<(String, String)> = (0..7).flat_map(of_id).collect();
    for (profile, _) in Profile::ALL {
        for n_ranks in [1, 5] {
            let ranks: Vec<u64> = (0..texts.len() as u64).map(|n| n * n % n_ranks).collect();
            let expected = in_memory(&texts, profile, &ranks);
            let n_rejected = expected.iter().filter(|verdict| verdict.is_none()).count();
            assert!((24..140).contains(&n_rejected), "{n_rejected}");
            assert_eq!(spilled(&texts, profile, &ranks, 1 << 20), expected, "{profile} {n_ranks}");
        }
    }
}

/// The thread that looks ahead waits with more pairs than it may hand over, and ends with the run.
#[test]
fn a_run_that_is_given_up_leaves_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    let spilled = Spilled::create(folder.path(), 1 << 20, false).unwrap();
    let options = Options { spilled: Some(Arc::clone(&spilled)), ..Options::of_words() };
    let engine = Engine::open("memory:", &options).unwrap();
    let text = |family: u64| (0..30).map(|k| format!("w{} ", family * 1000 + k * k)).collect::<String>();
    let texts: Vec<(String, String)> = (0..2_000).map(|n| (n.to_string(), text(n / 20))).collect();
    let (ids, features) = features(&engine, &texts);
    for (id, features) in ids.iter().zip(&features) {
        spilled.take(id, features.as_ref(), 7, 0).unwrap();
    }
    spilled.propose(1 << 20, &mut |_| {}).unwrap();
    let decided = spilled.decide(0, |_, _| true, engine.index()).unwrap();
    assert_eq!(decided.unwrap().verdict, Some(Verdict::Kept));
    drop((engine, options));
    assert_eq!(Arc::strong_count(&spilled), 1, "dropped here, so it ends here");
    drop(spilled);
}

/// Where bounds leave candidates out, the first of equally promising ones are judged: the order of
/// insertion decides, and not that of the input.
#[test]
fn bounds_leave_out_the_same() {
    let words = |from: u64, n: u64| {
        let word = |n: u64| format!("w{:x} ", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
        (from..from + n).map(word).collect::<String>()
    };
    // The first of the turns are near to no other; each of the last is near to all of these.
    let is_last = |n: u64| n % 4 == 3;
    let text = |n: u64| words(0, 200) + &words(1000 + 100 * n, if is_last(n) { 2 } else { 28 });
    let texts: Vec<(String, String)> = (0..80).map(|n| (n.to_string(), text(n))).collect();
    let ranks = (0..80).map(|n| if is_last(n) { 100 } else { n * n % 11 });
    let engine = Engine::open("memory:", &Options::of_words()).unwrap();
    let (ids, features) = features(&engine, &texts);
    let (metadata, kind) = (engine.index().metadata(), engine.index().kind());
    let rule = engine.index().insertion_rule();
    for rule in [
        Rule { counted_max: Some(1), ..rule },
        Rule { candidates_max: Some(1), ..rule },
        Rule { candidates_max: Some(5), counted_max: Some(3), ..rule },
    ] {
        let folder = tempfile::tempdir().unwrap();
        let spilled = Spilled::create(folder.path(), 1 << 20, true).unwrap();
        let (in_memory, store) = (MemoryStore::new(), SpilledStore::new(Arc::clone(&spilled)));
        in_memory.create(metadata).unwrap();
        store.create(metadata).unwrap();
        for ((id, features), rank) in ids.iter().zip(&features).zip(ranks.clone()) {
            spilled.take(id, features.as_ref(), 7, rank).unwrap();
        }
        spilled.propose(1 << 20, &mut |_| {}).unwrap();
        let taken = ids.iter().cloned().zip(features.iter().cloned());
        let mut documents: Vec<(u64, Document)> = taken
            .zip(ranks.clone())
            .map(|((id, features), rank)| {
                (rank, Document { id, sketch: kind.sketch(features.unwrap()), source: None })
            })
            .collect();
        documents.sort_by_key(|(rank, _)| *rank);
        let documents: Vec<Document> = documents.into_iter().map(|(_, document)| document).collect();
        let expected: Vec<Verdict> = in_memory
            .insert_if_new(&documents, &rule)
            .unwrap()
            .into_iter()
            .zip(&documents)
            .map(|(insertion, document)| {
                let duplicate = |found| Verdict::duplicate(document.sketch.features(), found, true);
                insertion.original().map_or(Verdict::Kept, duplicate)
            })
            .collect();
        let decide = |turn| {
            let decided = spilled.decide_by(&rule, turn, |_, _| true);
            decided.unwrap().and_then(|decided| decided.verdict)
        };
        assert_eq!((0..).map_while(decide).collect::<Vec<_>>(), expected);
        let n_bounded = in_memory.status().unwrap().n_bounded;
        assert!(n_bounded >= Some(20), "{n_bounded:?}");
        assert_eq!(store.status().unwrap().n_bounded, n_bounded);
    }
}
