//! Tests of a connection against a server of a few lines.

use bytes::{Buf, BufMut, BytesMut};
use tokio::io::DuplexStream;

use super::*;
use crate::messages::{
    CellBlockMeta, ExceptionResponse, GetMetaRegionLocationsRequest, RequestHeader, ResponseHeader,
};

const SECOND: Duration = Duration::from_secs(1);

const MINUTE: Duration = Duration::from_secs(60);

async fn connected() -> (Connection, DuplexStream) {
    connected_by(1 << 20).await
}

/// Connects by a stream that holds `len` bytes.
async fn connected_by(len: usize) -> (Connection, DuplexStream) {
    let (ours, mut theirs) = tokio::io::duplex(len);
    let connection = Connection::over(ours, Service::Client, ConnectionOptions::default()).await.unwrap();
    let mut begin = [0; 10];
    theirs.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin[..6], b"HBas\0\x50");
    let mut header = vec![0; (&begin[6..]).get_u32() as usize];
    theirs.read_exact(&mut header).await.unwrap();
    let header = crate::messages::ConnectionHeader::decode(&header[..]).unwrap();
    assert_eq!(header.service.as_deref(), Some("ClientService"));
    (connection, theirs)
}

async fn asked(server: &mut DuplexStream) -> RequestHeader {
    let len = server.read_u32().await.unwrap();
    let mut bytes = vec![0; len as usize];
    server.read_exact(&mut bytes).await.unwrap();
    RequestHeader::decode_length_delimited(&bytes[..]).unwrap()
}

async fn answer(server: &mut DuplexStream, header: ResponseHeader, rest: &[u8]) {
    let mut bytes = BytesMut::new();
    header.encode_length_delimited(&mut bytes).unwrap();
    bytes.put_slice(rest);
    server.write_u32(bytes.len() as u32).await.unwrap();
    server.write_all(&bytes).await.unwrap();
}

async fn get(connection: &Connection, deadline: Duration) -> Result<Answer, Error> {
    connection.call("Get", &GetMetaRegionLocationsRequest {}, &[], deadline).await
}

#[tokio::test]
async fn answers_find_their_calls_in_any_order() {
    let (connection, mut server) = connected().await;
    let server = tokio::spawn(async move {
        let mut ids = Vec::new();
        for _ in 0..20 {
            let header = asked(&mut server).await;
            assert_eq!((header.method.as_deref(), header.timeout), (Some("Get"), Some(1000)));
            ids.push(header.call_id.unwrap());
        }
        for id in ids.into_iter().rev() {
            let cells = Some(CellBlockMeta { length: Some(4) });
            // An empty message, then the id in place of cells.
            let rest = [&[0][..], &id.to_be_bytes()].concat();
            answer(&mut server, ResponseHeader { call_id: Some(id), exception: None, cells }, &rest).await;
        }
        server
    });
    let calls = (0..20).map(|_| get(&connection, SECOND));
    let mut seen = Vec::new();
    for call in futures_of(calls).await {
        seen.push(call.unwrap().cells);
    }
    assert_eq!(seen.len(), 20);
    drop(server.await.unwrap());
}

/// Runs all futures at once.
async fn futures_of<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut is_done = true;
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(ready) => *output = Some(ready),
                    std::task::Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

