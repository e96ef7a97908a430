//! `schema/create.rb`: tables with the settings and splits that the library requires, and refusals.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use index::{DocumentId, Profile, SketchKind};
use serde_json::Value;
use simhash::Fingerprint;

use super::{answers, check, check_refused, id, inspect, open};
use crate::corpora::{corpora, fingerprints};
use crate::support::{Hbase, Random, hbase, news, root};

#[test]
fn splits_are_those_of_the_library() {
    let Some(hbase) = hbase() else { return };
    const N_REGIONS: [u32; 6] = [1, 2, 3, 16, 97, 1000];
    let mut script = String::new();
    let cases =
        || SketchKind::NAMES.into_iter().flat_map(|name| Profile::ALL.map(|(profile, _)| (name, profile)));
    for (name, profile) in cases() {
        for n_regions in N_REGIONS {
            let variables = format!(
                "'SCHEME' => '{name}', 'PROFILE' => '{profile}', 'REGIONS' => '{n_regions}', 'DRY_RUN' => '1'"
            );
            writeln!(
                script,
                "ask('{name} {profile} {n_regions}', 'create', 'TABLE' => 'never', {variables})"
            )
            .unwrap();
        }
    }
    script.push_str("say 'tables', tables('never')\n");
    let answers = answers(hbase, "splits", &script);
    check(&answers, "tables", &[]);
    for (name, profile) in cases() {
        let kind = name.parse::<SketchKind>().unwrap().of_profile(profile).unwrap();
        for n_regions in N_REGIONS {
            let lines = &answers[&format!("{name} {profile} {n_regions}")];
            let splits = lines.iter().filter_map(|line| line.trim().strip_prefix("splits "));
            let splits: Vec<Vec<&str>> = splits.map(|splits| splits.split(' ').collect()).collect();
            let of_index: Vec<String> =
                kind.splits(n_regions).unwrap().iter().map(|segment| format!("{segment:08x}")).collect();
            let n_regions_docs = n_regions.div_ceil(4);
            let of_documents: Vec<String> = (1..n_regions_docs)
                .map(|i| format!("{:04x}", (i * 0x1_0000).div_ceil(n_regions_docs)))
                .collect();
            // A table of one region has no line.
            let expected = [of_index, of_documents].into_iter().filter(|splits| !splits.is_empty());
            assert_eq!(splits, expected.collect::<Vec<_>>(), "{name} {profile}, {n_regions} regions");
        }
    }
}

