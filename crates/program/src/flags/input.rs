//! Flags for the inputs of the programs. [`FileArgs`], [`RecordArgs`] and [`IdArgs`] are apart, so
//! a program can have its own flags among them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use corpus::{
    Digits, FieldPath, Format, InputOptions, PageText, Quote, RECORD_BYTES_MAX, RecordOptions, TableOptions,
    TextEncoding, WAIT, WINDOW_LOG_MAX,
};

/// Flags that name the files to read.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct FileArgs {
    /// Files, folders, globs in quotes ('crawl/*.jsonl.gz'), s3:// gs:// hdfs:// http(s)://; -
    /// reads standard input
    ///
    /// They are read in the order given: of a folder every file whose name says a known format
    /// (--format has the list), also in the folders inside, and of a glob every match, both sorted
    /// by name. The other files of a folder are left out, counted by how their names end, and what
    /// Spark and others write beside their data (_SUCCESS, _temporary, .crc); names that begin with
    /// a dot are passed over. Of a Delta table the files count that its log names. An empty file
    /// has no record; an empty text or page is a document without features. Files may be packed
    /// with gzip, zstd or bzip2, which is told by their content. Archives (.tar .tgz .tar.zst .zip)
    /// are read member by member, each as a file of its own.
    ///
    /// s3://BUCKET/KEY takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN,
    /// AWS_REGION, AWS_ENDPOINT_URL, gs:// GOOGLE_APPLICATION_CREDENTIALS, hdfs://HOST:PORT/PATH
    /// HADOOP_CONF_DIR and HADOOP_USER_NAME from the environment. AWS_SKIP_SIGNATURE=true and
    /// GOOGLE_SKIP_SIGNATURE=true read what is public. On the web an address is one file.
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read these too: a file that names files and folders, one a line; - for a list on standard
    /// input
    #[arg(long, value_name = "LIST")]
    pub files_from: Option<PathBuf>,
    /// Seconds to go on trying when a file that lies elsewhere breaks off, before the rest of it is
    /// rejected
    #[arg(long, value_name = "N", default_value_t = WAIT.as_secs(), env = "PIGEONHOLE_INPUT_WAIT_SECONDS")]
    pub input_wait_seconds: u64,
}

/// Flags about records of any source.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct RecordArgs {
    #[command(flatten)]
    form: FormArgs,
    /// The field that holds a document's text; several, with commas between them, are joined by
    /// line breaks
    ///
    /// One of several may be null or missing, which counts as empty. messages[*].content joins the
    /// elements of a list. A page (HTML, WARC) has the fields title and text; any other name is its
    /// text, too.
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "text",
        value_delimiter = ',',
        env = "PIGEONHOLE_TEXT_FIELD"
    )]
    text_field: Vec<FieldPath>,
    #[command(flatten)]
    tables: TableArgs,
    #[command(flatten)]
    bound: BoundArgs,
}

/// Flags about records without a text.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct TextlessArgs {
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    tables: TableArgs,
    #[command(flatten)]
    bound: BoundArgs,
}

/// Flags about the format of the inputs and the id of a record.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Input")]
struct FormArgs {
    /// Format of the inputs [default: by the end of a name, else by how it begins, else jsonl]
    ///
    /// .jsonl .ndjson .json are jsonl, .csv csv, .tsv tsv, .parquet parquet, .txt .text .md
    /// .markdown .rst text, .html .htm .xhtml html, .warc .wet warc; .gz .zst .bz2 may follow. With
    /// this, every file of a folder is read. A file that plainly is something else, by how it
    /// begins, is not read: refused where it was named itself, and else one rejected record.
    #[arg(long, value_name = "FORMAT", env = "PIGEONHOLE_FORMAT", value_parser = format())]
    format: Option<Format>,
    /// The field that holds a document's id, a string or an integer: a name, or a JSON pointer as
    /// /meta/id [default: id]
    ///
    /// meta.id leads there, too, unless a field is called that, and messages[0].id into a list; of
    /// Parquet UUIDs, whole decimals and bytes will do, in hexadecimal digits what is no text.
    ///
    /// In WARC the fields are those of a record's header, and the default is WARC-Record-ID,
    /// without its brackets: a page that was fetched twice has WARC-Target-URI twice.
    #[arg(long, value_name = "FIELD", env = "PIGEONHOLE_ID_FIELD")]
    id_field: Option<FieldPath>,
}

/// Text that is taken of HTML pages.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct PageArgs {
    /// Text that is taken of HTML pages, also those in WARC
    ///
    /// The same text in another page, beside other navigation, is a near-duplicate by its main text
    /// alone. What is short or a list has none; its page is taken whole, and counted.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = PageText::default().name(),
        env = "PIGEONHOLE_HTML",
        value_parser = page_text()
    )]
    pub html: PageText,
}

