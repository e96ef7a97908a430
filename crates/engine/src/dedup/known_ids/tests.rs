use index::{Features, OpenOptions, Profile};
use simhash::Fingerprint;

use super::super::{Kept, Verdict};
use super::*;

fn id(name: &str) -> DocumentId {
    name.parse().unwrap()
}

/// An index of simhashes alone, so numbers tell the distance.
fn index_at(uri: &str, documents: &[(&str, u64)]) -> Index {
    let options =
        OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
    let index = crate::open_index(uri, &options).unwrap();
    let documents: Vec<_> = documents.iter().map(|(name, bits)| (id(name), Fingerprint(*bits))).collect();
    index.insert(&documents).unwrap();
    index
}

/// All documents of the index, by id.
fn contents(index: &Index) -> Vec<(String, u64)> {
    let page = index.scan(index::Cursor::start(), 100).unwrap();
    let mut all: Vec<_> = page
        .documents
        .into_iter()
        .map(|stored| (stored.document.id.to_string(), stored.document.sketch.fingerprint().0))
        .collect();
    all.sort();
    all
}

/// The verdict on each document, in one word or two.
fn decided(kept: &mut Kept, index: &Index, documents: &[(&str, Option<u64>)]) -> Vec<String> {
    let documents: Vec<(DocumentId, Option<Features>)> =
        documents.iter().map(|(name, bits)| (id(name), bits.map(|bits| Fingerprint(bits).into()))).collect();
    let candidates: Vec<_> = documents
        .iter()
        .map(|(id, features)| Candidate { id, features: features.as_ref(), source: None })
        .collect();
    let verdicts = kept.decide(index, &candidates).unwrap();
    let shown = verdicts.into_iter().map(|verdict| match verdict {
        None => "rejected".to_owned(),
        Some(Verdict::Kept) => "kept".to_owned(),
        Some(Verdict::Duplicate { of, .. }) => {
            format!("of {}{}", of.id, if of.in_this_run { " now" } else { "" })
        }
    });
    shown.collect()
}

