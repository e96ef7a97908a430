//! Numbers in the notation of people.

/// Units of counts, and of bytes before `B` or `iB`.
const UNITS: [(char, i32); 5] = [('k', 1), ('K', 1), ('M', 2), ('G', 3), ('T', 4)];

/// Parses a count: `1e10`, `10_000_000_000`, `10,000`, `2.5M` or `10G`, in powers of 1,000.
///
/// # Errors
/// The expected form.
pub fn count(text: &str) -> Result<f64, String> {
    let (digits, exponent) = split(text);
    number(digits).map(|number| number * 1000_f64.powi(exponent)).ok_or_else(|| {
        format!("{text:?} is no number: write it as 1e10, 10_000_000_000 or 10G (k, M, G and T are powers of 1,000)")
    })
}

/// Parses bytes: `8TB`, `128GB`, `16GiB`, or a count.
///
/// # Errors
/// The expected form.
pub fn bytes(text: &str) -> Result<f64, String> {
    let (number_of, base) = match text.strip_suffix("iB") {
        Some(rest) => (rest, 1024_f64),
        None => (text.strip_suffix('B').unwrap_or(text), 1000_f64),
    };
    let (digits, exponent) = split(number_of);
    let has_unit = exponent > 0 || base < 1024.0;
    number(digits)
        .filter(|_| has_unit)
        .map(|number| number * base.powi(exponent))
        .ok_or_else(|| format!("{text:?} is no number of bytes: write it as 8TB, 128GB or 16GiB"))
}

/// Splits a number into digits and the power of its unit.
fn split(text: &str) -> (&str, i32) {
    let found = UNITS.iter().find_map(|&(unit, exponent)| Some((text.strip_suffix(unit)?, exponent)));
    found.unwrap_or((text, 0))
}

fn number(digits: &str) -> Option<f64> {
    // Excludes "inf" and "nan", which Rust parses, too.
    let is_ours = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E' | '_' | ',');
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
    if !is_number || !digits.chars().all(is_ours) {
        return None;
    }
    digits.replace(['_', ','], "").parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        for (text, expected) in [
            ("1e10", Some(1e10)),
            ("10_000_000_000", Some(1e10)),
            ("10,000", Some(1e4)),
            ("10G", Some(1e10)),
            ("2.5M", Some(2.5e6)),
            ("3k", Some(3e3)),
            ("0", Some(0.0)),
            ("-1", Some(-1.0)),
            ("", None),
            ("G", None),
            ("inf", None),
            ("nan", None),
            ("1e999", None),
            ("ten", None),
            ("8TB", None),
            ("1 000", None),
        ] {
            assert_eq!(count(text).ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_are_read() {
        for (text, expected) in [
            ("8TB", Some(8e12)),
            ("128GB", Some(128e9)),
            ("128G", Some(128e9)),
            ("16GiB", Some(17_179_869_184.0)),
            ("4096", Some(4096.0)),
            ("4096iB", None),
            ("8XB", None),
            ("B", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text:?}");
        }
    }
}
