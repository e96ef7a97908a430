//! A proxy before a server. The proxy listens on the announced address of the server, and the
//! server on another address of loopback.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The address of servers behind a gate.
pub(crate) const BEHIND: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 3));

/// A part of the header of connections from clients, which masters do not send.
const OF_CLIENTS: &[u8] = b"ClientService";

/// The number of bytes of answers after which a connection is cut.
const CUT_AFTER: usize = 20_000;

/// The number of bytes of an answer that a slow server sends at once.
const SLOW_LEN: usize = 512;

/// The treatment of answers to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Answers pass.
    Open,
    /// Answers end in their middle.
    Cut,
    /// Answers come in pieces, with this pause after each.
    Slow(Duration),
}

#[derive(Debug)]
struct Shared {
    mood: Mutex<Mood>,
    n_cut: AtomicUsize,
    ms_slow: AtomicU64,
}

/// A gate that stays open as long as this process runs.
#[derive(Debug)]
pub(crate) struct Gate(Arc<Shared>);

impl Gate {
    /// Opens a gate on a port of loopback, before the same port of [`BEHIND`].
    pub(crate) fn open(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let shared = Arc::new(Shared {
            mood: Mutex::new(Mood::Open),
            n_cut: AtomicUsize::new(0),
            ms_slow: AtomicU64::new(0),
        });
        let gate = Self(Arc::clone(&shared));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Without a server behind the gate, the client sees the connection closed at once.
                let Ok(server) = TcpStream::connect(SocketAddr::from((BEHIND, port))) else { continue };
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.let_in(client, server));
            }
        });
        Ok(gate)
    }

    /// Sets the mood for existing and new connections.
    pub(crate) fn set(&self, mood: Mood) {
        *self.0.mood.lock().unwrap_or_else(PoisonError::into_inner) = mood;
    }

    /// Returns the number of connections that were cut within an answer.
    pub(crate) fn n_cut(&self) -> usize {
        self.0.n_cut.load(Ordering::Relaxed)
    }

    /// Returns the total time of pauses between pieces of answers.
    pub(crate) fn slow(&self) -> Duration {
        Duration::from_millis(self.0.ms_slow.load(Ordering::Relaxed))
    }
}

impl Shared {
    fn let_in(self: Arc<Self>, mut client: TcpStream, server: TcpStream) -> io::Result<()> {
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let mut first = vec![0; 4096];
        let n = client.read(&mut first)?;
        first.truncate(n);
        let is_of_client = first.windows(OF_CLIENTS.len()).any(|part| part == OF_CLIENTS);
        let (mut asked, answered) = (server.try_clone()?, client.try_clone()?);
        asked.write_all(&first)?;
        thread::spawn(move || end(&[&client, &asked], io::copy(&mut &client, &mut &asked).map(drop)));
        let answers = if is_of_client {
            self.answer(&server, &answered)
        } else {
            io::copy(&mut &server, &mut &answered).map(drop)
        };
        end(&[&server, &answered], answers)
    }

    fn answer(&self, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
        let (mut buffer, mut n_passed) = (vec![0; 1 << 16], 0);
        loop {
            let n = from.read(&mut buffer)?;
            if n == 0 {
                return Ok(());
            }
            n_passed += n;
            let mood = *self.mood.lock().unwrap_or_else(PoisonError::into_inner);
            match mood {
                Mood::Open => to.write_all(&buffer[..n])?,
                Mood::Cut if n_passed <= CUT_AFTER => to.write_all(&buffer[..n])?,
                Mood::Cut => {
                    to.write_all(&buffer[..n - n.div_ceil(3)])?;
                    self.n_cut.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                Mood::Slow(pause) => {
                    for piece in buffer[..n].chunks(SLOW_LEN) {
                        to.write_all(piece)?;
                        thread::sleep(pause);
                        self.ms_slow.fetch_add(pause.as_millis() as u64, Ordering::Relaxed);
                    }
                }
            }
        }
    }
}

/// Closes both directions.
fn end(streams: &[&TcpStream], outcome: io::Result<()>) -> io::Result<()> {
    for stream in streams {
        stream.shutdown(Shutdown::Both).unwrap_or(());
    }
    outcome
}
