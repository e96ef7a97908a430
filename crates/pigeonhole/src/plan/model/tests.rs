use index::Profile;

use super::*;
use crate::plan::measured::{TABLES, TOLERANCE};

fn load(profile: Profile, scheme: &str, n_documents: f64) -> Load {
    Load {
        is_recommended: false,
        kind: scheme.parse::<SketchKind>().unwrap().of_profile(profile).unwrap(),
        n_documents,
        queries_per_second: 100.0,
        inserts_per_second: 0.0,
        retain: None,
        id_bytes: 36.0,
        text_bytes: 2_000.0,
        texts: TextKeeping::None,
        queries_a_call: 1.0,
        strangers_a_million: m::STRANGERS_A_MILLION,
    }
}

fn machines() -> Machines {
    Machines {
        disk_bytes: 8e12,
        memory_bytes: 128e9,
        cores: 32.0,
        reads_per_second: 50_000.0,
        seek_seconds: 0.2e-3,
        round_trip_seconds: 0.3e-3,
        price: Some(400.0),
        replication: 3.0,
        region_bytes: 10e9,
        hot_share: 0.05,
    }
}

#[track_caller]
fn close(value: f64, expected: f64, tolerance: f64) {
    assert!((value / expected - 1.0).abs() <= tolerance, "{value} is not {expected}");
}

#[test]
fn measured_tables_are_what_the_model_says() {
    for measured in TABLES {
        let mut load = load(measured.profile, measured.scheme, measured.n_documents);
        load.id_bytes = measured.id_bytes;
        let stored = plan(&load, &machines()).stored;
        close(stored.index_bytes, measured.index_bytes, TOLERANCE);
        if let Some(documents_bytes) = measured.documents_bytes {
            close(stored.documents_bytes, documents_bytes, TOLERANCE);
        }
    }
}

#[test]
fn a_document_has_a_row_for_each_table_and_band() {
    for (profile, scheme, keys) in [
        (Profile::Classic, "5c2", 10.0),
        (Profile::Classic, "t11", 11.0),
        (Profile::Minhash, "5c2", 16.0),
        (Profile::Full, "5c2", 26.0),
        (Profile::Full, "t14", 30.0),
    ] {
        let stored = plan(&load(profile, scheme, 1e9), &machines()).stored;
        assert_eq!((stored.keys, stored.rows), (keys, keys * 1e9));
        // Three copies on disks three fifths full.
        close(stored.disk_bytes, (stored.index_bytes + stored.documents_bytes) * 5.0, 1e-12);
    }
}

/// 2,000 bytes of text take 920 compressed, beside the records and on the same disks.
#[test]
fn kept_texts_take_room_beside_the_records() {
    let without = load(Profile::Minhash, "5c2", 1e9);
    let with = Load { texts: TextKeeping::Zstd, ..without.clone() };
    let [without, with] = [without, with].map(|load| plan(&load, &machines()).stored);
    assert_eq!(without.texts_bytes, 0.0);
    close(with.texts_bytes, 920e9, 1e-12);
    close(with.disk_bytes, without.disk_bytes + 920e9 * 5.0, 1e-12);
    close(with.documents_regions, without.documents_regions + 92.0, 0.01);
    assert_eq!((with.documents_bytes, with.index_bytes), (without.documents_bytes, without.index_bytes));
}

/// 6 tables of 26 bits and 4 of 25: 10^10 · (6 · 2^-26 + 4 · 2^-25) = 2,086. The page
/// docs/src/concepts.md has the figures of the other schemes.
#[test]
fn a_query_meets_as_many_strangers_as_key_bits_leave() {
    for (scheme, expected) in [("5c2", 2_086.0), ("t11", 214.0), ("4c1", 610_352.0), ("t14", 32.6)] {
        let query = plan(&load(Profile::Classic, scheme, 1e10), &machines()).query;
        close(query.simhash_rows, expected, 2e-3);
        assert_eq!(query.band_rows, 0.0);
    }
    let query = plan(&load(Profile::Minhash, "5c2", 1e6), &machines()).query;
    assert_eq!((query.simhash_rows, query.band_rows), (0.0, m::STRANGERS_A_MILLION));
}

/// With 2^20 documents and keys of 26 bits, one bucket in 64 is filled; with 2^36, all are.
#[test]
fn blocks_are_read_of_buckets_that_hold_something() {
    let blocks = |n: f64| plan(&load(Profile::Classic, "5c2", n), &machines()).query.blocks;
    // 6 of 64 for the longer keys, 4 of 32 for the others, and the records.
    close(blocks(2_f64.powi(20)), 1.0 + 6.0 / 64.0 + 4.0 / 32.0, 0.01);
    assert!(blocks(2_f64.powi(36)) > 11.0);
}

