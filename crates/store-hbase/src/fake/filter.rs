//! The two filters of HBase's filter language that a client of ours may send, joined by `AND`.

use bytes::Bytes;
use hbase_rpc::fake::ColumnRange;

/// The cells that pass a filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Filter {
    ranges: Vec<ColumnRange>,
    key_only: bool,
}

impl Filter {
    /// Reads a filter; returns `None` for an unknown one.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut parser = Parser(text);
        let mut filter = Self::default();
        loop {
            match parser.word() {
                b"KeyOnlyFilter" => {
                    parser.symbol(b"(")?;
                    filter.key_only = true;
                }
                b"ColumnRangeFilter" => {
                    parser.symbol(b"(")?;
                    let min = parser.quoted()?.into();
                    parser.symbol(b",")?;
                    let includes_min = parser.boolean()?;
                    parser.symbol(b",")?;
                    let max = parser.quoted()?.into();
                    parser.symbol(b",")?;
                    let includes_max = parser.boolean()?;
                    filter.ranges.push(ColumnRange { min, includes_min, max, includes_max });
                }
                _ => return None,
            }
            parser.symbol(b")")?;
            if parser.is_at_end() {
                return Some(filter);
            }
            parser.symbol(b"AND")?;
        }
    }

    /// Returns the value of a cell as it passes, or `None` where the cell is left out.
    pub(super) fn apply(&self, qualifier: &[u8], value: Bytes) -> Option<Bytes> {
        let passes = self.ranges.iter().all(|range| range.has(qualifier));
        passes.then_some(if self.key_only { Bytes::new() } else { value })
    }
}

struct Parser<'a>(&'a [u8]);

impl<'a> Parser<'a> {
    fn skip_spaces(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.0.is_empty()
    }

    fn symbol(&mut self, symbol: &[u8]) -> Option<()> {
        self.skip_spaces();
        self.0 = self.0.strip_prefix(symbol)?;
        Some(())
    }

    fn word(&mut self) -> &'a [u8] {
        self.skip_spaces();
        let len = self.0.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (word, rest) = self.0.split_at(len);
        self.0 = rest;
        word
    }

    fn boolean(&mut self) -> Option<bool> {
        let word = self.word();
        [true, false].into_iter().find(|value| word.eq_ignore_ascii_case(value.to_string().as_bytes()))
    }

    /// Reads a string in single quotes; two of them stand for one inside.
    fn quoted(&mut self) -> Option<Vec<u8>> {
        self.symbol(b"'")?;
        let mut text = Vec::new();
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            if byte == b'\'' {
                match self.0.strip_prefix(b"'") {
                    Some(rest) => self.0 = rest,
                    None => return Some(text),
                }
            }
            text.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, qualifier: &str, expected: Option<&str>) {
        let filter = Filter::parse(text.as_bytes()).expect(text);
        let passed = filter.apply(qualifier.as_bytes(), "value".into());
        assert_eq!(passed.as_deref(), expected.map(str::as_bytes), "{text} {qualifier}");
    }

    #[test]
    fn ranges() {
        let half_open = "ColumnRangeFilter('b', true, 'd', false)";
        for (qualifier, expected) in
            [("a", None), ("b", Some("value")), ("c", Some("value")), ("d", None), ("e", None)]
        {
            check(half_open, qualifier, expected);
        }
        check("ColumnRangeFilter ( 'b' ,FALSE,'d',True )", "b", None);
        check("ColumnRangeFilter ( 'b' ,FALSE,'d',True )", "d", Some("value"));
        check("ColumnRangeFilter('', false, '', false)", "anything", Some("value"));
        check("ColumnRangeFilter('d', true, 'b', true)", "c", None);
    }

    #[test]
    fn quotes_are_doubled() {
        let text = "ColumnRangeFilter('''', false, '''''', true)";
        check(text, "'", None);
        check(text, "''", Some("value"));
        check(text, "'x", None);
    }

    #[test]
    fn keys_alone() {
        check("KeyOnlyFilter()", "x", Some(""));
        check("KeyOnlyFilter() AND ColumnRangeFilter('b', true, 'd', false)", "b", Some(""));
        check("KeyOnlyFilter() AND ColumnRangeFilter('b', true, 'd', false)", "d", None);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for text in [
            "",
            "KeyOnlyFilter",
            "PageFilter(3)",
            "KeyOnlyFilter() OR KeyOnlyFilter()",
            "ColumnRangeFilter('b', true)",
            "ColumnRangeFilter('b', true, 'd', 3)",
            "ColumnRangeFilter(b, true, 'd', false)",
            "ColumnRangeFilter('b', true, 'd', false",
            "ColumnRangeFilter('b, true)",
        ] {
            assert_eq!(Filter::parse(text.as_bytes()), None, "{text}");
        }
    }
}
