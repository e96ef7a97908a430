//! Connections: their number, their waits for clients, and their ends.
//!
//! `axum::serve` waits for any number of clients without limit; this module replaces it.
//! [`crate::api`] bounds a request once its head is complete.
//!
//! hyper-util has an orderly stop (`GracefulShutdown`): it counts open connections, as three lines
//! do here (`closed`), and calls hyper's `graceful_shutdown` on each. hyper then closes at once a
//! connection without a first byte, and one with half a head after an answer, though a request may
//! be on its way; here both have a moment for it. hyper bounds heads, tower-http requests behind
//! the head. None of them bounds the time to read an answer (`timed`), closes an idle connection
//! in favour of a new one (`seats`), or answers a problem where hyper refuses a head (`refusing`).
//! These share the turns of the connection (`turns`) with the stop.

mod bodies;
mod lobby;
mod refusing;
mod seats;
#[cfg(test)]
mod tests;
mod timed;
mod turns;

use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tower_service::Service;
use tracing::{debug, info, warn};

use self::bodies::{Asking, InTurn};
use self::lobby::Lobby;
use self::refusing::Refusing;
use self::seats::Seats;
use self::timed::Timed;
use self::turns::Turns;
use crate::limits::{Limits, REFUSALS_MAX};
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::request;
use crate::tls::Tls;
use crate::worker::{Stage, Worker};

/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// Longest wait for an idle connection to give way. It ends at once, or after the answer if its
/// client has just begun a request.
const PLACE_WAIT_MAX: Duration = Duration::from_secs(1);

/// Longest wait for the rest of a head on a connection that is to give way.
const HEAD_WAIT_MAX: Duration = Duration::from_millis(500);

/// Longest wait for a client to read its refusal.
const REFUSAL_WAIT_MAX: Duration = Duration::from_secs(1);

/// Longest wait at a stop for the first byte of a client. The client may have connected just
/// before, with its request on the way.
const FIRST_BYTE_WAIT_MAX: Duration = Duration::from_millis(500);

/// Pause after the system has no room for another connection: others must end first.
const FULL_WAIT: Duration = Duration::from_millis(200);

/// Accepts connections and serves them.
#[derive(Clone)]
pub(crate) struct Connections {
    router: Router,
    limits: Limits,
    tls: Option<Arc<Tls>>,
    stage: watch::Receiver<Stage>,
    http: http1::Builder,
    metrics: Arc<Metrics>,
    /// One permit for each connection that may be open.
    places: Arc<Semaphore>,
    seats: Arc<Seats>,
    refusals: Arc<Semaphore>,
    lobby: Arc<Lobby>,
}

impl Connections {
    /// Serves the router over a worker, within the worker's limits.
    pub(crate) fn new(router: Router, tls: Option<Arc<Tls>>, worker: &Worker) -> Self {
        let (limits, stage, metrics) =
            (worker.limits().clone(), worker.stage(), Arc::clone(worker.metrics()));
        let places = Arc::new(Semaphore::new(limits.connections_max as usize));
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        let (seats, lobby) = (Arc::default(), Arc::default());
        Self { router, limits, tls, stage, http: http(), metrics, places, seats, refusals, lobby }
    }

