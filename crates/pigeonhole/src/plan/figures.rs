//! The plan as JSON, for programs.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::measured as m;
use super::model::{Load, Machines, Plan};
use super::report::{REGIONS_MAX, notes};

pub(super) fn print(
    load: &Load,
    machines: &Machines,
    plan: &Plan,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let Plan { stored, query, .. } = plan;
    let by: Map<String, Value> =
        plan.servers_by.iter().map(|(limit, n)| (limit.name().to_owned(), json!(n))).collect();
    let constants: Vec<Value> = m::ALL
        .iter()
        .map(|m::Constant { name, value, unit, from }| {
            json!({"name": name, "value": value, "unit": unit, "from": from})
        })
        .collect();
    let plan = json!({
        "asked": {
            "documents": load.n_documents,
            "queries_per_second": load.queries_per_second,
            "queries_a_call": load.queries_a_call,
            "inserts_per_second": load.inserts_per_second,
            "retain_seconds": load.retain.map(index::Retention::as_seconds),
            "profile": load.kind.profile().name(),
            "scheme": load.kind.files_by_simhash().then(|| load.kind.name()),
            "is_recommended": load.is_recommended,
            "id_bytes": load.id_bytes,
            "text_bytes": load.text_bytes,
            "texts": load.texts.name(),
            "strangers_a_million": load.strangers_a_million,
            "replication": machines.replication,
            "region_bytes": machines.region_bytes,
            "server_disk_bytes": machines.disk_bytes,
            "server_ram_bytes": machines.memory_bytes,
            "server_cores": machines.cores,
            "server_price": machines.price,
            "server_reads_per_second": machines.reads_per_second,
            "seek_seconds": machines.seek_seconds,
            "round_trip_seconds": machines.round_trip_seconds,
            "hot_share": machines.hot_share,
        },
        "stored": {
            "rows_a_document": stored.keys,
            "documents": stored.n_documents,
            "rows": stored.rows,
            "index_bytes": stored.index_bytes,
            "documents_bytes": stored.documents_bytes,
            "texts_bytes": stored.texts_bytes,
            "disk_bytes": stored.disk_bytes,
            "index_regions": stored.index_regions,
            "documents_regions": stored.documents_regions,
            "regions_to_create": stored.regions_to_create.min(REGIONS_MAX),
            "bloom_bytes": stored.bloom_bytes,
            "block_index_bytes": stored.block_index_bytes,
            "hot_bytes": stored.hot_bytes,
        },
        "query": {
            "simhash_rows": query.simhash_rows,
            "band_rows": query.band_rows,
            "calls": query.calls,
            "server_seconds": query.server_seconds,
            "worker_seconds": query.worker_seconds,
            "blocks": query.blocks,
            "warm_seconds": query.warm_seconds,
            "cold_seconds_min": query.cold_seconds[0],
            "cold_seconds_max": query.cold_seconds[1],
        },
        "servers": { "n": plan.servers, "decided_by": plan.decided_by.name(), "by": by },
        "insert_server_seconds": plan.server_seconds_an_insert,
        "worker_cores": plan.worker_cores,
        "workers": plan.workers,
        "bulk_load_seconds": plan.bulk_load_seconds,
        "pairs_seconds": plan.pairs_seconds,
        "price_a_month": plan.price,
        "notes": notes(load, plan),
        "constants": constants,
    });
    writeln!(out, "{plan:#}")?;
    Ok(())
}
