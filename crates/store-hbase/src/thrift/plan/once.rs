//! A call that must not be repeated: a second one would meet the effect of the first.

use super::{Call, FailureOf};

/// A call that can find out its own outcome without being sent again.
pub(crate) trait Resolve: Call {
    /// Counts unanswered requests as unknown, and writes the requests that are still needed.
    fn resolve(&mut self, connection: &mut Self::Connection) -> Result<(), FailureOf<Self>>;
}

/// Sends a call once. Where the call has to start again, it is resolved.
pub(crate) struct Once<C> {
    pub(crate) call: C,
    is_sent: bool,
}

impl<C> Once<C> {
    pub(crate) fn new(call: C) -> Self {
        Self { call, is_sent: false }
    }
}

impl<C: Resolve> Call for Once<C> {
    type Connection = C::Connection;

    fn start(&mut self, connection: &mut C::Connection) -> Result<(), FailureOf<C>> {
        // Also if only a part of the call could be written: the part may have arrived.
        if std::mem::replace(&mut self.is_sent, true) {
            self.call.resolve(connection)
        } else {
            self.call.start(connection)
        }
    }

    fn go_on(&mut self, connection: &mut C::Connection) -> Result<bool, FailureOf<C>> {
        self.call.go_on(connection)
    }
}
