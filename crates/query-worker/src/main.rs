//! The binary `query-worker`; all but a bound on the allocator is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_env = "gnu")]
    arenas::bound();
    query_worker::main().into()
}

#[cfg(target_env = "gnu")]
mod arenas {
    use program::MemoryLimits;

    /// The most heaps of the allocator under a limit that counts what they reserve.
    const N_MAX: i32 = 2;

    /// Bounds the heaps of the allocator where a limit counts what they reserve (`ulimit -d` or
    /// `-v`). By default there are eight for each core, and each keeps the most that work on its
    /// threads has ever taken: the process would reach the limit with half of it unused.
    #[expect(unsafe_code, reason = "glibc has no other call for it but a variable of the environment")]
    pub(super) fn bound() {
        if MemoryLimits::of_process().least_of_reserved().is_some() {
            // SAFETY: the call takes two numbers, and there is no other thread yet. Where it fails,
            // the heaps stay as many as they were.
            unsafe { libc::mallopt(libc::M_ARENA_MAX, N_MAX) };
        }
    }
}
