//! The script for HBase's own shell that backs an index up: a snapshot of each table, and how the
//! snapshots are copied and cloned.

use index::{BackupScript, Timestamp};

use super::rows::{Table, TableNames};
use super::uri::HbaseUri;

impl BackupScript for HbaseUri {
    fn script(&self, at: Timestamp, to: &str) -> String {
        script(&self.name, at, to)
    }
}

/// Makes the script for the index `name`. The snapshots have the time `at` in their names; their
/// copies go to `to`.
///
/// The documents come first. A document's cells are written before its record and deleted after it,
/// so a record in the first snapshot has its cells in the second, unless it was removed or replaced
/// between: then it comes back without some of its cells, and only a repair makes searches find it.
fn script(name: &str, at: Timestamp, to: &str) -> String {
    let names = TableNames::new(name);
    let tables = [Table::Documents, Table::Index].map(|table| names.of(table));
    let documents = names.of(Table::Documents);
    let stamp: String = at.to_string().chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    let pairs = tables.map(|table| (table, format!("{}-{stamp}", table.replace(':', "."))));
    let lines = |of: &dyn Fn(&str, &str) -> String| -> String {
        pairs.iter().map(|(table, snapshot)| of(table, snapshot) + "\n").collect()
    };
    format!(
        "# A backup of the index {name}, for HBase's shell. The documents come first; a document that is removed\n\
         # or replaced between the two snapshots comes back as it was before, and searches may miss it until\n\
         # `pigeonhole repair --apply` has run.\n\
         {}\n\
         # To copy the snapshots to another place, on a machine with HBase's own start script:\n\
         {}\n\
         # To restore the index, where its tables are not there any more, in HBase's shell; then run\n\
         # `pigeonhole repair --apply`. The last line ends the tiers that were filled before:\n\
         {}\
         #   put '{documents}', 'pigeonhole', 'm:older', \"restored {stamp} #{{Time.now.to_f}}\"\n",
        lines(&|table, snapshot| format!("snapshot '{table}', '{snapshot}'")),
        lines(&|_, snapshot| {
            let quoted = to.replace('\'', r"'\''");
            format!("#   hbase snapshot export -snapshot '{snapshot}' -copy-to '{quoted}'")
        }),
        lines(&|table, snapshot| format!("#   clone_snapshot '{snapshot}', '{table}'")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_names_both_tables() {
        let script = script("crawl:news", Timestamp::saturating(1_795_641_222_438), "s3a://b/it's");
        for part in ["removed\n# or replaced between", "then run\n# `pigeonhole repair --apply`."] {
            assert!(script.contains(part), "{script}");
        }
        let lines: Vec<&str> = script.lines().filter(|line| line.contains("'crawl")).collect();
        assert_eq!(
            lines,
            [
                "snapshot 'crawl:news_docs', 'crawl.news_docs-20261125T211342438Z'",
                "snapshot 'crawl:news', 'crawl.news-20261125T211342438Z'",
                r"#   hbase snapshot export -snapshot 'crawl.news_docs-20261125T211342438Z' -copy-to 's3a://b/it'\''s'",
                r"#   hbase snapshot export -snapshot 'crawl.news-20261125T211342438Z' -copy-to 's3a://b/it'\''s'",
                "#   clone_snapshot 'crawl.news_docs-20261125T211342438Z', 'crawl:news_docs'",
                "#   clone_snapshot 'crawl.news-20261125T211342438Z', 'crawl:news'",
                concat!(
                    "#   put 'crawl:news_docs', 'pigeonhole', 'm:older', ",
                    r##""restored 20261125T211342438Z #{Time.now.to_f}""##
                ),
            ]
        );
    }
}
