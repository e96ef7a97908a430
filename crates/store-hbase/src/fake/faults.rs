//! Faults, and the calls that they hit.

use std::time::Duration;

/// A fault of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    method: Option<String>,
    nth: u64,
    kind: FaultKind,
}

/// The kind of a fault. Those called `After` do the call's work first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An `IOError` with this message, marked as worth a retry, and nothing done.
    IoError(String),
    /// An `IOError` with this message, marked as not worth a retry, and nothing done.
    DoNotRetry(String),
    /// The call is executed and then answered with an `IOError`, as when a region server's answer
    /// was lost.
    IoErrorAfter(String),
    /// Only the first rows of a `mutateRows` are written, then an `IOError`: batches are not
    /// atomic.
    IoErrorAfterRows(usize, String),
    /// The call is executed this much later, even if the client has left and repeated its call in
    /// the meantime.
    Delay(Duration),
    /// The connection is closed and nothing done.
    Close,
    /// The call is executed and the connection closed without a reply.
    CloseAfter,
    /// The call is executed, this many bytes of the reply are sent, and the connection is closed.
    CutAfter(usize),
    /// The call is executed, these bytes are sent in place of the reply, and the connection stays
    /// open.
    GarbageAfter(Vec<u8>),
    /// The call is executed and its reply bears another call's sequence number.
    WrongSequenceAfter,
    /// Nothing is done, and no call on this connection is ever answered again.
    Stall,
    /// The call is executed, and no call on this connection is ever answered again, this one
    /// included.
    StallAfter,
}

impl Fault {
    /// Returns a fault of the next call of any method.
    #[must_use]
    pub fn any(kind: FaultKind) -> Self {
        Self { method: None, nth: 1, kind }
    }

    /// Returns a fault of the next call of this method, by its Thrift name: `"mutateRowsTs"`.
    #[must_use]
    pub fn on(method: &str, kind: FaultKind) -> Self {
        Self { method: Some(method.to_owned()), ..Self::any(kind) }
    }

    /// Moves the fault to the n-th matching call from now; the next one is the first.
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

    /// Counts a call, and takes the fault that hits it: the first of several, while the others wait
    /// for the next call.
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
