//! Files of a web server that breaks off, changes, falls silent or refuses.

mod held;
mod server;

use std::io::Read;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::*;
use server::{Answer, Request, Server};

const PATIENCE: Patience =
    Patience { look: Duration::from_secs(30), stall: Duration::from_secs(1), wait: Duration::from_secs(4) };

/// Returns more bytes than are read ahead, made once: a server that makes them for each answer
/// falls silent on a busy machine.
fn content() -> &'static [u8] {
    static CONTENT: LazyLock<Vec<u8>> =
        LazyLock::new(|| (0..9_000_000_u32).map(|n| (n ^ (n >> 8) ^ (n >> 16)) as u8).collect());
    &CONTENT
}

fn find(server: &Server, path: &str) -> anyhow::Result<Object> {
    let found =
        Remote::with_patience(PATIENCE)
            .unwrap()
            .find(&format!("{}{path}", server.base), true, |_, _| true)?;
    let Found::File(object) = found else { panic!("an address of the web is a file") };
    Ok(object)
}

/// Reads all bytes that come, and the reason for the end.
fn read(object: &Object) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    let end = object.open().read_to_end(&mut bytes);
    (bytes, end.err().map(|error| error.to_string()))
}

/// Reads a file of a server: the first answer gives its length, and `answer` all later ones.
#[track_caller]
fn check(
    answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    expected: Result<(), (usize, &str)>,
) -> Server {
    let server = Server::start(move |request| match request.n {
        0 => Answer::ok(content()),
        _ => answer(request),
    });
    let (bytes, why) = read(&find(&server, "/a.jsonl").unwrap());
    let content = content();
    match expected {
        Ok(()) => assert!(why.is_none() && bytes == content, "{} bytes, {why:?}", bytes.len()),
        Err((n_bytes, part)) => {
            assert!(why.as_ref().is_some_and(|why| why.contains(part)), "{why:?} should say {part:?}");
            assert!(bytes == content[..n_bytes], "{} bytes, of which {n_bytes} should come", bytes.len());
        }
    }
    server
}

#[test]
fn what_breaks_off_is_gone_on_with_where_it_was() {
    let server = check(
        |request| match request.n {
            1 => Answer::ok(content()).cut(3_000_000),
            2 => Answer::status(503, "busy"),
            3 => Answer { stalls: true, ..Answer::ok(content()) }.cut(2_000_000),
            _ => Answer::ok(content()),
        },
        Ok(()),
    );
    let asked = server.asked();
    let [head, whole, rest, again, last] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!([&head[..], whole], ["HEAD /a.jsonl 0", "GET /a.jsonl 0"]);
    assert_eq!([rest, again], ["GET /a.jsonl 3000000"; 2]);
    assert_eq!(last, "GET /a.jsonl 5000000");
}

