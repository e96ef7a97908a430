use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use corpus::{InputOptions, Rank};
use engine::clusters::RunTexts;
use engine::dedup::Kept;
use engine::{Engine, Options};
use features::{Recipe, Segmenter, Weights};
use index::{DocumentId, NewDocument, Profile};
use simhash::Fingerprint;

use super::*;
use crate::dedup::Doubts;
use crate::job::JobOptions;
use crate::opening::StoreOptions;
use crate::report::Deduplicated;

/// Makes documents of few ids, few ranks, and fingerprints in narrow clusters, so that all cases
/// occur.
fn documents(seed: u64, n: usize, n_ids: u64) -> Vec<Fingerprinted> {
    let mut state = seed;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut document = || {
        let centre = next(8).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let fingerprint = (0..next(4)).fold(centre, |bits, _| bits ^ 1 << next(12));
        let id = DocumentId::new(format!("{}", next(n_ids))).unwrap();
        let features = (next(10) > 0).then_some(Fingerprint(fingerprint).into());
        let rank = if next(5) == 0 { Rank::NONE } else { Rank::new(next(6) as f64 - 3.0) };
        Fingerprinted { rank, ..Fingerprinted::of_features(id, features) }
    };
    (0..n).map(|_| document()).collect()
}

/// The expected result: `None` for a rejected document, the original and its distance for a
/// duplicate.
type Expected = Option<Option<(String, u32)>>;

/// Sorts by rank, and compares each document with all kept and all `stored` ones.
fn naive(documents: &[Fingerprinted], mut stored: HashMap<DocumentId, Fingerprint>) -> Vec<Expected> {
    let mut expected = vec![None; documents.len()];
    let mut kept: HashMap<DocumentId, Option<Fingerprint>> = HashMap::new();
    let mut order: Vec<usize> = (0..documents.len()).collect();
    order.sort_by(|&a, &b| documents[a].rank.best_first(&documents[b].rank).then(a.cmp(&b)));
    for n in order {
        let Fingerprinted { id, .. } = &documents[n];
        let fingerprint = &simhash(&documents[n]);
        let near = |fingerprint: Fingerprint| {
            let others = stored.iter().filter(|(other, _)| *other != id);
            let found = others.map(|(id, other)| (other.distance(fingerprint), id.as_str().to_owned()));
            found
                .filter(|(distance, _)| distance.as_bits() <= 3)
                .min()
                .map(|(distance, id)| (id, distance.as_bits()))
        };
        expected[n] = match (kept.get(id), fingerprint) {
            (Some(earlier), Some(_)) if earlier == fingerprint => Some(Some((id.as_str().to_owned(), 0))),
            (Some(_), _) => None,
            (None, Some(fingerprint)) if stored.get(id) != Some(fingerprint) => Some(near(*fingerprint)),
            (None, _) => Some(None),
        };
        if expected[n] == Some(None) {
            kept.insert(id.clone(), *fingerprint);
            stored.extend(fingerprint.map(|fingerprint| (id.clone(), fingerprint)));
        }
    }
    expected
}

fn simhash(document: &Fingerprinted) -> Option<Fingerprint> {
    document.features.as_ref()?.simhash
}

/// An index by simhashes alone, without dictionaries, which take long to read.
fn classic() -> Options {
    let (segmenter, weights) = (Segmenter::Words, Weights::Uniform);
    let recipe = Recipe { segmenter, weights, dictionary: None, idf: None, ..Recipe::default() };
    Options { profile: Some(Profile::Classic), verify: Some(false), recipe, ..Options::default() }
}

fn rule(engine: Engine) -> Rule {
    Rule {
        engine: Arc::new(engine),
        dry_run: false,
        logs: None,
        kept: Kept::default(),
        waiting: None,
        asks_known_ids: false,
    }
}

