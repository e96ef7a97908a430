//! Tables that are missing or otherwise than they should be, and another index in place of the
//! first.

use index::{Index, Mode, OpenOptions};

use super::*;

fn options() -> OpenOptions {
    OpenOptions { recipe: [("seed".to_owned(), "7".to_owned())].into(), ..OpenOptions::default() }
}

/// Opens the index `name`.
fn open_named(place: &Place, name: &str, options: &OpenOptions) -> index::Result<Index> {
    options.new_metadata()?;
    let store = HbaseStore::over(place.hbase.rows(name, OPTIONS), options.clock());
    Index::over(Box::new(store), options)
}

fn open(place: &Place, options: &OpenOptions) -> index::Result<Index> {
    open_named(place, "t", options)
}

fn missing_tables_and_families(on: On) {
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
        let place = Place::empty(on);
        for (name, families) in tables {
            place.hbase.create_table(name, families);
        }
        for mode in [Mode::CreateIfMissing, Mode::MustExist] {
            let answer = open(&place, &OpenOptions { mode, ..options() });
            let error = answer.err().unwrap_or_else(|| panic!("{tables:?} must be refused"));
            assert_eq!(error.kind(), ErrorKind::NotFound, "{}", told(&error));
            assert!(
                error.to_string().contains("TABLE=t deploy/hbase/hbase shell schema/create.rb"),
                "{error}"
            );
        }
        // Nothing was written on the way.
        assert_eq!(place.hbase.n_calls(Call::Swap) + place.hbase.n_calls(Call::Apply), 0, "{tables:?}");
    }
}

fn another_index_is_refused_by_the_name_of_what_differs(on: On) {
    let place = Place::bare(on);
    let created = open(&place, &options()).unwrap();
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
        let error = open(&place, &options).err().expect("another index");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().contains(says), "{error}");
    }
    let reopened = open(&place, &options()).unwrap();
    assert_eq!(reopened.digest().unwrap(), created.digest().unwrap());
}

fn metadata_of_a_newer_program(on: On) {
    let place = Place::bare(on);
    let newer = br#"{"format_version": 5, "shape": "unknown"}"#;
    place.hbase.put_raw("t_docs", b"pigeonhole", b"m:metadata", newer, BEGIN);
    let store = place.store();
    check_fails(store.metadata(), ErrorKind::Mismatch, &["format version 5"]);
    check_fails(store.insert(&[document("a", 1)]), ErrorKind::Mismatch, &["format version 5"]);
    check_fails(store.create(&metadata()), ErrorKind::Mismatch, &["format version 5"]);
    assert_eq!(place.index_rows(), []);
}

/// HBase's own time to live must be the index's, or cells would expire that are still searched for,
/// or stay for ever.
fn tables_that_keep_their_cells_for_another_time(on: On) {
    const TWO_DAYS: i32 = 2 * 24 * 60 * 60;
    let retain =
        |text: Option<&str>| OpenOptions { retain: text.map(|text| text.parse().unwrap()), ..options() };
    let place = Place::empty(on);
    place.hbase.create_table("t", &["f"]);
    place.hbase.create_table("t_docs", &["d", "m"]);
    // A new index names the tables that differ, and has written nothing.
    let error = open(&place, &retain(Some("2d"))).err().expect("tables that keep everything");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    let says = "for 2d and the tables of HBase keep their cells for good; say with --retain how long the new index keeps \
                them, or run in the HBase shell: alter 't', {NAME => 'f', TTL => 172800}; \
                alter 't_docs', {NAME => 'd', TTL => 172800}";
    assert!(error.to_string().contains(says), "{error}");
    assert_eq!(place.hbase.n_calls(Call::Swap), 0);
    place.hbase.set_time_to_live("t", "f", TWO_DAYS);
    let error = open(&place, &retain(Some("2d"))).err().expect("one table");
    assert!(error.to_string().ends_with("shell: alter 't_docs', {NAME => 'd', TTL => 172800}"), "{error}");
    place.hbase.set_time_to_live("t_docs", "d", TWO_DAYS);
    open(&place, &retain(Some("2d"))).unwrap();
    // An existing index takes its own time, and refuses altered tables.
    open(&place, &retain(None)).unwrap();
    place.hbase.set_time_to_live("t", "f", i32::MAX);
    let error = open(&place, &retain(None)).err().expect("an altered table");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(
        error
            .to_string()
            .ends_with("for good; run in the HBase shell: alter 't', {NAME => 'f', TTL => 172800}"),
        "{error}"
    );
    // And tables that drop cells before the index does.
    place.hbase.create_table("u", &["f"]);
    place.hbase.create_table("u_docs", &["d", "m"]);
    place.hbase.set_time_to_live("u", "f", 90);
    let error = open_named(&place, "u", &options()).err().expect("a table");
    assert!(
        error.to_string().contains("for good and the tables of HBase keep their cells for 1m30s"),
        "{error}"
    );
    assert!(error.to_string().ends_with("alter 'u', {NAME => 'f', TTL => 'FOREVER'}"), "{error}");
}

hazards! {
    missing_tables_and_families,
    another_index_is_refused_by_the_name_of_what_differs,
    metadata_of_a_newer_program,
    tables_that_keep_their_cells_for_another_time,
}
