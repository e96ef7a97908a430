//! Claimants that know the older cells: they find what is there all the same, whatever comes late,
//! and do not read what they know.

mod damaged;
mod notes;
mod slow;

use std::cell::Cell;
use std::fs;

use index::Rule;
use index::testsuite::signed;

use super::super::layout::{RECORD_COLUMN, document_row};
use super::super::rows::LONG_PAGE_RESULTS;
use super::super::store::HbaseStore;
use super::super::tier::{Filled, Filler};
use super::super::uri::{HbaseUri, TierOptions};
use super::claims::insert_if_new;
use super::examine::examine;
use super::*;

const MINUTE: i64 = 60_000;

/// Rows that read by times. A gateway is asked for all of them.
const BY_TIMES: [On; 2] = [On::Memory, On::Rpc];

fn options() -> TierOptions {
    TierOptions { n_bytes_max: 10_000_000, file: None }
}

fn tiered_with(place: &Place, options: TierOptions) -> HbaseStore {
    place.store().with_tier(Some(options))
}

/// Returns a store whose tier is not filled yet.
fn tiered(place: &Place) -> HbaseStore {
    tiered_with(place, options())
}

/// Waits until the tier was filled, or was to be, so many times.
fn fill(store: &HbaseStore, n_fillings: u64) {
    // To ask for it begins it.
    store.tier().unwrap();
    store.keeper.as_ref().unwrap().wait_for(n_fillings);
}

fn is_duplicate(store: &HbaseStore, bits: u64) -> bool {
    let probe = document("probe", bits);
    let insertion = insert_if_new(store, &probe);
    if insertion == Insertion::Inserted {
        assert_eq!(store.remove(&[id("probe")]).unwrap(), [true]);
    }
    matches!(insertion, Insertion::Duplicate(_))
}

fn what_is_there_is_found(on: On) {
    let place = Place::new(on);
    let old: Vec<_> = (0..40).map(|n| document(&format!("d{n}"), spread(n))).collect();
    place.store().insert(&old[..20]).unwrap();
    place.store().insert_if_new(&old[20..], &within(3)).unwrap();
    place.advance(HOUR);
    let store = tiered(&place);
    fill(&store, 1);
    for n in 0..40 {
        // Up to three bits, in one half or in both.
        for differ in [0, 1, 7, 7 << 40, 1 << 63 | 3, 1 << 35 | 1 << 31 | 1] {
            assert!(is_duplicate(&store, spread(n) ^ differ), "{n} {differ:x}");
        }
        assert!(!is_duplicate(&store, spread(n) ^ 0xf0f0), "{n}");
    }
    // What comes after the filling, by this process and by another one.
    assert_eq!(insert_if_new(&store, &document("own", spread(50))), Insertion::Inserted);
    assert_eq!(insert_if_new(&place.store(), &document("other", spread(51))), Insertion::Inserted);
    place.advance(3 * HOUR);
    assert!(is_duplicate(&store, spread(50) ^ 5));
    assert!(is_duplicate(&store, spread(51) ^ 5));
}

fn signatures_are_found(on: On) {
    let place = Place::of(on, &metadata_of(&OpenOptions::default()));
    let rule: Rule = metadata_of(&OpenOptions::default()).rule();
    let text = |name: &str, sketch| Document { id: id(name), sketch, source: None };
    let old = |n: u64| signed(spread(n), 10_000 * n..10_000 * n + if n < 4 { 300 } else { 20 });
    let texts: Vec<_> = (0..8).map(|n| text(&format!("d{n}"), old(n))).collect();
    place.store().insert(&texts).unwrap();
    place.advance(HOUR);
    let store = tiered(&place);
    fill(&store, 1);
    for n in 0..8 {
        // Another simhash: the signatures alone are near.
        let near = signed(spread(100 + n), 10_000 * n..10_000 * n + if n < 4 { 299 } else { 20 });
        let insertion = store.insert_if_new(&[text("near", near)], &rule).unwrap().remove(0);
        assert!(matches!(insertion, Insertion::Duplicate(_)), "{n}");
    }
    let far = text("far", signed(spread(200), 900_000..900_300));
    assert_eq!(store.insert_if_new(&[far], &rule).unwrap(), [Insertion::Inserted]);
}

