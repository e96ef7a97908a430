//! The memory of this process, and the limits on it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Divisor of a limit: a process is near the limit if less than a 16th is left.
const LEFT_PART: u64 = 16;

/// Divisor of a small limit: an 8th is left, up to `LEFT_BYTES`, since growing tables take memory
/// in leaps.
const LEFT_PART_OF_SMALL: u64 = 8;
const LEFT_BYTES: u64 = 32 << 20;

/// Bytes of free memory at the end of a heap that it may hold once memory is given back.
const HEAP_END_BYTES: i32 = 1 << 20;

/// Divisor of the free memory.
const SPARE_PART: u64 = 16;

/// Least limit of a control group that counts as none: version 1 writes no limit as a large number
/// of whole pages.
const UNLIMITED: u64 = 1 << 60;

/// The limit that the user of this process has asked for.
static ASKED: OnceLock<u64> = OnceLock::new();

/// The limits on the memory of this process: those of its container and of `ulimit`.
#[derive(Clone, Debug, Default)]
pub struct MemoryLimits(Vec<Limit>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    n_bytes: u64,
    /// Field of `/proc/self/status` with the memory that the limit bounds.
    field: &'static str,
    name: &'static str,
}

/// Memory of this process, with the limit nearest to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes in use.
    pub n_bytes: u64,
    /// Bytes allowed.
    pub n_bytes_max: u64,
    limit: &'static str,
}

impl MemoryLimits {
    /// Reads the limits on this process; none on a system that does not report them.
    #[must_use]
    pub fn of_process() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let groups = of_groups(Path::new("/sys/fs/cgroup"), &read("/proc/self/cgroup"));
        // Pages of files do not count: the container can take them back.
        let of_container =
            groups.map(|n_bytes| Limit { n_bytes, field: "RssAnon:", name: "the limit of the container" });
        Self(of_container.into_iter().chain(of_shell(&read("/proc/self/limits"))).collect())
    }

    /// Reads the limits on a process that takes what there is: the one of `--memory-max` or else
    /// what the machine has free now, and those of [`of_process`](Self::of_process).
    #[must_use]
    pub fn of_job() -> Self {
        let Self(mut limits) = Self::of_process();
        match ASKED.get() {
            Some(&n_bytes) => limits.push(Limit { n_bytes, field: "RssAnon:", name: "--memory-max" }),
            None => limits.extend(of_machine()),
        }
        Self(limits)
    }

    /// The least limit of any kind.
    #[must_use]
    pub fn least_of_all(&self) -> Option<u64> {
        self.0.iter().map(|limit| limit.n_bytes).min()
    }

    /// Returns the least limit on memory itself, not on addresses.
    #[must_use]
    pub fn least(&self) -> Option<u64> {
        self.0.iter().filter(|limit| limit.field != "VmSize:").map(|limit| limit.n_bytes).min()
    }

    /// Returns the least limit that counts what is reserved, used or not: stacks of threads, and
    /// what the allocator keeps. None of the container is such a limit.
    #[must_use]
    pub fn least_of_reserved(&self) -> Option<u64> {
        self.0.iter().filter(|limit| limit.field != "RssAnon:").map(|limit| limit.n_bytes).min()
    }

    /// Returns the bytes that this process may still take below all limits; `u64::MAX` without
    /// limits.
    #[must_use]
    pub fn n_free_bytes(&self) -> u64 {
        self.status().map_or(u64::MAX, |status| self.n_free_of(&status))
    }

    fn n_free_of(&self, status: &str) -> u64 {
        let free = self.uses(status).map(|used| used.n_bytes_max.saturating_sub(used.n_bytes));
        free.min().unwrap_or(u64::MAX)
    }

    /// Returns the bytes for what makes work faster and is not needed for it: a 16th of what is
    /// free.
    #[must_use]
    pub fn n_spare_bytes(&self) -> u64 {
        self.n_free_bytes() / SPARE_PART
    }

    /// Returns the present memory of this process, with the limit nearest to it; `None` without
    /// limits.
    #[must_use]
    pub fn nearest(&self) -> Option<MemoryUse> {
        self.nearest_of(&self.status()?)
    }

    fn nearest_of(&self, status: &str) -> Option<MemoryUse> {
        self.uses(status).max_by(|a, b| a.share().total_cmp(&b.share()))
    }

    /// The state of this process, as Linux writes it; `None` without limits.
    fn status(&self) -> Option<String> {
        if self.0.is_empty() { None } else { fs::read_to_string("/proc/self/status").ok() }
    }

    fn uses(&self, status: &str) -> impl Iterator<Item = MemoryUse> {
        self.0.iter().filter_map(|limit| {
            let n_bytes = bytes_of(status, limit.field)?;
            Some(MemoryUse { n_bytes, n_bytes_max: limit.n_bytes, limit: limit.name })
        })
    }
}