fn carry_out(
    known_ids: KnownIds,
    index: &Index,
    candidates: &[Candidate<'_>],
    foreseen: Vec<Option<Match>>,
) -> Result<Vec<Option<Match>>> {
    known_ids
        .carry_out(index, candidates, Foreseen::new(foreseen), |_, again| known_ids.foresee(index, again))
}

const OTHER: u64 = 0xff << 40;

#[test]
fn each_value_means_what_its_table_says() {
    let folder = tempfile::tempdir().unwrap();
    let (old, gone) = (Some(0), None);
    let (nearly, new, near_other) = (Some(1), Some(0xff << 20), Some(OTHER | 1));
    let rows = [
        // Columns: the text; for keep, compare and replace the verdict and then the contents of the
        // index.
        (old, [("kept", old), ("of page", old), ("kept", old)]),
        (nearly, [("kept", nearly), ("of page", old), ("kept", nearly)]),
        (new, [("kept", new), ("kept", new), ("kept", new)]),
        (near_other, [("of other", old), ("of other", old), ("of other", gone)]),
        (None, [("kept", old), ("kept", old), ("kept", gone)]),
    ];
    for (n, (text, expected)) in rows.into_iter().enumerate() {
        for ((known_ids, name), (verdict, stays)) in KnownIds::ALL.into_iter().zip(expected) {
            let embedded = format!("embedded:{}", folder.path().join(format!("{n}{name}")).display());
            for uri in ["memory:", &embedded] {
                let index = index_at(uri, &[("page", 0), ("other", OTHER)]);
                let what = format!("{name} {text:?} {uri}");
                assert_eq!(
                    decided(&mut Kept::new(known_ids), &index, &[("page", text)]),
                    [verdict],
                    "{what}"
                );
                let page = stays.map(|bits| ("page".to_owned(), bits));
                let expected: Vec<_> = [("other".to_owned(), OTHER)].into_iter().chain(page).collect();
                assert_eq!(contents(&index), expected, "{what}");
            }
        }
    }
}

/// An index made by other means may hold two documents that are near.
#[test]
fn what_is_unchanged_and_near_to_another_id() {
    for (known_ids, verdicts, expected) in [
        (KnownIds::Keep, ["kept", "kept"], &[("page", 0), ("twin", 1)][..]),
        (KnownIds::Compare, ["of page", "of twin"], &[("page", 0), ("twin", 1)]),
        // The first of the two meets the document under the other id.
        (KnownIds::Replace, ["of twin now", "kept"], &[("twin", 1)]),
    ] {
        let index = index_at("memory:", &[("page", 0), ("twin", 1)]);
        let both = [("page", Some(0)), ("twin", Some(1))];
        assert_eq!(decided(&mut Kept::new(known_ids), &index, &both), verdicts);
        assert!(contents(&index).iter().map(|(id, bits)| (&**id, *bits)).eq(expected.iter().copied()));
    }
}

/// An id that comes twice in a run stands for the first kept text, under every rule for known ids.
#[test]
fn an_id_that_comes_twice_in_a_run() {
    let coming =
        [("page", Some(1)), ("page", Some(0xff << 20)), ("page", Some(0xff << 20)), ("page", Some(0))];
    for (known_ids, expected) in [
        (KnownIds::Keep, ["kept", "rejected", "rejected", "rejected"]),
        (KnownIds::Compare, ["of page", "kept", "of page now", "rejected"]),
        (KnownIds::Replace, ["kept", "rejected", "rejected", "rejected"]),
    ] {
        let index = index_at("memory:", &[("page", 0)]);
        assert_eq!(decided(&mut Kept::new(known_ids), &index, &coming), expected, "{known_ids}");
    }
    // A version that leaves does not block later documents, and its id is free again.
    let index = index_at("memory:", &[("page", 0), ("other", OTHER)]);
    let coming = [("page", Some(OTHER)), ("moved", Some(0)), ("page", Some(0xff << 20))];
    let said = decided(&mut Kept::new(KnownIds::Replace), &index, &coming);
    assert_eq!(said, ["of other", "kept", "kept"]);
}

/// The rule holds for any number of documents in a call, any contents, and any number of
/// repetitions of `carry_out`.
#[test]
fn a_call_for_many_says_what_calls_for_each_say() {
    let mut state = 5_u64;
    let mut random = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for round in 0..150 {
        let mut bits = || {
            let centre = random(4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (0..random(4)).fold(centre, |bits, _| bits ^ 1 << random(6))
        };
        let names: Vec<String> = (0..30).map(|n| format!("{n:02}")).collect();
        let before: Vec<_> = names[..15].iter().map(|name| (&**name, bits())).collect();
        let documents: Vec<(DocumentId, Option<Features>)> = names[5..]
            .iter()
            .map(|name| (id(name), bits()))
            .map(|(id, bits)| (id, (bits % 5 > 0).then(|| Fingerprint(bits).into())))
            .collect();
        let candidates: Vec<_> = documents
            .iter()
            .map(|(id, features)| Candidate { id, features: features.as_ref(), source: None })
            .collect();
        for (known_ids, name) in KnownIds::ALL {
            let [at_once, foreseen, overlaid, one_by_one] = [(); 4].map(|()| index_at("memory:", &before));
            let expected: Vec<_> = candidates
                .iter()
                .flat_map(|one| known_ids.insert_if_new(&one_by_one, std::slice::from_ref(one)).unwrap())
                .collect();
            let digest = one_by_one.digest().unwrap();
            let what = format!("round {round}, {name}");
            assert_eq!(known_ids.insert_if_new(&at_once, &candidates).unwrap(), expected, "{what}");
            assert_eq!(at_once.digest().unwrap(), digest, "{what}");
            let overlaid = overlaid.overlaid();
            assert_eq!(known_ids.insert_if_new(&overlaid, &candidates).unwrap(), expected, "{what}");
            assert_eq!(overlaid.digest().unwrap(), digest, "{what}");
            let answers = known_ids.foresee(&foreseen, &candidates).unwrap();
            assert_eq!(answers, expected, "{what}");
            for _ in 0..2 {
                let answers = carry_out(known_ids, &foreseen, &candidates, answers.clone()).unwrap();
                assert_eq!(answers, expected, "{what}");
                assert_eq!(foreseen.digest().unwrap(), digest, "{what}");
            }
            let error = carry_out(known_ids, &foreseen, &candidates, Vec::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal);
        }
    }
}

/// Another program may write between `foresee` and `carry_out`.
#[test]
fn what_came_meanwhile_keeps_a_document_out_all_the_same() {
    for (known_ids, page_stays) in
        [(KnownIds::Keep, true), (KnownIds::Compare, true), (KnownIds::Replace, false)]
    {
        let index = index_at("memory:", &[("page", 0)]);
        let (page, features) = (id("page"), Features::from(Fingerprint(OTHER)));
        let candidates = [Candidate { id: &page, features: Some(&features), source: None }];
        let foreseen = known_ids.foresee(&index, &candidates).unwrap();
        assert_eq!(foreseen, [None]);
        index.insert(&[(id("other"), Fingerprint(OTHER))]).unwrap();
        let answers = carry_out(known_ids, &index, &candidates, foreseen).unwrap();
        assert!(matches!(&answers[..], [Some(near)] if near.id == id("other")), "{known_ids}: {answers:?}");
        assert_eq!(index.get(std::slice::from_ref(&page)).unwrap()[0].is_some(), page_stays, "{known_ids}");
    }
}

/// The verdicts on documents while other programs insert: the first of `others` after the first
/// foreseeing, the next ones after each repetition.
fn decided_among_others(
    known_ids: KnownIds,
    documents: &[(DocumentId, Features)],
    others: &[Vec<(DocumentId, Fingerprint)>],
) -> Vec<String> {
    let index = index_at("memory:", &[]);
    let candidates: Vec<_> = documents
        .iter()
        .map(|(id, features)| Candidate { id, features: Some(features), source: None })
        .collect();
    let mut others = others.iter();
    let mut foresee = |candidates: &[Candidate<'_>]| {
        let foreseen = known_ids.foresee(&index, candidates)?;
        others.next().map_or(Ok(Vec::new()), |others| index.insert_if_new(others))?;
        Ok::<_, Error>(foreseen)
    };
    let insert_if_new = |new: &[Candidate<'_>]| {
        let foreseen = Foreseen::new(foresee(new)?);
        known_ids.carry_out(&index, new, foreseen, |_, again| foresee(again))
    };
    let mut kept = Kept::new(known_ids);
    let (stored, texts) = (|_: &[DocumentId]| Ok(Vec::new()), |_: &[DocumentId]| Ok(Vec::new()));
    let verdicts = kept.decide_batch(candidates.iter().copied(), stored, texts, insert_if_new).unwrap();
    let shown = verdicts.iter().map(|verdict| match verdict.as_ref().unwrap() {
        Verdict::Kept => "kept".to_owned(),
        Verdict::Duplicate { of, .. } => {
            let original = index.get(std::slice::from_ref(&of.id)).unwrap().pop().flatten();
            assert!(
                original.is_some_and(|original| original.document.sketch.fingerprint() == of.fingerprint)
            );
            assert_eq!(of.in_this_run, documents.iter().any(|(id, _)| *id == of.id), "{of:?}");
            format!("of {}", of.id)
        }
    });
    shown.collect()
}

/// Another program's documents come between. They keep out a document on which other verdicts
/// stood.
#[test]
fn what_was_foreseen_on_the_ground_of_a_document_that_is_not_kept_is_decided_again() {
    // Points on a line: three steps are near, four are not. Each further hundred lies in another
    // direction.
    let at = |n: u64| (0..n % 100).fold(n / 100 * (0b111 << 60), |bits, bit| bits | 1 << bit);
    let named = |n: &u64| (id(&format!("{n}")), Fingerprint(at(*n)));
    for (others, coming, expected) in [
        // The last document stays, as it is not near to the other program's.
        (&[&[7][..]][..], &[10, 13][..], &["of 7", "kept"][..]),
        // The document is dropped for another one of the batch, possibly a later one.
        (&[&[7]], &[10, 13, 14], &["of 7", "of 14", "kept"]),
        (&[&[7]], &[10, 13, 11], &["of 7", "kept", "of 13"]),
        // Only some lose their ground.
        (&[&[30]], &[10, 13, 33, 36, 11], &["kept", "of 10", "of 30", "kept", "of 10"]),
        (&[&[7, 30]], &[10, 13, 33, 36], &["of 7", "kept", "of 30", "kept"]),
        // Their new ground is kept out too, by a document that comes later still.
        (&[&[7], &[112]], &[10, 12, 13], &["of 7", "of 112", "kept"]),
        (&[&[7], &[110]], &[10, 12, 13], &["of 7", "kept", "of 12"]),
    ] {
        let documents: Vec<_> = coming.iter().map(named).map(|(id, bits)| (id, bits.into())).collect();
        let coming_in: Vec<Vec<_>> =
            others.iter().map(|others: &&[u64]| others.iter().map(named).collect()).collect();
        for (known_ids, name) in KnownIds::ALL {
            let decided = decided_among_others(known_ids, &documents, &coming_in);
            assert_eq!(decided, expected, "{name}: {coming:?} among {others:?}");
        }
    }
}

#[test]
fn names_are_read_as_they_are_shown() {
    for (known_ids, name) in KnownIds::ALL {
        assert_eq!((known_ids.to_string().as_str(), name.parse().ok()), (name, Some(known_ids)));
    }
    assert!("all".parse::<KnownIds>().unwrap_err().to_string().contains("keep, compare or replace"));
}
