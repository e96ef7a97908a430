//! Tiers of an index with damaged rows.

use super::super::super::layout::CLAIM_COLUMN;
use super::*;

/// Records and claims that cannot be decoded are left out, and the others are known. What the
/// documents get in their place is met.
fn damaged_rows_are_left_out(on: On) {
    for column in [RECORD_COLUMN, CLAIM_COLUMN] {
        let place = Place::new(on);
        let documents = [document("a", spread(1)), document("b", spread(2)), document("c", spread(3))];
        place.store().insert(&documents).unwrap();
        let damaged = document_row(&id("b"));
        place.hbase.put_raw("t_docs", &damaged, column, b"nonsense", BEGIN + 1);
        place.advance(HOUR);
        let store = tiered(&place);
        fill(&store, 1);
        assert!(store.tier().unwrap().is_some(), "the damage has ended the walk");
        for n in [1, 3] {
            assert!(is_duplicate(&store, spread(n) ^ 1), "{n}");
        }
        let plain = place.store().insert_if_new(&[document("near", spread(2) ^ 1)], &within(3));
        assert_eq!(plain.unwrap_err().kind(), ErrorKind::Corrupt);
        // It is mended as the help of `pigeonhole verify` says.
        place.hbase.erase("t_docs", &damaged);
        place.store().insert(&documents[1..2]).unwrap();
        assert!(is_duplicate(&store, spread(2) ^ 1));
    }
}

hazards! { damaged_rows_are_left_out }