impl MemoryUse {
    /// Returns true if so little is left that the process should stop before the system ends it.
    #[must_use]
    pub fn is_near_limit(self) -> bool {
        let of_small = (self.n_bytes_max / LEFT_PART_OF_SMALL).min(LEFT_BYTES);
        let left = of_small.max(self.n_bytes_max / LEFT_PART);
        self.n_bytes > self.n_bytes_max.saturating_sub(left)
    }

    /// The use that there is with `n_bytes` more.
    #[must_use]
    pub fn with_more(self, n_bytes: u64) -> Self {
        Self { n_bytes: self.n_bytes.saturating_add(n_bytes), ..self }
    }

    /// Formats the limit, with its name.
    #[must_use]
    pub fn limit(self) -> String {
        format!("{} MB ({})", self.n_bytes_max / 1_000_000, self.limit)
    }

    fn share(self) -> f64 {
        self.n_bytes as f64 / self.n_bytes_max.max(1) as f64
    }
}

impl fmt::Display for MemoryUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MB of {}", self.n_bytes / 1_000_000, self.limit())
    }
}

/// Limits the memory of this process, as its user asks for. Only the first call counts.
pub fn limit_memory(n_bytes: u64) {
    ASKED.get_or_init(|| n_bytes);
}

/// Returns what is free to the system, and from now on what becomes free. The allocator keeps freed
/// memory for later calls, in which a limit counts it.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "only glibc can give back what its heaps hold")]
    // SAFETY: the first call takes the number of bytes that the end of a heap may hold, which
    // glibc reads whenever memory is freed. The second one takes a number of bytes to keep, and
    // locks each heap while it works there.
    unsafe {
        // `malloc_trim` leaves the end of each heap but the first as it is.
        libc::mallopt(libc::M_TRIM_THRESHOLD, HEAP_END_BYTES);
        libc::malloc_trim(0);
    }
}

/// The memory of this process and what else the machine has free.
fn of_machine() -> Option<Limit> {
    let n_bytes = memory_of_machine("MemAvailable:")? + held_bytes()?;
    Some(Limit { n_bytes, field: "RssAnon:", name: "what this machine has free" })
}

/// Bytes of memory of this machine; `None` on a system that does not report them.
#[must_use]
pub fn machine_bytes() -> Option<u64> {
    memory_of_machine("MemTotal:")
}

/// Bytes of memory that this process holds, without pages of files; `None` on a system that does
/// not report them.
#[must_use]
pub fn held_bytes() -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/self/status").ok()?, "RssAnon:")
}

fn memory_of_machine(field: &str) -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/meminfo").ok()?, field)
}

/// The bytes in a line of kB in `text`, as Linux writes them, whose start is `field`.
fn bytes_of(text: &str, field: &str) -> Option<u64> {
    let kib = text.lines().find_map(|line| line.strip_prefix(field))?;
    Some(kib.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Returns the least limit of the control groups in `groups`, the content of `/proc/self/cgroup`,
/// and of all groups above them. Inside a container, its own group is the root.
fn of_groups(root: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let group = root.join(path.trim_start_matches('/'));
        let above = group.ancestors().take_while(|group| group.starts_with(&root)).map(Path::to_owned);
        let limits = above.filter_map(|group| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok());
        limits.filter(|&n_bytes: &u64| n_bytes < UNLIMITED).min()
    });
    limits.min()
}

