//! Connections: how many are open, how long each waits for its client, and how they end.
//!
//! `axum::serve` waits for ever, for any number of clients: this takes its place. What a request may take once its head is
//! there is the business of [`crate::api`].
//!
//! hyper-util has an orderly stop (`GracefulShutdown`), of which the count of open connections is `closed` here, three lines;
//! hyper has a bound for a head; tower-http's bounds begin behind the head. None bounds how long a client takes to read an
//! answer, has an idle connection make place for a new one, or says a problem where hyper refuses a head. The modules that do
//! (`timed`, `seats`, `refusing`) bound heads and stop connections by the same state.

mod lobby;
mod refusing;
mod seats;
#[cfg(test)]
mod tests;
mod timed;

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

use self::lobby::Lobby;
use self::refusing::Refusing;
use self::seats::Seats;
use self::timed::{Asking, InTurn, Timed, Turns};
use crate::limits::{Limits, REFUSALS_MAX};
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::request;
use crate::tls::Tls;
use crate::worker::{Stage, Worker};

/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// How long a connection that is idle may take to make place. It ends at once; where its client has just begun to ask
/// it does so after the answer.
const PLACE_WAIT_MAX: Duration = Duration::from_secs(1);

/// How long a client whose connection is to make place may take for the rest of a head that it has
/// begun.
const HEAD_WAIT_MAX: Duration = Duration::from_millis(500);

/// How long a client may take to read that there is no place for it.
const REFUSAL_WAIT_MAX: Duration = Duration::from_secs(1);

/// How long a client that has sent nothing yet may take for its first byte when the worker stops. It may have connected
/// just before, and have its request on the way.
const FIRST_BYTE_WAIT_MAX: Duration = Duration::from_millis(500);

/// How long to wait where the machine has no room for one connection more: others must end first.
const FULL_WAIT: Duration = Duration::from_millis(200);

/// Takes connections and serves them.
#[derive(Clone)]
pub(crate) struct Connections {
    router: Router,
    limits: Limits,
    tls: Option<Arc<Tls>>,
    stage: watch::Receiver<Stage>,
    http: http1::Builder,
    metrics: Arc<Metrics>,
    /// One permit for each connection that is open.
    places: Arc<Semaphore>,
    seats: Arc<Seats>,
    refusals: Arc<Semaphore>,
    lobby: Arc<Lobby>,
}

impl Connections {
    /// To the router over a worker, by its limits.
    pub(crate) fn new(router: Router, tls: Option<Arc<Tls>>, worker: &Worker) -> Self {
        let (limits, stage, metrics) =
            (worker.limits().clone(), worker.stage(), Arc::clone(worker.metrics()));
        let places = Arc::new(Semaphore::new(limits.connections_max as usize));
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        let (seats, lobby) = (Arc::default(), Arc::default());
        Self { router, limits, tls, stage, http: http(), metrics, places, seats, refusals, lobby }
    }

    /// Takes connections for as long as it is polled.
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
                // Nothing of it is a reason to stop, nor one to say so five times a second.
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

    /// Takes the connections that clients have made and nobody has taken so far, and then no more: to close the listener
    /// would reset them.
    pub(crate) fn take_waiting(&self, listener: TcpListener) -> io::Result<()> {
        // The system is asked, because the runtime may not have heard of the last ones.
        let listener = listener.into_std()?;
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(true)?;
                    self.begin(TcpStream::from_std(stream)?);
                }
                Err(error) if is_clients(&error) => {}
                // There are no more, or no more can be taken.
                Err(_) => return Ok(()),
            }
        }
    }

    /// Resolves when no connection is open.
    pub(crate) async fn closed(&self) {
        // It is never closed, so this cannot fail.
        let _all = self.places.acquire_many(self.limits.connections_max).await;
    }

    fn begin(&self, stream: TcpStream) {
        // Answers are small: none should wait for the acknowledgement of the one before. Where it fails, they do.
        stream.set_nodelay(true).unwrap_or(());
        match Arc::clone(&self.places).try_acquire_owned() {
            Ok(place) => drop(tokio::spawn(self.serving(stream, place))),
            Err(_) => self.begin_later(stream),
        }
    }

    /// Has a connection that is idle make place for this one, or tells its client that none is. A
    /// probe needs none.
    fn begin_later(&self, stream: TcpStream) {
        let refusal = Arc::clone(&self.refusals).try_acquire_owned().ok();
        let calls = refusal.is_some() && self.seats.call_one();
        let place = calls.then(|| Arc::clone(&self.places).acquire_owned());
        let this = self.clone();
        tokio::spawn(async move {
            let probe = async {
                match &this.tls {
                    None => this.lobby.probe(&stream).await,
                    // What it asks is not seen before the handshake.
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
                // Before the handshake nothing could be said.
                let problem = Problem::too_many_connections(this.limits.connections_max);
                refuse(stream, &problem, &this.metrics).await;
            }
        });
    }

    /// Serves a connection that has a place, to its end.
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

/// What the first of two gives that gives something.
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

/// A connection's seat, which it leaves at its end.
struct Seat(Arc<Turns>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.leave();
    }
}

/// How HTTP is spoken.
fn http() -> http1::Builder {
    let mut http = http1::Builder::new();
    // The buffer is looked at between two reads, each of which may fill more than was asked for; so it bounds the
    // memory, and the head has a bound of its own.
    http.max_buf_size(HEAD_BYTES_MAX).max_header_size(HEAD_BYTES_MAX);
    // So that it reads on while a request is worked on. `Timed` keeps from it that a client sends
    // no more: such a client is still answered, but for heavy work (see `Client`).
    http.half_close(false);
    http
}

/// Begins TLS. Whoever speaks plain HTTP is told so.
async fn shake_hands(
    acceptor: TlsAcceptor,
    stream: TcpStream,
    metrics: &Metrics,
) -> io::Result<TlsStream<TcpStream>> {
    /// How a handshake begins (RFC 8446, 5.1), and no method of HTTP.
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
            // First, for the connection to be polled after a change of when it closes.
            biased;
            never = stop => match never {},
            ended = &mut connection => ended,
        };
        if let Err(error) = ended {
            debug!(%error, "a connection broke off");
        }
    }
}

/// Resolves when the worker is so far in its life.
async fn reached(stage: &mut watch::Receiver<Stage>, reached: Stage) {
    // The worker outlives its connections.
    drop(stage.wait_for(|stage| *stage >= reached).await);
}

/// Tells a client why it is not served.
async fn refuse(mut stream: TcpStream, problem: &Problem, metrics: &Metrics) {
    let said = async {
        stream.write_all(&request::refuse(metrics, problem)).await?;
        stream.shutdown().await?;
        // To close a connection with bytes unread would reset it, and the answer with it.
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        io::Result::Ok(())
    };
    // Whoever has gone needs no answer.
    tokio::time::timeout(REFUSAL_WAIT_MAX, said).await.unwrap_or(Ok(())).unwrap_or(());
}

/// Whether a connection could not be taken because its client has gone again.
fn is_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