/// Flags about the form of tables of text.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Input")]
struct TableArgs {
    /// Character between the cells of CSV and TSV, or tab [default: told by the first rows]
    #[arg(long, value_name = "CHAR", env = "PIGEONHOLE_DELIMITER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Quote around cells of CSV and TSV, or none [default: " in CSV; in TSV where its first rows
    /// are quoted]
    ///
    /// A row with a quote that does not close is rejected with its line, and rows after it are
    /// read. Backslashes escape quotes where the first rows do not fit otherwise.
    #[arg(long, value_name = "CHAR", env = "PIGEONHOLE_QUOTE")]
    quote: Option<Quote>,
    /// Encoding of CSV, TSV, JSON Lines and texts, as gb18030 or windows-1252 [default: told by the
    /// bytes; JSON Lines are in UTF-8, or begin with a byte order mark]
    #[arg(long, value_name = "NAME", env = "PIGEONHOLE_ENCODING")]
    encoding: Option<TextEncoding>,
}

impl From<TableArgs> for TableOptions {
    fn from(args: TableArgs) -> Self {
        let TableArgs { delimiter, quote, encoding } = args;
        Self { delimiter, quote, encoding }
    }
}

/// Parses a delimiter: an ASCII character, or a name of the tab.
fn delimiter(given: &str) -> Result<u8, &'static str> {
    match given.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | b'"') => Ok(*byte),
        _ => Err("a delimiter is one ASCII character, or tab"),
    }
}

/// Bounds on memory.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Input")]
struct BoundArgs {
    /// Reject a record longer than this many bytes, which bounds memory
    #[arg(long, value_name = "BYTES", default_value_t = RECORD_BYTES_MAX, env = "PIGEONHOLE_RECORD_BYTES_MAX")]
    record_bytes_max: usize,
    /// Reject what zstd packed with a window of more than 2^N bytes (zstd --long=N), which bounds
    /// memory
    ///
    /// Reading takes as much memory as the window of a file, for each file that is read at a time.
    /// What zstd writes without --long has windows of at most 2^27 bytes.
    #[arg(
        long,
        value_name = "N",
        default_value_t = WINDOW_LOG_MAX,
        env = "PIGEONHOLE_ZSTD_WINDOW_LOG_MAX",
        value_parser = clap::value_parser!(u32).range(10..=i64::from(WINDOW_LOG_MAX))
    )]
    zstd_window_log_max: u32,
}

/// Treatment of records without an id.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct IdArgs {
    /// Give a record without an id one: its file and the number of its (first) line or row, as
    /// news/a.jsonl:17
    ///
    /// The file is its path below the folder that was named, or below the first wildcard of a glob,
    /// or its bare name, so that an id stays the same when the corpus lies elsewhere. In a list it
    /// is the path as it stands there.
    #[arg(long, env = "PIGEONHOLE_MAKE_IDS")]
    pub make_ids: bool,
}

/// Returns the words that give another command the same inputs, read in the same way: the arguments
/// of these flags, without those from the environment.
#[must_use]
pub fn input_words(matches: &ArgMatches) -> Vec<OsString> {
    let flags = FileArgs::augment_args(Command::new("inputs"));
    let flags = IdArgs::augment_args(PageArgs::augment_args(RecordArgs::augment_args(flags)));
    let mut words = Vec::new();
    for arg in flags.get_arguments() {
        let id = arg.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let values = matches.get_raw(id).into_iter().flatten();
        match arg.get_long() {
            None => words.extend(values.map(OsString::from)),
            Some(long) if arg.get_action().takes_values() => {
                words.extend(values.flat_map(|value| [format!("--{long}").into(), value.to_owned()]));
            }
            Some(long) => words.push(format!("--{long}").into()),
        }
    }
    words
}

impl FileArgs {
    /// Returns the options of these and the other flags.
    #[must_use]
    pub fn options(self, records: impl Into<RecordOptions>, ids: IdArgs) -> InputOptions {
        let Self { files, files_from, input_wait_seconds } = self;
        InputOptions {
            files,
            files_from,
            wait: Duration::from_secs(input_wait_seconds),
            copies: None,
            records: records.into(),
            make_ids: ids.make_ids,
        }
    }
}

impl RecordArgs {
    /// Returns the options of these flags.
    #[must_use]
    pub fn options(self) -> RecordOptions {
        let Self { form, text_field, tables, bound } = self;
        options(form, text_field, tables, bound)
    }
}

impl PageArgs {
    /// Returns the options of these and the flags about records.
    #[must_use]
    pub fn options(self, records: RecordArgs) -> RecordOptions {
        RecordOptions { html: self.html, ..records.options() }
    }
}

impl From<RecordArgs> for RecordOptions {
    fn from(args: RecordArgs) -> Self {
        args.options()
    }
}

impl From<TextlessArgs> for RecordOptions {
    fn from(args: TextlessArgs) -> Self {
        let TextlessArgs { form, tables, bound } = args;
        options(form, Vec::new(), tables, bound)
    }
}