/// 57 µs of a region server for each of ten buckets in ten of very many regions, and the time of a
/// row for each of 2,086.
#[test]
fn a_query_costs_calls_and_rows() {
    let asked = load(Profile::Classic, "5c2", 1e10);
    let query = plan(&asked, &machines()).query;
    close(query.calls, 10.0, 0.02);
    let calls = 10.0 + m::CONFIRM_CALLS;
    close(query.server_seconds, calls * m::SCAN_SECONDS + 2_086.0 * m::ROW_SECONDS, 0.02);
    // In one region all ranges go in one call.
    let small = plan(&load(Profile::Classic, "5c2", 1e6), &machines()).query;
    close(small.calls, 1.0, 1e-9);
    let calls = Load { queries_a_call: 1_000.0, ..asked };
    assert!(plan(&calls, &machines()).query.calls < query.calls / 2.0);
}

#[test]
fn more_asks_for_no_less() {
    let mut before = 0.0;
    for exponent in 0..=13 {
        let plan = plan(&load(Profile::Full, "5c2", 10_f64.powi(exponent)), &machines());
        assert!(plan.servers >= before && plan.servers >= 3.0, "10^{exponent}");
        before = plan.servers;
    }
    assert!(before > 3.0);
    for profile in [Profile::Classic, Profile::Full] {
        let mut before = (0.0, 0.0, 0.0);
        for exponent in 0..=7 {
            let mut asked = load(profile, "t11", 1e9);
            asked.queries_per_second = 10_f64.powi(exponent);
            let plan = plan(&asked, &machines());
            let now = (plan.servers, plan.worker_cores, plan.price.unwrap());
            assert!(now.0 >= before.0 && now.1 > before.1 && now.2 >= before.2, "10^{exponent}");
            before = now;
        }
    }
}

#[test]
fn each_limit_can_decide() {
    let asked = load(Profile::Classic, "t11", 1e10);
    let decided = |asked: &Load, machines: &Machines| {
        let plan = plan(asked, machines);
        let most = plan.servers_by.iter().map(|(_, n)| *n).fold(0.0, f64::max);
        assert!(plan.servers >= most, "{plan:?}");
        plan.decided_by
    };
    assert_eq!(decided(&load(Profile::Classic, "t11", 1e6), &machines()), Limit::Copies);
    assert_eq!(decided(&asked, &machines()), Limit::Memory);
    assert_eq!(decided(&asked, &Machines { memory_bytes: 512e9, ..machines() }), Limit::Disk);
    assert_eq!(decided(&asked, &Machines { region_bytes: 1e8, ..machines() }), Limit::Regions);
    assert_eq!(decided(&asked, &Machines { reads_per_second: 20.0, ..machines() }), Limit::Reads);
    let busy = Load { queries_per_second: 1e6, ..asked.clone() };
    let with_reads = Machines { reads_per_second: 1e9, ..machines() };
    assert_eq!(decided(&busy, &with_reads), Limit::Queries);
    let writing = Load { inserts_per_second: 1e6, ..asked };
    assert_eq!(decided(&writing, &with_reads), Limit::Inserts);
}

/// Queries and inserts share the cores.
#[test]
fn servers_of_queries_and_inserts_add_up() {
    let asked =
        Load { queries_per_second: 1e6, inserts_per_second: 1e5, ..load(Profile::Classic, "t11", 1e9) };
    let plan = plan(&asked, &Machines { reads_per_second: 1e9, ..machines() });
    let of = |wanted: Limit| plan.servers_by.iter().find(|(limit, _)| *limit == wanted).unwrap().1;
    assert_eq!(plan.servers, (of(Limit::Queries) + of(Limit::Inserts)).ceil());
}

/// 1,000 documents a second for a week.
#[test]
fn what_has_expired_is_on_disk_until_a_major_compaction() {
    let mut asked = Load { inserts_per_second: 1_000.0, ..load(Profile::Classic, "5c2", 1e9) };
    assert_eq!(plan(&asked, &machines()).stored.n_documents, 1e9);
    asked.retain = Some("2d".parse().unwrap());
    assert_eq!(plan(&asked, &machines()).stored.n_documents, 1e9 + 604_800_000.0);
}
