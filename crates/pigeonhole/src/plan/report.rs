//! The plan, for people at a terminal.

use std::io::{self, Write};

use index::Profile;

use super::measured as m;
use super::model::{Limit, Load, Machines, Plan};
use super::numbers::{grouped, shown_bytes, shown_seconds};

/// Rows a query from which on a note appears: reading them takes longer than all else.
const ROWS_MANY: f64 = 10_000.0;

/// Bound on the regions made by `schema/create.rb`.
pub(super) const REGIONS_MAX: f64 = 10_000.0;

/// Lines of a part: name, figure, and source.
type Lines = Vec<(&'static str, String, String)>;

pub(super) fn text(load: &Load, machines: &Machines, plan: &Plan, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{} documents, {}, ids of {} bytes; {} queries/s, {} inserts/s",
        grouped(load.n_documents),
        filed_by(load),
        grouped(load.id_bytes),
        grouped(load.queries_per_second),
        grouped(load.inserts_per_second),
    )?;
    part(out, "Stored", stored(load, machines, plan))?;
    part(out, "A query", query(load, machines, plan))?;
    part(out, "Region servers", servers(machines, plan))?;
    part(out, "Workers and jobs", others(machines, plan))?;
    for note in notes(load, plan) {
        writeln!(out, "\nnote: {note}")?;
    }
    writeln!(
        out,
        "\nA model of constants that were measured on one machine: `pigeonhole plan --constants` has them."
    )?;
    Ok(())
}

fn part(out: &mut dyn Write, heading: &str, lines: Lines) -> io::Result<()> {
    writeln!(out, "\n{heading}")?;
    for (what, figure, from) in lines {
        let pad = 20_usize.saturating_sub(figure.chars().count());
        writeln!(out, "  {what:<22}{:pad$}{figure}   {from}", "")?;
    }
    Ok(())
}

fn filed_by(load: &Load) -> String {
    let filed = match load.kind.profile() {
        Profile::Minhash => "profile minhash".to_owned(),
        profile => format!("profile {profile}, scheme {}", load.kind.name()),
    };
    if load.is_recommended { format!("{filed} (recommended for as many)") } else { filed }
}

fn stored(load: &Load, machines: &Machines, plan: &Plan) -> Lines {
    let stored = &plan.stored;
    let copies = machines.replication;
    let per_row = m::INDEX_ROW_BYTES + load.id_bytes;
    let per_document = m::RECORD_BYTES + load.id_bytes;
    let (tables, bands) = (load.table_bits().len(), load.n_bands());
    let mut lines = Lines::new();
    if stored.n_documents > load.n_documents {
        let expired = stored.n_documents - load.n_documents;
        let from = format!(
            "{} s of inserts/s that have expired: gone with a major compaction",
            grouped(m::COMPACTION_DAYS * 86_400.0)
        );
        lines.push(("expired documents", grouped(expired), from));
    }
    lines.extend([
        ("rows of NAME", grouped(stored.rows), format!("{tables} tables and {bands} bands a document")),
        (
            "NAME",
            shown_bytes(stored.index_bytes),
            format!("{per_row} bytes a row: {} and the id", m::INDEX_ROW_BYTES),
        ),
        (
            "NAME_docs",
            shown_bytes(stored.documents_bytes),
            format!("{per_document} bytes a document: {} and the id", m::RECORD_BYTES),
        ),
        (
            "texts",
            shown_bytes(stored.texts_bytes),
            format!(
                "{} bytes a document in NAME_docs; --texts none keeps none",
                grouped(load.stored_text_bytes())
            ),
        ),
        (
            "disk",
            shown_bytes(stored.disk_bytes),
            format!("{copies} copies, disks at most {} full, for compactions", percent(m::DISK_FILL)),
        ),
        (
            "regions",
            format!("{} + {}", grouped(stored.index_regions), grouped(stored.documents_regions)),
            format!("of {}, in NAME and NAME_docs", shown_bytes(machines.region_bytes)),
        ),
        (
            "REGIONS",
            grouped(stored.regions_to_create.min(REGIONS_MAX)),
            "of schema/create.rb, which gives NAME_docs a quarter of them".to_owned(),
        ),
        (
            "bloom filters",
            shown_bytes(stored.bloom_bytes),
            format!("{} bits for each bucket that holds something, and each document", m::BLOOM_BITS),
        ),
        (
            "block indexes",
            shown_bytes(stored.block_index_bytes),
            format!("an entry for each {} KB before encoding", m::BLOCK_BYTES / 1024.0),
        ),
        (
            "hot data",
            shown_bytes(stored.hot_bytes),
            format!("{} of rows and records, in the block cache", percent(machines.hot_share)),
        ),
    ]);
    lines
}

