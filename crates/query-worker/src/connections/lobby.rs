//! Waiting room of connections beyond `connections_max`, until each shows whether it is a probe.
//!
//! A flood of clients must not make the worker look dead: requests for `/healthz` and `/readyz`
//! have places of their own. The first bytes of a connection tell, and are only peeked at.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::limits::{LOBBY_MAX, PROBES_MAX};

/// Longest wait for a connection to show that it is a probe.
const SAYING_WAIT_MAX: Duration = Duration::from_secs(1);

/// First bytes of a probe. A space or a query follows the path.
const PROBES: [&[u8]; 4] = [b"GET /healthz", b"GET /readyz", b"HEAD /healthz", b"HEAD /readyz"];

/// Waiting connections, the oldest first.
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
    /// Waits until a connection shows that it is a probe, and takes a place for it. `None` if it is
    /// no probe, sends nothing in time, or is the oldest while too many wait.
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
        // Nothing panics while the lock is held.
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

/// Returns true if the first bytes of a connection are those of a probe; waits until they decide.
async fn says_probe(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0; 16];
    let mut n_before = 0;
    loop {
        let n = stream.peek(&mut first).await?;
        match is_probe(&first[..n]) {
            Some(is_probe) => return Ok(is_probe),
            None if n == 0 => return Ok(false),
            // Bytes already there make the socket readable at once, again and again, so the wait
            // for more is by time.
            None if n == n_before => tokio::time::sleep(Duration::from_millis(10)).await,
            None => n_before = n,
        }
    }
}

/// Returns true if the bytes begin a probe; `None` if only more of them decide.
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