/// A document that came after the filling with a time of two hours before: the contract forbids
/// it, and it shows what is read.
#[test]
fn cells_that_are_known_are_not_read() {
    for on in BY_TIMES {
        let place = Place::new(on);
        place.store().insert(&[document("old", spread(1))]).unwrap();
        place.advance(3 * HOUR);
        let store = tiered(&place);
        fill(&store, 1);
        for (name, bits, behind, is_met) in
            [("early", spread(2), 2 * HOUR, false), ("behind", spread(3), 4 * MINUTE, true)]
        {
            place.set_clock(BEGIN + 3 * HOUR - behind);
            place.store().insert(&[document(name, bits)]).unwrap();
            place.set_clock(BEGIN + 3 * HOUR);
            assert_eq!(is_duplicate(&store, bits ^ 1), is_met, "{name}");
            assert!(is_duplicate(&place.store(), bits ^ 1), "{name}");
        }
        assert!(is_duplicate(&store, spread(1) ^ 1));
    }
}

/// A repair files the cells of records, which a tier knows by the records.
fn mended_documents_are_found(on: On) {
    let place = Place::new(on);
    place.store().insert(&[document("a", spread(1)), document("b", spread(2))]).unwrap();
    for (key, _) in place.index_rows() {
        place.hbase.erase("t", &key);
    }
    place.advance(HOUR);
    let store = tiered(&place);
    fill(&store, 1);
    assert_eq!(examine(&place.store(), true).1.len(), 2);
    for n in [1, 2] {
        assert!(is_duplicate(&store, spread(n) ^ 1), "{n}");
    }
}

/// HBase's time counts where the filler's clock is ahead.
fn a_filler_whose_clock_is_ahead(on: On) {
    let place = Place::new(on);
    place.set_clock(BEGIN + 5 * HOUR);
    let store = tiered(&place);
    fill(&store, 1);
    place.set_clock(BEGIN);
    assert_eq!(insert_if_new(&place.store(), &document("right", spread(1))), Insertion::Inserted);
    place.set_clock(BEGIN + 5 * HOUR);
    assert!(is_duplicate(&store, spread(1) ^ 1));
}

/// A note that comes right before a call ends the tier that the note's writer could not know.
fn a_tier_is_kept_in_a_file(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tier");
    let with_file = || TierOptions { file: Some(path.clone()), ..options() };
    let place = Place::new(on);
    place.store().insert(&[document("old", spread(1))]).unwrap();
    place.advance(HOUR);
    let first = tiered_with(&place, with_file());
    fill(&first, 1);
    drop(first);
    let whole = fs::read(&path).unwrap();
    assert_eq!(insert_if_new(&place.store(), &document("later", spread(2))), Insertion::Inserted);
    place.advance(HOUR);
    let mut damaged = whole.clone();
    damaged[20] ^= 1;
    for bytes in [&whole, &damaged, &Vec::new()] {
        fs::write(&path, bytes).unwrap();
        let next = tiered_with(&place, with_file());
        fill(&next, 1);
        for n in [1, 2] {
            assert!(is_duplicate(&next, spread(n) ^ 1), "{n}");
        }
        assert!(!is_duplicate(&next, spread(3)));
    }
    // The file of another index, which has the same documents and more.
    fs::write(&path, &whole).unwrap();
    let other = Place::bare(on);
    other.store().create(&Metadata { identity: Identity::new([2; 16]), ..metadata() }).unwrap();
    other.store().insert(&[document("its", spread(9))]).unwrap();
    other.advance(HOUR);
    let store = tiered_with(&other, with_file());
    fill(&store, 1);
    assert!(is_duplicate(&store, spread(9) ^ 1));
    assert!(!is_duplicate(&store, spread(1)));
}

