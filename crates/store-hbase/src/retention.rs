//! Checks that an index and its tables keep documents for the same time: HBase drops expired cells
//! by the settings of the tables, and searches go by those of the index. An index with texts also
//! needs a family for them.

use std::time::Duration;

use index::{Error, ErrorKind, Metadata, Result, Retention, TextKeeping};

use super::layout::{DOCUMENT_FAMILY, INDEX_FAMILY, TEXT_FAMILY};
use super::rows::{MasterWait, Rows, Table};

/// Refuses tables for a new index, as [`check`] does.
pub(super) fn check_new(rows: &dyn Rows, metadata: &Metadata) -> Result<()> {
    check(rows, metadata, true, MasterWait::Whole)
}

/// Refuses tables of an existing index, as [`check`] does. Where no master answers, or tells this
/// user, the tables are taken as they are: the master alone knows their settings, it tells them to
/// those who may create or alter tables, and reading and writing need no master.
pub(super) fn check_opened(rows: &dyn Rows, metadata: &Metadata) -> Result<()> {
    match check(rows, metadata, false, MasterWait::Short) {
        Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::PermissionDenied) => {
            tracing::warn!(
                %error,
                "no master of HBase says how long the tables keep their cells, so that was not held against the index; \
                 reading and writing go on without it. A master tells it to a user with the right CREATE or ADMIN"
            );
            Ok(())
        }
        checked => checked,
    }
}

/// Refuses tables that keep their cells for another time than the index keeps its documents, and
/// tables without a family for the texts of an index with texts.
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

/// Returns the time to live of a family in the words of HBase's shell.
fn ttl(retain: Option<Retention>) -> String {
    retain.map_or("'FOREVER'".to_owned(), |retain| retain.as_seconds().to_string())
}

/// Returns the error of tables without a family for the texts that the index keeps.
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

/// Returns the command that adds the family of texts to a table of documents, with the settings of
/// `schema/create.rb`.
pub(super) fn add_family(name: &str, retain: Option<Retention>) -> String {
    format!(
        "alter '{name}', {{NAME => '{}', DATA_BLOCK_ENCODING => 'FAST_DIFF', BLOCKSIZE => '16384', BLOCKCACHE => 'false', \
         TTL => {}}}",
        char::from(TEXT_FAMILY),
        ttl(retain)
    )
}
