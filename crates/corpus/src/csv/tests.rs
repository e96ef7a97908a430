use std::io::{BufReader, Read};

use super::super::fields::testing::{names, rows};
use super::super::format::Format;
use super::rows::{ROW_BYTES, ROW_CELLS_MAX};
use super::*;

/// Reads `content` a few bytes at a time and checks the id and the text, or the reason, of
/// every row.
#[track_caller]
fn check(content: impl AsRef<[u8]>, record_bytes_max: usize, expected: &[(u64, Result<&str, &str>)]) {
    for step in [3, 4096] {
        let content = BufReader::with_capacity(step, content.as_ref());
        let mut csv =
            Csv::new(content, Dialect::with(b','), names(&["text"], false).columns(), record_bytes_max);
        let rows = rows(&mut csv, names(&["text"], false));
        assert_eq!(rows.len(), expected.len(), "{rows:?}");
        for ((number, row), (expected_number, expected)) in rows.iter().zip(expected) {
            assert_eq!(number, expected_number, "{rows:?}");
            match (row, expected) {
                (Ok(row), Ok(expected)) => assert_eq!(row, expected),
                (Err(reason), Err(part)) => assert!(reason.contains(part), "{reason:?}: {part:?}"),
                _ => panic!("{rows:?}"),
            }
        }
    }
}

/// A table between tabs whose first quoted cell comes after the sample by which dialects are
/// told.
#[test]
fn a_late_quote_between_tabs() {
    let plain: String = (0..5_000).map(|n| format!("{n}\ta text without quotes\n")).collect();
    for (late, expected) in [("x\t\"a\"\"b\ty\"\n", "x a\"b\ty"), ("x\t\"a\" he said\n", "x \"a\" he said")] {
        let content = format!("id\ttext\n{plain}{late}{plain}");
        let opened = open(content.as_bytes(), Format::Tsv, TableOptions::default());
        let (columns, dialect) = (names(&["text"], false).columns(), opened.dialect);
        let mut csv = Csv::new(opened.content, dialect, columns, 1 << 20);
        let rows = rows(&mut csv, names(&["text"], false));
        assert_eq!(rows.len(), 10_001);
        assert_eq!(rows[5_000].1.as_deref(), Ok(expected));
    }
}

/// Reads `content` as a file of TSV, whose dialect is told. Returns the number of each row with its
/// id and text, or the reason against it.
fn tabbed(content: &str, quote: Option<Quote>, notes: &Notes) -> Vec<(u64, Result<String, String>)> {
    let opened = open(content.as_bytes(), Format::Tsv, TableOptions { quote, ..TableOptions::default() });
    let columns = names(&["text"], false).columns();
    let mut csv = Csv::new(opened.content, opened.dialect, columns, 1 << 20).with_notes(notes, "a.tsv");
    rows(&mut csv, names(&["text"], false))
}

#[test]
fn a_row_that_does_not_fit_changes_no_other() {
    let content =
        "id\ttext\tx\n1\t\"He said \"\"hi\"\" to me\"\ta\n2\tshort row\n3\t\"two\nlines here\"\tb\n";
    let reason = "2 cells, where the header has 3; --delimiter names what is between cells".to_owned();
    let expected = [
        (2, Ok("1 He said \"hi\" to me".to_owned())),
        (3, Err(reason)),
        (4, Ok("3 two\nlines here".to_owned())),
    ];
    for quote in [None, Some(Quote::With(b'"'))] {
        assert_eq!(tabbed(content, quote, &Notes::default()), expected, "{quote:?}");
    }
}

/// Rows once lay in the cell between two quotes of other rows, without a word.
#[test]
fn no_row_between_tabs_is_lost_in_a_cell() {
    let (first, last) = ("2\t\"We never sold the orchard.\n", "3\tIt is ours, said the baker.\"\n");
    let rows = tabbed(&format!("id\ttext\n1\ta\n{first}{last}4\tb\n"), None, &Notes::default());
    let texts: Vec<_> = rows.iter().map(|(_, row)| row.as_deref()).collect();
    let raw = ["1 a", "2 \"We never sold the orchard.", "3 It is ours, said the baker.\"", "4 b"];
    assert_eq!(texts, raw.map(Ok));
    // Where quotes count in the rows before, the row in which such a cell begins is named.
    let plain = "0\ta text\n".repeat(100);
    let content = format!("id\ttext\n0\t\"a \"\"b\"\"\"\n{plain}{first}0\tc\n{last}4\t\"d\ne\"\n");
    let rows = tabbed(&content, None, &Notes::default());
    assert_eq!((rows.len(), rows[0].1.as_deref()), (105, Ok("0 a \"b\"")));
    let (number, Err(why)) = &rows[101] else { panic!("{:?}", rows[101]) };
    assert!(*number == 103 && why.contains("cell that opens in line 103 takes in whole rows"), "{why}");
    assert_eq!(rows[102], (104, Ok("0 c".to_owned())));
    assert_eq!(rows[104], (106, Ok("4 d\ne".to_owned())));
    // The user knows better.
    let quote = Some(Quote::With(b'"'));
    assert_eq!(tabbed(&content, quote, &Notes::default()).len(), 103);
    // Lines of an indented text are no rows.
    let indented = "id\ttext\n7\t\"all:\n\tgcc -o x\"\n8\tb\n";
    let rows = tabbed(indented, None, &Notes::default());
    assert_eq!(rows, [(2, Ok("7 all:\n\tgcc -o x".to_owned())), (4, Ok("8 b".to_owned()))]);
}

