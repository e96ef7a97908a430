//! Fingerprints without texts in an index in memory: import, search within 3 bits, and the join
//! with themselves.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use engine::clusters::{Groups, Join, NoTexts};
use engine::{Engine, Options};
use index::{DocumentId, Features, MAX_BATCH, Profile};
use simhash::Fingerprint;

use super::Bench;
use super::made::fingerprints;
use super::rounds::{Measured, Round};

/// Queries of a round, and of a call.
const QUERIES: usize = 100_000;
const CALL: usize = 1_000;

pub(super) fn measure(bench: &mut Bench<'_>, all: &mut Vec<Measured>) -> anyhow::Result<()> {
    let n = bench.n_fingerprints;
    let (bits, near) = fingerprints(n);
    let document =
        |(n, bits): (usize, &u64)| Ok((DocumentId::new(format!("bench:{n:09}"))?, Fingerprint(*bits)));
    let documents: Vec<(DocumentId, Fingerprint)> =
        bits.iter().enumerate().map(document).collect::<anyhow::Result<_>>()?;
    let options = Options { profile: Some(Profile::Classic), verify: Some(false), ..bench.options.clone() };

    let mut last: Option<Engine> = None;
    let rounds = bench.rounds.repeat("import", |rounds| -> anyhow::Result<Round> {
        last = None;
        let engine = Engine::open("memory:", &options)?;
        let (round, ()) = rounds.one(|| {
            for documents in documents.chunks(MAX_BATCH) {
                rounds.check()?;
                engine.index().insert(documents)?;
            }
            Ok(())
        })?;
        last = Some(engine);
        Ok(round)
    })?;
    let engine = last.context("there was a round")?;
    let index = engine.index();
    let status = index.status()?;
    ensure!(status.n_documents == Some(n as u64), "{:?} of {n} fingerprints are there", status.n_documents);
    let per_one = status.n_table_bytes.map(|n_bytes| ("table_bytes_a_fingerprint", n_bytes / n as u64));
    let one = |job, unit, n: usize, warm, rounds, counts| Measured {
        job,
        corpus: None,
        unit,
        n: n as u64,
        n_bytes: None,
        n_threads: 1,
        warm,
        rounds,
        counts,
    };
    let counts = per_one.into_iter().chain([("documents", n as u64)]).collect();
    all.push(one("import", "fingerprints", n, "fingerprints in memory; the index is new", rounds, counts));

    // One in ten is near an earlier one, which the search must find.
    let queries: Vec<Fingerprint> =
        near.iter().zip(&bits).filter(|(of, _)| of.is_some()).map(|(_, bits)| Fingerprint(*bits)).collect();
    let queries: Vec<Fingerprint> = queries.iter().copied().cycle().take(QUERIES.min(n)).collect();
    let rule = index.rule();
    let rounds = bench.rounds.repeat_warm("search within 3 bits", |rounds| {
        for queries in queries.chunks(CALL) {
            rounds.check()?;
            let found = index.near(queries, &rule, 1)?;
            // Each query is there itself, and near another one.
            ensure!(
                found.iter().all(|found| found.n_matches > 1),
                "a fingerprint within 3 bits was not found"
            );
        }
        Ok(())
    })?;
    let counts = BTreeMap::from([("found", queries.len() as u64)]);
    all.push(one(
        "search within 3 bits",
        "queries",
        queries.len(),
        "the index was just filled",
        rounds,
        counts,
    ));

    let features: Vec<Features> = bits.iter().map(|bits| Features::from(Fingerprint(*bits))).collect();
    let planted: BTreeSet<(u64, u64)> = near
        .iter()
        .zip(&bits)
        .filter_map(|(of, bits_of)| of.map(|of| (bits[of].min(*bits_of), bits[of].max(*bits_of))))
        .collect();
    let join = Join::of(index);
    let mut n_pairs = 0;
    let rounds = bench.rounds.repeat("join with itself", |rounds| -> anyhow::Result<Round> {
        n_pairs = 0;
        let (round, ()) = rounds.one(|| {
            join.pairs(&Groups::new(&features), &NoTexts, &mut |_| {
                n_pairs += 1;
                rounds.check()
            })?;
            Ok(())
        })?;
        ensure!(n_pairs >= planted.len(), "the join finds {n_pairs} pairs of {}", planted.len());
        Ok(round)
    })?;
    let counts = BTreeMap::from([("pairs", n_pairs as u64), ("pairs_at_least", planted.len() as u64)]);
    all.push(one("join with itself", "fingerprints", n, "fingerprints in memory", rounds, counts));
    Ok(())
}
