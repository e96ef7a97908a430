//! Rows written by foreign software.

use super::*;

/// Returns the key of the first row of a document.
fn first_row(bits: u64) -> Vec<u8> {
    let sketch = sketch(bits);
    sketch.rows().next().unwrap().encode().to_vec()
}

fn damaged_rows_are_named(on: On) {
    use ErrorKind::Corrupt;
    let row = first_row(0);
    let named = row.escape_ascii().to_string();
    // A key of the right bucket, first too short, then too long.
    for key in [&[&row[..5], &[1; 7]].concat(), &[&row[..], &[0]].concat()] {
        let place = Place::new(on);
        place.hbase.put_raw("t", key, b"f:a", b"", BEGIN);
        let says = key.escape_ascii().to_string();
        check_fails(place.store().near(&[sketch(0)], &within(3), 1), Corrupt, &[&says]);
        assert_eq!(place.hbase.n_open_scanners(), 0);
        assert_eq!(found(&place.store(), u64::MAX), [""; 0]);
    }
    for column in [&b"f:"[..], b"f:a\tb", b"f:\xff"] {
        let place = Place::new(on);
        place.hbase.put_raw("t", &row, column, b"", BEGIN);
        check_fails(
            place.store().near(&[sketch(0)], &within(3), 1),
            Corrupt,
            &[&named, "is not a document id"],
        );
        assert_eq!(place.hbase.n_open_scanners(), 0);
    }
    for record in
        [&b""[..], b"live", b"live 0 1", b"gone 0000000000000000 1", b"live 0000000000000000 1 \xff"]
    {
        let place = Place::new(on);
        let store = place.store();
        store.insert(&[document("a", 0), document("b", 0)]).unwrap();
        let key = super::super::layout::document_row(&id("a"));
        place.hbase.put_raw("t_docs", &key, b"d:record", record, BEGIN + 1);
        let named = String::from_utf8(key).unwrap();
        let says = [&*named, "is not one of a document"];
        check_fails(store.near(&[sketch(0)], &within(3), 1), Corrupt, &says);
        check_fails(store.get(&[id("a")]), Corrupt, &says);
        check_fails(store.insert(&[document("a", 0)]), Corrupt, &says);
        check_fails(store.insert_if_new(&[document("c", 0)], &within(3)), Corrupt, &says);
        check_fails(store.remove(&[id("a")]), Corrupt, &says);
        check_fails(store.scan(Cursor::start(), 10), Corrupt, &says);
        // The others are as they were.
        assert_eq!(get(&store, &[id("b")]), [Some(document("b", 0))]);
    }
    for key in [&b"0000:a"[..], b"a", b"dead", b"\xff"] {
        let place = Place::new(on);
        place.hbase.put_raw("t_docs", key, b"d:record", b"live 0000000000000000 1", BEGIN);
        let answer = place.store().scan(Cursor::start(), 10);
        if key < &b"g"[..] {
            check_fails(answer, Corrupt, &[&key.escape_ascii().to_string()]);
        } else {
            assert_eq!(answer.unwrap().documents, []);
        }
    }
}

fn damaged_metadata(on: On) {
    for value in [&b""[..], b"{}", b"\xff", b"{\"format_version\": 1}"] {
        let place = Place::bare(on);
        place.hbase.put_raw("t_docs", b"pigeonhole", b"m:metadata", value, BEGIN);
        check_fails(place.store().metadata(), ErrorKind::Corrupt, &["the row pigeonhole"]);
        check_fails(
            place.store().near(&[sketch(0)], &within(3), 1),
            ErrorKind::Corrupt,
            &["the row pigeonhole"],
        );
    }
}

fn other_families_and_columns_are_none_of_ours(on: On) {
    let place = Place::bare(on);
    place.hbase.create_table("t", &["f", "x"]);
    place.hbase.create_table("t_docs", &["d", "m", "x"]);
    let store = place.store();
    store.create(&metadata()).unwrap();
    let a = document("a", 0);
    store.insert(std::slice::from_ref(&a)).unwrap();
    place.hbase.put_raw("t", &first_row(0), b"x:\xff", b"1", BEGIN);
    let key = super::super::layout::document_row(&a.id);
    for (key, column) in [
        (&key[..], &b"x:record"[..]),
        (&key, b"d:later"),
        (b"pigeonhole", b"m:later"),
        (b"9999:q", b"d:later"),
    ] {
        place.hbase.put_raw("t_docs", key, column, b"1", BEGIN);
    }
    assert_eq!(found(&store, 0), ["a"]);
    assert_eq!(contents(&store), [a]);
    assert_eq!(place.store().metadata().unwrap(), Some(metadata()));
}

hazards! {
    damaged_rows_are_named,
    damaged_metadata,
    other_families_and_columns_are_none_of_ours,
}
