//! `schema/inspect.rb`: its output equals the library's results and data.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use index::testsuite::{signature, signed};
use index::{DocumentId, Features, Profile, SketchKind};
use simhash::{Fingerprint, RowKey};

use super::{answers, hex, id, inspect, open};
use crate::support::{Hbase, Random, apart, hbase, news, root, run};

/// `near`, by comparison with every document.
fn naive_near(documents: &[(DocumentId, Fingerprint)], query: Fingerprint, max_distance: u32) -> Vec<String> {
    let near = documents.iter().map(|(id, fingerprint)| (query.distance(*fingerprint), id, *fingerprint));
    let mut near: Vec<_> = near.filter(|(distance, ..)| *distance <= apart(max_distance)).collect();
    near.sort();
    near.iter().map(|(distance, id, fingerprint)| format!("{distance:>8}  {fingerprint}  {id}")).collect()
}

fn check_near(answer: &[String], expected: &[String], n_ghosts: u32, kind: &SketchKind) {
    let (last, found) = answer[1..].split_last().unwrap();
    assert_eq!(found, expected, "{answer:#?}");
    let ghosts = format!("{n_ghosts} ghost{} left out", if n_ghosts == 1 { "" } else { "s" });
    let ranges = format!("read {} ranges", kind.n_keys());
    assert!(last.contains(&ghosts) && last.contains(&ranges), "{last}");
}

