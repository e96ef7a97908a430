//! Stops a run whose records are all rejected for one reason: the field or the format is wrong.

use std::error::Error;
use std::fmt;

use corpus::Fields;

use crate::numbers::Grouped;

/// Records after which such a run stops.
const RECORDS: u64 = 1000;

/// The rejections from the first record on.
pub(super) struct Alike {
    /// `None` once a record was read, or another reason was met.
    n: Option<u64>,
    /// Without what differs from record to record.
    reason: Option<String>,
}

/// The error of a stopped run.
#[derive(Debug)]
pub(crate) struct RejectedAlike {
    reason: String,
    suggested: Option<String>,
}

impl Alike {
    /// Counts from a checkpoint with `n` records on, all of them rejected.
    pub(super) fn after(n: u64) -> Self {
        Self { n: (n <= RECORDS).then_some(n), reason: None }
    }

    /// Counts nothing.
    pub(super) fn off() -> Self {
        Self { n: None, reason: None }
    }

    pub(super) fn read(&mut self) {
        self.n = None;
    }

    /// Fails after the last of the first records.
    pub(super) fn rejected(&mut self, reason: &str, fields: &Fields) -> Result<(), RejectedAlike> {
        let Some(n) = &mut self.n else { return Ok(()) };
        *n += 1;
        let kind = reason.split("; ").next().unwrap_or_default();
        if self.reason.get_or_insert_with(|| kind.to_owned()) != kind {
            self.n = None;
        } else if *n >= RECORDS {
            let suggested = fields.suggested().map(str::to_owned);
            return Err(RejectedAlike { reason: reason.to_owned(), suggested });
        }
        Ok(())
    }
}

impl fmt::Display for RejectedAlike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, suggested } = self;
        // The help at the end of the reason is said better by the flags.
        let (reason, help) = match (suggested, reason.rsplit_once("; ")) {
            (Some(flags), cut) => (cut.map_or(&**reason, |(reason, _)| reason), format!("; give {flags}")),
            (None, _) => (&**reason, String::new()),
        };
        let n = Grouped(RECORDS);
        write!(
            f,
            "each of the first {n} records was rejected: {reason}{help}, or --keep-going to read on; "
        )?;
        f.write_str("outputs are left as they were")
    }
}

impl Error for RejectedAlike {}
