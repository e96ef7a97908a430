//! The scripts in `schema/`, run by HBase's shell on a real HBase: what they make, refuse and show. A run of the shell
//! takes seconds, so each test asks all its questions in one or two.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use index::{DocumentId, Index, OpenOptions};
use serde_json::Value;
use simhash::{Fingerprint, RowKey, SCHEME_NAMES, TableScheme};

use crate::corpora::{corpora, fingerprints};
use crate::support::{Hbase, Random, hbase, news, root, run};

/// Defines `say`, which prints lines under a name; `ask`, which loads one of the scripts with some variables and says what
/// it printed; and `tables`, the names of all tables of that prefix.
const PRELUDE: &str = r#"
require 'stringio'
HC = Java::OrgApacheHadoopHbaseClient
TN = Java::OrgApacheHadoopHbase::TableName
$connection = TOPLEVEL_BINDING.receiver.instance_variable_get(:@hbase).instance_variable_get(:@connection)
def ask(name, script, variables)
  ENV.update(variables)
  $stdout = StringIO.new
  failed = begin load("schema/#{script}.rb"); nil; rescue StandardError => e; e; end
  text, $stdout = $stdout.string, STDOUT
  variables.each_key { |variable| ENV.delete(variable) }
  trace = failed && failed.class.name !~ /Refused/ ? failed.backtrace.first(5) : []
  say(name, text, failed ? "ERROR #{failed.message}" : [], trace)
  text
end
def say(name, *lines)
  puts "@@ #{name}", lines, '@@'
end
def tables(prefix)
  $connection.getAdmin.listTableNames.map(&:getNameAsString).select { |name| name.start_with?(prefix) }.sort
end
def table(name)
  $connection.getTable(TN.valueOf(name))
end
"#;

/// What a script said, by name.
fn answers(hbase: &Hbase, name: &str, script: &str) -> BTreeMap<String, Vec<String>> {
    let printed = hbase.shell_text(name, &format!("{PRELUDE}{script}")).expect(0).stdout;
    let mut answers = BTreeMap::new();
    // What is printed outside, such as how long a command took, is the shell's own.
    let mut name: Option<&str> = None;
    for line in printed.lines().filter(|line| !line.is_empty()) {
        if line == "@@" {
            name = None;
        } else if let Some(begun) = line.strip_prefix("@@ ") {
            name = Some(begun);
            assert!(answers.insert(begun.to_owned(), Vec::new()).is_none(), "two answers are named {begun}");
        } else if let Some(lines) = name.and_then(|name| answers.get_mut(name)) {
            lines.push(line.to_owned());
        }
    }
    answers
}

#[track_caller]
fn check(answers: &BTreeMap<String, Vec<String>>, name: &str, expected: &[&str]) {
    assert_eq!(answers[name], expected, "{name}");
}

/// One line, an error that holds `part`.
#[track_caller]
fn check_refused(answers: &BTreeMap<String, Vec<String>>, name: &str, part: &str) {
    let lines = &answers[name];
    assert!(
        lines.len() == 1 && lines[0].starts_with("ERROR ") && lines[0].contains(part),
        "{name}: {lines:?}"
    );
}

#[test]
fn splits_are_those_of_the_library() {
    let Some(hbase) = hbase() else { return };
    const N_REGIONS: [u32; 6] = [1, 2, 3, 16, 97, 1000];
    let mut script = String::new();
    for name in SCHEME_NAMES {
        for n_regions in N_REGIONS {
            let variables = format!("'SCHEME' => '{name}', 'REGIONS' => '{n_regions}', 'DRY_RUN' => '1'");
            writeln!(script, "ask('{name} {n_regions}', 'create', 'TABLE' => 'never', {variables})").unwrap();
        }
    }
    script.push_str("say 'tables', tables('never')\n");
    let answers = answers(hbase, "splits", &script);
    check(&answers, "tables", &[]);
    for name in SCHEME_NAMES {
        let scheme: TableScheme = name.parse().unwrap();
        for n_regions in N_REGIONS {
            let lines = &answers[&format!("{name} {n_regions}")];
            let splits = lines.iter().filter_map(|line| line.trim().strip_prefix("splits "));
            let splits: Vec<Vec<&str>> = splits.map(|splits| splits.split(' ').collect()).collect();
            let of_index: Vec<String> =
                scheme.splits(n_regions).unwrap().iter().map(|segment| format!("{segment:08x}")).collect();
            let n_regions_docs = n_regions.div_ceil(4);
            let of_documents: Vec<String> = (1..n_regions_docs)
                .map(|i| format!("{:04x}", (i * 0x1_0000).div_ceil(n_regions_docs)))
                .collect();
            // A table of one region has no line.
            let expected = [of_index, of_documents].into_iter().filter(|splits| !splits.is_empty());
            assert_eq!(splits, expected.collect::<Vec<_>>(), "{name}, {n_regions} regions");
        }
    }
}