#[test]
fn a_server_that_is_gone_for_good_is_given_up() {
    let begun = Instant::now();
    check(
        |request| Answer::ok(content()).cut(if request.n == 1 { 1_000_000 } else { 0 }),
        Err((1_000_000, "after 1000000 bytes")),
    );
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn what_has_changed_is_never_mixed() {
    let other = || Answer { e_tag: Some("\"two\""), ..Answer::ok(&vec![b'x'; content().len()]) };
    check(
        move |request| if request.n == 1 { Answer::ok(content()).cut(1_000_000) } else { other() },
        Err((1_000_000, "has changed")),
    );
    check(move |_| other(), Err((0, "has changed")));
    let shorter = || Answer::ok(&content()[..5_000_000]);
    check(move |_| shorter(), Err((0, "has changed")));
    check(|_| Answer::status(404, "gone"), Err((0, "is not there any more")));
    check(
        |_| Answer::status(403, "<Error><Code>Expired</Code><Message>too late</Message></Error>"),
        Err((0, "Expired: too late")),
    );
}

/// Without an ETag and a time, the second half could be that of another file.
#[test]
fn what_cannot_be_told_from_others_is_not_gone_on_with() {
    let server = Server::start(|_| Answer { e_tag: None, ..Answer::ok(content()) }.cut(1_000_000));
    let object = find(&server, "/a.jsonl").unwrap();
    let (bytes, why) = read(&object);
    assert_eq!(bytes.len(), 1_000_000);
    assert!(why.as_ref().unwrap().contains("cannot be told"), "{why:?}");
}

#[test]
fn a_server_that_gives_no_parts_is_asked_for_the_whole_again() {
    check(
        |request| {
            let whole = Answer { gives_parts: false, ..Answer::ok(content()) };
            if request.n == 1 { whole.cut(3_000_000) } else { whole }
        },
        Ok(()),
    );
}

#[test]
fn what_is_refused_at_once_says_why() {
    for (answer, part) in [
        (Answer::status(404, ""), "there is no "),
        (Answer::status(403, "<Error><Code>AccessDenied</Code></Error>"), "AccessDenied"),
        (Answer::status(500, "<h1>broken</h1>"), "500"),
    ] {
        let server = Server::start(move |_| answer.clone());
        let error = format!("{:#}", find(&server, "/a.jsonl?signature=secret").map(|_| ()).unwrap_err());
        assert!(error.contains(part) && !error.contains("secret"), "{error} should say {part}");
    }
}

#[test]
fn a_query_is_sent_and_not_shown() {
    let server = Server::start(|_| Answer::ok(b"abc"));
    let object = find(&server, "/x%20y/a.jsonl?part=1&signature=a%2Fb").unwrap();
    assert_eq!(read(&object), (b"abc".to_vec(), None));
    assert_eq!(object.name(), format!("{}/x%20y/a.jsonl", server.base));
    assert_eq!(server.asked()[1], "GET /x%20y/a.jsonl?part=1&signature=a%2Fb 0");
}

/// Signed for GET only, as an address handed out by the owner of a bucket is.
#[test]
fn a_head_that_is_refused_is_no_refusal() {
    let server = Server::start(|request| match &*request.method {
        "HEAD" => Answer::status(403, ""),
        _ => Answer::ok(b"abc"),
    });
    assert_eq!(read(&find(&server, "/a").unwrap()), (b"abc".to_vec(), None));
}

/// The last object, when dropped, once ended the thread that reads, and its file was empty.
#[test]
fn a_file_is_read_after_its_object_is_gone() {
    let server = Server::start(|_| Answer::ok(content()));
    let mut reader = find(&server, "/a").unwrap().open();
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert!(bytes == content(), "{} bytes", bytes.len());
}

#[test]
fn an_empty_file_is_empty() {
    let server = Server::start(|_| Answer::ok(b""));
    assert_eq!(read(&find(&server, "/a").unwrap()), (Vec::new(), None));
}

#[test]
fn parts_come_in_few_windows() {
    let server = Server::start(|_| Answer::ok(content()));
    let (windows, content) = (find(&server, "/a.parquet").unwrap().windows(), content());
    let check = |start: u64, len: usize| {
        let place = start as usize..start as usize + len;
        assert!(windows.get(start, len).unwrap() == content[place], "{start} {len}");
    };
    check(content.len() as u64 - 8, 8);
    windows.expect(vec![5_000_000..5_000_100, 0..5_000_000]);
    for start in (0..4 << 20).step_by(10_000) {
        check(start, 100);
    }
    // Over the end of a window, and longer than one.
    check((4 << 20) - 50, 100);
    check(1, 4_900_000);
    check(5_000_000, 100);
    let mut some = [0; 100];
    windows.from(5_000_050).read_exact(&mut some).unwrap();
    assert_eq!(some, content[5_000_050..5_000_150]);
    assert!(windows.get(content.len() as u64 - 8, 9).is_err());
    let n_asked = server.asked().len();
    assert!(n_asked <= 7, "{:?}", server.asked());
}

/// As members of a ZIP archive are: their headers and contents one after another, in turn with its
/// directory, and some of them passed over.
#[test]
fn parts_that_nobody_announced_come_in_windows_that_grow() {
    let server = Server::start(|_| Answer::ok(content()));
    let (windows, content) = (find(&server, "/a.zip").unwrap().windows(), content());
    let check = |start: usize, len: usize| {
        let mut read = vec![0; len];
        windows.from(start as u64).read_exact(&mut read).unwrap();
        assert!(read == content[start..start + len], "{start} {len}");
    };
    (0..content.len() - 30_000).step_by(30_000).for_each(|start| check(start, 30_000));
    // Of 64, 128, … KiB, up to 4 MiB each.
    let asked = server.asked();
    assert!((7..=10).contains(&(asked.len() - 1)), "{asked:?}");
    let server = Server::start(move |_| Answer::ok(content));
    let windows = find(&server, "/b.zip").unwrap().windows();
    for (n, start) in (0..8_000_000).step_by(1_000_000).enumerate() {
        windows.get(start, 30).unwrap();
        windows.get(start + (64 << 10) - 30, 30).unwrap();
        assert_eq!(server.asked().len(), n + 2, "a short window each, and the first question");
    }
    windows.get(7_000_000 + (64 << 10), 30).unwrap();
    assert_eq!(server.asked().len(), 10);
}
