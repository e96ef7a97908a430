//! Two threads for a step of an image: one makes what the other writes.

use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, Builder};

use index::{Error, ErrorKind, Result};

/// The pieces that wait to be taken.
const WAITING: usize = 1;

/// Runs `make` on a thread of its own, and hands each piece that it sends to `take` here. `None`
/// where `take` returns false, which leaves `make` without a receiver, or where `make` returns it.
pub(super) fn pipe<Piece: Send, Made: Send>(
    make: impl FnOnce(&SyncSender<Piece>) -> Result<Option<Made>> + Send,
    mut take: impl FnMut(Piece) -> Result<bool>,
) -> Result<Option<Made>> {
    let (sender, pieces) = sync_channel(WAITING);
    thread::scope(|scope| {
        let thread = Builder::new().name("image".to_owned()).spawn_scoped(scope, move || make(&sender));
        let thread = thread.map_err(|error| {
            Error::new(ErrorKind::Internal, "no thread could begin to prepare an image").caused_by(error)
        })?;
        for piece in pieces {
            if !take(piece)? {
                return Ok(None);
            }
        }
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