#[test]
fn a_header_that_comes_again_is_no_record() {
    let content = "id\ttext\n1\ta\nid\ttext\n\u{feff}id\ttext\r\n2\tb\nid\tother\n";
    let notes = Notes::default();
    let rows = tabbed(content, None, &notes);
    let row = |row: &str| Ok(row.to_owned());
    assert_eq!(rows, [(2, row("1 a")), (5, row("2 b")), (6, row("id other"))]);
    assert_eq!(notes.lines(), ["a.tsv: rows that repeat the header are passed over"]);
    check("a,b\na,b\n", 99, &[(1, Err("it has one row only"))]);
    // A list of words may have the word that it is called by.
    let columns = Columns { paths: vec![FieldPath::name("text")], n_texts: 1 };
    let mut csv = Csv::new(&b"text\na\ntext\n"[..], Dialect::with(b','), columns, 99);
    let mut records = Records::new(Form::Row);
    csv.append_records(&mut records);
    assert_eq!(records.len(), 2);
}

#[test]
fn rows_have_the_number_of_their_first_line() {
    check("", 99, &[]);
    check("id,text\n", 99, &[]);
    check("id,text\na,b", 99, &[(2, Ok("a b"))]);
    check(
        "\u{feff}id,x,text\r\na,,b\r\n\r\nc,,\"d\r\n\"\"e\"\r\nf,,\r\n",
        99,
        &[(2, Ok("a b")), (4, Ok("c d\r\n\"e")), (6, Ok("f "))],
    );
    check("text,id\rb,a\r", 99, &[(2, Ok("a b"))]);
}

/// As Excel writes "CSV (Macintosh)". The lengths bring each line end to the end of a buffer.
#[test]
fn a_carriage_return_alone_ends_a_line() {
    for id in ["", "1", "12", "123"] {
        let content = format!("id,text\ra{id},\"b\rc\r\nd\ne\r\"\r\r\n\r\rf,g\rh,\"\"\"\r\n\"\r\ni,j");
        let first = format!("a{id} b\rc\r\nd\ne\r");
        let rows = [(2, Ok(&*first)), (10, Ok("f g")), (11, Ok("h \"\r")), (13, Ok("i j"))];
        check(content, 99, &rows);
    }
}

#[test]
fn rows_that_will_not_do_are_named_and_the_rest_goes_on() {
    check("id,text\na\nb,c,d\ne,f\n", 99, &[(2, Err("1 cells, where")), (3, Err("3 cells")), (4, Ok("e f"))]);
    check("id,text\n,b\nc,d\n", 99, &[(2, Err("\"id\" holds null")), (3, Ok("c d"))]);
    check("name,text\na,b\n", 99, &[(2, Err("no field \"id\""))]);
    check("id,text,text\na,b,c\n", 99, &[(1, Err("several columns are called"))]);
    check("a,b\n", 99, &[(1, Err("it has one row only"))]);
    check("\n\na text and no header", 99, &[(3, Err("it has one row only"))]);
    check(b"id,text\na,\xff\nc,d\n", 99, &[(2, Err("\"text\" is not valid UTF-8")), (3, Ok("c d"))]);
    check(
        "id,text\na,12345678\nc,\"1\n2345678\"\nd,e\n",
        8,
        &[(2, Err("longer than 8 bytes")), (3, Err("longer than 8 bytes")), (5, Ok("d e"))],
    );
    let wide = format!("id,text\n{}\na,b\n", ",".repeat(2 * ROW_CELLS_MAX));
    check(wide, 99, &[(2, Err("longer than")), (3, Ok("a b"))]);
    check(format!("{}\n", "x".repeat(2 * ROW_BYTES)), 99, &[(1, Err("names the fields is too long"))]);
}

#[test]
fn columns_there_are_named_for_one_that_is_missing() {
    check("name,a;b\na,b\n", 99, &[(2, Err("no field \"id\"; it has \"name\", \"a;b\";"))]);
}

