//! Queue between the logging threads and the output, so that a stalled reader of the output does
//! not stop the worker.
//!
//! Lines without room are dropped and counted. `tracing-appender` has a similar queue, but bounds
//! lines instead of bytes, does not report lost lines in the log, and adds three crates.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::warn;

/// The most bytes that wait to be written. As many again may be in the hands of the writing thread.
const QUEUE_BYTES_MAX: usize = 256 << 10;

/// Queue of log lines, with a thread that writes them for as long as the process runs.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    lines: Mutex<Lines>,
    /// Signals lines to write.
    filled: Condvar,
    /// Signals that all lines are written.
    written: Condvar,
}

#[derive(Default)]
struct Lines {
    /// Whole lines, one after another.
    waiting: Vec<u8>,
    is_writing: bool,
    n_dropped: u64,
}

impl Queue {
    /// Starts a queue and its thread, which writes to `out`.
    pub(super) fn before(out: impl Write + Send + 'static) -> Self {
        let queue = Self::default();
        let of_thread = queue.clone();
        thread::spawn(move || of_thread.write_to(out));
        queue
    }

    /// Returns the number of lines dropped for lack of room.
    pub(super) fn n_dropped(&self) -> u64 {
        self.lock().n_dropped
    }

    /// Waits until all lines are written, for `wait_max` at most.
    pub(super) fn flush(&self, wait_max: Duration) {
        let is_left = |lines: &mut Lines| lines.is_writing || !lines.waiting.is_empty();
        drop(self.0.written.wait_timeout_while(self.lock(), wait_max, is_left));
    }

    fn write_to(&self, mut out: impl Write) {
        let mut n_told = 0;
        loop {
            let mut lines = self.lock();
            lines.is_writing = false;
            if lines.waiting.is_empty() {
                // The queue is empty, so the warning below has room.
                let n_dropped = lines.n_dropped - n_told;
                if n_dropped > 0 {
                    n_told = lines.n_dropped;
                    drop(lines);
                    warn!(n_dropped, "lines of the log were dropped, because nobody read it");
                    continue;
                }
                self.0.written.notify_all();
                lines = self
                    .0
                    .filled
                    .wait_while(lines, |lines| lines.waiting.is_empty())
                    .unwrap_or_else(PoisonError::into_inner);
            }
            let taken = std::mem::take(&mut lines.waiting);
            lines.is_writing = true;
            drop(lines);
            // A failure is ignored: there is nowhere else to report it.
            out.write_all(&taken).and_then(|()| out.flush()).unwrap_or(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each write is one or more whole lines, and never waits.
impl Write for &Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut lines = self.lock();
        if lines.waiting.len() + line.len() <= QUEUE_BYTES_MAX {
            lines.waiting.extend_from_slice(line);
            self.0.filled.notify_one();
        } else {
            lines.n_dropped += 1;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    /// A writer whose writes wait until the test receives them.
    struct Pipe(SyncSender<Vec<u8>>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn piped() -> (Queue, Receiver<Vec<u8>>) {
        let (sender, receiver) = sync_channel(0);
        (Queue::before(Pipe(sender)), receiver)
    }

    #[test]
    fn lines_arrive_in_order_and_whole() {
        let (queue, pipe) = piped();
        let lines: Vec<u8> = (0..1000).flat_map(|n| format!("line {n}\n").into_bytes()).collect();
        lines.split_inclusive(|&byte| byte == b'\n').for_each(|line| (&queue).write_all(line).unwrap());
        let mut read = Vec::new();
        while read.len() < lines.len() {
            let piece = pipe.recv().unwrap();
            assert!(piece.ends_with(b"\n"));
            read.extend(piece);
        }
        assert_eq!((read, queue.n_dropped()), (lines, 0));
        queue.flush(Duration::MAX);
    }

    #[test]
    fn nobody_waits_for_a_reader_that_stalls() {
        let (queue, pipe) = piped();
        let line = [b'x'; 1024];
        // The full queue, as many bytes in the hands of the thread, and one line more.
        let n_fit_max = 2 * QUEUE_BYTES_MAX / line.len();
        (0..=n_fit_max).for_each(|_| (&queue).write_all(&line).unwrap());
        assert!(queue.n_dropped() >= 1);
        queue.flush(Duration::ZERO);
        drop(pipe);
        queue.flush(Duration::MAX);
    }
}
