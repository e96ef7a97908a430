//! Faults, and the calls hit by them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Cluster;

/// A fault in some calls.
#[derive(Clone, Debug)]
pub struct Fault {
    method: Option<String>,
    server: Option<usize>,
    nth: u64,
    n_times: u64,
    kind: FaultKind,
}

/// An action of a test in the middle of a call.
type Deed = Arc<dyn Fn(&Cluster) + Send + Sync>;

/// A test's change of an answer, which includes the length before it.
type Rewrite = Arc<dyn Fn(Vec<u8>) -> Vec<u8> + Send + Sync>;

/// The kind of a fault. Kinds called `After` execute the call first.
#[derive(Clone)]
pub enum FaultKind {
    /// An exception of this class, without the package of HBase; nothing is executed.
    Exception(&'static str),
    /// The same, and the server says not to try again.
    FinalException(&'static str),
    /// The call is executed, and answered with an exception of this class.
    ExceptionAfter(&'static str),
    /// In a `Multi`, the action of this number, counted from 0 through all regions, is answered
    /// with an exception of this class, and not executed. An action with a condition takes its
    /// whole region action with it, as in HBase.
    Action(usize, &'static str),
    /// In a `Multi`, so many actions are executed, and the call is answered with an exception of
    /// this class: batches are not atomic.
    ExceptionAfterActions(usize, &'static str),
    /// In a `Multi`, all actions on the region of this number are answered with one exception, and
    /// none is executed.
    Region(usize, &'static str),
    /// A `Scan` is answered without rows, as by a server that is still at work.
    Heartbeat,
    /// The call is executed this much later.
    Delay(Duration),
    /// The connection is closed and nothing done.
    Close,
    /// The call is executed and the connection closed without an answer.
    CloseAfter,
    /// The call is executed, the answer is sent without so many of its last bytes, and the
    /// connection is closed.
    CutAfter(usize),
    /// The call is executed, these bytes are sent in place of the answer, and the connection stays
    /// open.
    GarbageAfter(Vec<u8>),
    /// The call is executed, and a test's change of the answer is sent in its place.
    RewriteAfter(Rewrite),
    /// Nothing is done and this call is never answered.
    Stall,
    /// The call is executed and never answered.
    StallAfter,
    /// A test acts on the cluster, then the call is executed as usual.
    Do(Deed),
}

impl fmt::Debug for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Exception(class) => return write!(f, "Exception({class})"),
            Self::FinalException(class) => return write!(f, "FinalException({class})"),
            Self::ExceptionAfter(class) => return write!(f, "ExceptionAfter({class})"),
            Self::Action(place, class) => return write!(f, "Action({place}, {class})"),
            Self::ExceptionAfterActions(n, class) => return write!(f, "ExceptionAfterActions({n}, {class})"),
            Self::Region(place, class) => return write!(f, "Region({place}, {class})"),
            Self::Delay(time) => return write!(f, "Delay({time:?})"),
            Self::CutAfter(n) => return write!(f, "CutAfter({n})"),
            Self::GarbageAfter(bytes) => return write!(f, "GarbageAfter({} bytes)", bytes.len()),
            Self::RewriteAfter(_) => "RewriteAfter",
            Self::Heartbeat => "Heartbeat",
            Self::Close => "Close",
            Self::CloseAfter => "CloseAfter",
            Self::Stall => "Stall",
            Self::StallAfter => "StallAfter",
            Self::Do(_) => "Do",
        };
        f.write_str(name)
    }
}

impl Fault {
    /// Creates a fault of the next call of any method.
    #[must_use]
    pub fn any(kind: FaultKind) -> Self {
        Self { method: None, server: None, nth: 1, n_times: 1, kind }
    }

    /// Creates a fault of the next call of this method, such as `"Scan"`. A `"Multi"` goes by the
    /// names `"CheckAndMutate"`, `"Mutate"` or `"Get"`, too, by the first of these that is in it.
    #[must_use]
    pub fn on(method: &str, kind: FaultKind) -> Self {
        Self { method: Some(method.to_owned()), ..Self::any(kind) }
    }

    /// Creates a fault that acts on the cluster before the next call of this method is executed.
    #[must_use]
    pub fn before(method: &str, deed: impl Fn(&Cluster) + Send + Sync + 'static) -> Self {
        Self::on(method, FaultKind::Do(Arc::new(deed)))
    }

    /// Creates a fault that changes the answer to the next call, including the length before it.
    #[must_use]
    pub fn rewrite(rewrite: impl Fn(Vec<u8>) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::any(FaultKind::RewriteAfter(Arc::new(rewrite)))
    }

    /// Limits the fault to calls of this method.
    #[must_use]
    pub fn of(self, method: &str) -> Self {
        Self { method: Some(method.to_owned()), ..self }
    }

    /// Hits the n-th matching call from now; the next call is the first.
    #[must_use]
    pub fn nth(self, nth: u64) -> Self {
        Self { nth: nth.max(1), ..self }
    }

    /// Hits so many matching calls, one after another.
    #[must_use]
    pub fn times(self, n_times: u64) -> Self {
        Self { n_times: n_times.max(1), ..self }
    }

    /// Limits the fault to calls of this region server; the master is none.
    #[must_use]
    pub fn at(self, server: usize) -> Self {
        Self { server: Some(server + 1), ..self }
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

    /// Counts a call, and takes the first fault that hits it. Other faults wait for the next call.
    pub(super) fn hit(&mut self, methods: &[&str], server: usize) -> Option<FaultKind> {
        let mut hit = None;
        for (place, fault) in self.0.iter_mut().enumerate() {
            if fault.method.as_deref().is_some_and(|wanted| !methods.contains(&wanted))
                || fault.server.is_some_and(|wanted| wanted != server)
            {
                continue;
            }
            fault.nth = fault.nth.saturating_sub(1);
            if fault.nth == 0 && hit.is_none() {
                hit = Some(place);
            }
        }
        let fault = &mut self.0[hit?];
        let kind = fault.kind.clone();
        fault.n_times -= 1;
        if fault.n_times == 0 {
            self.0.remove(hit?);
        }
        Some(kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counts_its_own_calls() {
        let mut faults = Faults::default();
        faults.push(Fault::on("Scan", FaultKind::Close).nth(2));
        faults.push(Fault::any(FaultKind::Stall).nth(3).times(2));
        faults.push(Fault::on("Scan", FaultKind::Heartbeat).at(1));
        let mut hit = |method, server| faults.hit(&[method], server).map(|kind| format!("{kind:?}"));
        assert_eq!(hit("Scan", 1), None);
        assert_eq!(hit("Multi", 1), None);
        assert_eq!(hit("Scan", 1).as_deref(), Some("Close"));
        assert_eq!(hit("Multi", 1).as_deref(), Some("Stall"));
        assert_eq!(hit("Multi", 2).as_deref(), Some("Stall"));
        assert_eq!(hit("Scan", 1), None);
        assert_eq!(hit("Scan", 2).as_deref(), Some("Heartbeat"));
        assert_eq!(faults.len(), 0);
    }
}
