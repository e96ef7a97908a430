//! What an index keeps and what its tables keep must be the same: HBase drops expired cells by their tables' settings, and
//! searches go by the index's.

use std::time::Duration;

use index::{Error, ErrorKind, Result, Retention};

use super::rows::{Rows, Table};

/// Refuses tables that keep their cells for another time than the index keeps its documents.
pub(super) fn check(rows: &dyn Rows, retain: Option<Retention>, is_new: bool) -> Result<()> {
    let wanted = retain.map(|retain| Duration::from_secs(retain.as_seconds().into()));
    let mut mending = Vec::new();
    let mut found = None;
    for (table, family) in
        [(Table::Index, super::layout::INDEX_FAMILY), (Table::Documents, super::layout::DOCUMENT_FAMILY)]
    {
        let time_to_live = rows.time_to_live(table, family)?;
        if time_to_live != wanted {
            found = Some(time_to_live);
            let (name, family) = (rows.name(table), char::from(family));
            let ttl = wanted.map_or("'FOREVER'".to_owned(), |wanted| wanted.as_secs().to_string());
            mending.push(format!("alter '{name}', {{NAME => '{family}', TTL => {ttl}}}"));
        }
    }
    let Some(found) = found else { return Ok(()) };
    let keeps = |retain: Option<Retention>| match retain {
        Some(retain) => format!("for {retain}"),
        None => "for good".to_owned(),
    };
    let found =
        found.and_then(|found| Retention::from_seconds(u32::try_from(found.as_secs()).unwrap_or(u32::MAX)));
    let choice = if is_new { "say with --retain how long the new index keeps them, or " } else { "" };
    Err(Error::new(
        ErrorKind::Mismatch,
        format!(
            "the index keeps its documents {} and the tables of HBase keep their cells {}; {choice}run in the HBase shell: {}",
            keeps(retain),
            keeps(found),
            mending.join("; "),
        ),
    ))
}