/// The settings on which searches or other programs' writes depend, as HBase itself tells them.
const DESCRIBE: &str = r##"
def describe_all(name)
  there = $connection.getAdmin.getDescriptor(TN.valueOf(name))
  values = there.getValues.map { |key, value| "#{key} = #{value}" }.select { |line| line =~ /split_restriction/ }.sort
  families = there.getColumnFamilies.map do |f|
    prefix = f.getConfigurationValue('RowPrefixBloomFilter.prefix_length')
    "#{f.getNameAsString}: versions #{f.getMaxVersions}, #{f.getDataBlockEncoding}, bloom #{f.getBloomFilterType} #{prefix}, " \
      "block #{f.getBlocksize}, #{f.getCompressionType}, ttl #{f.getTimeToLive}, in memory #{f.isInMemory}"
  end
  starts = $connection.getRegionLocator(TN.valueOf(name)).getStartKeys
  say "describe #{name}", values, families, starts.map { |key| String.from_java_bytes(key).unpack('H*').first }.join(' ')
end
"##;

#[test]
fn tables_are_made_found_again_and_never_altered() {
    let Some(hbase) = hbase() else { return };
    let script = r#"
ask('dry', 'create', 'TABLE' => 'made', 'DRY_RUN' => '1', 'REGIONS' => '8')
say 'after dry', tables('made')
ask('made', 'create', 'TABLE' => 'made', 'REGIONS' => '8')
describe_all('made')
describe_all('made_docs')
ask('again', 'create', 'TABLE' => 'made')
# Another time to live: refused, and the commands that are named mend it.
text = ask('other', 'create', 'TABLE' => 'made', 'TTL' => '36h')
text.scan(/to change: (.*)$/) { |command| eval(command.first) }
ask('mended', 'create', 'TABLE' => 'made', 'TTL' => '36h')
# What nobody may change is told, too, and mended.
alter 'made', {NAME => 'f', VERSIONS => 3, BLOOMFILTER => 'ROW'}, {METHOD => 'table_att_unset', NAME => 'hbase.regionserver.region.split_restriction.type'}
alter 'made_docs', {NAME => 'm', TTL => 60}
text = ask('harmed', 'create', 'TABLE' => 'made', 'TTL' => '129600')
text.scan(/to change: (.*)$/) { |command| eval(command.first) }
ask('unharmed', 'create', 'TABLE' => 'made', 'TTL' => '2160m')
# By hand: the commands can be run in their order.
create 'byhand', 'f'
create 'byhand_docs', 'd', 'm'
text = ask('by hand', 'create', 'TABLE' => 'byhand')
text.scan(/to change: (.*)$/) { |command| eval(command.first) }
ask('mended by hand', 'create', 'TABLE' => 'byhand')
disable 'made'
ask('disabled', 'create', 'TABLE' => 'made', 'TTL' => '36h')
enable 'made'
# A run that broke off between the two.
disable 'made_docs'
drop 'made_docs'
ask('half', 'create', 'TABLE' => 'made', 'TTL' => '36h', 'DRY_RUN' => '1')
ask('whole', 'create', 'TABLE' => 'made', 'TTL' => '36h')
# A stranger's table.
create 'strange_docs', 'x', 'd'
ask('stranger', 'create', 'TABLE' => 'strange')
say 'strangers', tables('strange')
# An index that was opened keeps its scheme.
put 'made_docs', 'pigeonhole', 'm:metadata', '{"scheme": {"name": "t8"}}'
ask('scheme', 'create', 'TABLE' => 'made', 'TTL' => '36h')
ask('its scheme', 'create', 'TABLE' => 'made', 'TTL' => '36h', 'SCHEME' => 't8')
# The commands of a dry run, run in the shell, make the same tables.
settings = { 'TABLE' => 'pasted', 'SCHEME' => 't14', 'REGIONS' => '5', 'TTL' => '2d', 'COMPRESSION' => 'gz', 'BLOCKSIZE' => '32768' }
text = ask('dry pasted', 'create', settings.merge('DRY_RUN' => '1'))
text.scan(/^  (create .*)$/) { |command| eval(command.first) }
ask('pasted', 'create', settings)
describe_all('pasted')
describe_all('pasted_docs')
ask('no namespace', 'create', 'TABLE' => 'nowhere:made')
create_namespace 'somewhere'
ask('namespace', 'create', 'TABLE' => 'somewhere:made', 'REGIONS' => '1')
"#;
    let answers = answers(hbase, "create", &format!("{DESCRIBE}{script}"));

    assert!(answers["dry"].iter().any(|line| line == "would create made: 8 regions, split for scheme 5c2"));
    assert!(answers["dry"].iter().any(|line| line == "would create made_docs: 2 regions"));
    check(&answers, "after dry", &[]);
    check(
        &answers,
        "made",
        &["created made: 8 regions, split for scheme 5c2", "created made_docs: 2 regions"],
    );
    let there = ["made is there, with these settings", "made_docs is there, with these settings"];
    for name in ["again", "mended", "unharmed", "its scheme"] {
        check(&answers, name, &there);
    }

    let splits = |scheme: &str, n_regions| {
        let splits = scheme.parse::<TableScheme>().unwrap().splits(n_regions).unwrap();
        splits.iter().fold(String::new(), |line, segment| format!("{line} {segment:08x}"))
    };
    let whole_buckets = [
        "hbase.regionserver.region.split_restriction.prefix_length = 5",
        "hbase.regionserver.region.split_restriction.type = KeyPrefix",
    ];
    let forever = i32::MAX;
    let index = |more: &str| {
        format!("f: versions 1, FAST_DIFF, bloom ROWPREFIX_FIXED_LENGTH 5, {more}, in memory false")
    };
    let documents = |family: &str, more: &str| {
        format!("{family}: versions 1, FAST_DIFF, bloom ROW , {more}, in memory false")
    };
    let family = index(&format!("block 16384, NONE, ttl {forever}"));
    check(&answers, "describe made", &[&whole_buckets[..], &[&family, &splits("5c2", 8)]].concat());
    let more = format!("block 16384, NONE, ttl {forever}");
    // The starts of regions are bytes: 38303030 is the text 8000.
    check(&answers, "describe made_docs", &[&documents("d", &more), &documents("m", &more), " 38303030"]);
    let family = index("block 32768, GZ, ttl 172800");
    check(&answers, "describe pasted", &[&whole_buckets[..], &[&family, &splits("t14", 5)]].concat());
    let more = [
        documents("d", "block 32768, GZ, ttl 172800"),
        documents("m", &format!("block 32768, GZ, ttl {forever}")),
    ];
    check(&answers, "describe pasted_docs", &[&more[0], &more[1], " 38303030"]);
    check(
        &answers,
        "pasted",
        &[
            "pasted is there, with these settings",
            "pasted_docs is there, with these settings",
            "open the index the first time with --scheme t14",
        ],
    );

    check(
        &answers,
        "other",
        &[
            "made, family f: TTL is FOREVER, asked for is 129600; to change: alter 'made', {NAME => 'f', TTL => '129600'}",
            "made_docs, family d: TTL is FOREVER, asked for is 129600; to change: alter 'made_docs', {NAME => 'd', TTL => '129600'}",
            "ERROR made: 2 differences from what was asked for; nothing was changed",
        ],
    );
    let harmed = answers["harmed"].join("\n");
    for part in
        ["VERSIONS is 3", "BLOOMFILTER is ROW,", "split_restriction.type is not set", "family m: TTL is 60,"]
    {
        assert!(harmed.contains(part), "{part} is missing in {harmed}");
    }
    assert!(
        harmed.ends_with("ERROR made: 4 differences from what was asked for; nothing was changed"),
        "{harmed}"
    );
    assert!(answers["by hand"].join("\n").contains("BLOOMFILTER is ROW,"), "{:?}", answers["by hand"]);
    let by_hand = ["byhand is there, with these settings", "byhand_docs is there, with these settings"];
    check(&answers, "mended by hand", &by_hand);
    assert_eq!(answers["disabled"][0], "made is disabled; to mend: enable 'made'");
    assert!(answers["half"][1].starts_with("would create made_docs: 4 regions"), "{:?}", answers["half"]);
    check(&answers, "whole", &[there[0], "created made_docs: 4 regions"]);
    assert!(
        answers["stranger"][0].contains("has a family x, which is not ours"),
        "{:?}",
        answers["stranger"]
    );
    check(&answers, "strangers", &["strange_docs"]);
    check_refused(&answers, "scheme", "made is an index of scheme t8, asked for is 5c2");
    check_refused(&answers, "no namespace", "create_namespace 'nowhere'");
    check(
        &answers,
        "namespace",
        &["created somewhere:made: 1 region", "created somewhere:made_docs: 1 region"],
    );
}