fn query(load: &Load, machines: &Machines, plan: &Plan) -> Lines {
    let query = &plan.query;
    let seek = shown_seconds(machines.seek_seconds);
    let mut lines = Lines::new();
    if load.kind.files_by_simhash() {
        let from = "documents · Σ 2^-(key bits) over the tables";
        lines.push(("rows by simhashes", grouped(query.simhash_rows), from.to_owned()));
    }
    if load.kind.files_by_sets() {
        let from = format!(
            "{} for each million documents, which depends on the texts",
            grouped(load.strangers_a_million)
        );
        lines.push(("rows by bands", grouped(query.band_rows), from));
    }
    lines.extend([
        (
            "scans",
            grouped(query.calls),
            format!(
                "calls for {} buckets in {} regions",
                grouped(plan.stored.keys),
                grouped(plan.stored.index_regions)
            ),
        ),
        (
            "region servers' time",
            shown_seconds(query.server_seconds),
            format!(
                "{} a call, {} a further bucket, {} a row",
                shown_seconds(m::SCAN_SECONDS),
                shown_seconds(m::RANGE_SECONDS),
                shown_seconds(m::ROW_SECONDS)
            ),
        ),
        (
            "worker's time",
            shown_seconds(query.worker_seconds),
            format!(
                "{} bytes of text, and {} a row",
                grouped(load.text_bytes),
                shown_seconds(m::CLIENT_ROW_SECONDS)
            ),
        ),
        ("blocks read", grouped(query.blocks), "the buckets that hold something, and the records".to_owned()),
        (
            "warm, idle",
            shown_seconds(query.warm_seconds),
            format!("both times and two round trips of {}", shown_seconds(machines.round_trip_seconds)),
        ),
        (
            "cold, idle",
            format!("{} – {}", shown_seconds(query.cold_seconds[0]), shown_seconds(query.cold_seconds[1])),
            format!(
                "and {} – {} reads of {seek}: side by side, or one after another",
                grouped(query.blocks.min(2.0)),
                grouped(query.blocks)
            ),
        ),
    ]);
    lines
}

fn servers(machines: &Machines, plan: &Plan) -> Lines {
    let mut lines = Lines::new();
    let (disk, memory) = (shown_bytes(machines.disk_bytes), shown_bytes(machines.memory_bytes));
    for &(limit, n) in &plan.servers_by {
        let from = match limit {
            Limit::Copies => "as many as there are copies".to_owned(),
            Limit::Disk => format!("of {disk}"),
            Limit::Memory => {
                format!("blooms, block indexes and hot data in {} of {memory}", percent(m::CACHE_FILL))
            }
            Limit::Regions => format!("at most {} on a server", m::REGIONS_A_SERVER),
            Limit::Queries => format!("{} cores, at most {} busy", machines.cores, percent(m::CPU_FILL)),
            Limit::Inserts => format!(
                "on the same cores: {} searches and the rows, {} each",
                m::INSERT_SEARCHES,
                shown_seconds(plan.server_seconds_an_insert)
            ),
            Limit::Reads => format!(
                "{} random reads/s of each, of what is not in memory",
                grouped(machines.reads_per_second)
            ),
        };
        lines.push((by(limit), grouped(n), from));
    }
    let decides = match plan.decided_by {
        Limit::Queries => "decided by queries, with the inserts".to_owned(),
        Limit::Inserts => "decided by inserts, with the queries".to_owned(),
        decided_by => format!("decided by {}", decided_by.name()),
    };
    lines.push(("region servers", grouped(plan.servers), decides));
    lines
}

