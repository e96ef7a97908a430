//! Numbers as people read them.

use corpus::Grouped;

/// Formats a number with commas between the thousands, and with decimals if it is small.
pub(super) fn grouped(number: f64) -> String {
    let decimals = match number {
        _ if number >= 100.0 || number.fract() == 0.0 => 0,
        _ if number >= 1.0 => 1,
        _ => 2,
    };
    if decimals > 0 {
        return format!("{number:.decimals$}");
    }
    Grouped(number.round() as u64).to_string()
}

/// Formats bytes in the unit with one to three digits before the point.
pub(super) fn shown_bytes(bytes: f64) -> String {
    in_units(bytes, &[("bytes", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15)])
}

/// Formats a time in units from microseconds to years.
pub(super) fn shown_seconds(seconds: f64) -> String {
    let units = [
        ("µs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3_600.0),
        ("days", 86_400.0),
        ("years", 3.156e7),
    ];
    in_units(seconds, &units)
}

/// Formats a value in the largest of the ascending `units` not above it; in the first one if all
/// are above.
fn in_units(value: f64, units: &[(&str, f64)]) -> String {
    let largest = units.iter().rev().find(|(_, size)| value >= *size).or(units.first());
    let (unit, size) = largest.copied().unwrap_or(("", 1.0));
    format!("{} {unit}", grouped(value / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown() {
        for (number, expected) in [
            (0.0, "0"),
            (0.214, "0.21"),
            (20.86, "20.9"),
            (2086.0, "2,086"),
            (999.9, "1,000"),
            (1e10, "10,000,000,000"),
        ] {
            assert_eq!(grouped(number), expected);
        }
        assert_eq!([8.4e13, 9.0, 1.5e3].map(shown_bytes), ["84 TB", "9 bytes", "1.5 kB"]);
        assert_eq!(
            [6e-7, 4.6e-4, 90.0, 1e5].map(shown_seconds),
            ["0.60 µs", "460 µs", "1.5 min", "1.2 days"]
        );
    }
}
