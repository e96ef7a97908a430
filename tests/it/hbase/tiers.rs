//! Insertion with a tier: what it knows is found, and HBase skips the rest.

use index::testsuite::{document, spread, within};
use index::{Clock, Insertion, OpenOptions, Profile, Store};
use store_hbase::{HbaseStore, HbaseUri};

use super::{create, direct_url};
use crate::support::{hbase, until};

const HOUR: i64 = 60 * 60 * 1000;

/// Returns a store whose clock is behind by so many hours.
fn open(url: &str, n_hours: i64) -> HbaseStore {
    let uri: HbaseUri = url.parse().unwrap();
    let system = Clock::system();
    let clock = Clock::new(move || system.now().as_ms() - n_hours * HOUR);
    HbaseStore::open(&uri, clock, None).unwrap()
}

fn is_duplicate(store: &HbaseStore, bits: u64) -> bool {
    let insertion = store.insert_if_new(&[document("probe", bits)], &within(3)).unwrap().remove(0);
    if insertion == Insertion::Inserted {
        store.remove(&[document("probe", bits).id]).unwrap();
    }
    matches!(insertion, Insertion::Duplicate(_))
}

/// Documents of three hours ago are known; one that comes later with a time of two hours ago,
/// which no claimant writes, is not read: neither in HBase's memory nor, after a flush, in a file.
#[test]
fn older_files_are_not_read() {
    let Some(hbase) = hbase() else { return };
    create(hbase, "create_tier", &[("tier", "5c2")]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tier");
    let url = direct_url(hbase, "tier");
    let plain = open(&url, 0);
    let options =
        OpenOptions { profile: Some(Profile::Classic), verify: Some(false), ..OpenOptions::default() };
    plain.create(&options.new_metadata().unwrap()).unwrap();
    let old: Vec<_> = (0..200).map(|n| document(&format!("d{n}"), spread(n))).collect();
    open(&url, 3).insert(&old).unwrap();
    let tiered = open(&format!("{url}?tier-mb=16&tier-file={}", file.display()), 0);
    assert!(!is_duplicate(&tiered, spread(999)));
    until(|| file.exists());
    open(&url, 2).insert(&[document("early", spread(500))]).unwrap();
    let flush = "flush 'tier'\nflush 'tier_docs'\n";
    for is_flushed in [false, true] {
        if is_flushed {
            hbase.shell_text("flush_tier", flush).expect(0);
        }
        for n in (0..200).step_by(9) {
            assert!(is_duplicate(&tiered, spread(n) ^ 7 << 30), "{n}");
        }
        assert!(!is_duplicate(&tiered, spread(500) ^ 1), "flushed: {is_flushed}");
        assert!(is_duplicate(&plain, spread(500) ^ 1));
    }
    // What comes now is met, by whichever process it comes.
    assert_eq!(
        plain.insert_if_new(&[document("now", spread(600))], &within(3)).unwrap(),
        [Insertion::Inserted]
    );
    assert!(is_duplicate(&tiered, spread(600) ^ 1));
}