#[test]
fn inspect_shows_what_the_store_has_written() {
    let Some(hbase) = hbase() else { return };
    let kind = SketchKind::default();
    let index = open(hbase, "looked_at", Profile::Classic, "5c2", 4);
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
    // Inserted as new, replaced without asking, and the other way round.
    let claimed = (id("claimed"), Fingerprint(0x00ff << 40));
    let overtaken = (id("overtaken"), Fingerprint(0x0f0f << 44));
    let replaced = (id("replaced"), Fingerprint(0x3333 << 36));
    index.insert_if_new(&[claimed.clone(), (overtaken.0.clone(), Fingerprint(0x7777 << 20))]).unwrap();
    index.insert(&[overtaken.clone(), (replaced.0.clone(), Fingerprint(0x5555 << 8))]).unwrap();
    index.insert_if_new(std::slice::from_ref(&replaced)).unwrap();
    documents.extend([claimed.clone(), overtaken.clone(), replaced.clone()]);
    // Ghosts: a cell without a record, one of a removed document, one of a document with a new
    // fingerprint, and one with a column that is no id. A record of a future version, too.
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
table('looked_at_docs').put(put.addColumn('d'.to_java_bytes, 'record'.to_java_bytes, 'resting 00000000000000ff 1763735000123 lease=17 keys=02:0000000f'.to_java_bytes))
put = HC::Put.new('ec03:later'.to_java_bytes)
table('looked_at_docs').put(put.addColumn('d'.to_java_bytes, 'claim'.to_java_bytes, 'pending 00000000000000fe 1763735000125 ticket=1.0000000000000001.0 until=1763735010125'.to_java_bytes))
say 'crc', format('%04x', java.util.zip.CRC32.new.tap {{ |crc| crc.update('later'.to_java_bytes) }}.getValue >> 16)
"#,
        kind.sketch(shared).keys().map(|key| key.segment).collect::<Vec<_>>()
    );
    let crc = &answers(hbase, "ghosts", &ghosts)["crc"][0];
    assert_eq!(crc, "ec03", "the row of the document `later`");

    let ones = Fingerprint(u64::MAX);
    let key = kind.sketch(shared).keys().next().unwrap();
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
        "doc overtaken".to_owned(),
        "claims".to_owned(),
    ]);
    let n_other = commands.len();
    let queries =
        [(shared, 3), (shared, 0), (ones, 3), (Fingerprint(ones.0 ^ 0b111), 3), (Fingerprint(0), 2)]
            .into_iter()
            .chain([&claimed, &overtaken, &replaced].map(|(_, fingerprint)| (*fingerprint, 3)));
    let queries: Vec<_> = queries.collect();
    commands.extend(queries.iter().map(|(fingerprint, distance)| format!("near {fingerprint} {distance}")));
    let answers = inspect(hbase, Hbase::script, "looked_at", &commands);

    for (answer, (query, max_distance)) in answers[n_other..].iter().zip(queries) {
        let n_ghosts = if query == shared { 4 } else { 0 };
        check_near(answer, &naive_near(&documents, query, max_distance), n_ghosts, &kind);
    }
    let [info, count, key_hex, key_shell, bucket, rows, some_rows, doc, removed, later, overtaken, claims] =
        &answers[..n_other]
    else {
        panic!("twelve commands were asked first")
    };
    for line in [
        "scheme          5c2, finds all within 3 bits",
        "texts           none",
        "retention       for good",
        r"  note       \xC3\xA9\x01",
        "  segmenter  jieba \"0.11\"",
    ] {
        assert!(info.iter().any(|printed| printed == line), "{line:?} is missing in {info:#?}");
    }
    let masks = kind.masks();
    let last = masks.last().unwrap();
    let expected = format!("{:>4}  {:>8}  {last:016x}", masks.len(), last.count_ones());
    assert_eq!(info.last(), Some(&expected));

    // The ghosts share a row with a document, and every fingerprint is counted once.
    let fingerprints: BTreeSet<Fingerprint> = documents.iter().map(|(_, fingerprint)| *fingerprint).collect();
    // Two replaced fingerprints linger for two minutes.
    let expected: Vec<String> =
        (1..=10).map(|flag| format!("{flag:>4}  {:>10}", fingerprints.len() + 2)).collect();
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
        fingerprints.iter().copied().filter(|f| kind.sketch(*f).keys().next() == Some(key)).collect();
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
    let of_rows: Vec<String> = kind
        .sketch(ones)
        .rows()
        .map(|row| format!("{:>4}  {}  there", row.flag, hex(&row.encode())))
        .collect();
    assert_eq!(doc[7..17], of_rows);
    assert_eq!(doc.last().unwrap(), "# 10 of 10 rows there");
    assert!(removed.contains(&"state        removed".to_owned()), "{removed:#?}");
    for line in [
        "state        resting",
        "fingerprint  00000000000000ff",
        "timestamp    1763735000123  2025-11-21T14:23:20.123Z",
        "further      lease=17",
        "keys         listed in the record",
        "   2  0000000f0200000000000000ff  absent",
        "# 0 of 1 row there; a document that is resting has none that count",
        "claim        pending 00000000000000fe 1763735000125 ticket=1.0000000000000001.0 until=1763735010125",
    ] {
        assert!(later.iter().any(|printed| printed == line), "{line:?} is missing in {later:#?}");
    }
    assert!(overtaken.contains(&"state        live".to_owned()), "{overtaken:#?}");
    assert!(overtaken.iter().any(|line| line.starts_with("claim        committed ")), "{overtaken:#?}");
    assert_eq!(overtaken.last().unwrap(), "# 10 of 10 rows there");
    assert_eq!(
        claims[1..],
        ["2025-11-21T14:23:30.125Z  later  over", "# 3 committed, 1 pending, 1 removed"],
        "{claims:#?}"
    );
}

/// Keys of 32 bits: the first bytes of rows are above 7f, which a shell would mangle as text.
#[test]
fn inspect_takes_the_masks_from_the_index() {
    let Some(hbase) = hbase() else { return };
    let kind: SketchKind = "t14".parse().unwrap();
    let index = open(hbase, "wide", Profile::Classic, "t14", 3);
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
    let answers = inspect(hbase, Hbase::script, "wide", &commands);
    for (answer, query) in answers.iter().zip(&queries) {
        check_near(answer, &naive_near(&documents, *query, 3), 0, &kind);
    }
    let rows: Vec<&str> =
        answers[queries.len()][1..15].iter().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    let expected: Vec<String> = kind.sketch(queries[0]).rows().map(|row| hex(&row.encode())).collect();
    assert_eq!(rows, expected);
}

