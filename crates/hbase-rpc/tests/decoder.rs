//! Tests of the decoder against answers that are nearly right: a server's own answers, changed in
//! their lengths, counts and tags. No answer may cause a panic or a hang, and none may take more
//! memory than its length times a small number, at any announced length.
#![expect(unsafe_code, reason = "an allocator that counts")]
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

#[path = "decoder/mutate.rs"]
mod mutate;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes};
use hbase_rpc::fake::messages::{
    GetMetaRegionLocationsRequest, GetTableDescriptorsResponse, MultiResponse, ResponseHeader, ScanResponse,
};
use hbase_rpc::fake::{FakeCluster, Fault};
use hbase_rpc::{
    Answer, Cell, CellType, CheckAndMutate, Client, ClientOptions, Connection, ConnectionOptions, Error, Get,
    Mutation, PageOptions, Pages, Range, Scan, Service,
};
use mutate::{Random, mutated};
use prost::Message;
use tokio::io::AsyncWriteExt;

struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does all the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let live = LIVE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(live, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes of memory allowed for each byte of an answer, server and test included.
const TIMES: usize = 24;
/// The bytes of memory allowed besides, for buffers of connections and for threads.
const BESIDES: usize = 4 << 20;

/// Lets one test run at a time, since each measures the memory of the whole process.
async fn alone() -> tokio::sync::MutexGuard<'static, ()> {
    static LOCK: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    LOCK.lock().await
}

/// Returns the most bytes taken at once during `work`, and the outcome of `work`.
async fn peak_of<T>(work: impl Future<Output = T>) -> (usize, T) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    let outcome = tokio::time::timeout(Duration::from_secs(20), work).await.expect("it hangs");
    (PEAK.load(Relaxed).saturating_sub(before), outcome)
}

fn cell(row: &str, qualifier: &str) -> Cell {
    let bytes = |text: &str| Bytes::from(text.to_owned());
    let (row, qualifier, value) = (bytes(row), bytes(qualifier), bytes("a value of some length"));
    Cell { row, family: "f".into(), qualifier, timestamp: 1, kind: CellType::Put, value }
}

fn cluster() -> FakeCluster {
    let cluster = FakeCluster::start(1);
    cluster.create_table("t", &["f"], &[b"m"]);
    let rows = ["a", "b", "c", "n", "o"];
    cluster.put("t", rows.iter().flat_map(|row| (0..6).map(|i| cell(row, &format!("q{i}")))).collect());
    cluster
}

/// Returns a client that asks once, without patience.
fn client(cluster: &FakeCluster) -> Client {
    let options = ClientOptions {
        patience: Duration::ZERO,
        call_timeout: Duration::from_millis(50),
        connection: ConnectionOptions { answer_len_max: 8 << 20, ..ConnectionOptions::default() },
        ..ClientOptions::default()
    };
    Client::new(vec![cluster.master()], options)
}

/// Makes one kind of call, by `which`, of a few answers.
async fn ask(client: &Client, which: u64) -> Result<(), Error> {
    let gets = ["a", "b", "n", "none"].map(Get::new);
    let change = |row: &str| Mutation { cells: vec![cell(row, "q9")], time_to_live: None };
    let claim = |row: &str| CheckAndMutate {
        family: "f".into(),
        qualifier: "q9".into(),
        expected: None,
        mutation: change(row),
    };
    match which % 6 {
        0 => client.get_many("t", &gets, Some(("t", &gets[0]))).await.map(drop),
        1 => client.mutate_many("t", &["a", "b", "n"].map(change), None).await.map(drop),
        2 => client.check_and_mutate_many("t", &["a", "n"].map(claim), None).await.map(drop),
        3 => client.time_to_live("t", b"f", None).await.map(drop),
        4 => {
            let mut scanner = client.scan("t", Scan { page_len: 2, ..Scan::default() });
            let mut n = 0;
            while let Some(page) = scanner.next().await? {
                n += page.len();
                // A server may send rows without end: the test stops.
                if n > 100 {
                    break;
                }
            }
            Ok(())
        }
        _ => {
            let options =
                PageOptions { pieces_max: 3, cells_max: 4, together_min: 2, cache_blocks: true, since: None };
            let ranges = [Range::new("a", "b"), Range::new("b", "o"), Range::new("o", "")];
            let mut visit = |_, _: Pages| Ok::<(), Error>(());
            client.pages("t", &"f".into(), &ranges, &options, &mut visit).await
        }
    }
}

