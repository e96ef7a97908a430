//! Older copies of an index: those of a server whose file was put back, or of a replica that was
//! behind.

use index::testsuite::{document, id};
use index::{Clock, Profile, Store};

use crate::server::server;
use crate::signed::metadata;

/// A copy lacks the writes acknowledged after it was made.
#[test]
fn redis_tells_an_older_copy() {
    let Some(server) = server() else { return };
    let store = server.open("copied", Clock::system());
    store.create(&metadata(Profile::Classic, false)).unwrap();
    assert_eq!(store.mark(true).unwrap(), None);
    let mut marks = Vec::new();
    let mut copies = Vec::new();
    let mut connection = server.connection();
    for n in 0..4 {
        match n {
            2 => drop(store.remove(&[id("0")]).unwrap()),
            _ => drop(store.insert(&[document(&n.to_string(), n << 20)]).unwrap()),
        }
        // What changes nothing is no write.
        store.insert(&[document("1", 1 << 20)][..usize::from(n > 0)]).unwrap();
        marks.push(store.mark(true).unwrap().unwrap());
        let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*{copied}*").query(&mut connection).unwrap();
        let dump = |key: Vec<u8>| {
            let bytes: Option<Vec<u8>> = redis::cmd("DUMP").arg(&key).query(&mut connection).unwrap();
            bytes.map(|bytes| (key, bytes))
        };
        copies.push(keys.into_iter().filter_map(dump).collect::<Vec<_>>());
    }
    for (n, copy) in copies.iter().enumerate() {
        redis::cmd("FLUSHALL").exec(&mut connection).unwrap();
        for (key, bytes) in copy {
            redis::cmd("RESTORE").arg(key).arg(0).arg(bytes).exec(&mut connection).unwrap();
        }
        let has: Vec<bool> = marks.iter().map(|mark| store.has_written(mark).unwrap()).collect();
        assert_eq!(has, (0..4).map(|of| of <= n).collect::<Vec<_>>(), "copy {n}");
    }
}
