//! The figures as a table, and as JSON.

use std::io::Write;
use std::num::NonZeroUsize;

use corpus::Grouped;
use features::field::RECIPE_VERSION;
use serde_json::{Value, json};

use super::Corpus;
use super::machine::Machine;
use super::rounds::Measured;

/// All figures of a run.
pub(super) struct Report {
    pub(super) machine: Machine,
    pub(super) n_threads: NonZeroUsize,
    /// The place of the index, without its password.
    pub(super) index: String,
    pub(super) corpora: Vec<Corpus>,
    pub(super) measured: Vec<Measured>,
}

impl Report {
    pub(super) fn print_json(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Machine { processor, n_cores, n_bytes, memory_limit, load, system } = &self.machine;
        let corpus = |corpus: &Corpus| json!({"name": corpus.name, "documents": corpus.texts.len(), "bytes": corpus.n_bytes()});
        let corpora: Vec<Value> = self.corpora.iter().map(corpus).collect();
        let report = json!({
            "machine": {
                "processor": processor,
                "cores": n_cores,
                "memory_bytes": n_bytes,
                "memory_limit_bytes": memory_limit,
                "load_before": load,
                "system": system,
            },
            "version": env!("CARGO_PKG_VERSION"),
            "recipe_version": RECIPE_VERSION,
            "optimized": !cfg!(debug_assertions),
            "threads": self.n_threads,
            "index": self.index,
            "corpora": corpora,
            "measured": self.measured.iter().map(figures).collect::<Vec<_>>(),
        });
        writeln!(out, "{report:#}")?;
        Ok(())
    }

    pub(super) fn print_text(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let Machine { processor, n_cores, n_bytes, memory_limit, load, system } = &self.machine;
        let megabytes = |n_bytes: &Option<u64>| {
            n_bytes.map_or("unknown".to_owned(), |n| format!("{} MB", Grouped(n / 1_000_000)))
        };
        writeln!(out, "processor     {}, {n_cores} cores", processor.as_deref().unwrap_or("unknown"))?;
        let limit = if memory_limit.is_some() { megabytes(memory_limit) } else { "none".to_owned() };
        writeln!(out, "memory        {}, limit of this process: {limit}", megabytes(n_bytes))?;
        writeln!(out, "system        {}", system.as_deref().unwrap_or("unknown"))?;
        if let Some(load) = load {
            writeln!(out, "load before   {load}")?;
        }
        writeln!(out, "version       {}, recipe {RECIPE_VERSION}", env!("CARGO_PKG_VERSION"))?;
        for corpus in &self.corpora {
            let (n, n_bytes) = (Grouped(corpus.texts.len() as u64), Grouped(corpus.n_bytes() / 1_000));
            writeln!(out, "texts         {}: {n} documents, {n_bytes} kB", corpus.name)?;
        }
        writeln!(out, "index         {}", self.index)?;
        writeln!(
            out,
            "\n{:<24}{:<18}{:>7}{:>8}{:>13}{:>13}{:>12}",
            "job", "texts", "rounds", "threads", "a second", "a CPU second", "MB/s a core"
        )?;
        for measured in &self.measured {
            let rate = measured.mb_per_cpu_second().map_or("–".to_owned(), |rate| format!("{rate:.1}"));
            writeln!(
                out,
                "{:<24}{:<18}{:>7}{:>8}{:>13}{:>13}{rate:>12}",
                measured.job,
                measured.corpus.as_deref().unwrap_or("–"),
                measured.rounds.len(),
                measured.n_threads,
                shown(measured.per_second()),
                shown(measured.per_cpu_second()),
            )?;
        }
        writeln!(out)?;
        for measured in &self.measured {
            let corpus = measured.corpus.as_ref().map_or(String::new(), |name| format!(" ({name})"));
            let n = Grouped(measured.n);
            write!(out, "{}{corpus}: {n} {} a round; {}", measured.job, measured.unit, measured.warm)?;
            for (name, count) in &measured.counts {
                write!(out, "; {} {}", name.replace('_', " "), Grouped(*count))?;
            }
            writeln!(out)?;
        }
        if cfg!(debug_assertions) {
            writeln!(
                out,
                "\nnote: this program was built without optimisation, and its figures say nothing"
            )?;
        }
        Ok(())
    }
}

fn figures(measured: &Measured) -> Value {
    let rounds: Vec<Value> = measured
        .rounds
        .iter()
        .map(|round| json!({"wall_seconds": round.wall, "cpu_seconds": round.cpu}))
        .collect();
    json!({
        "job": measured.job,
        "corpus": measured.corpus,
        "unit": measured.unit,
        "n": measured.n,
        "bytes": measured.n_bytes,
        "threads": measured.n_threads,
        "warm": measured.warm,
        "wall_seconds": measured.wall(),
        "cpu_seconds": measured.cpu(),
        "per_second": measured.per_second(),
        "per_cpu_second": measured.per_cpu_second(),
        "mb_per_cpu_second": measured.mb_per_cpu_second(),
        "counts": measured.counts,
        "rounds": rounds,
    })
}

/// Three digits and more: a rate.
fn shown(rate: f64) -> String {
    match rate {
        _ if !rate.is_finite() => "–".to_owned(),
        _ if rate >= 100.0 => Grouped(rate as u64).to_string(),
        _ => format!("{rate:.2}"),
    }
}
