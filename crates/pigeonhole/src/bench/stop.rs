//! Ctrl-C and SIGTERM end the measurement between two batches, and what it made is removed.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The signal that this process has received, if any.
pub(super) struct Stop(Arc<AtomicUsize>);

/// The error of a measurement that a signal stopped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopped(usize);

impl Stop {
    /// Notes the first signal from now on; the second one ends the process at once.
    pub(super) fn listen() -> io::Result<Self> {
        let (told, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for number in [SIGINT, SIGTERM] {
            // In this order, the first signal meets a false flag, and so does not end the process.
            flag::register_conditional_default(number, Arc::clone(&told))?;
            flag::register(number, Arc::clone(&told))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Self(signal))
    }

    /// Fails once a signal was received.
    pub(super) fn check(&self) -> Result<(), Stopped> {
        match self.0.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Stopped(signal)),
        }
    }
}

impl Stopped {
    /// The exit code that shells give to a program ended by the signal.
    pub(super) fn exit_code(self) -> u8 {
        128 + u8::try_from(self.0).unwrap_or_default()
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped by signal {}", self.0)
    }
}

impl Error for Stopped {}