/// Rows once lay in the cell of such a quote, or changed without a word.
#[test]
fn quotes_that_do_not_pair_are_named_and_no_row_is_lost_in_a_cell() {
    check(
        "id,text\na,b\nc,\"d\ne,f\n",
        99,
        &[(2, Ok("a b")), (3, Err("the quote that opens in line 3 is never closed")), (4, Ok("e f"))],
    );
    let long = format!("id,text\na,\"{}", "line\n".repeat(100_000));
    check(long, 99, &[(2, Err("opens in line 2 is never closed"))]);
    check(
        "id,text\r\n1,\"a\r\n2,b\r\n3,\"c\r\n4,d\r\n",
        99,
        &[
            (2, Err("quote opens in line 2")),
            (3, Ok("2 b")),
            (4, Err("opens in line 4 is never closed")),
            (5, Ok("4 d")),
        ],
    );
    check(
        "id,text\n1,\"a \\\"b\\\" c\"\n2,d\n\"3\" ,\"e\"\n",
        99,
        &[(2, Err("text follows")), (3, Ok("2 d")), (4, Ok("3 e"))],
    );
    check("id,text\r1,\"a\" b\r2,c\r", 99, &[(2, Err("text follows")), (3, Ok("2 c"))]);
    check("id,text\n1,say \"a\"\n2,\"\"\n", 99, &[(2, Ok("1 say \"a\"")), (3, Ok("2 "))]);
    let (dialect, content) = (
        Dialect { has_escapes: true, ..Dialect::with(b',') },
        br#"id,text
1,"a \"b\", \\ \n"
"#,
    );
    let rows = rows(
        &mut Csv::new(&content[..], dialect, names(&["text"], false).columns(), 99),
        names(&["text"], false),
    );
    assert_eq!(rows, [(2, Ok(r#"1 a "b", \ \n"#.to_owned()))]);
}

/// All rows after such a quote were once lost, to the end of the file.
#[test]
fn rows_after_a_quote_that_is_never_closed_are_read() {
    for n in [0, 1, 3, 30, 3_000] {
        for end in ["", "\n"] {
            let ids: Vec<String> = (0..n).map(|n| format!("{n} c")).collect();
            let rows: String = (0..n).map(|n| format!("{n},c\n")).collect();
            let content = format!("id,text\r\na,b\r\nx,\"Best shop in town\r\n{rows}y,d{end}");
            let why =
                if content.len() < 200 { "is never closed" } else { "not closed within a record of 64" };
            let mut expected = vec![(2, Ok("a b")), (3, Err(why))];
            expected.extend((4..).zip(ids.iter().map(|row| Ok(&**row))));
            expected.push((4 + n, Ok("y d")));
            if !(80..300).contains(&content.len()) {
                check(&content, 64, &expected);
            }
            expected[1].1 = Err("the quote that opens in line 3 is never closed");
            check(&content, 1 << 20, &expected);
        }
    }
    // Behind a row that is too long by itself, and with quotes in the rows after.
    let rows = "4,\"e\"\n5,\"\"\n".repeat(50);
    let content = format!("id,text,x\n1,{},\"c\n2,d,e\n", "b".repeat(300));
    check(&content, 99, &[(2, Err("opens in line 2 is never closed")), (3, Ok("2 d"))]);
    let content = format!("id,text\n1,\"a\n2,b\n{rows}");
    let read = (4..).zip([Ok("4 e"), Ok("5 ")].into_iter().cycle()).take(100);
    let begun = [(2, Err("text follows")), (3, Ok("2 b"))];
    check(&content, 99, &begun.into_iter().chain(read).collect::<Vec<_>>());
}

/// A cell of many lines is read as long as its record may be, and is passed over beyond.
#[test]
fn a_long_cell_in_quotes_is_one_cell() {
    let cell = "He said \"\"no\"\", and went\n\"\"\"\"\n".repeat(500) + "end";
    let content = format!("id,text\na,\"{cell}\"\nb,c\n");
    let text = format!("a {}", cell.replace("\"\"", "\""));
    check(&content, text.len(), &[(2, Ok(&text)), (1003, Ok("b c"))]);
    let prose = "A line of prose\nand, well, commas\n".repeat(500) + "end";
    let content = format!("id,text\na,\"{prose}\"\nb,c\n");
    check(&content, 99, &[(2, Err("longer than 99 bytes")), (1003, Ok("b c"))]);
}

#[test]
fn a_source_that_breaks_off_says_so() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let reader = BufReader::new(b"id,text\na,b\nc,".chain(Broken));
    let rows = rows(
        &mut Csv::new(reader, Dialect::with(b','), names(&["text"], false).columns(), 99),
        names(&["text"], false),
    );
    assert!(
        matches!(&rows[..], [(2, Ok(_)), (3, Err(reason))] if reason.contains("disk is gone")),
        "{rows:?}"
    );
}