#[tokio::test]
async fn an_exception_is_of_one_call() {
    let (connection, mut server) = connected().await;
    let (first, ()) = tokio::join!(get(&connection, SECOND), async {
        let id = asked(&mut server).await.call_id;
        let exception = ExceptionResponse {
            class: Some("org.apache.hadoop.hbase.exceptions.RegionMovedException".to_owned()),
            stack_trace: Some("it moved".to_owned()),
            hostname: Some("there".to_owned()),
            port: Some(16020),
            do_not_retry: Some(true),
        };
        answer(&mut server, ResponseHeader { call_id: id, exception: Some(exception), cells: None }, &[])
            .await;
    });
    let Err(Error::Remote(remote)) = first else { panic!("{first:?}") };
    assert_eq!(remote.moved_to, Some(("there".to_owned(), 16020)));
    let (second, ()) = tokio::join!(get(&connection, SECOND), async {
        let id = asked(&mut server).await.call_id;
        answer(&mut server, ResponseHeader { call_id: id, exception: None, cells: None }, &[0]).await;
    });
    second.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_late_answer_is_passed_over() {
    let (connection, mut server) = connected().await;
    let ok = |id| ResponseHeader { call_id: id, exception: None, cells: None };
    let mut late = None;
    let (first, second, ()) = tokio::join!(get(&connection, SECOND), get(&connection, SECOND), async {
        late = asked(&mut server).await.call_id;
        let second = asked(&mut server).await.call_id;
        answer(&mut server, ok(second), &[0]).await;
    });
    second.unwrap();
    let first = first.unwrap_err();
    assert!(matches!(first, Error::Deadline(SECOND)) && first.may_be_done(), "{first:?}");
    answer(&mut server, ok(late), &[0]).await;
    let (next, ()) = tokio::join!(get(&connection, SECOND), async {
        let next = asked(&mut server).await.call_id;
        assert_ne!(next, late);
        answer(&mut server, ok(next), &[0]).await;
    });
    next.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_is_given_up() {
    let (connection, _server) = connected().await;
    let silent = get(&connection, SECOND).await.unwrap_err();
    assert!(matches!(silent, Error::Deadline(SECOND)), "{silent:?}");
    assert!(!connection.is_open());
}

/// The answer is that of a server with Kerberos to a name alone.
#[tokio::test]
async fn a_server_that_refuses_the_connection_says_why() {
    let (connection, mut server) = connected().await;
    let (outcome, ()) = tokio::join!(get(&connection, SECOND), async {
        asked(&mut server).await;
        let exception = ExceptionResponse {
            class: Some("org.apache.hadoop.hbase.security.AccessDeniedException".to_owned()),
            stack_trace: Some("Authentication is required".to_owned()),
            ..ExceptionResponse::default()
        };
        let header = ResponseHeader { call_id: Some(u32::MAX), exception: Some(exception), cells: None };
        answer(&mut server, header, &[]).await;
    });
    let error = outcome.unwrap_err();
    assert_eq!(error.advice(), crate::Advice::GiveUp, "{error:?}");
    assert!(!connection.is_open());
}

/// More requests at once than the queue holds, to a server that reads them at once, and to one that
/// reads a little at a time.
#[tokio::test]
async fn callers_wait_for_room() {
    for len in [64 << 20, 10_000] {
        let (connection, mut server) = connected_by(len).await;
        let n = 30;
        let server = tokio::spawn(async move {
            for _ in 0..n {
                let id = asked(&mut server).await.call_id;
                answer(&mut server, ResponseHeader { call_id: id, exception: None, cells: None }, &[0]).await;
            }
            server
        });
        let cells = [Bytes::from(vec![0; 200_000])];
        let calls =
            (0..n).map(|_| connection.call("Multi", &GetMetaRegionLocationsRequest {}, &cells, MINUTE));
        let answers = time::timeout(MINUTE / 2, futures_of(calls)).await.unwrap();
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        drop(server.await.unwrap());
    }
}

/// The caller has queued a request and not written it.
#[tokio::test]
async fn a_caller_that_goes_away_leaves_a_whole_request() {
    let (connection, mut server) = connected().await;
    {
        let mut call = Box::pin(get(&connection, SECOND));
        // One poll puts the request into the queue.
        let polled =
            std::future::poll_fn(|context| std::task::Poll::Ready(call.as_mut().poll(context).is_pending()));
        assert!(polled.await);
    }
    assert_eq!(asked(&mut server).await.method.as_deref(), Some("Get"));
}

#[tokio::test]
async fn what_is_no_answer_ends_the_connection() {
    for bytes in [
        &b"\xff\xff\xff\xff"[..],                  // longer than is taken
        b"\0\0\0\x02\x05\x08",                     // a header that is longer than the answer
        b"\0\0\0\x01\0",                           // to no call
        b"\0\0\0\x07\x06\x08\x01\x1a\x02\x08\x40", // cells that are longer than the answer
        b"\0\0\0\x09\x02\x08",                     // cut off
    ] {
        let (connection, mut server) = connected().await;
        let (outcome, ()) = tokio::join!(get(&connection, SECOND), async {
            asked(&mut server).await;
            server.write_all(bytes).await.unwrap();
            server.shutdown().await.unwrap();
        });
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Connection { was_sent: true, .. }), "{bytes:?}: {error:?}");
        assert!(!connection.is_open());
        let error = get(&connection, SECOND).await.unwrap_err();
        assert!(!error.may_be_done(), "{error:?}");
    }
}

#[tokio::test]
async fn too_long_a_request_is_not_sent() {
    let (connection, _server) = connected().await;
    let cells = Bytes::from(vec![0; 65 << 20]);
    let refused =
        connection.call("Multi", &GetMetaRegionLocationsRequest {}, &[cells], SECOND).await.unwrap_err();
    assert!(matches!(refused, Error::TooLong(_)) && connection.is_open(), "{refused:?}");
}