#[test]
fn bad_parameters_make_nothing() {
    let Some(hbase) = hbase() else { return };
    let cases = [
        ("TABLE", "", "TABLE is missing"),
        ("TABLE", "a b", "TABLE \"a b\""),
        ("TABLE", "a:b:c", "at most one namespace"),
        ("TABLE", "-a", "TABLE \"-a\""),
        ("TABLE", "a'; drop 'b", "letters, digits"),
        ("TABLE", "hbase:meta", "HBase's own"),
        ("TABLE", "bad_docs", "a document table's"),
        ("SCHEME", "5C2", "5c2, 4c1, 4x4, t6, t8, t11, t14"),
        ("REGIONS", "0", "from 1 to 10000"),
        ("REGIONS", "10001", "from 1 to 10000"),
        ("REGIONS", "-1", "from 1 to 10000"),
        ("REGIONS", "a few", "from 1 to 10000"),
        ("TTL", "2w", "2d, 36h"),
        ("TTL", "0", "2d, 36h"),
        ("TTL", "24856d", "2d, 36h"),
        ("TTL", "forever", "2d, 36h"),
        ("COMPRESSION", "zip", "NONE"),
        ("COMPRESSION", "lzo", "GZ, SNAPPY"),
        ("BLOCKSIZE", "16k", "from 1024"),
        ("DRY_RUN", "yes", "1 or 0"),
    ];
    let mut script = String::new();
    for (i, (variable, value, _)) in cases.iter().enumerate() {
        writeln!(script, "ask('{i}', 'create', {{ 'TABLE' => 'bad' }}.merge('{variable}' => {value:?}))")
            .unwrap();
    }
    script.push_str("say 'tables', tables('bad')\n");
    let answers = answers(hbase, "refusals", &script);
    for (i, (_, _, part)) in cases.iter().enumerate() {
        check_refused(&answers, &i.to_string(), part);
    }
    check(&answers, "tables", &[]);

    // As an operator sees it: one line, and exit code 1.
    let refused =
        hbase.shell(&root().join("schema/create.rb"), &[("TABLE", "bad"), ("REGIONS", "0")]).expect(1);
    let lines: Vec<&str> = refused.stdout.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["ERROR PigeonholeCreate::Refused: REGIONS \"0\": a number from 1 to 10000"]);
}

