//! Connections for which there is no place, until they have said whether they are probes.
//!
//! A flood of clients must not have the worker taken for dead: what asks for `/healthz` or
//! `/readyz` has places of its own. What a connection asks is seen in its first bytes, which are
//! left where they are.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::limits::{LOBBY_MAX, PROBES_MAX};

/// How long a connection may take to say that it is a probe.
const SAYING_WAIT_MAX: Duration = Duration::from_secs(1);

/// How a probe begins. What follows the path is a space or a query.
const PROBES: [&[u8]; 4] = [b"GET /healthz", b"GET /readyz", b"HEAD /healthz", b"HEAD /readyz"];

/// Where connections wait, the oldest first.
pub(super) struct Lobby {
    waiting: Mutex<VecDeque<oneshot::Sender<()>>>,
    places: Arc<Semaphore>,
}

impl Default for Lobby {
    fn default() -> Self {
        Self { waiting: Mutex::default(), places: Arc::new(Semaphore::new(PROBES_MAX)) }
    }
}

impl Lobby {
    /// Waits until a connection has said that it is a probe, and gives it a place; none for what is
    /// no probe, says nothing in time, or is the oldest where too many wait.
    pub(super) async fn probe(&self, stream: &TcpStream) -> Option<OwnedSemaphorePermit> {
        let (leave, left) = oneshot::channel();
        self.enter(leave);
        let says = tokio::time::timeout(SAYING_WAIT_MAX, says_probe(stream));
        let is_probe = tokio::select! {
            says = says => says.is_ok_and(|says| says.unwrap_or(false)),
            _ = left => false,
        };
        is_probe.then(|| Arc::clone(&self.places).try_acquire_owned().ok()).flatten()
    }

    fn enter(&self, leave: oneshot::Sender<()>) {
        // Nothing in here panics half way.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == LOBBY_MAX {
            waiting.retain(|leave| !leave.is_closed());
        }
        if waiting.len() == LOBBY_MAX {
            waiting.pop_front();
        }
        waiting.push_back(leave);
    }
}

/// Whether the first bytes of a connection are those of a probe; waits until they tell.
async fn says_probe(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; 16];
    let mut n_before = 0;
    loop {
        let n = stream.peek(&mut first).await?;
        match is_probe(&first[..n]) {
            Some(is_probe) => return Ok(is_probe),
            None if n == 0 => return Ok(false),
            // Bytes that are there are told of at once, and again; so more of them are waited for
            // by time.
            None if n == n_before => tokio::time::sleep(Duration::from_millis(10)).await,
            None => n_before = n,
        }
    }
}

/// Whether these bytes begin a probe; nothing where more of them tell.
fn is_probe(first: &[u8]) -> Option<bool> {
    let mut may_be = false;
    for probe in PROBES {
        match first.strip_prefix(probe) {
            Some([b' ' | b'?', ..]) => return Some(true),
            Some([]) => may_be = true,
            Some(_) => {}
            None => may_be |= probe.starts_with(first),
        }
    }
    if may_be { None } else { Some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_probe_begins() {
        for (first, expected) in [
            (&b""[..], None),
            (b"GET /", None),
            (b"GET /healthz", None),
            (b"GET /healthz ", Some(true)),
            (b"GET /readyz?a HTT", Some(true)),
            (b"HEAD /readyz ", Some(true)),
            (b"GET /healthzz", Some(false)),
            (b"GET /x", Some(false)),
            (b"POST", Some(false)),
            (b"\x16\x03", Some(false)),
        ] {
            assert_eq!(is_probe(first), expected, "{first:?}");
        }
    }
}
