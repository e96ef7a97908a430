//! Texts to features on one thread, and `dedup` in memory on all.

use std::collections::BTreeMap;
use std::hint::black_box;

use anyhow::ensure;
use engine::dedup::{Candidate, Kept, Verdict};
use engine::{Buffers, Engine, Options};
use index::{DocumentId, Features, Profile};
use program::held_bytes;

use super::rounds::{Measured, Round, Rounds};
use super::{Bench, Corpus};

/// A text that makes the extractor load all dictionaries.
const WARM_UP: &str = "今天天氣很好 and no bridge is near";

/// Texts between two looks for a signal.
const CHECKED_TEXTS: usize = 1_000;

/// Documents that `dedup` decides about in one call, as the program does.
const BATCH: usize = 2_048;

pub(super) fn measure(bench: &mut Bench<'_>, corpus: &Corpus, all: &mut Vec<Measured>) -> anyhow::Result<()> {
    for (job, profile) in [("signature", Profile::Minhash), ("fingerprint, signature", Profile::Full)] {
        all.push(sketch(bench, corpus, job, profile)?);
    }
    let documents = named(corpus)?;
    for (job, profile) in [("dedup, minhash", Profile::Minhash), ("dedup, full", Profile::Full)] {
        all.push(dedup(bench, corpus, &documents, job, profile)?);
    }
    Ok(())
}

/// A text with the id that it has in all indexes here: ids of records may repeat.
pub(super) struct Named<'a> {
    pub(super) id: DocumentId,
    pub(super) text: &'a str,
}

pub(super) fn named(corpus: &Corpus) -> anyhow::Result<Vec<Named<'_>>> {
    let of = |(n, text): (usize, _)| Ok(Named { id: DocumentId::new(format!("bench:{n:09}"))?, text });
    corpus.texts.iter().map(String::as_str).enumerate().map(of).collect()
}

fn sketch(
    bench: &mut Bench<'_>,
    corpus: &Corpus,
    job: &'static str,
    profile: Profile,
) -> anyhow::Result<Measured> {
    let engine = Engine::open("memory:", &Options { profile: Some(profile), ..bench.options.clone() })?;
    let extractor = engine.extractor();
    let mut buffers = Buffers::new();
    let mut n_features = 0;
    let mut pass = |rounds: &Rounds<'_>| {
        n_features = 0;
        for texts in corpus.texts.chunks(CHECKED_TEXTS) {
            rounds.check()?;
            for text in texts {
                n_features += u64::from(black_box(extractor.features(&mut buffers, text)).is_some());
            }
        }
        Ok(())
    };
    let rounds = bench.rounds.repeat_warm(job, &mut pass)?;
    Ok(Measured {
        job,
        corpus: Some(corpus.name.clone()),
        unit: "documents",
        n: corpus.texts.len() as u64,
        n_bytes: Some(corpus.n_bytes()),
        n_threads: 1,
        warm: "dictionaries loaded, texts in memory",
        rounds,
        counts: BTreeMap::from([("with_features", n_features)]),
    })
}

fn dedup(
    bench: &mut Bench<'_>,
    corpus: &Corpus,
    documents: &[Named<'_>],
    job: &'static str,
    profile: Profile,
) -> anyhow::Result<Measured> {
    let options = Options {
        profile: Some(profile),
        is_for_run: true,
        spool: Some(bench.temp.clone()),
        ..bench.options.clone()
    };
    let mut of_round = Vec::new();
    let mut round = |rounds: &Rounds<'_>| -> anyhow::Result<Round> {
        let engine = Engine::open("memory:", &options)?.with_reduced_texts();
        let _ = engine.extractor().features(&mut Buffers::new(), WARM_UP);
        program::give_memory_back();
        let before = held_bytes();
        let (round, (kept, counts)) = rounds.one(|| decide(rounds, &engine, documents))?;
        let grown = held_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
        drop(kept);
        of_round.push((counts, grown));
        Ok(round)
    };
    let rounds = bench.rounds.repeat(job, &mut round)?;
    let [n_kept, n_dropped] = of_round[0].0;
    ensure!(
        of_round.iter().all(|(counts, _)| *counts == [n_kept, n_dropped]),
        "{job}: rounds kept other documents"
    );
    let mut counts = BTreeMap::from([("kept", n_kept), ("dropped", n_dropped)]);
    let mut grown: Vec<u64> = of_round.iter().filter_map(|(_, grown)| *grown).collect();
    grown.sort_unstable();
    if let Some(grown) = grown.get(grown.len() / 2) {
        counts.insert("bytes_a_kept_document", grown / n_kept.max(1));
    }
    Ok(Measured {
        job,
        corpus: Some(corpus.name.clone()),
        unit: "documents",
        n: documents.len() as u64,
        n_bytes: Some(corpus.n_bytes()),
        n_threads: bench.n_threads.get(),
        warm: "dictionaries loaded, texts in memory; the index is new",
        rounds,
        counts,
    })
}

/// Decides about all documents, as the program does. Returns what it holds, and the numbers of kept
/// and of dropped documents.
fn decide(rounds: &Rounds<'_>, engine: &Engine, documents: &[Named<'_>]) -> anyhow::Result<(Kept, [u64; 2])> {
    let index = engine.index();
    let mut kept = Kept::default().with_recipe(index.recipe());
    let mut counts = [0, 0];
    let mut waiting: Vec<(&DocumentId, Option<Features>)> = Vec::new();
    let mut flush = |waiting: &mut Vec<(&DocumentId, Option<Features>)>| -> anyhow::Result<()> {
        rounds.check()?;
        let candidate = |(id, features)| Candidate { id, features, source: None };
        let candidates: Vec<_> =
            waiting.iter().map(|(id, features)| candidate((*id, features.as_ref()))).collect();
        for verdict in kept.decide(index, &candidates)? {
            counts[usize::from(matches!(verdict, Some(Verdict::Duplicate { .. })))] += 1;
        }
        waiting.clear();
        Ok(())
    };
    let mut first = 0;
    let consume = |part: &[Named<'_>], features: Vec<Option<Features>>| {
        let ids = documents[first..first + part.len()].iter().map(|document| &document.id);
        first += part.len();
        waiting.extend(ids.zip(features));
        if waiting.len() >= BATCH { flush(&mut waiting) } else { Ok(()) }
    };
    engine.extractor().extract(documents, engine.n_threads(), |document| document.text, consume)?;
    flush(&mut waiting)?;
    Ok((kept, counts))
}
