//! The longest waits of a connection.

use std::time::Duration;

/// The most patience for a server that is away. With the wait for a reply it is shorter than the
/// time for which a write keeps its answer (`ANSWER_SECONDS` of `write.lua`): a write tried later
/// would be done twice.
const SERVER_MAX: Duration = Duration::from_secs(120);

/// The least patience for a reply: a busy server may take this long.
const REPLY_MIN: Duration = Duration::from_secs(5);

/// The longest waits.
#[derive(Clone, Copy)]
pub(crate) struct Waits {
    /// For a connection to be made.
    pub(crate) connect: Duration,
    /// For one reply.
    pub(crate) reply: Duration,
    /// For a server that has answered before to answer again, and for a free connection of our own.
    pub(crate) server: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(5), reply: Duration::from_secs(30), server: SERVER_MAX }
    }
}

impl Waits {
    /// These waits with a patience for a server that is away, at most [`SERVER_MAX`].
    pub(super) fn with_patience(self, patience: Duration) -> Self {
        let reply = self.reply.min(patience.max(REPLY_MIN));
        Self { server: patience.min(SERVER_MAX), reply, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A write that is tried again finds the answer of the first try.
    #[test]
    fn an_answer_is_kept_for_longer_than_any_wait() {
        let script = include_str!("../write.lua");
        let line =
            script.lines().find_map(|line| line.strip_prefix("local ANSWER, ANSWER_SECONDS = KEYS[9], "));
        let kept = Duration::from_secs(line.unwrap().parse().unwrap());
        for patience in [0, 5, 120, 3600].map(Duration::from_secs) {
            let Waits { connect, reply, server } = Waits::default().with_patience(patience);
            assert!(connect + reply + server < kept, "{patience:?}");
        }
        let patient = Waits::default().with_patience(Duration::from_secs(7));
        assert_eq!([patient.server.as_secs(), patient.reply.as_secs()], [7, 7]);
    }
}
