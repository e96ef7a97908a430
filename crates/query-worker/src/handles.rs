//! File handles: how many the process may have, and how many connections that allows.
//!
//! A process that has as many as it may cannot read its keys again, reach its store, or take a connection to say so. So
//! connections are bounded by what is left when all else has its own.

use anyhow::ensure;
use engine::StoreUri;

use crate::limits::{LOBBY_MAX, PROBES_MAX, REFUSALS_MAX};

/// For stdin, stdout and stderr, the listener, the runtime's own, the files that are read again, name look-ups, the
/// collector of traces, and as many again.
const OWN: usize = 64;

/// Allows the process as many handles as the system lets it have (the hard limit): shells give 1,024 for the sake of
/// programs that use select(2), which this one does not.
pub(crate) fn raise() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Where that fails, as some systems do where there is no hard limit, it is as it was.
        setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap_or(());
    }
}

/// How many handles the process may have; none where there is no bound.
fn handles_max() -> Option<u64> {
    #[cfg(unix)]
    return rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    return None;
}

/// How many connections may be open at once, at most `asked`: fewer where the process may not have so many handles.
///
/// # Errors
/// There is none left for a connection.
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
