//! Stops a run in order on Ctrl-C or SIGTERM, if it has a journal.

pub(crate) mod left_over;

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// The signal that this process has received, if any.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    signal: Arc<AtomicUsize>,
}

static LISTENING: OnceLock<Stop> = OnceLock::new();

/// The error of a run stopped by a signal, at a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    signal: u8,
}

impl Stop {
    /// Notes the first signal from now on; the second one ends the process at once, as the first
    /// one does otherwise. All callers share the same signals.
    pub(crate) fn listen() -> io::Result<Self> {
        if let Some(listening) = LISTENING.get() {
            return Ok(listening.clone());
        }
        let listening = Self::register()?;
        Ok(LISTENING.get_or_init(|| listening).clone())
    }

    /// Fails once a signal was received, if signals are noted.
    pub(crate) fn check_heard() -> Result<(), Stopped> {
        LISTENING.get().map_or(Ok(()), Self::check)
    }

    /// Returns true if signals are noted, and do not end the process.
    pub(crate) fn is_listening() -> bool {
        LISTENING.get().is_some()
    }

    fn register() -> io::Result<Self> {
        let (told, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for number in [SIGINT, SIGTERM] {
            // In this order, the first signal meets a false flag, and so does not end the process.
            flag::register_conditional_default(number, Arc::clone(&told))?;
            flag::register(number, Arc::clone(&told))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Self { signal })
    }

    /// Fails once a signal was received.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        match self.signal.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Stopped { signal: u8::try_from(signal).unwrap_or_default() }),
        }
    }
}

impl Stopped {
    /// The exit code that shells give to a program ended by the signal.
    pub(crate) fn exit_code(self) -> u8 {
        128 + self.signal
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped at a checkpoint; the same command goes on from there")?;
        let kept = left_over::kept();
        kept.map_or(Ok(()), |kept| write!(f, ", with {kept}"))
    }
}

impl Error for Stopped {}
