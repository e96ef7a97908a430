//! The machine of a measurement.

use std::fs;
use std::num::NonZeroUsize;
use std::thread;

use program::MemoryLimits;

/// A machine, as this process sees it. What a system does not tell is `None`.
pub(super) struct Machine {
    pub(super) processor: Option<String>,
    /// Cores that this process may use.
    pub(super) n_cores: usize,
    /// Bytes of memory.
    pub(super) n_bytes: Option<u64>,
    /// The least limit on the memory of this process, in bytes: of its container or of `ulimit`.
    pub(super) memory_limit: Option<u64>,
    /// Processes that ran or waited for a core in the minute before.
    pub(super) load: Option<f64>,
    pub(super) system: Option<String>,
}

impl Machine {
    pub(super) fn of_this() -> Self {
        let read = |path: &str| fs::read_to_string(path).ok();
        let line = |path: &str, field: &str| {
            let text = read(path)?;
            let line = text.lines().find(|line| line.starts_with(field))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Self {
            processor: line("/proc/cpuinfo", "model name"),
            n_cores: thread::available_parallelism().map_or(1, NonZeroUsize::get),
            n_bytes: program::machine_bytes(),
            memory_limit: MemoryLimits::of_process().least_of_all(),
            load: read("/proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
            system: read("/proc/sys/kernel/osrelease").map(|release| format!("Linux {}", release.trim())),
        }
    }
}