/// A script: prints the settings on which searches or other programs' writes depend, from HBase.
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
text = ask('by hand with texts', 'create', 'TABLE' => 'byhand', 'TEXTS' => 'zstd')
text.scan(/to mend: (alter .*)$/) { |command| eval(command.first) }
ask('texts by hand', 'create', 'TABLE' => 'byhand', 'TEXTS' => 'zstd')
ask('none by hand', 'create', 'TABLE' => 'byhand', 'TEXTS' => 'none')
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
ask('profile', 'create', 'TABLE' => 'made', 'TTL' => '36h', 'SCHEME' => 't8', 'PROFILE' => 'full')
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

    let splits = |kind: &str, n_regions| {
        let kind = kind.parse::<SketchKind>().unwrap().of_profile(Profile::Full).unwrap();
        let splits = kind.splits(n_regions).unwrap();
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
    let [d, m, t] = ["d", "m", "t"].map(|family| documents(family, &more));
    check(&answers, "describe made_docs", &[&d, &m, &t, " 38303030"]);
    let family = index("block 32768, GZ, ttl 172800");
    check(&answers, "describe pasted", &[&whole_buckets[..], &[&family, &splits("t14", 5)]].concat());
    let more = [
        documents("d", "block 32768, GZ, ttl 172800"),
        documents("m", &format!("block 32768, GZ, ttl {forever}")),
        // Texts are compressed already.
        documents("t", "block 32768, NONE, ttl 172800"),
    ];
    check(&answers, "describe pasted_docs", &[&more[0], &more[1], &more[2], " 38303030"]);
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
            "made_docs, family t: TTL is FOREVER, asked for is 129600; to change: alter 'made_docs', {NAME => 't', TTL => '129600'}",
            "ERROR made: 3 differences from what was asked for; nothing was changed",
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
    let add = "alter 'byhand_docs', {NAME => 't', ";
    assert_eq!(answers["mended by hand"][..2], by_hand);
    let said = &answers["mended by hand"][2..];
    assert!(said.len() == 1 && said[0].contains(&format!("to add it: {add}")), "{said:?}");
    // A request for texts is refused until they have a family.
    let refused = answers["by hand with texts"].join("\n");
    assert!(refused.contains(&format!("byhand_docs has no family t; to mend: {add}")), "{refused}");
    check(&answers, "texts by hand", &by_hand);
    check(&answers, "none by hand", &by_hand);
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
    check_refused(&answers, "profile", "made is an index of profile classic, asked for is full");
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
        ("PROFILE", "whole", "classic, minhash, full"),
        ("REGIONS", "0", "from 1 to 10000"),
        ("REGIONS", "10001", "from 1 to 10000"),
        ("REGIONS", "-1", "from 1 to 10000"),
        ("REGIONS", "a few", "from 1 to 10000"),
        ("TTL", "2w", "2d, 36h"),
        ("TTL", "0", "2d, 36h"),
        ("TTL", "24856d", "2d, 36h"),
        ("TTL", "forever", "2d, 36h"),
        ("TEXTS", "all", "zstd or none"),
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

    // An operator sees one line, and exit code 1.
    let by_an_operator = |variables: &[_]| hbase.shell(&root().join("schema/create.rb"), variables);
    let refused = by_an_operator(&[("TABLE", "bad"), ("REGIONS", "0")]).expect(1);
    let lines: Vec<&str> = refused.stdout.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["ERROR PigeonholeCreate::Refused: REGIONS \"0\": a number from 1 to 10000"]);
    let made = by_an_operator(&[("TABLE", "good"), ("REGIONS", "1")]).expect(0).stdout;
    let lines: Vec<&str> = made.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["created good: 1 region", "created good_docs: 1 region"]);
}

/// A region never splits within a bucket: the new start has five bytes, though the rows there have
/// thirteen.
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

/// Returns fingerprints of real words: clauses of the shipped corpus, a few at a time, with
/// numbers.
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
    let kind = SketchKind::default();
    let splits = kind.splits(N_REGIONS).unwrap();
    let count = |fingerprints: &BTreeSet<Fingerprint>| {
        let mut n_rows = vec![0_u64; N_REGIONS as usize];
        for key in
            fingerprints.iter().flat_map(|fingerprint| kind.sketch(*fingerprint).keys().collect::<Vec<_>>())
        {
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
    // Together, because a few hundred texts of one kind fill nothing evenly.
    let of_corpora: BTreeSet<Fingerprint> = corpora().iter().flat_map(|file| of_file(file)).collect();
    if of_corpora.len() > 10_000 {
        count(&of_corpora);
    }

    // HBase counts the same in its own regions.
    let index = open(hbase, "filled", Profile::Classic, "5c2", N_REGIONS);
    let documents: Vec<(DocumentId, Fingerprint)> =
        fingerprints.iter().enumerate().map(|(i, f)| (id(&i.to_string()), *f)).collect();
    for batch in documents.chunks(1000) {
        index.insert(batch).unwrap();
    }
    let answers = inspect(hbase, Hbase::shell, "filled", &["count".to_owned()]);
    let (last, lines) = answers[0].split_last().unwrap();
    let by_region: Vec<u64> = lines[lines.len() - N_REGIONS as usize..]
        .iter()
        .map(|line| line.split_whitespace().last().unwrap().parse().unwrap())
        .collect();
    assert_eq!(by_region, expected);
    assert!(last.ends_with(&format!("has {fullest:.2} times the mean")), "{last}");
}
