//! Another index in the same files. Tests of replaced files are in `place.rs`.

use std::rc::Rc;

use index::testsuite::{self, Place};

use super::super::environment::METADATA_KEY;
use super::*;

#[test]
fn no_call_takes_another_index_for_its_own() {
    testsuite::check_made_anew(&|| {
        let directory = Rc::new(directory());
        let open = |directory: &TempDir| {
            EmbeddedStore::open_with(directory.path(), Mode::CreateIfMissing, SMALL, Clock::system()).unwrap()
        };
        let store = open(&directory);
        let shared = Arc::downgrade(&store.shared);
        let remake = move |metadata: Option<&Metadata>| {
            let shared = shared.upgrade().unwrap();
            let remade = shared.environment.with(|opened| {
                let mut txn = opened.write_txn()?;
                opened.log.clear(&mut txn)?;
                opened.ids.clear(&mut txn)?;
                opened.removals.clear(&mut txn)?;
                opened.meta.clear(&mut txn)?;
                if let Some(metadata) = metadata {
                    opened.meta.put(&mut txn, METADATA_KEY, &metadata.encode()?)?;
                }
                txn.commit()
            });
            remade.unwrap();
        };
        let reopen = move || -> Box<dyn Store> { Box::new(open(&directory)) };
        Place { store: Box::new(store), remake: Box::new(remake), reopen: Box::new(reopen) }
    });
}
