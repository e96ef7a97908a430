//! Being told to stop, by Ctrl-C or SIGTERM, while there is a journal to go on from.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Whether somebody has told this process to stop.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    signal: Arc<AtomicUsize>,
}

/// The run was told to stop, and has, at a checkpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopped {
    signal: u8,
}

impl Stop {
    /// From here on the first signal is only noted; the second one ends the process at once, as one does without this.
    /// Whoever asks again hears of the same signals.
    pub(crate) fn listen() -> io::Result<Self> {
        static LISTENING: OnceLock<Stop> = OnceLock::new();
        if let Some(listening) = LISTENING.get() {
            return Ok(listening.clone());
        }
        let listening = Self::register()?;
        Ok(LISTENING.get_or_init(|| listening).clone())
    }

    fn register() -> io::Result<Self> {
        let (told, signal) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        for number in [SIGINT, SIGTERM] {
            // In this order: the first signal finds nothing noted yet.
            flag::register_conditional_default(number, Arc::clone(&told))?;
            flag::register(number, Arc::clone(&told))?;
            flag::register_usize(number, Arc::clone(&signal), number as usize)?;
        }
        Ok(Self { signal })
    }

    /// An error once somebody has.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        match self.signal.load(Ordering::SeqCst) {
            0 => Ok(()),
            signal => Err(Stopped { signal: u8::try_from(signal).unwrap_or_default() }),
        }
    }
}

impl Stopped {
    /// As shells say it of a program that a signal has ended.
    pub(crate) fn exit_code(self) -> u8 {
        128 + self.signal
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped at a checkpoint; the same command goes on from there")
    }
}

impl Error for Stopped {}
