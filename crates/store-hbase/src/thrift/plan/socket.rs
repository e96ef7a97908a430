//! A TCP connection set up for requests and replies.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use super::Timeouts;

/// One socket, whose clones read, write and peek.
#[derive(Clone, Debug)]
pub(crate) struct Socket(Arc<TcpStream>);

impl Socket {
    /// Connects to the first address of `place`, `HOST:PORT`, that answers.
    pub(crate) fn connect(place: &str, timeouts: Timeouts) -> io::Result<Self> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in place.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, timeouts.connect) {
                Ok(stream) => return Self::over(stream, timeouts),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn over(stream: TcpStream, timeouts: Timeouts) -> io::Result<Self> {
        // A request is many small pieces: with Nagle's algorithm the last one waits for 40 ms.
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeouts.reply))?;
        stream.set_write_timeout(Some(timeouts.reply))?;
        Ok(Self(Arc::new(stream)))
    }

    /// Changes the longest wait for a reply.
    pub(crate) fn set_reply_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.0.set_read_timeout(Some(timeout))
    }

    /// Returns true if the other end has neither closed nor sent bytes that were not read.
    pub(crate) fn is_quiet(&self) -> bool {
        let peek = self.0.set_nonblocking(true).and_then(|()| self.0.peek(&mut [0]));
        self.0.set_nonblocking(false).is_ok()
            && peek.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl io::Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl io::Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        (&*self.0).write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