fn check(documents: &mut [Fingerprinted], stored: &[Fingerprinted]) {
    let stored = || stored.iter().filter_map(|document| Some((document.id.clone(), simhash(document)?)));
    let expected = naive(documents, stored().collect());
    let [real, dry] = [(); 2].map(|()| {
        let engine = Engine::open("memory:", &classic()).unwrap();
        engine.index().insert(&stored().map(NewDocument::from).collect::<Vec<_>>()).unwrap();
        engine
    });
    for engine in [real, dry.overlaid()] {
        let verdicts = decide(&mut rule(engine), documents, &mut Doubts::default(), false).unwrap();
        let verdicts = verdicts.iter().map(|verdict| {
            verdict.as_ref().map(|verdict| match verdict {
                Verdict::Kept => None,
                Verdict::Duplicate { of, .. } => {
                    Some((of.id.as_str().to_owned(), of.nearness.distance.as_bits()))
                }
            })
        });
        assert_eq!(verdicts.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn the_best_stay_as_by_sorting_and_comparing_with_all() {
    for seed in 0..60 {
        check(&mut documents(seed, 100, 60), &[]);
        check(&mut documents(seed, 100, 60), &documents(seed + 1000, 20, 60));
    }
    // Nearly distinct ids, in several batches.
    check(&mut documents(1, STORE_BATCH * 2 + 100, 1 << 30), &documents(2, 10, 1 << 30));
}

/// Reads `first` in the first pass and `second` in the second pass; returns the written files or
/// the error.
fn run_over(first: &str, second: &str) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let [input, kept] = ["input.jsonl", "kept.jsonl"].map(|name| folder.path().join(name));
    fs::write(&input, first).unwrap();
    let options = JobOptions::over(InputOptions::of([&input]));
    let job = Job::new(&options, &[&kept], None, None).unwrap();
    let mut job = job.ranked(RankBy::Length).unwrap();
    let opened = StoreOptions::default().open_or_make("memory:", index::Mode::CreateIfMissing, true);
    let engine = opened.unwrap();
    let mut survey = Ranking { documents: Vec::new(), memory: Watch::new(), texts: None };
    job.survey(engine.extractor(), Wanted::default(), &mut survey).unwrap();
    let mut documents = survey.documents;
    fs::write(&input, second).unwrap();
    let by = engine.index().insertion_rule();
    let verdicts = decide(&mut rule(engine), &mut documents, &mut Doubts::default(), false).unwrap();
    let output = Some(job.kept_output(&kept, None).unwrap());
    let counts = Deduplicated::default();
    let results = Results {
        by,
        output,
        duplicates: None,
        groups: None,
        findings: None,
        clusters: None,
        pairs: None,
        texts: None,
        doubts: Doubts::default(),
        counts,
    };
    let mut sink = BestFirst::new(Documents::in_memory(documents, verdicts), 0, results, None);
    let wanted = Wanted { lines: true, ..Wanted::default() };
    let ran = job.run(None, wanted, &mut sink).map_err(|error| format!("{error:#}"));
    drop(sink);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), if ran.is_ok() { 2 } else { 1 });
    ran.map(|_| fs::read_to_string(kept).unwrap())
}

#[test]
fn an_input_that_changes_between_the_passes_is_noticed() {
    let [a, b, c] = ["a", "b", "c"].map(|id| format!("{{\"id\":\"{id}\",\"text\":\"one text\"}}\n"));
    let longer = "{\"id\":\"b\",\"text\":\"one text!\"}\n";
    let whole = format!("{a}{longer}");
    assert_eq!(run_over(&whole, &whole).unwrap(), longer);
    for (second, place) in [
        (format!("{a}{b}"), "input.jsonl:2: "),
        (format!("{a}{c}"), "input.jsonl:2: "),
        (format!("{longer}{a}"), "input.jsonl:1: "),
        (format!("{a}{longer}{c}"), "input.jsonl:3: "),
        (format!("{a}no record\n"), ""),
        (a, ""),
        (String::new(), ""),
    ] {
        let error = run_over(&whole, &second).unwrap_err();
        assert!(error.contains(place) && error.contains("has changed"), "{error}");
    }
}

/// Texts wait in a file, and only the current batch is in memory. Forged signatures change no
/// result.
#[test]
fn texts_are_counted_and_wait_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let opened = StoreOptions::default().open_or_make("memory:", index::Mode::CreateIfMissing, true);
    let engine = opened.unwrap();
    assert!(engine.index().rule().counter.is_some());
    let mut texts = RunTexts::create(folder.path(), RunTexts::CACHE_BYTES).unwrap();
    let mut buffers = engine::Buffers::new();
    let of =
        |n: usize| (0..90).map(|k| format!("w{} ", (n * 1_000 + k) * 7_919 % 99_991)).collect::<String>();
    let signature = engine.extractor().features(&mut buffers, &of(0)).unwrap();
    let mut documents: Vec<Fingerprinted> = documents(1, 3, 1 << 30);
    // The second document is a copy; the third only has the signature of one.
    for (document, text) in documents.iter_mut().zip([of(0), of(0), of(5)]) {
        document.features = Some(signature.clone());
        document.rank = Rank::NONE;
        document.n_text_bytes = text.len();
        texts.push(Some(&text.into())).unwrap();
    }
    let mut rule = Rule { waiting: Some(texts), ..rule(engine) };
    documents.iter_mut().for_each(|document| document.features.as_mut().unwrap().text = None);
    let verdicts = decide(&mut rule, &mut documents, &mut Doubts::default(), false).unwrap();
    let kept = verdicts.iter().map(|verdict| matches!(verdict, Some(Verdict::Kept)));
    assert_eq!(kept.collect::<Vec<_>>(), [true, false, true]);
    assert!(documents.iter().all(|document| document.features.as_ref().unwrap().text.is_none()));
}
