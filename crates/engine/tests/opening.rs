//! An index describes itself, and refuses to open for a program that expects another.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use index::{DocumentId, ErrorKind, Mode, OpenOptions, Rule};
use simhash::{Distance, Fingerprint};
use tempfile::TempDir;

/// A folder in memory if the system has one, because no test here is about losing power.
fn directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory for the test")
}

fn apart(n_bits: u32) -> Distance {
    Distance::new(n_bits).expect("it is at most 64")
}

fn fields(fields: &[(&str, &str)]) -> BTreeMap<String, String> {
    fields.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect()
}

fn uri(path: &Path) -> String {
    format!("embedded:{}", path.display())
}

fn check_refused(uri: &str, options: &OpenOptions, kind: ErrorKind, says: &[&str]) {
    let Err(error) = pigeonhole_engine::open_index(uri, options) else {
        panic!("{uri} must be refused with {options:?}")
    };
    assert_eq!(error.kind(), kind, "{error}");
    for part in says {
        assert!(error.to_string().contains(part), "{part:?} is not in {error}");
    }
}

#[test]
fn what_is_not_said_is_taken_from_the_index() {
    let directory = directory();
    let uri = uri(&directory.path().join("new").join("newer"));
    let made = OpenOptions {
        scheme: Some("t11".into()),
        max_distance: Some(apart(2)),
        recipe: fields(&[("seed", "7")]),
        recipe_default: fields(&[("seed", "0"), ("segmenter", "jieba")]),
        ..OpenOptions::default()
    };
    let expected = fields(&[("seed", "7"), ("segmenter", "jieba")]);
    let index = pigeonhole_engine::open_index(&uri, &made).unwrap();
    index.insert(&[(DocumentId::new("a").unwrap(), Fingerprint(7))]).unwrap();
    let digest = index.digest().unwrap();
    drop(index);
    // The defaults of a new index are not demanded of an existing one.
    let default = fields(&[("segmenter", "words")]);
    for options in [
        OpenOptions { mode: Mode::MustExist, ..OpenOptions::default() },
        OpenOptions { recipe_default: default, ..OpenOptions::default() },
        OpenOptions { mode: Mode::MustExist, ..made },
    ] {
        let index = pigeonhole_engine::open_index(&uri, &options).unwrap();
        assert_eq!((index.kind().name(), index.max_distance()), ("t11", apart(2)));
        assert_eq!(*index.recipe(), expected);
        assert_eq!(index.digest().unwrap(), digest);
        assert_eq!(
            index.near(&[Fingerprint(4)], &index.rule(), 1).unwrap()[0].matches[0].distance(),
            apart(2)
        );
    }
}

#[test]
fn another_index_is_refused_by_the_name_of_what_differs() {
    let directory = directory();
    let uri = uri(directory.path());
    let made =
        OpenOptions { recipe_default: fields(&[("seed", "0"), ("idf", "ab12")]), ..OpenOptions::default() };
    pigeonhole_engine::open_index(&uri, &made).unwrap();
    let insisting = |recipe| OpenOptions { recipe, ..OpenOptions::default() };
    use ErrorKind::{InvalidArgument, Mismatch};
    check_refused(
        &uri,
        &insisting(fields(&[("seed", "1")])),
        Mismatch,
        &["recipe field seed", "\"0\"", "\"1\""],
    );
    check_refused(&uri, &insisting(fields(&[("new", "x")])), Mismatch, &["recipe field new", "absent"]);
    let several = OpenOptions {
        scheme: Some("4c1".into()),
        max_distance: Some(apart(2)),
        recipe: fields(&[("idf", "cd34"), ("seed", "0")]),
        ..OpenOptions::default()
    };
    check_refused(
        &uri,
        &several,
        Mismatch,
        &["scheme is \"5c2\"", "max distance is \"3\"", "recipe field idf"],
    );
    let unknown = OpenOptions { scheme: Some("5c3".into()), ..OpenOptions::default() };
    check_refused(&uri, &unknown, InvalidArgument, &[]);
}

