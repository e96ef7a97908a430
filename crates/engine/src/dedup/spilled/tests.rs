use index::Profile;
use proptest::prelude::*;

use super::*;
use crate::dedup::{Candidate, Kept, Verdict};
use crate::{Engine, Options};

/// Decides texts under ids in memory, and spilled with these bytes of memory.
fn decided(
    texts: &[(String, String)],
    profile: Profile,
    n_bytes_max: Option<usize>,
) -> Vec<Option<Verdict>> {
    let folder = tempfile::tempdir().unwrap();
    let spilled = n_bytes_max.map(|n_bytes_max| Spilled::create(folder.path(), n_bytes_max).unwrap());
    let mut options = Options { profile: Some(profile), spilled: spilled.clone(), ..Options::default() };
    if spilled.is_none() {
        options.spool = Some(folder.path().to_owned());
    }
    let engine = Engine::open("memory:", &options).unwrap();
    let of_texts: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let ids: Vec<DocumentId> = texts.iter().map(|(id, _)| id.parse().unwrap()).collect();
    let features = engine.features(&of_texts);
    let mut kept = Kept::default().with_recipe(engine.index().recipe());
    let features = match &spilled {
        None => features,
        Some(spilled) => {
            for (id, features) in ids.iter().zip(&features) {
                spilled.take(id, features.as_ref(), 7).unwrap();
            }
            spilled.propose(&mut |_| {}).unwrap();
            kept = kept.of_spilled(spilled);
            let taken = (0..spilled.len()).map(|number| spilled.next(number).unwrap().unwrap());
            let again: Vec<_> = taken.map(|taken| taken.features).collect();
            assert_eq!(again, features, "features come back as they were taken");
            again
        }
    };
    let candidates: Vec<Candidate<'_>> = ids.iter().zip(&features).map(|(id, f)| candidate_of(id, f)).collect();
    kept.decide(engine.index(), &candidates).unwrap()
}

fn candidate_of<'a>(id: &'a DocumentId, features: &'a Option<Features>) -> Candidate<'a> {
    Candidate { id, features: features.as_ref(), source: None }
}

/// Made-up corpora: texts of words from families, so that copies, near-duplicates, chains and
/// crowds come about, and ids that come again.
fn corpus() -> impl Strategy<Value = Vec<(String, String)>> {
    let document = (0_u32..6, proptest::collection::vec((0_usize..400, 0_u32..1000), 0..6), 0_u32..60, 0_u32..40);
    proptest::collection::vec(document, 1..160).prop_map(|documents| {
        let documents = documents.into_iter().enumerate();
        let text = |(n, (family, changes, len, id)): (usize, (u32, Vec<(usize, u32)>, u32, u32))| {
            let mut words: Vec<String> =
                (0..len * 2).map(|k| format!("w{}", (k * k * 7 + k * family) % 211 + family * 1000)).collect();
            for (at, word) in changes {
                if let Some(place) = words.get_mut(at) {
                    *place = format!("n{word}");
                }
            }
            // A few ids come again.
            let id = if id < 3 { format!("again {id}") } else { format!("{n}") };
            (id, words.join(" "))
        };
        documents.map(text).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_spilled_run_decides_as_one_in_memory(texts in corpus(),
        profile in prop::sample::select(Profile::ALL.map(|(profile, _)| profile).to_vec()),
        n_bytes_max in prop::sample::select(vec![1 << 14, 1 << 24])) {
        let in_memory = decided(&texts, profile, None);
        prop_assert_eq!(decided(&texts, profile, Some(n_bytes_max)), in_memory);
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
    let in_memory = decided(&texts, Profile::Full, None);
    let n_dropped = in_memory.iter().filter(|verdict| !matches!(verdict, Some(Verdict::Kept))).count();
    assert!((50..290).contains(&n_dropped), "{n_dropped}");
    assert_eq!(decided(&texts, Profile::Full, Some(1 << 20)), in_memory);
}
