//! A call that is not harmless to repeat: a second one would meet what the first has done.

use super::{Call, FailureOf};

/// A call that can say what became of it without being sent again.
pub(crate) trait Resolve: Call {
    /// Takes what was not answered for unknown, and writes what is still to be asked.
    fn resolve(&mut self, connection: &mut Self::Connection) -> Result<(), FailureOf<Self>>;
}

/// Sends a call once. Where it has to start again, it is resolved.
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
        // Also where only a part of it could be written: that part may have arrived.
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