#[test]
fn an_impossible_wish_makes_nothing() {
    let directory = directory();
    let path = directory.path().join("new");
    for options in [
        OpenOptions { max_distance: Some(apart(4)), ..OpenOptions::default() },
        OpenOptions { scheme: Some("none".into()), ..OpenOptions::default() },
    ] {
        check_refused(&uri(&path), &options, ErrorKind::InvalidArgument, &[]);
        assert!(!path.exists());
    }
    let existing = OpenOptions { mode: Mode::MustExist, ..OpenOptions::default() };
    check_refused(&uri(&path), &existing, ErrorKind::NotFound, &["indexer index --store embedded:"]);
    assert!(!path.exists());
    fs::create_dir(&path).unwrap();
    check_refused(&uri(&path), &existing, ErrorKind::NotFound, &["indexer index"]);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    check_refused("memory:", &existing, ErrorKind::NotFound, &["indexer index"]);
}

#[test]
fn a_file_and_somebody_elses_directory_are_refused() {
    let directory = directory();
    let file = directory.path().join("file");
    fs::write(&file, "text").unwrap();
    let any = OpenOptions::default();
    check_refused(&uri(&file), &any, ErrorKind::InvalidArgument, &["is a file"]);
    check_refused(&uri(&file.join("below")), &any, ErrorKind::InvalidArgument, &[]);
    check_refused(&uri(directory.path()), &any, ErrorKind::InvalidArgument, &["is not empty", "file"]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    // The root of a volume is not quite empty, and a killed creator may have left a lock.
    fs::remove_file(file).unwrap();
    fs::create_dir(directory.path().join("lost+found")).unwrap();
    fs::write(directory.path().join("lock.mdb"), "").unwrap();
    pigeonhole_engine::open_index(&uri(directory.path()), &any).unwrap();
}

/// No user can make directories there, not even root.
#[test]
fn a_place_closed_to_us_is_refused() {
    if Path::new("/sys/kernel").exists() {
        check_refused(
            "embedded:/sys/kernel/pigeonhole",
            &OpenOptions::default(),
            ErrorKind::PermissionDenied,
            &[],
        );
    }
}

#[test]
fn a_distance_that_the_index_would_not_find_is_refused() {
    let index = pigeonhole_engine::open_index(
        "memory:",
        &OpenOptions { max_distance: Some(apart(2)), ..OpenOptions::default() },
    )
    .unwrap();
    let near = |max_distance| index.near(&[Fingerprint(0)], &Rule { max_distance, ..index.rule() }, 1);
    assert!(near(apart(2)).is_ok());
    assert_eq!(near(apart(3)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    // New documents are judged by the distance of the index too.
    let documents =
        [("a", 0), ("b", 0b111)].map(|(id, bits)| (DocumentId::new(id).unwrap(), Fingerprint(bits)));
    let insertions = index.insert_if_new(&documents).unwrap();
    assert_eq!(insertions, [index::Insertion::Inserted, index::Insertion::Inserted]);
}

/// Equal contents give equal digests, in every store and after any history.
#[test]
fn digests() {
    let directory = directory();
    let document = |n: u64| (DocumentId::new(format!("{n}")).unwrap(), Fingerprint(n << 7));
    let all: Vec<_> = (0..50).map(document).collect();
    let a = pigeonhole_engine::open_index("memory:", &OpenOptions::default()).unwrap();
    a.insert(&all).unwrap();
    let b = pigeonhole_engine::open_index(&uri(directory.path()), &OpenOptions::default()).unwrap();
    let mut reversed = all.clone();
    reversed.reverse();
    for piece in reversed.chunks(7) {
        b.insert(&[(piece[0].0.clone(), Fingerprint(1))]).unwrap();
        b.insert(piece).unwrap();
    }
    assert_eq!(a.digest().unwrap(), b.digest().unwrap());
    assert_eq!(a.digest().unwrap().1.len(), 64);
    b.insert(&[(all[3].0.clone(), Fingerprint(1))]).unwrap();
    assert_ne!(a.digest().unwrap(), b.digest().unwrap());
    b.insert(&all[3..4]).unwrap();
    assert_eq!(a.digest().unwrap(), b.digest().unwrap());
    b.remove(&[all[3].0.clone()]).unwrap();
    assert_ne!(a.digest().unwrap(), b.digest().unwrap());
}

#[test]
fn the_version_of_the_digest_is_fixed() {
    let index = pigeonhole_engine::open_index("memory:", &OpenOptions::default()).unwrap();
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(index.digest().unwrap(), (0, empty.to_owned()));
    index.insert(&[(DocumentId::new("é1").unwrap(), Fingerprint(0x0123_4567_89ab_cdef))]).unwrap();
    let one = "c4f6f90bf36e4828c63e60b5cc34754c9805edd2166c2648a2a4a43b10fdb047";
    assert_eq!(index.digest().unwrap(), (1, one.to_owned()));
}