/// The first call of a process has the tier of the file already.
#[test]
fn a_start_waits_for_its_file() {
    for on in BY_TIMES {
        let folder = tempfile::tempdir().unwrap();
        let with_file = || TierOptions { file: Some(folder.path().join("tier")), ..options() };
        let place = Place::new(on);
        place.store().insert(&[document("old", spread(1))]).unwrap();
        place.advance(HOUR);
        fill(&tiered_with(&place, with_file()), 1);
        place.set_clock(BEGIN - HOUR);
        place.store().insert(&[document("early", spread(2))]).unwrap();
        place.set_clock(BEGIN + HOUR);
        let next = tiered_with(&place, with_file());
        for (n, is_met) in [(2, false), (1, true)] {
            assert_eq!(is_duplicate(&next, spread(n) ^ 1), is_met, "{n}");
        }
    }
}

/// Documents that came since the tier was read are added by their times, and it begins later.
#[test]
fn a_tier_goes_on_where_it_ended() {
    for on in BY_TIMES {
        let place = Place::new(on);
        place.store().insert(&[document("old", spread(1))]).unwrap();
        place.advance(HOUR);
        let store = tiered(&place);
        fill(&store, 1);
        let n_scans = || place.hbase.n_calls(Call::Scan);
        place.store().insert(&[document("new", spread(2))]).unwrap();
        place.advance(HOUR);
        let before = n_scans();
        store.keeper.as_ref().unwrap().ask();
        fill(&store, 2);
        assert!(n_scans() > before);
        // With a time between the two fillings: the later one would have had it.
        place.set_clock(BEGIN + HOUR + 5 * MINUTE);
        place.store().insert(&[document("between", spread(3))]).unwrap();
        place.set_clock(BEGIN + 2 * HOUR);
        for (n, is_met) in [(1, true), (2, true), (3, false)] {
            // By the upper half, and by the lower one.
            for differ in [7, 7 << 40] {
                assert_eq!(is_duplicate(&store, spread(n) ^ differ), is_met, "{n}");
            }
        }
    }
}

#[test]
fn a_tier_that_is_too_large_is_none() {
    let place = Place::new(On::Memory);
    let documents = |numbers: std::ops::Range<u64>| -> Vec<_> {
        numbers.map(|n| document(&format!("d{n}"), spread(n))).collect()
    };
    place.store().insert(&documents(0..50)).unwrap();
    place.advance(HOUR);
    let whole = tiered(&place);
    fill(&whole, 1);
    let tier =
        |store: &HbaseStore| store.keeper.as_ref().unwrap().tier(&store.rows, &metadata(), &Clock::system());
    let n_bytes_max = tier(&whole).unwrap().n_bytes();
    let bounded = [n_bytes_max - 1, n_bytes_max].map(|n_bytes_max| {
        let store = tiered_with(&place, TierOptions { n_bytes_max, ..options() });
        fill(&store, 1);
        store
    });
    assert_eq!(bounded.each_ref().map(|store| tier(store).is_some()), [false, true]);
    for store in &bounded {
        assert!(is_duplicate(store, spread(9) ^ 1 << 33));
    }
    // What has expired makes room for what comes.
    for (key, _) in place.hbase.rows_of("t_docs").into_iter().filter(|(key, _)| key != METADATA_ROW) {
        place.hbase.erase("t_docs", &key);
    }
    place.store().insert(&documents(50..90)).unwrap();
    place.advance(HOUR);
    bounded[1].keeper.as_ref().unwrap().ask();
    fill(&bounded[1], 2);
    let later = tier(&bounded[1]).unwrap();
    assert!(later.since > tier(&whole).unwrap().since && later.n_bytes() <= n_bytes_max);
    assert!(is_duplicate(&bounded[1], spread(60) ^ 1 << 33));
}