    /// Accepts connections for as long as the future is polled.
    pub(crate) async fn take(&self, listener: &TcpListener) -> Infallible {
        let mut can_take = true;
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    if !can_take {
                        info!("connections are taken again");
                    }
                    can_take = true;
                    self.begin(stream);
                }
                Err(error) if is_clients(&error) => {}
                // No such error is a reason to stop, nor to log five lines a second.
                Err(error) => {
                    if can_take {
                        warn!(%error, "no connection can be taken now");
                    }
                    can_take = false;
                    tokio::time::sleep(FULL_WAIT).await;
                }
            }
        }
    }

    /// Accepts the connections that clients have already made, and then closes the listener, which
    /// would reset connections that are not accepted.
    pub(crate) fn take_waiting(&self, listener: TcpListener) -> io::Result<()> {
        // Asks the system, because the runtime may not know of the last ones.
        let listener = listener.into_std()?;
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    self.begin(TcpStream::from_std(stream)?);
                }
                Err(error) if is_clients(&error) => {}
                // No more connections wait, or the system accepts no more.
                Err(_) => return Ok(()),
            }
        }
    }

    /// Resolves when no connection is open.
    pub(crate) async fn closed(&self) {
        // Cannot fail: the semaphore is never closed.
        let _all = self.places.acquire_many(self.limits.connections_max).await;
    }

    fn begin(&self, stream: TcpStream) {
        // Small answers should not wait for the acknowledgement of the previous one. If the option
        // fails, they do.
        stream.set_nodelay(true).unwrap_or(());
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => drop(tokio::spawn(self.serving(stream, place))),
            Err(_) => self.begin_later(stream),
        }
    }

    /// Lets an idle connection give way to this one, or refuses this one. A probe needs no place.
    fn begin_later(&self, stream: TcpStream) {
        let refusal = Arc::clone(&self.refusals).try_acquire_owned().ok();
        let calls = refusal.is_some() && self.seats.call_one();
        let place = calls.then(|| Arc::clone(&self.places).acquire_owned());
        let this = self.clone();
        tokio::spawn(async move {
            let probe = async {
                match &this.tls {
                    None => this.lobby.probe(&stream).await,
                    // The request is not readable before the TLS handshake.
                    Some(_) => None,
                }
            };
            let place = async {
                match place {
                    Some(place) => tokio::time::timeout(PLACE_WAIT_MAX, place).await.ok()?.ok(),
                    None => None,
                }
            };
            if let Some(place) = first_of(place, probe).await {
                drop(refusal);
                this.serving(stream, place).await;
            } else if refusal.is_some() && this.tls.is_none() {
                // Before the handshake no answer is possible.
                let problem = Problem::too_many_connections(this.limits.connections_max);
                refuse(stream, &problem, &this.metrics).await;
            }
        });
    }

    /// Serves a connection that holds a place, to its end.
    fn serving(
        &self,
        stream: TcpStream,
        place: OwnedSemaphorePermit,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (http, router) = (self.http.clone(), self.router.clone());
        let (limits, stage) = (self.limits.clone(), self.stage.clone());
        let (metrics, counted) = (Arc::clone(&self.metrics), self.metrics.connected());
        let acceptor = self.tls.as_ref().map(|tls| tls.acceptor());
        let turns = Turns::seated(&self.seats);
        async move {
            let _seat = Seat(Arc::clone(&turns));
            match acceptor {
                None => serve(stream, http, router, &limits, stage, metrics, turns).await,
                Some(acceptor) => {
                    let shaken = tokio::time::timeout(
                        limits.header_seconds_max,
                        shake_hands(acceptor, stream, &metrics),
                    );
                    let mut until = stage.clone();
                    let shaken = tokio::select! {
                        shaken = shaken => shaken,
                        () = reached(&mut until, Stage::Ending) => Ok(Err(io::ErrorKind::ConnectionAborted.into())),
                        () = turns.called() => Ok(Err(io::ErrorKind::ConnectionAborted.into())),
                    };
                    match shaken {
                        Ok(Ok(stream)) => serve(stream, http, router, &limits, stage, metrics, turns).await,
                        Ok(Err(error)) => debug!(%error, "a TLS handshake failed"),
                        Err(_) => debug!("a TLS handshake took too long"),
                    }
                }
            }
            drop((counted, place));
        }
    }
}

/// Returns the first `Some` of two futures.
async fn first_of<T>(a: impl Future<Output = Option<T>>, b: impl Future<Output = Option<T>>) -> Option<T> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    tokio::select! {
        biased;
        of_a = &mut a => match of_a {
            None => b.await,
            given => given,
        },
        of_b = &mut b => match of_b {
            None => a.await,
            given => given,
        },
    }
}

