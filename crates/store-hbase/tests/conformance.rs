//! The store passes the suite that every store passes, on the fake gateway; the real one is in the package of the tests that
//! need installed programs.

use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use index::testsuite::{self, Place};
use index::{Metadata, Store};
use pigeonhole_store_hbase::{FakeGateway, HbaseStore};

#[test]
fn hbase() {
    let gateway = FakeGateway::start();
    let n_tables = AtomicUsize::new(0);
    let open = |clock, seconds| -> Box<dyn Store> {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        let documents = format!("{name}_docs");
        gateway.create_table(&name, &["f"]);
        gateway.create_table(&documents, &["d", "m"]);
        gateway.set_time_to_live(&name, "f", seconds);
        gateway.set_time_to_live(&documents, "d", seconds);
        Box::new(HbaseStore::with_clock(gateway.address().to_string(), &name, 8, clock))
    };
    testsuite::check_what_stays(&|clock| open(clock, i32::MAX));
    testsuite::check_retention(&|clock| open(clock, testsuite::RETAIN.as_secs() as i32));
    assert_eq!(gateway.n_open_scanners(), 0);
}

/// Tables that are dropped and made again. The embedded store's files are in its own tests, and nobody else can reach what is
/// in memory.
#[test]
fn hbase_made_anew() {
    let gateway = Rc::new(FakeGateway::start());
    let n_tables = AtomicUsize::new(0);
    testsuite::check_made_anew(&|| {
        let name = format!("t{}", n_tables.fetch_add(1, Ordering::Relaxed));
        let make = {
            let (gateway, name) = (Rc::clone(&gateway), name.clone());
            move || {
                for (table, families) in [(name.clone(), &["f"][..]), (format!("{name}_docs"), &["d", "m"])] {
                    gateway.drop_table(&table);
                    gateway.create_table(&table, families);
                }
            }
        };
        make();
        let address = gateway.address().to_string();
        let reopen = move || -> Box<dyn Store> { Box::new(HbaseStore::new(address.clone(), &name, 8)) };
        let (store, other) = (reopen(), reopen.clone());
        let remake = move |metadata: Option<&Metadata>| {
            make();
            if let Some(metadata) = metadata {
                other().create(metadata).unwrap();
            }
        };
        Place { store, remake: Box::new(remake), reopen: Box::new(reopen) }
    });
    assert_eq!(gateway.n_open_scanners(), 0);
}
