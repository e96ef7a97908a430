//! Tables and texts that are not read, and the commands that convert them.

use super::format::Format;

/// Feather before it was a file of Arrow.
pub(super) const FEATHER: &str = "Feather of the first version";

/// Text of four bytes a character.
pub(super) const UTF_32: &str = "text in UTF-32";

/// Contents that are not read, by name, each with its ending and the command that converts it.
const CONVERTED: [(&str, &str, &str); 4] = [
    (
        "ORC",
        ".orc",
        "python3 -c 'import pyarrow.orc as o, pyarrow.parquet as p; p.write_table(o.read_table(\"a.orc\"), \"a.parquet\")'",
    ),
    (
        "Avro",
        ".avro",
        "duckdb -c \"INSTALL avro; LOAD avro; COPY (FROM read_avro('a.avro')) TO 'a.parquet'\"",
    ),
    (
        FEATHER,
        "",
        "python3 -c 'import pyarrow.feather as f; f.write_feather(f.read_table(\"a.feather\"), \"b.feather\")'",
    ),
    (UTF_32, "", "iconv -f UTF-32 -t UTF-8 a.txt >b.txt"),
];

/// Returns the name of a kind of table that is not read, and the command that converts it, by the
/// ending of a file name.
pub(super) fn conversion(name: &str) -> Option<(&'static str, &'static str)> {
    let name = name.to_ascii_lowercase();
    let (stem, _) = Format::split_packing(&name);
    let found = CONVERTED.iter().find(|(_, ending, _)| !ending.is_empty() && stem.ends_with(ending));
    found.map(|(what, _, command)| (*what, *command))
}

/// Returns the command that converts what is not read.
pub(super) fn command(what: &str) -> Option<&'static str> {
    CONVERTED.iter().find(|table| table.0 == what).map(|table| table.2)
}
