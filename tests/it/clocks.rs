//! Indexes last written by clocks ahead of this machine's or behind it, as operators meet them.

use std::path::Path;

use index::testsuite::FakeClock;
use index::{Document, DocumentId, Insertion, Mode, SketchKind, Store};
use simhash::Fingerprint;
use store_embedded::EmbeddedStore;

use crate::support::{Run, news, run};

const DAY_MS: i64 = 24 * 3_600_000;

/// Inserts a document, as another program with a clock this far ahead of this machine's would.
fn insert_ahead(folder: &Path, name: &str, ahead_ms: i64) {
    let clock = FakeClock::at_present();
    clock.advance_ms(ahead_ms);
    let store = EmbeddedStore::open_with_clock(folder, Mode::MustExist, clock.clock()).unwrap();
    let sketch = SketchKind::default().sketch(Fingerprint(0x0123_4567_89ab_cdef));
    let document = Document { id: DocumentId::new(name).unwrap(), sketch, source: None };
    assert_eq!(store.insert(&[document]).unwrap(), [Insertion::Inserted]);
}

fn index(store: &str, more: &[&str]) -> Run {
    run("indexer", [&["index", "-q", "--store", store, news().to_str().unwrap()], more].concat())
}

#[test]
fn a_clock_that_is_ahead_of_the_last_write() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    let sound = index(&store, &["--retain", "30d"]).expect(0);
    assert!(!sound.stderr.contains("clock"), "{}", sound.stderr);
    insert_ahead(folder.path(), "old", -3 * DAY_MS);
    let refused = index(&store, &["--clock-ahead-max", "1d"]).expect(2).stderr;
    assert!(refused.contains("which is 3 days after the last write to the index"), "{refused}");
    assert!(refused.contains("give --clock-ahead-max more"), "{refused}");
    let remove = ["remove", "-q", "--store", &store, "old", "--clock-ahead-max"];
    let refused = run("pigeonhole", [&remove[..], &["36h"]].concat()).expect(2).stderr;
    assert!(refused.contains("nothing was written"), "{refused}");
    index(&store, &["--clock-ahead-max", "4d"]).expect(0);
    // Without the option, the program warns once and goes on.
    insert_ahead(folder.path(), "older", -5 * DAY_MS);
    let warned = index(&store, &[]).expect(0).stderr;
    assert_eq!(warned.matches("clock is 5 days ahead of the last write to the index").count(), 1, "{warned}");
    let wrong = index(&store, &["--clock-ahead-max", "1"]).expect(2).stderr;
    assert!(wrong.contains("for example 2d"), "{wrong}");
    let hbase = index("hbase://127.0.0.1:1/news", &["--clock-ahead-max", "1d"]).expect(2).stderr;
    assert!(hbase.contains("leave --clock-ahead-max out"), "{hbase}");
}

#[test]
fn documents_that_are_ahead_are_named_and_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("embedded:{}", folder.path().to_str().unwrap());
    index(&store, &["--retain", "30d"]).expect(0);
    insert_ahead(folder.path(), "ahead", 3_650 * DAY_MS);
    let verify = || run("pigeonhole", ["verify", "-q", "--store", &store]);
    let found = verify().expect(1).stdout;
    assert!(found.starts_with("ahead\tahead inserted at 20"), "{found}");
    assert!(found.contains("\nahead                1\n"), "{found}");
    assert!(found.contains("`pigeonhole verify --help` says what to do"), "{found}");
    assert!(!found.contains("repair"), "{found}");
    let help = run("pigeonhole", ["verify", "--help"]).expect(0).stdout;
    assert!(help.contains("inserted by a clock that was ahead"), "{help}");
    let remove = |from| run("pigeonhole", ["remove", "-q", "--store", &store, "--inserted-from", from]);
    remove("9000-01-01T00:00:00Z").expect(0);
    verify().expect(1);
    let in_two_days = FakeClock::at_present();
    in_two_days.advance_ms(2 * DAY_MS);
    remove(&in_two_days.now().to_string()).expect(0);
    verify().expect(0);
}
