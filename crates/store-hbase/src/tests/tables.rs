//! Tables that are missing or otherwise than they should be, and another index in place of the
//! first.

use index::{Index, Mode, OpenOptions, Place as _};

use super::*;
use crate::HbaseUri;

fn options() -> OpenOptions {
    OpenOptions { recipe: [("seed".to_owned(), "7".to_owned())].into(), ..OpenOptions::default() }
}

fn open_at(place: &str, options: &OpenOptions) -> index::Result<Index> {
    options.new_metadata()?;
    Index::over(place.parse::<HbaseUri>()?.open(options.mode, options.clock(), None)?, options)
}

fn open(gateway: &FakeGateway, options: &OpenOptions) -> index::Result<Index> {
    open_at(&format!("hbase://{}/t?connections=2", gateway.address()), options)
}

#[test]
fn missing_tables_and_families() {
    type Tables = &'static [(&'static str, &'static [&'static str])];
    let cases: [Tables; 7] = [
        &[],
        &[("t", &["f"])],
        &[("t_docs", &["d", "m"])],
        &[("t", &["g"]), ("t_docs", &["d", "m"])],
        &[("t", &["f"]), ("t_docs", &["m"])],
        &[("t", &["f"]), ("t_docs", &["d"])],
        &[("t", &["f"]), ("t_docs", &["x"])],
    ];
    for tables in cases {
        let gateway = FakeGateway::start();
        for (name, families) in tables {
            gateway.create_table(name, families);
        }
        for mode in [Mode::CreateIfMissing, Mode::MustExist] {
            let answer = open(&gateway, &OpenOptions { mode, ..options() });
            let error = answer.err().unwrap_or_else(|| panic!("{tables:?} must be refused"));
            assert_eq!(error.kind(), ErrorKind::NotFound, "{}", told(&error));
            assert!(
                error.to_string().contains("TABLE=t deploy/hbase/hbase shell schema/create.rb"),
                "{error}"
            );
        }
        // Nothing was written on the way.
        assert_eq!(gateway.n_calls("checkAndPut") + gateway.n_calls("mutateRowsTs"), 0, "{tables:?}");
    }
}

#[test]
fn another_index_is_refused_by_the_name_of_what_differs() {
    let place = Place::bare();
    let created = open(&place.gateway, &options()).unwrap();
    created.insert(&[(id("a"), Fingerprint(1))]).unwrap();
    let other_recipe =
        OpenOptions { recipe: [("seed".to_owned(), "8".to_owned())].into(), ..OpenOptions::default() };
    let other_scheme = OpenOptions { scheme: Some("t11".to_owned()), ..OpenOptions::default() };
    let other_distance = OpenOptions { max_distance: Some(apart(1)), ..OpenOptions::default() };
    for (options, says) in [
        (other_recipe, "recipe field seed is \"7\""),
        (other_scheme, "scheme is \"5c2\""),
        (other_distance, "max distance is \"3\""),
    ] {
        let error = open(&place.gateway, &options).err().expect("another index");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains(says), "{error}");
    }
    let reopened = open(&place.gateway, &options()).unwrap();
    assert_eq!(reopened.digest().unwrap(), created.digest().unwrap());
}

#[test]
fn metadata_of_a_newer_program() {
    let place = Place::bare();
    let newer = br#"{"format_version": 5, "shape": "unknown"}"#;
    place.gateway.put_raw("t_docs", b"pigeonhole", b"m:metadata", newer, BEGIN);
    let store = place.store();
    check_fails(store.metadata(), ErrorKind::Mismatch, &["format version 5"]);
    check_fails(store.insert(&[document("a", 1)]), ErrorKind::Mismatch, &["format version 5"]);
    check_fails(store.create(&metadata()), ErrorKind::Mismatch, &["format version 5"]);
    assert_eq!(place.index_rows(), []);
}

/// HBase's own time to live must be the index's, or cells would expire that are still searched for,
/// or stay for ever.
#[test]
fn tables_that_keep_their_cells_for_another_time() {
    const TWO_DAYS: i32 = 2 * 24 * 60 * 60;
    let retain =
        |text: Option<&str>| OpenOptions { retain: text.map(|text| text.parse().unwrap()), ..options() };
    let gateway = FakeGateway::start();
    gateway.create_table("t", &["f"]);
    gateway.create_table("t_docs", &["d", "m"]);
    // A new index names the tables that differ, and has written nothing.
    let error = open(&gateway, &retain(Some("2d"))).err().expect("tables that keep everything");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let says = "for 2d and the tables of HBase keep their cells for good; say with --retain how long the new index keeps \
                them, or run in the HBase shell: alter 't', {NAME => 'f', TTL => 172800}; \
                alter 't_docs', {NAME => 'd', TTL => 172800}";
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(gateway.n_calls("checkAndPut"), 0);
    gateway.set_time_to_live("t", "f", TWO_DAYS);
    let error = open(&gateway, &retain(Some("2d"))).err().expect("one table");
    assert!(error.to_string().ends_with("shell: alter 't_docs', {NAME => 'd', TTL => 172800}"), "{error}");
    gateway.set_time_to_live("t_docs", "d", TWO_DAYS);
    open(&gateway, &retain(Some("2d"))).unwrap();
    // An existing index takes its own time, and refuses altered tables.
    open(&gateway, &retain(None)).unwrap();
    gateway.set_time_to_live("t", "f", i32::MAX);
    let error = open(&gateway, &retain(None)).err().expect("an altered table");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(
        error
            .to_string()
            .ends_with("for good; run in the HBase shell: alter 't', {NAME => 'f', TTL => 172800}"),
        "{error}"
    );
    // And tables that drop cells before the index does.
    gateway.create_table("u", &["f"]);
    gateway.create_table("u_docs", &["d", "m"]);
    gateway.set_time_to_live("u", "f", 90);
    let error = open_at(&format!("hbase://{}/u", gateway.address()), &options()).err().expect("a table");
    assert!(
        error.to_string().contains("for good and the tables of HBase keep their cells for 1m30s"),
        "{error}"
    );
    assert!(error.to_string().ends_with("alter 'u', {NAME => 'f', TTL => 'FOREVER'}"), "{error}");
}
