//! What an index keeps and what its tables keep must be the same: HBase drops expired cells by their tables' settings, and
//! searches go by the index's. An index with texts needs a family for them as well.

use std::time::Duration;

use index::{Error, ErrorKind, Metadata, Result, Retention, TextKeeping};

use super::layout::{DOCUMENT_FAMILY, INDEX_FAMILY, TEXT_FAMILY};
use super::rows::{MasterWait, Rows, Table};

/// Refuses tables for a new index, as [`check`] does.
pub(super) fn check_new(rows: &dyn Rows, metadata: &Metadata) -> Result<()> {
    check(rows, metadata, true, MasterWait::Whole)
}

/// Refuses tables of an index that is there, as [`check`] does; but where no master answers, which
/// alone knows, they are taken as they are: reading and writing need none.
pub(super) fn check_opened(rows: &dyn Rows, metadata: &Metadata) -> Result<()> {
    match check(rows, metadata, false, MasterWait::Short) {
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            tracing::warn!(
                %error,
                "no master of HBase says how long the tables keep their cells, so that was not held against the index; \
                 reading and writing go on without it"
            );
            Ok(())
        }
        checked => checked,
    }
}

/// Refuses tables that keep their cells for another time than the index keeps its documents, or have no family for the texts
/// that it keeps.
fn check(rows: &dyn Rows, metadata: &Metadata, is_new: bool, wait: MasterWait) -> Result<()> {
    let retain = metadata.retain;
    let mut families = vec![(Table::Index, INDEX_FAMILY), (Table::Documents, DOCUMENT_FAMILY)];
    if metadata.texts != TextKeeping::None {
        if !rows.has_family(Table::Documents, TEXT_FAMILY, wait)? {
            return Err(no_family(rows, retain, is_new));
        }
        families.push((Table::Documents, TEXT_FAMILY));
    }
    let wanted = retain.map(|retain| Duration::from_secs(retain.as_seconds().into()));
    let mut mending = Vec::new();
    let mut found = None;
    for (table, family) in families {
        let time_to_live = rows.time_to_live(table, family, wait)?;
        if time_to_live != wanted {
            found = Some(time_to_live);
            let (name, family) = (rows.name(table), char::from(family));
            mending.push(format!("alter '{name}', {{NAME => '{family}', TTL => {}}}", ttl(retain)));
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

/// The time to live of a family, as HBase's shell has it.
fn ttl(retain: Option<Retention>) -> String {
    retain.map_or("'FOREVER'".to_owned(), |retain| retain.as_seconds().to_string())
}

/// The error where the index keeps texts and its tables have no family for them.
fn no_family(rows: &dyn Rows, retain: Option<Retention>, is_new: bool) -> Error {
    let choice = if is_new { "make the index with --texts none, or " } else { "" };
    let name = rows.name(Table::Documents);
    Error::new(
        ErrorKind::Mismatch,
        format!(
            "the index keeps the texts of its documents, and {name} has no family for them; {choice}run in the HBase shell: {}",
            add_family(name, retain)
        ),
    )
}

/// The command that adds the family of texts to a table of documents, with the settings of `schema/create.rb`.
pub(super) fn add_family(name: &str, retain: Option<Retention>) -> String {
    format!(
        "alter '{name}', {{NAME => '{}', DATA_BLOCK_ENCODING => 'FAST_DIFF', BLOCKSIZE => '16384', BLOCKCACHE => 'false', \
         TTL => {}}}",
        char::from(TEXT_FAMILY),
        ttl(retain)
    )
}
