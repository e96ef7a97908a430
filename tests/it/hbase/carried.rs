//! An index carried over to HBase and back, and fingerprints of other programs in a bulk load.

use std::fs;

use super::{create, url};
use crate::carry::{at, embedded, indexed, records};
use crate::support::{CLASSIC, digest, hbase, run};

#[test]
fn there_and_back() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_carried", &[("carried", "5c2"), ("carried_own", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let old = indexed(folder, "old", &["--segmenter", "words"]);
    let (there, back) = (url(hbase.gateway, "carried"), embedded(folder, "back"));
    for (from, to) in [(&old, &there), (&there, &back)] {
        let told = run("indexer", ["reindex", "-q", from, to]).expect(0).stdout;
        assert!(told.contains("missing                  0"), "{told}");
        assert_eq!(digest(to), digest(&old));
        assert_eq!(records(folder, to), records(folder, &old));
    }

    let (own, rows) = (at(folder, "own.jsonl"), at(folder, "rows"));
    let lines = (0..2000_u64).map(|id| {
        format!("{{\"id\":{id},\"fingerprint\":{}}}\n", id.wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed())
    });
    fs::write(&own, lines.collect::<String>()).unwrap();
    let (loaded, expected) = (url(hbase.gateway, "carried_own"), embedded(folder, "own"));
    let import = |store: &str, more: &[&str]| {
        run("indexer", [&["import", "-q", &own, "--store", store], &CLASSIC[..], more].concat()).expect(0)
    };
    import(&expected, &[]);
    import(&loaded, &["--rows", &rows]);
    let load = hbase.bulk_load(rows.as_ref()).output().unwrap();
    assert!(load.status.success(), "{}", String::from_utf8_lossy(&load.stderr));
    assert_eq!(digest(&loaded), digest(&expected));
}