/// The seat of a connection, left at the end of the connection.
struct Seat(Arc<Turns>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// Returns the settings of HTTP.
fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    // hyper checks the buffer between two reads, each of which may fill more than requested. The
    // buffer thus bounds memory, and the head has a bound of its own.
    http.max_buf_size(HEAD_BYTES_MAX).max_header_size(HEAD_BYTES_MAX);
    // hyper then keeps reading while a request is worked on. `Timed` hides the end of input from
    // hyper: such a client is still answered, except for heavy work (see `Client`).
    http.half_close(false);
    http
}

/// Begins TLS. A client that speaks plain HTTP is told to use HTTPS.
async fn shake_hands(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    metrics: &Metrics,
) -> io::Result<TlsStream<TcpStream>> {
    /// First byte of a handshake (RFC 8446, 5.1), and of no HTTP method.
    const HANDSHAKE: u8 = 22;
    let mut first = [HANDSHAKE];
    stream.peek(&mut first).await?;
    if first != [HANDSHAKE] {
        refuse(stream, &Problem::needs_tls(), metrics).await;
        return Err(io::ErrorKind::InvalidData.into());
    }
    acceptor.accept(stream).await
}

/// Serves one connection to its end.
fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    http: http1::Builder,
    router: Router,
    limits: &Limits,
    mut stage: watch::Receiver<Stage>,
    metrics: Arc<Metrics>,
    turns: Arc<Turns>,
) -> impl Future<Output = ()> + Send + 'static {
    let stream = Timed::new(stream, limits, Arc::clone(&turns));
    let refusal = move |status: StatusCode| {
        Bytes::from(request::refuse(&metrics, &Problem::bad_head(status, HEAD_BYTES_MAX)))
    };
    let stream = Refusing::new(stream, Arc::clone(&turns), refusal);
    async move {
        let current = stage.clone();
        let service = service_fn(|mut request: Request<Incoming>| {
            let turn = turns.begin();
            let (client, current) = (turns.client(), &current);
            request.extensions_mut().insert(client.clone());
            let answer =
                router.clone().call(request.map(|body| Body::new(Asking::new(body, client.clone()))));
            async move {
                let Ok(mut response) = tokio::select! {
                    answer = answer => answer,
                    () = client.gives_up() => return Err(io::Error::from(io::ErrorKind::ConnectionAborted)),
                };
                if *current.borrow() > Stage::Serving {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok(response.map(|body| InTurn::new(body, turn)))
            }
        });
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
        let stop = async {
            let is_called = tokio::select! {
                () = turns.called() => true,
                () = reached(&mut stage, Stage::Stopping) => false,
            };
            if !is_called && turns.n() == 0 {
                let ending = reached(&mut stage, Stage::Ending);
                tokio::time::timeout(FIRST_BYTE_WAIT_MAX, ending).await.unwrap_or(());
            }
            turns.close_when_idle();
            if is_called {
                let ending = reached(&mut stage, Stage::Ending);
                tokio::time::timeout(HEAD_WAIT_MAX, ending).await.unwrap_or(());
            } else {
                reached(&mut stage, Stage::Ending).await;
            }
            turns.close_in_heads();
            std::future::pending::<Infallible>().await
        };
        let ended = tokio::select! {
            // First, so that the connection is polled after a change of its closing conditions.
            biased;
            never = stop => match never {},
            ended = &mut connection => ended,
        };
        if let Err(error) = ended {
            debug!(%error, "a connection broke off");
        }
    }
}

/// Resolves when the worker has reached a stage.
async fn reached(stage: &mut watch::Receiver<Stage>, reached: Stage) {
    // The worker outlives its connections.
    drop(stage.wait_for(|stage| *stage >= reached).await);
}

/// Answers a problem to a client that is not served.
async fn refuse(mut stream: TcpStream, problem: &Problem, metrics: &Metrics) {
    let said = async {
        stream.write_all(&request::refuse(metrics, problem)).await?;
        stream.shutdown().await?;
        // Closing a connection with unread bytes would reset it, and lose the answer.
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    // A client that has gone needs no answer.
    tokio::time::timeout(REFUSAL_WAIT_MAX, said).await.unwrap_or(Ok(())).unwrap_or(());
}

/// Returns true if a connection could not be accepted because its client has gone.
fn is_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
