//! A proxy before the gateway, which can be shut without disturbing the other tests.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A proxy between a program and the gateway.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    gateway: SocketAddr,
    n_bytes: Arc<AtomicUsize>,
    /// Both ends of all connections; `None` while new connections are refused.
    open: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Door {
    pub(crate) fn open(gateway: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (n_bytes, open) = (Arc::default(), Arc::new(Mutex::new(Some(Vec::new()))));
        let door = Self { address: listener.local_addr().unwrap(), gateway, n_bytes, open };
        let (n_bytes, open) = (Arc::clone(&door.n_bytes), Arc::clone(&door.open));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                // A dropped client sees the connection closed at once.
                let Some(ends) = &mut *open else { continue };
                let server = TcpStream::connect(gateway).unwrap();
                server.set_nodelay(true).unwrap();
                client.set_nodelay(true).unwrap();
                ends.extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
                let to_server =
                    (client.try_clone().unwrap(), server.try_clone().unwrap(), Arc::clone(&n_bytes));
                thread::spawn(move || carry(to_server.0, to_server.1, &to_server.2));
                thread::spawn(move || carry(server, client, &AtomicUsize::new(0)));
            }
        });
        door
    }

    /// Returns the number of bytes sent to the gateway.
    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn close(&self) {
        let ends = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        for end in ends.into_iter().flatten() {
            end.shutdown(Shutdown::Both).unwrap_or(());
        }
    }

    pub(crate) fn open_again(&self) {
        TcpStream::connect(self.gateway).unwrap();
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, n_bytes: &AtomicUsize) {
    let mut buffer = vec![0; 1 << 16];
    let mut copy = || -> io::Result<bool> {
        let n = from.read(&mut buffer)?;
        to.write_all(&buffer[..n])?;
        n_bytes.fetch_add(n, Ordering::Relaxed);
        Ok(n > 0)
    };
    while let Ok(true) = copy() {}
    for end in [from, to] {
        end.shutdown(Shutdown::Both).unwrap_or(());
    }
}