/// Returns a place with a document behind more rows than a page has.
fn of_two_pages() -> Place {
    let place = Place::new(On::Memory);
    place.store().insert(&[document("last", spread(1)), document("other", spread(2))]).unwrap();
    let row = |name: &str| document_row(&id(name));
    let other = place.hbase.rows_of("t_docs").into_iter().find(|(key, _)| *key == row("other"));
    let (_, record, _) = other.unwrap().1.remove(0);
    for n in 0..LONG_PAGE_RESULTS + 10 {
        let key = [&row("last")[..1], format!("000:{n:05}").as_bytes()].concat();
        assert!(key < row("last"));
        place.hbase.put_raw("t_docs", &key, RECORD_COLUMN, &record, BEGIN);
    }
    place.advance(HOUR);
    place
}

#[test]
fn a_walk_goes_on_after_a_page() {
    let place = of_two_pages();
    let store = tiered(&place);
    fill(&store, 1);
    assert!(is_duplicate(&store, spread(1) ^ 1));
}

/// A walk through a large index takes an hour.
#[test]
fn a_walk_goes_on_after_an_outage() {
    let place = of_two_pages();
    let store = place.store_with(IMPATIENT);
    let [n_looks, n_pauses] = [const { Cell::new(0) }; 2];
    let count = |cell: &Cell<u32>| cell.replace(cell.get() + 1);
    let walk = |stops_before: u32| {
        n_looks.set(0);
        let filler = Filler {
            rows: &*store.rows,
            kind: &metadata().kind,
            clock: &Clock::system(),
            n_bytes_max: 10_000_000,
            is_stopped: &|| {
                if count(&n_looks) == stops_before {
                    place.hbase.stop();
                }
                false
            },
            pause: &|error| {
                assert_eq!(error.kind(), ErrorKind::Unavailable);
                count(&n_pauses);
                place.hbase.start_again();
            },
        };
        let Filled::Whole(tier) = filler.fill(None).unwrap() else { panic!("the walk has ended early") };
        tier
    };
    let whole = walk(u32::MAX);
    let n_pages = n_looks.get();
    assert!(n_pages > 1 && n_pauses.get() == 0);
    for n_read in 0..n_pages {
        let tier = walk(n_read);
        assert_eq!((n_looks.get(), n_pauses.replace(0)), (n_pages + 1, 1), "no page is read again");
        assert_eq!(tier.n_bytes(), whole.n_bytes());
    }
}

#[test]
fn a_url_asks_for_a_tier() {
    let uri: HbaseUri = "hbase+rpc://m:1/t?tier-mb=64&tier-file=/var/tier".parse().unwrap();
    let tier = TierOptions { n_bytes_max: 64_000_000, file: Some("/var/tier".into()) };
    assert_eq!(uri.tier, Some(tier));
    assert_eq!(uri.to_string().parse::<HbaseUri>().unwrap(), uri);
    for (uri, says) in [
        ("hbase+rpc://m:1/t?tier-file=/var/tier", "tier-file needs tier-mb"),
        ("hbase+rpc://m:1/t?tier-mb=0", "tier-mb=N, from 1 to 1000000"),
        ("hbase://g:1/t?tier-mb=64", "connections=N, from 1 to 1000"),
    ] {
        let error = uri.parse::<HbaseUri>().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let uri: HbaseUri = "hbase+rpc://m:1/t?tier-mb=64&tier-file=/no/such/folder/tier".parse().unwrap();
    let error = HbaseStore::open(&uri, Clock::system(), None).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("`/no/such/folder`"), "{error}");
}

hazards! {
    what_is_there_is_found,
    signatures_are_found,
    mended_documents_are_found,
    a_filler_whose_clock_is_ahead,
    a_tier_is_kept_in_a_file,
}