/// Returns the answers of a server to all kinds of calls.
async fn seeds(cluster: &FakeCluster) -> Vec<Vec<u8>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&seen);
    cluster.fail(
        Fault::rewrite(move |frame| {
            note.lock().unwrap().push(frame.clone());
            frame
        })
        .times(u64::MAX),
    );
    let client = client(cluster);
    for which in 0..6 {
        ask(&client, which).await.unwrap();
    }
    assert!(ask(&Client::new(vec![cluster.region_server(0)], ClientOptions::default()), 0).await.is_ok());
    assert!(client.get("none", Get::new("a")).await.is_err());
    cluster.clear_faults();
    let seeds = seen.lock().unwrap().clone();
    assert!(seeds.len() > 10);
    seeds
}

/// Changed answers pass through all layers of a client.
#[tokio::test]
async fn a_client_takes_whatever_a_server_answers() {
    let _alone = alone().await;
    let cluster = cluster();
    let seeds = Arc::new(seeds(&cluster).await);
    let (mut n_ok, mut n_failed) = (0, 0);
    let mut asked = client(&cluster);
    for round in 0..2_000 {
        // Now and then a new client, so that look-ups are hit.
        if round % 4 == 0 {
            asked = client(&cluster);
        }
        let longest = Arc::new(AtomicUsize::new(0));
        let (seeds, len) = (Arc::clone(&seeds), Arc::clone(&longest));
        let rewrite = move |frame: Vec<u8>| {
            let mut random = Random::new(round << 8 | len.load(Relaxed) as u64 & 0xff);
            let frame = mutated(&mut random, &frame, &seeds);
            len.fetch_max(frame.len(), Relaxed);
            frame
        };
        let fault = Fault::rewrite(rewrite).nth(1 + round / 6 % 4);
        cluster.fail(fault.times(1 + round % 2));
        let (peak, outcome) = peak_of(ask(&asked, round)).await;
        cluster.clear_faults();
        let bound = TIMES * longest.load(Relaxed) + BESIDES;
        assert!(peak <= bound, "round {round}: {peak} bytes, where {bound} are allowed");
        match outcome {
            Ok(()) => n_ok += 1,
            Err(_) => n_failed += 1,
        }
    }
    assert!(n_ok > 100 && n_failed > 100, "{n_ok} answered, {n_failed} failed");
}

/// Returns the outcome of one answer, on a connection of its own.
async fn answered(frame: &[u8]) -> Result<Answer, Error> {
    let (ours, mut theirs) = tokio::io::duplex(1 << 16);
    let options = ConnectionOptions { answer_len_max: 8 << 20, ..ConnectionOptions::default() };
    let connection = Connection::over(ours, Service::Client, options).await?;
    let message = GetMetaRegionLocationsRequest {};
    let call = connection.call("Scan", &message, &[], Duration::from_secs(5));
    let (answer, ()) = tokio::join!(call, async {
        let _ = theirs.write_all(frame).await;
        let _ = theirs.shutdown().await;
    });
    answer
}

/// Returns the answer with the id of the first call of a connection.
fn to_first_call(frame: &[u8]) -> Vec<u8> {
    let mut rest = &frame[4..];
    let mut header = ResponseHeader::decode_length_delimited(&mut rest).unwrap();
    header.call_id = Some(1);
    let mut body = header.encode_length_delimited_to_vec();
    body.put_slice(rest);
    [&(body.len() as u32).to_be_bytes()[..], &body].concat()
}

