//! File handles: the limit of the process, and the number of connections that fits into it.
//!
//! A process without a free handle can neither read its keys again, nor reach its store, nor accept
//! a connection to report the failure. Connections are therefore bounded by the handles left after
//! reservations for all other uses.

use anyhow::ensure;
use engine::StoreUri;

use crate::limits::{LOBBY_MAX, PROBES_MAX, REFUSALS_MAX};

/// Handles for stdin, stdout and stderr, the listener, the runtime, reloaded files, name look-ups
/// and the collector of traces, doubled for safety.
const OWN: usize = 64;

/// Raises the soft limit on open files to the hard limit. Shells set 1,024 for programs with
/// `select(2)`, which this process does not use.
pub(crate) fn raise() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Best effort: some systems refuse this where there is no hard limit.
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap_or(());
    }
}

/// Returns the limit on open files; `None` if there is none.
fn handles_max() -> Option<u64> {
    #[cfg(unix)]
    return rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    return None;
}

/// Returns the number of connections that may be open at once: `asked`, or fewer if the limit on
/// open files requires it.
///
/// # Errors
/// The reservations leave no handle for a connection.
pub(crate) fn connections_max(asked: u32, store: &StoreUri) -> anyhow::Result<u32> {
    fitted(handles_max(), asked, store)
}

fn fitted(handles_max: Option<u64>, asked: u32, store: &StoreUri) -> anyhow::Result<u32> {
    let Some(handles_max) = handles_max else { return Ok(asked) };
    let reserved = (OWN + REFUSALS_MAX + LOBBY_MAX + PROBES_MAX + store.capabilities().n_handles_max) as u64;
    ensure!(
        handles_max > reserved,
        "the process may open {handles_max} files, and needs {reserved} for itself and its store, so that none is left \
         for connections; allow it {} or more (`ulimit -n`, LimitNOFILE= of systemd, --ulimit of Docker)",
        reserved + u64::from(asked)
    );
    Ok(u32::try_from(handles_max - reserved).map_or(asked, |left| asked.min(left)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_fit() {
        let own = (OWN + REFUSALS_MAX + LOBBY_MAX + PROBES_MAX) as u64;
        for (handles_max, store, expected) in [
            (None, "memory:", Some(1024)),
            (Some(u64::MAX), "memory:", Some(1024)),
            (Some(own + 1025), "memory:", Some(1024)),
            (Some(own + 1024), "memory:", Some(1024)),
            (Some(own + 1023), "memory:", Some(1023)),
            (Some(own + 1), "memory:", Some(1)),
            (Some(own), "memory:", None),
            (Some(0), "memory:", None),
            (Some(own + 1032), "hbase://localhost/news?connections=8", Some(1024)),
            (Some(own + 1032), "hbase://localhost/news?connections=9", Some(1023)),
        ] {
            let fitted = fitted(handles_max, 1024, &store.parse().unwrap());
            assert_eq!(fitted.as_ref().ok(), expected.as_ref(), "{handles_max:?} {store}");
            if let Err(error) = fitted {
                assert!(error.to_string().contains(&format!("allow it {} or more", own + 1024)), "{error}");
            }
        }
    }
}