fn by(limit: Limit) -> &'static str {
    match limit {
        Limit::Copies => "by copies",
        Limit::Disk => "by disk",
        Limit::Memory => "by memory",
        Limit::Regions => "by regions",
        Limit::Queries => "by queries",
        Limit::Inserts => "by inserts",
        Limit::Reads => "by reads",
    }
}

fn others(machines: &Machines, plan: &Plan) -> Lines {
    let cores = machines.cores;
    let mut lines = vec![
        (
            "worker cores",
            grouped(plan.worker_cores.ceil()),
            format!("of queries and inserts, at most {} busy", percent(m::CPU_FILL)),
        ),
        ("worker processes", grouped(plan.workers), format!("of {} cores, two at least", m::WORKER_CORES)),
        (
            "bulk load",
            shown_seconds(plan.bulk_load_seconds),
            format!(
                "one machine of {cores} cores: {} and {} a row, {} a byte of text",
                shown_seconds(m::BULK_SORT_SECONDS),
                shown_seconds(m::BULK_ROW_SECONDS),
                shown_seconds(m::TEXT_SECONDS_A_BYTE)
            ),
        ),
        (
            "indexer pairs",
            shown_seconds(plan.pairs_seconds),
            format!("{} a row by the workers' cores, {cores} at least", shown_seconds(m::CLIENT_ROW_SECONDS)),
        ),
    ];
    if let Some((price, of_all)) = machines.price.zip(plan.price) {
        let heads = m::HEADS * m::HEAD_PRICE;
        let from = format!(
            "{} a server; worker cores by their share of one; {} small machines as {heads} servers",
            grouped(price),
            m::HEADS
        );
        lines.push(("a month", grouped(of_all.round()), from));
    }
    lines
}

/// Notes about problems of the plan.
pub(super) fn notes(load: &Load, plan: &Plan) -> Vec<String> {
    let (stored, query) = (&plan.stored, &plan.query);
    let mut notes = Vec::new();
    if load.is_recommended && load.kind.profile() == Profile::Classic {
        notes.push(format!(
            "with profile full a query reads {} rows of unlike documents by its bands, so that of as many documents \
             simhashes alone are recommended, which find less: `pigeonhole eval` shows what, on texts of yours. \
             --strangers-a-million is the figure to measure first",
            grouped(load.n_documents / 1e6 * load.strangers_a_million)
        ));
    }
    if query.band_rows > ROWS_MANY {
        notes.push(format!(
            "a query reads {} rows of unlike documents by its bands. Measure yours (--strangers-a-million), or file by \
             simhashes alone (--profile classic), which find less. `indexer pairs` compares as many for half of the \
             documents, which takes time that is not in this plan",
            grouped(query.band_rows)
        ));
    }
    if query.simhash_rows > ROWS_MANY {
        let rows = grouped(query.simhash_rows);
        notes.push(format!("a query reads {rows} rows by its simhashes: --scheme t11 or t14 reads fewer"));
    }
    if stored.regions_to_create > REGIONS_MAX {
        notes.push(format!(
            "{} regions are many for one HBase: take a greater --region-size",
            grouped(stored.regions_to_create)
        ));
    }
    notes
}

fn percent(share: f64) -> String {
    format!("{} %", grouped((share * 1e3).round() / 10.0))
}

pub(super) fn constants(out: &mut dyn Write) -> anyhow::Result<()> {
    for m::Constant { name, value, unit, from } in m::ALL {
        writeln!(out, "{name} = {value}\n  {unit}\n  from: {from}")?;
    }
    Ok(())
}
