//! What can be made to go wrong, and which call it hits.

use std::time::Duration;

/// Something that goes wrong at one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    method: Option<String>,
    nth: u64,
    kind: FaultKind,
}

/// How it goes wrong. Those called `After` do the call's work first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An `IOError` with this message that says it may be retried, and nothing done.
    IoError(String),
    /// An `IOError` with this message that says it may not be retried, and nothing done.
    DoNotRetry(String),
    /// The call is executed and then answered with an `IOError`, as when a region server's answer was lost.
    IoErrorAfter(String),
    /// Of a `mutateRows` only the first rows are written, then an `IOError`: batches are not atomic.
    IoErrorAfterRows(usize, String),
    /// The call is executed this much later, also where the client has gone and made its call anew in the meantime.
    Delay(Duration),
    /// The connection is closed and nothing done.
    Close,
    /// The call is executed and the connection closed without a reply.
    CloseAfter,
    /// The call is executed, this many bytes of the reply are sent, and the connection is closed.
    CutAfter(usize),
    /// The call is executed, these bytes are sent in place of the reply, and the connection stays open.
    GarbageAfter(Vec<u8>),
    /// The call is executed and its reply bears another call's sequence number.
    WrongSequenceAfter,
    /// Nothing is done and nothing ever answered, nor anything else on this connection.
    Stall,
    /// The call is executed; neither it nor anything else on this connection is ever answered.
    StallAfter,
}

impl Fault {
    /// At the next call of any method.
    #[must_use]
    pub fn any(kind: FaultKind) -> Self {
        Self { method: None, nth: 1, kind }
    }

    /// At the next call of this method, by its Thrift name: `"mutateRowsTs"`.
    #[must_use]
    pub fn on(method: &str, kind: FaultKind) -> Self {
        Self { method: Some(method.to_owned()), ..Self::any(kind) }
    }

    /// At the n-th matching call from now, the next one being the first.
    #[must_use]
    pub fn nth(self, nth: u64) -> Self {
        Self { nth: nth.max(1), ..self }
    }
}

/// The faults to come.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts a call, and takes the fault that hits it: of several the first, while the others wait for the next call.
    pub(super) fn hit(&mut self, method: &str) -> Option<FaultKind> {
        let mut hit = None;
        for (at, fault) in self.0.iter_mut().enumerate() {
            if fault.method.as_deref().is_some_and(|wanted| wanted != method) {
                continue;
            }
            fault.nth = fault.nth.saturating_sub(1);
            if fault.nth == 0 && hit.is_none() {
                hit = Some(at);
            }
        }
        hit.map(|at| self.0.remove(at).kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counts_its_own_calls() {
        let mut faults = Faults::default();
        faults.push(Fault::on("get", FaultKind::Close).nth(2));
        faults.push(Fault::any(FaultKind::Stall).nth(3));
        faults.push(Fault::any(FaultKind::CloseAfter).nth(3));
        let hits = ["get", "getRow", "get", "getRow", "get", "get"].map(|method| faults.hit(method));
        assert_eq!(
            hits,
            [None, None, Some(FaultKind::Close), Some(FaultKind::Stall), Some(FaultKind::CloseAfter), None]
        );
        assert_eq!(faults.len(), 0);
    }
}