/// The script hashes signatures by itself, and finds all rows that the library has written.
#[test]
fn inspect_knows_the_rows_of_signatures() {
    let Some(hbase) = hbase() else { return };
    let index = open(hbase, "signed", Profile::Full, "5c2", 4);
    let by_sets = open(hbase, "by_sets", Profile::Minhash, "5c2", 1);
    let both = {
        let set: Vec<u64> = (0..45).map(|element| minhash::hash_words(element, 7)).collect();
        minhash::Signature::both(&minhash::Bins::of(&set).unwrap(), 45, &set).unwrap()
    };
    let features = |simhash: Option<u64>, signature| Features {
        simhash: simhash.map(Fingerprint),
        signature,
        text: None,
    };
    let documents: Vec<(DocumentId, Features)> = vec![
        (id("long"), signed(1, 0..300).features().clone()),
        (id("short"), features(Some(u64::MAX), Some(signature(0..20)))),
        (id("one"), features(None, Some(signature(7..8)))),
        (id("both"), features(Some(3), Some(both))),
        (id("whole"), features(None, Some(minhash::Signature::equality(0xfedc_ba98_0000_0001)))),
        (id("nothing"), Features::default()),
    ];
    let commands: Vec<_> = documents.iter().map(|(id, _)| format!("doc {id}")).collect();
    for (table, index) in [("signed", index), ("by_sets", by_sets)] {
        index.insert(&documents).unwrap();
        let answers = inspect(hbase, Hbase::script, table, &commands);
        for (answer, (id, features)) in answers.iter().zip(&documents) {
            let sketch = index.kind().sketch(features.clone());
            let rows = sketch.rows().map(|row| format!("{:>4}  {}  there", row.flag, hex(&row.encode())));
            let n_rows = sketch.n_keys();
            let last = format!("# {n_rows} of {n_rows} row{} there", if n_rows == 1 { "" } else { "s" });
            let expected: Vec<_> = rows.chain([last]).collect();
            assert_eq!(answer[answer.len() - expected.len()..], expected, "{id} in {table}");
        }
    }
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
        ("use later; info", "later has format version 5, this script knows versions up to 4"),
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
    open(hbase, "opened", Profile::Classic, "5c2", 1);
    let mut script = String::from(
        r#"
%w[asked damaged later].each { |name| ask("made #{name}", 'create', 'TABLE' => name, 'REGIONS' => '1') }
put 'damaged_docs', 'pigeonhole', 'm:metadata', '{"format_version":1,"scheme":{"name":"5c2"},"crc32":"00000000"}'
put 'later_docs', 'pigeonhole', 'm:metadata', '{"format_version":5}'
"#,
    );
    for (i, (command, _)) in cases.iter().enumerate() {
        writeln!(script, "ask('{i}', 'inspect', 'TABLE' => 'asked', 'COMMAND' => {command:?})").unwrap();
    }
    let answers = answers(hbase, "wrong", &script);
    for (i, (command, part)) in cases.iter().enumerate() {
        let lines = &answers[&i.to_string()];
        // With two commands, the output repeats each before its answer.
        let errors: Vec<&String> = lines.iter().filter(|line| !line.starts_with("> ")).collect();
        let [error] = errors[..] else { panic!("{command}: {lines:?}") };
        assert!(error.starts_with("ERROR ") && error.contains(part), "{command}: {error}");
    }
    let script = root().join("schema/inspect.rb");
    let refused = hbase.shell(&script, &[("TABLE", "nothing"), ("COMMAND", "info")]).expect(1);
    assert_eq!(refused.stdout.lines().filter(|line| !line.is_empty()).count(), 1, "{}", refused.stdout);
}