/// Many more changed answers pass through a connection and the decoders of messages and cells.
#[tokio::test(start_paused = true)]
async fn a_connection_takes_whatever_comes() {
    let _alone = alone().await;
    let cluster = cluster();
    tokio::time::resume();
    let seeds: Vec<Vec<u8>> = seeds(&cluster).await.iter().map(|frame| to_first_call(frame)).collect();
    drop(cluster);
    tokio::time::pause();
    let (mut n_ok, mut n_failed) = (0, 0);
    for round in 0..25_000 {
        let mut random = Random::new(round);
        let seed = random.below(seeds.len());
        let frame = mutated(&mut random, &seeds[seed], &seeds);
        let work = async {
            let mut answer = answered(&frame).await?;
            let _ = answer.message::<GetTableDescriptorsResponse>();
            let _ = answer.message::<MultiResponse>();
            let counts = answer.message::<ScanResponse>()?.cells_per_result;
            for n in counts {
                answer.cells.take_n(n as usize).map_err(|error| Error::Protocol(format!("{error:?}")))?;
            }
            Ok::<_, Error>(())
        };
        let (peak, outcome) = peak_of(work).await;
        let bound = TIMES * frame.len() + BESIDES;
        assert!(peak <= bound, "round {round}: {peak} bytes, where {bound} are allowed");
        match outcome {
            Ok(()) => n_ok += 1,
            Err(_) => n_failed += 1,
        }
    }
    assert!(n_ok > 500 && n_failed > 500, "{n_ok} answered, {n_failed} failed");
}

/// Two bytes of an answer may be an empty message, which takes a hundred bytes in memory: a client
/// takes only as many messages as it asked for.
#[tokio::test]
async fn what_is_short_on_the_wire_is_not_long_in_memory() {
    let _alone = alone().await;
    let cluster = cluster();
    const N: usize = 2 << 20;
    let empty = |tag: u8| [tag << 3 | 2, 0].repeat(N);
    let nested = |tag: u8| {
        let inner = empty(tag);
        let mut outer = vec![0x0a];
        prost::encode_length_delimiter(inner.len(), &mut outer).unwrap();
        [outer, inner].concat()
    };
    let packed = |tag: u8| {
        let mut field = vec![tag << 3 | 2];
        prost::encode_length_delimiter(2 * N, &mut field).unwrap();
        [field, vec![0; 2 * N], vec![0x18, 1, 0x40, 0]].concat()
    };
    let messages: [(&str, Vec<u8>); 8] = [
        ("Multi", empty(1)),
        ("Multi", nested(1)),
        ("Multi", [nested(1), nested(1)[1..].to_vec()].concat()),
        ("Scan", empty(5)),
        ("Scan", packed(1)),
        ("Scan", packed(7)),
        ("GetMetaRegionLocations", empty(1)),
        ("GetTableDescriptors", nested(3)),
    ];
    for (place, (method, message)) in messages.into_iter().enumerate() {
        let longest = Arc::new(AtomicUsize::new(0));
        let len = Arc::clone(&longest);
        let rewrite = move |frame: Vec<u8>| {
            let header = ResponseHeader::decode_length_delimited(&frame[4..]).unwrap();
            let header = ResponseHeader { call_id: header.call_id, ..ResponseHeader::default() };
            let mut body = header.encode_length_delimited_to_vec();
            prost::encode_length_delimiter(message.len(), &mut body).unwrap();
            body.put_slice(&message);
            len.fetch_max(body.len(), Relaxed);
            [&(body.len() as u32).to_be_bytes()[..], &body].concat()
        };
        for which in 0..6 {
            let client = client(&cluster);
            cluster.fail(Fault::rewrite(rewrite.clone()).of(method));
            let (peak, _) = peak_of(ask(&client, which)).await;
            cluster.clear_faults();
            let bound = TIMES * longest.load(Relaxed) + BESIDES;
            assert!(peak <= bound, "{method} {place} by {which}: {peak} bytes, where {bound} are allowed");
        }
        assert!(longest.load(Relaxed) > N, "{method} {place}");
    }
}

/// An announced length is believed up to the bound, but room is made for received bytes only.
#[tokio::test]
async fn an_announced_length_takes_no_memory() {
    let _alone = alone().await;
    for len in [1_u32, 7 << 20, 9 << 20, u32::MAX] {
        let (peak, outcome) = peak_of(answered(&len.to_be_bytes())).await;
        assert!(outcome.is_err());
        assert!(peak < 1 << 20, "{peak} bytes for an answer of {len}");
    }
    assert_eq!((&7_u32.to_be_bytes()[..]).get_u32(), 7);
}