/// Returns the limits set by a shell; `limits` is the content of `/proc/self/limits`.
fn of_shell(limits: &str) -> impl Iterator<Item = Limit> {
    let kinds = [("Max address space", "VmSize:", "ulimit -v"), ("Max data size", "VmData:", "ulimit -d")];
    kinds.into_iter().filter_map(|(line, field, name)| {
        let values = limits.lines().find_map(|limit| limit.strip_prefix(line))?;
        let n_bytes = values.split_whitespace().next()?.parse().ok()?;
        Some(Limit { n_bytes, field, name })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max data size             300000000            unlimited            bytes
Max address space         unlimited            unlimited            bytes
";

    /// glibc keeps the end of a heap of another thread than the first, the more the larger the
    /// blocks that were freed before.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn memory_of_ended_threads_is_given_back() {
        drop(std::hint::black_box(vec![1_u8; 24 << 20]));
        let of_thread = || (0..200_000_u64).map(|n| Box::new([n; 13])).collect::<Vec<_>>();
        let held = std::thread::spawn(of_thread).join().unwrap();
        give_memory_back();
        let before = held_bytes().unwrap();
        drop(std::hint::black_box(held));
        give_memory_back();
        let n_given_back = before.saturating_sub(held_bytes().unwrap());
        assert!(n_given_back > 16 << 20, "{n_given_back}");
    }

    #[test]
    fn the_nearest_limit_counts() {
        let limits: Vec<Limit> = of_shell(LIMITS).collect();
        let data = Limit { n_bytes: 300_000_000, field: "VmData:", name: "ulimit -d" };
        assert_eq!(limits, [data]);
        let container = Limit { n_bytes: 200_000_000, field: "RssAnon:", name: "the limit of the container" };
        let limits = MemoryLimits(vec![data, container]);
        assert_eq!(limits.least(), Some(200_000_000));
        assert_eq!(limits.least_of_reserved(), Some(300_000_000));
        let with = |rss: u32| format!("Name:\tindexer\nVmData:\t 200000 kB\nRssAnon:\t {rss} kB\n");
        let used = limits.nearest_of(&with(80_000)).unwrap();
        assert_eq!(
            (used.to_string().as_str(), used.is_near_limit()),
            ("204 MB of 300 MB (ulimit -d)", false)
        );
        let used = limits.nearest_of(&with(190_000)).unwrap();
        assert_eq!(used.to_string(), "194 MB of 200 MB (the limit of the container)");
        assert!(used.is_near_limit());
        assert_eq!(MemoryLimits::default().nearest(), None);
        assert!(!limits.nearest_of(&with(100_000)).unwrap().is_near_limit());
        assert!(limits.nearest_of(&with(100_000)).unwrap().with_more(80_000_000).is_near_limit());
    }

    /// The limit with the larger share in use is not the one with the least room.
    #[test]
    fn what_is_free_is_free_below_all_limits() {
        let of_shell = Limit { n_bytes: 32 << 30, field: "VmSize:", name: "ulimit -v" };
        let asked = Limit { n_bytes: 1 << 30, field: "RssAnon:", name: "--memory-max" };
        let limits = MemoryLimits(vec![of_shell, asked]);
        let status = "VmSize:\t 4194304 kB\nRssAnon:\t 51200 kB\n";
        assert_eq!(limits.nearest_of(status).unwrap().limit, "ulimit -v");
        assert_eq!(limits.n_free_of(status), (1024 - 50) << 20);
    }

    /// The limit may be on a group above, and a group may have none.
    #[test]
    fn groups_of_both_versions() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, limit: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, limit).unwrap();
        };
        write("pod/job/memory.max", "max\n");
        write("pod/memory.max", "3000000000\n");
        write("memory/job/memory.limit_in_bytes", "9223372036854771712\n");
        for (groups, expected) in [
            ("0::/pod/job\n", Some(3_000_000_000)),
            ("0::/\n", None),
            ("4:cpu:/pod\n7:memory,hugetlb:/job\n", None),
            ("", None),
        ] {
            assert_eq!(of_groups(root.path(), groups), expected, "{groups}");
        }
        write("memory/job/memory.limit_in_bytes", "512\n");
        assert_eq!(of_groups(root.path(), "7:memory:/job\n"), Some(512));
    }
}