fn options(form: FormArgs, text_field: Vec<FieldPath>, tables: TableArgs, bound: BoundArgs) -> RecordOptions {
    let FormArgs { format, id_field } = form;
    let BoundArgs { record_bytes_max, zstd_window_log_max } = bound;
    let (tables, html) = (tables.into(), PageText::default());
    RecordOptions { format, id_field, text_field, tables, record_bytes_max, zstd_window_log_max, html }
}

fn format() -> impl TypedValueParser<Value = Format> {
    let possible = |format: Format| {
        PossibleValue::new(format.name()).help(match format {
            Format::Jsonl => {
                "JSON Lines: one object a line; also an array of objects, or objects over many lines or in one"
            }
            Format::Csv => "Comma-separated values; the first row names the fields",
            Format::Tsv => "Tab-separated values",
            Format::Parquet => "Parquet, from files only",
            Format::Arrow => "Arrow: its stream, and its file, which is Feather",
            Format::Text => {
                "A file is a document: its path is the id, all of it the text, in any usual encoding"
            }
            Format::Html => "A file is a page: its path is the id, and its main text the text (--html)",
            Format::Warc => {
                "WARC and WET: HTML pages and plain texts, those with an HTTP answer where its status is 200"
            }
        })
    };
    let named = |name: String| Format::ALL.into_iter().find(|format| format.name() == name);
    PossibleValuesParser::new(Format::ALL.map(possible))
        .try_map(move |name| named(name).ok_or("the format is not known"))
}

/// The text that is taken of pages: `main` or `text`.
pub fn page_text() -> impl TypedValueParser<Value = PageText> {
    let possible = |html: PageText| {
        PossibleValue::new(html.name()).help(match html {
            PageText::Main => "The main text, without navigation, advertisements and the like, and the title",
            PageText::Text => "All that a reader sees",
        })
    };
    let named = |name: String| PageText::ALL.into_iter().find(|html| html.name() == name);
    PossibleValuesParser::new(PageText::ALL.map(possible))
        .try_map(move |name| named(name).ok_or("no such text is taken"))
}

/// The digits of fingerprints in records: `hex` or `decimal`.
pub fn digits() -> impl TypedValueParser<Value = Digits> {
    const HEX: &str = "hex";
    let hex = PossibleValue::new(HEX).help("16 hexadecimal digits");
    let decimal = PossibleValue::new("decimal").help("A decimal number, with a sign or without");
    PossibleValuesParser::new([hex, decimal])
        .map(|name| if name == HEX { Digits::Hex } else { Digits::Decimal })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        files: FileArgs,
        #[command(flatten)]
        records: RecordArgs,
        #[command(flatten)]
        pages: PageArgs,
        #[command(flatten)]
        ids: IdArgs,
    }

    fn options(args: &[&str]) -> InputOptions {
        let Program { files, records, pages, ids } = Program::parse_from([&["program"], args].concat());
        files.options(pages.options(records), ids)
    }

    #[test]
    fn flags_become_options() {
        let given = options(&[
            "a.jsonl",
            "s3://bucket/b",
            "--files-from=list",
            "--input-wait-seconds=5",
            "--format=csv",
            "--id-field=/meta/id",
            "--text-field=title,body",
            "--record-bytes-max=7",
            "--zstd-window-log-max=27",
            "--html=text",
            "--delimiter=tab",
            "--quote=none",
            "--encoding=latin1",
            "--make-ids",
        ]);
        assert_eq!(given.files, [PathBuf::from("a.jsonl"), PathBuf::from("s3://bucket/b")]);
        assert_eq!((given.files_from, given.wait), (Some("list".into()), Duration::from_secs(5)));
        let RecordOptions {
            format,
            id_field,
            text_field,
            tables,
            record_bytes_max,
            zstd_window_log_max,
            html,
        } = given.records;
        assert_eq!((tables.delimiter, tables.quote), (Some(b'\t'), Some(Quote::None)));
        assert_eq!(tables.encoding, "windows-1252".parse().ok());
        assert_eq!((format, id_field), (Some(Format::Csv), Some("/meta/id".parse().unwrap())));
        assert_eq!(text_field, ["title", "body"].map(|name| name.parse().unwrap()));
        assert_eq!((record_bytes_max, zstd_window_log_max), (7, 27));
        assert_eq!((html, given.make_ids), (PageText::Text, true));
        assert!(Program::try_parse_from(["program"]).is_err());
        for refused in [
            ["--format", "docx"],
            ["--delimiter", "ab"],
            ["--quote", "ab"],
            ["--encoding", "x"],
            ["--zstd-window-log-max", "9"],
            ["--zstd-window-log-max", "32"],
        ] {
            assert!(Program::try_parse_from([&["program", "a"][..], &refused].concat()).is_err());
        }
    }

    /// A program without a command line reads by the same defaults.
    #[test]
    fn what_is_not_given_is_as_in_the_library() {
        assert_eq!(format!("{:?}", options(&["a"])), format!("{:?}", InputOptions::of(["a"])));
    }
}