/// A region never splits inside of a bucket: its next splits are at five bytes, though the rows there have thirteen.
#[test]
fn a_region_splits_between_buckets() {
    let Some(hbase) = hbase() else { return };
    let script = r#"
ask('made', 'create', 'TABLE' => 'halved', 'REGIONS' => '1')
puts_ = [[6, 200], [7, 4000]].flat_map do |segment, n|
  (0...n).map { |i| HC::Put.new([segment, 1, i << 40].pack('NCQ>').to_java_bytes).addColumn('f'.to_java_bytes, "d#{i}".to_java_bytes, ''.to_java_bytes) }
end
table('halved').put(java.util.ArrayList.new(puts_))
flush 'halved'
$connection.getAdmin.split(TN.valueOf('halved'))
starts = -> { $connection.getRegionLocator(TN.valueOf('halved')).getStartKeys.map { |key| String.from_java_bytes(key).unpack('H*').first } }
100.times { sleep 0.2 if starts.call.length == 1 }
say 'starts', starts.call.inspect
"#;
    let answers = answers(hbase, "restriction", script);
    check(&answers, "starts", &[r#"["", "0000000701"]"#]);
}

/// An index behind the gateway, its tables made by the script.
fn open(hbase: &Hbase, table: &str, scheme: &str, n_regions: u32) -> Index {
    let n_regions = n_regions.to_string();
    let variables = [("TABLE", table), ("SCHEME", scheme), ("REGIONS", &n_regions)];
    hbase.shell(&root().join("schema/create.rb"), &variables).expect(0);
    let options = OpenOptions {
        scheme: Some(scheme.to_owned()),
        recipe: [("segmenter", "jieba \"0.11\""), ("note", "é\u{1}")]
            .map(|(field, value)| (field.to_owned(), value.to_owned()))
            .into(),
        ..OpenOptions::default()
    };
    Index::open(&format!("hbase://{}/{table}", hbase.gateway), &options).unwrap()
}

fn id(text: &str) -> DocumentId {
    DocumentId::new(text).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs `inspect.rb` as an operator does; what it printed below each command, for commands that all succeed.
fn inspect(hbase: &Hbase, table: &str, commands: &[String]) -> Vec<Vec<String>> {
    // A comment would not do, as each command must be there for the others to be numbered by.
    let joined = format!("help\n{}", commands.join("\n"));
    let script = root().join("schema/inspect.rb");
    let printed = hbase.shell(&script, &[("TABLE", table), ("COMMAND", &joined)]).expect(0).stdout;
    assert!(!printed.chars().any(|c| c.is_control() && c != '\n'), "{printed:?}");
    let mut answers: Vec<Vec<String>> = Vec::new();
    for line in printed.lines() {
        match line.strip_prefix("> ") {
            Some(_) => answers.push(Vec::new()),
            None if line.is_empty() => {}
            None => answers.last_mut().expect("a command comes first").push(line.to_owned()),
        }
    }
    assert_eq!(answers.len(), commands.len() + 1, "{printed}");
    answers.remove(0);
    answers
}

/// `near`, by comparing with every document.
fn naive_near(documents: &[(DocumentId, Fingerprint)], query: Fingerprint, max_distance: u32) -> Vec<String> {
    let near = documents.iter().map(|(id, fingerprint)| (query.distance(*fingerprint), id, *fingerprint));
    let mut near: Vec<_> = near.filter(|(distance, ..)| *distance <= max_distance).collect();
    near.sort();
    near.iter().map(|(distance, id, fingerprint)| format!("{distance:>8}  {fingerprint}  {id}")).collect()
}

fn check_near(answer: &[String], expected: &[String], n_ghosts: u32, scheme: &TableScheme) {
    let (last, found) = answer[1..].split_last().unwrap();
    assert_eq!(found, expected, "{answer:#?}");
    let ghosts = format!("{n_ghosts} ghost{} left out", if n_ghosts == 1 { "" } else { "s" });
    let ranges = format!("read {} ranges", scheme.tables().len());
    assert!(last.contains(&ghosts) && last.contains(&ranges), "{last}");
}

#[test]
fn inspect_shows_what_the_store_has_written() {
    let Some(hbase) = hbase() else { return };
    let scheme = TableScheme::default();
    let index = open(hbase, "looked_at", "5c2", 4);
    let printed = run("indexer", ["fingerprint", "-q", news().to_str().unwrap()]).expect(0).stdout;
    let lines = printed.lines().map(|line| line.split_once('\t').unwrap());
    let mut documents: Vec<(DocumentId, Fingerprint)> =
        lines.filter_map(|(text, digits)| Some((id(text), digits.parse().ok()?))).collect();
    // Both ends of the key space, and of a bucket.
    documents.extend([(id("all ones, é"), Fingerprint(u64::MAX)), (id("zéros"), Fingerprint(0))]);
    index.insert(&documents).unwrap();
    let shared = documents.iter().find(|(id, _)| id.as_str() == "zh-bridge").unwrap().1;
    let gone = (id("gone"), Fingerprint(shared.0 ^ 1));
    index.insert(std::slice::from_ref(&gone)).unwrap();
    index.remove(&[gone.0]).unwrap();
    // Ghosts: a cell without a record, one of a removed document, one of a document that has another fingerprint now, and
    // one whose column is no id. And a record of a version to come.
    let ghosts = format!(
        r#"
segments = {:?}
fingerprint = 0x{shared}
segments.each_with_index do |segment, i|
  ['no record', 'gone', 'en-chess', "no\x01\xffid".b].each do |id|
    put = HC::Put.new([segment, i + 1, fingerprint].pack('NCQ>').to_java_bytes)
    table('looked_at').put(put.addColumn('f'.to_java_bytes, id.to_java_bytes, ''.to_java_bytes))
  end
end
put = HC::Put.new('ec03:later'.to_java_bytes)
table('looked_at_docs').put(put.addColumn('d'.to_java_bytes, 'record'.to_java_bytes, 'pending 00000000000000ff 1763735000123 lease=17 keys=02:0000000f'.to_java_bytes))
say 'crc', format('%04x', java.util.zip.CRC32.new.tap {{ |crc| crc.update('later'.to_java_bytes) }}.getValue >> 16)
"#,
        scheme.keys(shared).map(|key| key.segment).collect::<Vec<_>>()
    );
    let crc = &answers(hbase, "ghosts", &ghosts)["crc"][0];
    assert_eq!(crc, "ec03", "the row of the document `later`");

    let ones = Fingerprint(u64::MAX);
    let key = scheme.keys(shared).next().unwrap();
    let row = RowKey::new(key, shared).encode();
    let shell_form = row.iter().map(|byte| format!("\\x{byte:02X}")).collect::<String>();
    let mut commands: Vec<String> = ["info", "count"].map(str::to_owned).into();
    commands.extend([
        format!("key {}", hex(&row)),
        format!("key '{shell_form}'"),
        format!("bucket {} {:08x}", key.flag, key.segment),
        format!("rows {shared}"),
        format!("rows {shared} 5"),
        "doc 'all ones, é'".to_owned(),
        "doc gone".to_owned(),
        "doc later".to_owned(),
    ]);
    let n_other = commands.len();
    let queries =
        [(shared, 3), (shared, 0), (ones, 3), (Fingerprint(ones.0 ^ 0b111), 3), (Fingerprint(0), 2)];
    commands.extend(queries.map(|(fingerprint, distance)| format!("near {fingerprint} {distance}")));
    let answers = inspect(hbase, "looked_at", &commands);

    for (answer, (query, max_distance)) in answers[n_other..].iter().zip(queries) {
        let n_ghosts = if query == shared { 4 } else { 0 };
        check_near(answer, &naive_near(&documents, query, max_distance), n_ghosts, &scheme);
    }
    let [info, count, key_hex, key_shell, bucket, rows, some_rows, doc, removed, later] = &answers[..n_other]
    else {
        panic!("ten commands were asked first")
    };
    for line in [
        "scheme          5c2, finds all within 3 bits",
        r"  note       \xC3\xA9\x01",
        "  segmenter  jieba \"0.11\"",
    ] {
        assert!(info.iter().any(|printed| printed == line), "{line:?} is missing in {info:#?}");
    }
    let last = scheme.tables().last().unwrap();
    let expected = format!("{:>4}  {:>8}  {:016x}", last.flag(), last.key_bits(), last.mask());
    assert_eq!(info.last(), Some(&expected));

    // The ghosts lie in a row that a document has, and every fingerprint is counted once.
    let fingerprints: BTreeSet<Fingerprint> = documents.iter().map(|(_, fingerprint)| *fingerprint).collect();
    let expected: Vec<String> =
        (1..=10).map(|flag| format!("{flag:>4}  {:>10}", fingerprints.len())).collect();
    assert_eq!(count[2..12], expected);

    assert_eq!(key_hex, key_shell);
    assert_eq!(
        *key_hex,
        [
            format!("row          {}", hex(&row)),
            format!("segment      {:08x}", key.segment),
            format!("flag         {}", key.flag),
            format!("fingerprint  {shared}"),
            "scheme       5c2 files this fingerprint here".to_owned()
        ]
    );
    let in_bucket: BTreeSet<Fingerprint> =
        fingerprints.iter().copied().filter(|f| scheme.tables()[0].key(*f) == key).collect();
    assert!(bucket.last().unwrap().contains(&format!(" in {} row", in_bucket.len())), "{bucket:#?}");
    assert!(bucket.iter().any(|line| line.ends_with(r"no\x01\xFFid")), "{bucket:#?}");

    // Each row has the same six entries, in the order of their ids.
    let of_row: Vec<(&str, &str)> = rows[1..7].iter().map(|line| line[49..].split_at(7)).collect();
    let expected = [
        ("ghost  ", "  en-chess"),
        ("ghost  ", "  gone"),
        ("ghost  ", r"  no\x01\xFFid"),
        ("ghost  ", "  no record"),
        ("live   ", "  zh-bridge"),
        ("live   ", "  zh-bridge-copy"),
    ];
    assert_eq!(of_row, expected);
    assert_eq!(rows.last().unwrap(), "# 10 of 10 rows there; 40 ghosts among the entries");
    assert_eq!(rows.len(), 1 + 60 + 1);
    assert_eq!(some_rows.iter().filter(|line| line.ends_with("and more")).count(), 10, "{some_rows:#?}");

    let line = format!("fingerprint  {ones}");
    assert!(doc.contains(&line) && doc.contains(&"state        live".to_owned()), "{doc:#?}");
    let of_rows: Vec<String> = scheme
        .keys(ones)
        .map(|key| format!("{:>4}  {}  there", key.flag, hex(&RowKey::new(key, ones).encode())))
        .collect();
    assert_eq!(doc[7..17], of_rows);
    assert_eq!(doc.last().unwrap(), "# 10 of 10 rows there");
    assert!(removed.contains(&"state        removed".to_owned()), "{removed:#?}");
    for line in [
        "state        pending",
        "fingerprint  00000000000000ff",
        "timestamp    1763735000123  2025-11-21T14:23:20.123Z",
        "further      lease=17",
        "keys         listed in the record",
        "   2  0000000f0200000000000000ff  absent",
        "# 0 of 1 row there; a document that is pending has none that count",
    ] {
        assert!(later.iter().any(|printed| printed == line), "{line:?} is missing in {later:#?}");
    }
}

/// Keys of 32 bits: the first bytes of rows are above 7f, which a shell that took them for text would mangle.
#[test]
fn inspect_takes_the_masks_from_the_index() {
    let Some(hbase) = hbase() else { return };
    let scheme: TableScheme = "t14".parse().unwrap();
    let index = open(hbase, "wide", "t14", 3);
    let mut random = Random(14);
    let mut documents: Vec<(DocumentId, Fingerprint)> = Vec::new();
    for i in 0..200 {
        let near = documents.last().map_or(0, |(_, fingerprint)| fingerprint.0 ^ 1 << random.below(64));
        let fingerprint = if i % 3 == 0 { random.next() } else { near };
        documents.push((id(&format!("w{i:03}")), Fingerprint(fingerprint)));
    }
    index.insert(&documents).unwrap();
    let queries: Vec<Fingerprint> =
        documents.iter().step_by(20).map(|(_, fingerprint)| *fingerprint).collect();
    let mut commands: Vec<String> = queries.iter().map(|query| format!("near {query}")).collect();
    commands.push(format!("rows {}", queries[0]));
    let answers = inspect(hbase, "wide", &commands);
    for (answer, query) in answers.iter().zip(&queries) {
        check_near(answer, &naive_near(&documents, *query, 3), 0, &scheme);
    }
    let rows: Vec<&str> =
        answers[queries.len()][1..15].iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    let expected: Vec<String> =
        scheme.keys(queries[0]).map(|key| hex(&RowKey::new(key, queries[0]).encode())).collect();
    assert_eq!(rows, expected);
}

#[test]
fn inspect_says_in_one_line_what_is_wrong() {
    let Some(hbase) = hbase() else { return };
    let cases = [
        ("near 9e3779b97f4a7c15", "asked has no metadata yet"),
        ("doc nobody", "no document \"nobody\" in asked_docs"),
        ("use nothing; count", "no table nothing: schema/create.rb makes"),
        ("use 'a b'; count", "no name of a table"),
        ("use damaged; info", "the metadata of damaged are damaged"),
        ("use later; info", "later has format version 2, this script knows versions up to 1"),
        ("rows 9e37", "\"9e37\" is no fingerprint"),
        ("bucket 256 1", "\"256\" is no flag"),
        ("bucket 1 xyz", "\"xyz\" is no segment"),
        ("bucket 1 1 0", "\"0\" is no number"),
        ("use opened; bucket 11 1", "5c2 has no table with flag 11, only 1 to 10"),
        ("use opened; bucket 1 04000000", "have 26 bits: up to 03ffffff"),
        ("doc ''", "is no id"),
        ("key 00", "a row key has 13 bytes"),
        ("near", "usage: near FINGERPRINT [DISTANCE]"),
        ("scan", "unknown command \"scan\""),
        ("doc 'nobody", "a quotation mark is not closed"),
    ];
    open(hbase, "opened", "5c2", 1);
    let mut script = String::from(
        r#"
%w[asked damaged later].each { |name| ask("made #{name}", 'create', 'TABLE' => name, 'REGIONS' => '1') }
put 'damaged_docs', 'pigeonhole', 'm:metadata', '{"format_version":1,"scheme":{"name":"5c2"},"crc32":"00000000"}'
put 'later_docs', 'pigeonhole', 'm:metadata', '{"format_version":2}'
"#,
    );
    for (i, (command, _)) in cases.iter().enumerate() {
        writeln!(script, "ask('{i}', 'inspect', 'TABLE' => 'asked', 'COMMAND' => {command:?})").unwrap();
    }
    let answers = answers(hbase, "wrong", &script);
    for (i, (command, part)) in cases.iter().enumerate() {
        let lines = &answers[&i.to_string()];
        // Where there are two commands, they are repeated before their answers.
        let errors: Vec<&String> = lines.iter().filter(|line| !line.starts_with("> ")).collect();
        let [error] = errors[..] else { panic!("{command}: {lines:?}") };
        assert!(error.starts_with("ERROR ") && error.contains(part), "{command}: {error}");
    }
    let script = root().join("schema/inspect.rb");
    let refused = hbase.shell(&script, &[("TABLE", "nothing"), ("COMMAND", "info")]).expect(1);
    assert_eq!(refused.stdout.lines().filter(|line| !line.is_empty()).count(), 1, "{}", refused.stdout);
}

/// Fingerprints of real words: of clauses of the shipped corpus, a few at a time, with numbers.
fn fingerprints_of_clauses(n: usize) -> BTreeSet<Fingerprint> {
    let news = fs::read_to_string(news()).unwrap();
    let texts = news.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["text"].clone());
    let clauses: Vec<String> = texts
        .flat_map(|text| {
            let clauses =
                text.as_str().unwrap().split(['。', '.', '，', ',']).map(|clause| clause.trim().to_owned());
            clauses.filter(|clause| clause.chars().count() > 4).collect::<Vec<_>>()
        })
        .collect();
    let mut random = Random(11);
    let folder = tempfile::tempdir().unwrap();
    let made_up = folder.path().join("clauses.jsonl");
    let mut lines = String::new();
    for i in 0..n {
        let mut text = String::new();
        for _ in 0..1 + random.below(4) {
            write!(text, "{} ", clauses[random.below(clauses.len())]).unwrap();
        }
        for _ in 0..3 {
            write!(text, "{} ", random.below(1_000_000)).unwrap();
        }
        writeln!(lines, "{}", serde_json::json!({ "id": i.to_string(), "text": text })).unwrap();
    }
    fs::write(&made_up, lines).unwrap();
    of_file(&made_up)
}

fn of_file(file: &Path) -> BTreeSet<Fingerprint> {
    fingerprints(file.to_str().unwrap()).into_iter().filter_map(|(_, fingerprint)| fingerprint).collect()
}

#[test]
fn regions_fill_evenly() {
    const N_REGIONS: u32 = 16;
    let Some(hbase) = hbase() else { return };
    let scheme = TableScheme::default();
    let splits = scheme.splits(N_REGIONS).unwrap();
    let count = |fingerprints: &BTreeSet<Fingerprint>| {
        let mut n_rows = vec![0_u64; N_REGIONS as usize];
        for key in fingerprints.iter().flat_map(|fingerprint| scheme.keys(*fingerprint)) {
            n_rows[splits.partition_point(|&split| split <= key.segment)] += 1;
        }
        let mean = n_rows.iter().sum::<u64>() as f64 / f64::from(N_REGIONS);
        let fullest = *n_rows.iter().max().unwrap() as f64 / mean;
        assert!(fullest <= 1.3, "the fullest region has {fullest:.2} times the mean: {n_rows:?}");
        (n_rows, fullest)
    };
    let fingerprints = fingerprints_of_clauses(22_000);
    assert!(fingerprints.len() >= 20_000, "{}", fingerprints.len());
    let (expected, fullest) = count(&fingerprints);
    // Together, as a few hundred texts of one kind do not fill anything evenly.
    let of_corpora: BTreeSet<Fingerprint> = corpora().iter().flat_map(|file| of_file(file)).collect();
    if of_corpora.len() > 10_000 {
        count(&of_corpora);
    }

    // And so says HBase, asked by its own regions.
    let index = open(hbase, "filled", "5c2", N_REGIONS);
    let documents: Vec<(DocumentId, Fingerprint)> =
        fingerprints.iter().enumerate().map(|(i, f)| (id(&i.to_string()), *f)).collect();
    for batch in documents.chunks(1000) {
        index.insert(batch).unwrap();
    }
    let answers = inspect(hbase, "filled", &["count".to_owned()]);
    let (last, lines) = answers[0].split_last().unwrap();
    let by_region: Vec<u64> = lines[lines.len() - N_REGIONS as usize..]
        .iter()
        .map(|line| line.split_whitespace().last().unwrap().parse().unwrap())
        .collect();
    assert_eq!(by_region, expected);
    assert!(last.ends_with(&format!("has {fullest:.2} times the mean")), "{last}");
}
