//! Compression of blocks, on a thread of its own where there is one to be had.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::block::Open;

/// The most blocks that wait for their compression.
const WAITING_MAX: usize = 16;

/// Compresses blocks in their order. Its thread ends when it is dropped.
pub(super) struct Packer {
    way: Way,
    n_waiting: usize,
}

enum Way {
    Beside {
        to: SyncSender<Job>,
        from: Mutex<Receiver<io::Result<Vec<u8>>>>,
    },
    /// Where no thread can be had.
    Here {
        compressor: zstd::bulk::Compressor<'static>,
        packed: VecDeque<io::Result<Vec<u8>>>,
    },
}

/// A block, and the level of its compression.
type Job = (Arc<Open>, i32);

impl Packer {
    pub(super) fn new() -> io::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(0)?;
        let (to, jobs) = mpsc::sync_channel::<Job>(WAITING_MAX);
        let (done, from) = mpsc::sync_channel(WAITING_MAX);
        let work = move || {
            while let Ok(job) = jobs.recv() {
                if done.send(pack(&mut compressor, job)).is_err() {
                    return;
                }
            }
        };
        match thread::Builder::new().name("packer".to_owned()).spawn(work) {
            Ok(_) => Ok(Self { way: Way::Beside { to, from: Mutex::new(from) }, n_waiting: 0 }),
            Err(_) => Self::without_thread(),
        }
    }

    fn without_thread() -> io::Result<Self> {
        let compressor = zstd::bulk::Compressor::new(0)?;
        Ok(Self { way: Way::Here { compressor, packed: VecDeque::new() }, n_waiting: 0 })
    }

    /// Takes a block to be compressed at this level. The caller takes packed blocks before, so that
    /// fewer than [`WAITING_MAX`] wait.
    pub(super) fn push(&mut self, block: Arc<Open>, level: i32) -> io::Result<()> {
        self.n_waiting += 1;
        match &mut self.way {
            Way::Beside { to, .. } => to.send((block, level)).map_err(|_| gone()),
            Way::Here { compressor, packed } => {
                packed.push_back(pack(compressor, (block, level)));
                Ok(())
            }
        }
    }

    /// Returns the next packed block, if it is ready; waits for it where as many as may wait do.
    pub(super) fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let must_wait = self.n_waiting == WAITING_MAX;
        let packed = match &mut self.way {
            _ if self.n_waiting == 0 => None,
            Way::Beside { from, .. } => {
                let from = from.get_mut().unwrap_or_else(PoisonError::into_inner);
                let received =
                    if must_wait { from.recv().map_err(TryRecvError::from) } else { from.try_recv() };
                match received {
                    Ok(packed) => Some(packed),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => Some(Err(gone())),
                }
            }
            Way::Here { packed, .. } => packed.pop_front(),
        };
        self.n_waiting -= usize::from(packed.is_some());
        packed
    }
}

fn pack(compressor: &mut zstd::bulk::Compressor<'static>, (block, level): Job) -> io::Result<Vec<u8>> {
    compressor.set_compression_level(level)?;
    compressor.compress(&block.bytes)
}

fn gone() -> io::Error {
    io::Error::other("the thread that compresses texts is gone")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_in_their_order_with_a_thread_and_without() {
        for mut packer in [Packer::new().unwrap(), Packer::without_thread().unwrap()] {
            let mut packed = Vec::new();
            for n in 0..200_u8 {
                packed.extend(std::iter::from_fn(|| packer.next()));
                let block = Open::new(vec![n; 3_000]);
                packer.push(Arc::new(block), if n % 2 == 0 { 1 } else { -3 }).unwrap();
                assert!(packer.n_waiting <= WAITING_MAX);
            }
            while packed.len() < 200 {
                packed.extend(packer.next());
            }
            assert!(packer.next().is_none());
            for (n, packed) in (0..200_u8).zip(packed) {
                assert_eq!(zstd::bulk::decompress(&packed.unwrap(), 3_000).unwrap(), [n; 3_000]);
            }
        }
    }
}
