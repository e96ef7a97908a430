use index::{ErrorKind, OpenOptions};
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

#[test]
fn an_id_stands_for_the_first_text_that_is_kept_under_it() {
    let index = crate::open_index("memory:", &OpenOptions::default()).unwrap();
    let [old, a, b] = ["old", "a", "b"].map(|id| id.parse::<DocumentId>().unwrap());
    index.insert(&[(old.clone(), Fingerprint(0xff << 40))]).unwrap();
    let known = [0, 1, 0xff, 0xff << 20, 0xff << 40, 0xfe << 40]
        .map(|bits| (bits, Features::from(Fingerprint(bits))));
    let known = HashMap::from(known);
    let of = |id, bits: Option<u64>| Candidate { id, features: bits.map(|bits| &known[&bits]), source: None };
    let candidates = [
        of(&a, Some(0)),
        of(&b, Some(1)),
        of(&a, Some(0)),
        of(&a, Some(0xff)),
        of(&b, None),
        of(&b, Some(0xff << 20)),
        of(&old, Some(0xff << 40)),
        of(&old, None),
    ];
    let verdicts = Kept::default().decide(&index, &candidates).unwrap();
    let shown = verdicts.iter().map(|verdict| match verdict {
        None => "another text".to_owned(),
        Some(Verdict::Kept) => "kept".to_owned(),
        Some(Verdict::Duplicate { of, .. }) => {
            format!("{} {} {}", of.nearness.distance, of.id, of.in_this_run)
        }
    });
    let expected =
        ["kept", "1 a true", "0 a true", "another text", "kept", "another text", "kept", "another text"];
    assert!(shown.eq(expected));
    // Decided against the documents of an earlier run.
    let verdicts = Kept::default().decide(&index, &[of(&b, Some(0xfe << 40))]).unwrap();
    assert!(
        matches!(&verdicts[..], [Some(Verdict::Duplicate { of, .. })] if of.id == old && !of.in_this_run)
    );
}

/// As sets `1000` is `10000`, and `a b a` is `a b`.
#[test]
fn a_text_of_the_same_sets_is_another_text_under_the_same_id() {
    // A simhash would tell the texts apart, because it counts how often a word comes.
    let options = crate::Options { profile: Some(index::Profile::Minhash), ..crate::Options::default() };
    let engine = crate::Engine::open("memory:", &options).unwrap();
    let part = "The ferry to the island leaves at noon. ".repeat(2);
    let first = format!("The fine is 1000. {part}The harbour office closes on Fridays. {part}");
    for (again, expected) in [
        (first.clone(), Some(false)),
        (first.to_uppercase().replace('.', " !"), Some(false)),
        (first.replace("1000", "10000"), None),
        (first.clone() + &part, None),
    ] {
        let mut kept = Kept::default();
        let id: DocumentId = "a".parse().unwrap();
        let texts = [first.as_str(), again.as_str()];
        let features = engine.features(&texts);
        let candidates: Vec<Candidate<'_>> = features
            .iter()
            .map(|features| Candidate { id: &id, features: features.as_ref(), source: None })
            .collect();
        engine.index().remove(std::slice::from_ref(&id)).unwrap();
        let verdicts = kept.decide(engine.index(), &candidates).unwrap();
        assert_eq!(verdicts[0], Some(Verdict::Kept));
        let numbers_differ = verdicts[1].as_ref().map(|verdict| match verdict {
            Verdict::Duplicate { of, .. } => of.nearness.numbers_differ.unwrap(),
            Verdict::Kept => unreachable!("{again}"),
        });
        assert_eq!(numbers_differ, expected, "{again}");
    }
}

#[test]
fn a_batch_ends_before_an_id_that_comes_again() {
    let ids = ["a", "b", "a", "c"].map(|id| id.parse::<DocumentId>().unwrap());
    for (n_max, expected) in [(0, 0), (1, 1), (2, 2), (3, 2), (9, 2)] {
        assert_eq!(batch_len(&ids, n_max), expected);
    }
    assert_eq!(batch_len(&ids[1..], 9), 3);
    assert_eq!(batch_len(&[], 9), 0);
}

#[test]
fn answers_that_are_missing_are_an_error() {
    let a: DocumentId = "a".parse().unwrap();
    let features = Features::from(Fingerprint(0));
    let candidate = Candidate { id: &a, features: Some(&features), source: None };
    let decided = Kept::default().decide_batch(
        [candidate].into_iter(),
        |_| Ok(Vec::new()),
        |_| Ok(Vec::new()),
        |_| Ok::<_, Error>(Vec::new()),
    );
    assert_eq!(decided.unwrap_err().kind(), ErrorKind::Internal);
}

/// Texts that are near to each other, or have the same sets, or no features.
fn some_text() -> impl Strategy<Value = String> {
    let part = "The ferry to the island leaves at noon. ".repeat(2);
    let first = format!("The fine is 1000. {part}The harbour office closes on Fridays. {part}");
    select(vec![
        String::new(),
        first.clone(),
        first.to_uppercase(),
        first.replace("1000", "10000"),
        first.replace("Fridays", "Sundays"),
        first.clone() + &part,
        "A dog ran past the church on the hill, and nobody saw where it went.".to_owned(),
        "...".to_owned(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_index_of_the_runs_own_tells_what_was_kept(
        documents in prop::collection::vec((0..5_u8, some_text()), 1..25),
        n_in_call in 1..9_usize,
    ) {
        let verdicts = |is_own: bool| {
            let options =
                crate::Options { profile: Some(index::Profile::Minhash), ..crate::Options::default() };
            let engine = crate::Engine::open("memory:", &options).unwrap();
            let kept = Kept::default().with_recipe(engine.index().recipe());
            let mut kept = if is_own { kept.of_own_index(engine.index()) } else { kept };
            assert_eq!(matches!(kept.held, Held::WithoutFeatures), is_own);
            let mut verdicts = Vec::new();
            for documents in documents.chunks(n_in_call) {
                let texts: Vec<&str> = documents.iter().map(|(_, text)| text.as_str()).collect();
                let ids: Vec<DocumentId> =
                    documents.iter().map(|(n, _)| n.to_string().parse().unwrap()).collect();
                let features = engine.features(&texts);
                let candidates: Vec<Candidate<'_>> = ids
                    .iter()
                    .zip(&features)
                    .map(|(id, features)| Candidate { id, features: features.as_ref(), source: None })
                    .collect();
                verdicts.extend(kept.decide(engine.index(), &candidates).unwrap());
            }
            verdicts
        };
        prop_assert_eq!(verdicts(true), verdicts(false));
    }
}

/// Ids are in a table that doubles: what it takes then is foreseen.
#[test]
fn leaps_of_memory_are_foreseen() {
    let mut kept = Kept::default();
    for n in 0..4_000 {
        let (before, foreseen) = (kept.noted.capacity(), kept.leap_bytes(1));
        kept.note(format!("d{n}").parse().unwrap(), None);
        let after = kept.noted.capacity();
        assert_eq!(foreseen > 0, after > before, "{n}");
        let n_places = (after * 8 / 7) as u64;
        let place = size_of::<(DocumentId, Earlier)>() as u64 + 1;
        assert!(after == before || after < 14 || foreseen >= n_places * place, "{n}: {foreseen}");
    }
    assert!(kept.leap_bytes(100_000) > 100_000 * size_of::<DocumentId>() as u64);
}
