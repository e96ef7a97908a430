//! The schemes that go by name. Each is data: blocks, and the combinations of blocks that form a
//! key.

use crate::Distance;

/// The names that [`TableScheme`](crate::TableScheme) parses; the first is the default.
pub const SCHEME_NAMES: [&str; 7] = ["5c2", "4c1", "4x4", "t6", "t8", "t11", "t14"];

/// The distance that each of them covers: 3 bits.
const COVERED: Distance = match Distance::new(3) {
    Ok(covered) => covered,
    Err(_) => Distance::MAX,
};

/// Returns the planes of the affine space AG(3,2): four points of eight whose numbers xor to zero.
fn affine_planes() -> impl Iterator<Item = Vec<usize>> {
    (0..=u8::MAX)
        .map(|set| (0..8).filter(|i| set >> i & 1 == 1).collect::<Vec<usize>>())
        .filter(|points| points.len() == 4 && points.iter().fold(0, |xor, point| xor ^ point) == 0)
}

/// Returns the distance that a named scheme covers, and its tables as flag and mask; flags count
/// from 1 in the order of the keys.
pub(super) fn masks(name: &str) -> Option<(Distance, Vec<(u8, u64)>)> {
    let masks: Vec<u64> = match name {
        // Choose two of five (Manku, Jain, Das Sarma, WWW 2007, section 3.1).
        "5c2" => {
            let pairs = (0..5).flat_map(|i| (i + 1..5).map(move |j| vec![i, j]));
            keys_of_blocks(&[13, 13, 13, 13, 12], pairs)
        }
        "4c1" => keys_of_blocks(&[16; 4], (0..4).map(|i| vec![i])),
        // Nested: a block of 16, and a chunk of 12 of the 48 bits outside it (Manku et al., section
        // 3.1.2).
        "4x4" => keys_of_blocks(&[16; 4], (0..4).map(|i| vec![i]))
            .into_iter()
            .flat_map(|block| chunks(!block, 12).into_iter().map(move |chunk| block | chunk))
            .collect(),
        // Two triangles on six blocks: three bits cannot touch all six edges.
        "t6" => keys_of_blocks(
            &[11, 11, 10, 11, 11, 10],
            [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]].map(Vec::from),
        ),
        // Complements of a covering design C(8,5,3) with eight blocks.
        "t8" => keys_of_blocks(
            &[8; 8],
            [[0, 2, 3], [0, 5, 7], [1, 3, 7], [0, 1, 6], [3, 4, 5], [4, 6, 7], [1, 2, 4], [2, 5, 6]]
                .map(Vec::from),
        ),
        // The quadratic residues modulo 11 and their shifts: the biplane of order 3.
        "t11" => keys_of_blocks(
            &[6, 6, 6, 6, 6, 6, 6, 6, 6, 5, 5],
            (0..11).map(|t| [1, 3, 4, 5, 9].map(|residue| (residue + t) % 11).to_vec()),
        ),
        "t14" => keys_of_blocks(&[8; 8], affine_planes()),
        _ => return None,
    };
    Some((COVERED, (1..).zip(masks).collect()))
}

/// Cuts 64 bits into blocks of these widths, most significant first, and joins the blocks of each
/// key.
fn keys_of_blocks(widths: &[u32], keys: impl IntoIterator<Item = Vec<usize>>) -> Vec<u64> {
    let mut blocks = Vec::new();
    let mut below = u64::BITS;
    for width in widths {
        below -= width;
        blocks.push((u64::MAX >> (u64::BITS - width)) << below);
    }
    keys.into_iter().map(|key| key.into_iter().fold(0, |mask, block| mask | blocks[block])).collect()
}

/// Cuts the bits of `mask` into chunks of `width`, most significant first.
fn chunks(mask: u64, width: usize) -> Vec<u64> {
    let bits: Vec<u64> = (0..64).rev().map(|b| 1 << b).filter(|bit| mask & bit != 0).collect();
    bits.chunks(width).map(|chunk| chunk.iter().sum()).collect()
}

#[cfg(test)]
mod tests {
    use super::SCHEME_NAMES;
    use crate::{Fingerprint, TableScheme};

    /// Tables, key bits and expected candidates as the design states them.
    #[test]
    fn figures_of_the_design() {
        for (name, n_tables, key_bits, candidates) in [
            ("5c2", 10, 25..=26, 2_086.0),
            ("4c1", 4, 16..=16, 610_352.0),
            ("4x4", 16, 28..=28, 596.0),
            ("t6", 6, 21..=22, 23_842.0),
            ("t8", 8, 24..=24, 4_768.0),
            ("t11", 11, 28..=30, 214.0),
            ("t14", 14, 32..=32, 32.6),
        ] {
            let scheme: TableScheme = name.parse().unwrap();
            assert_eq!(scheme.tables().len(), n_tables, "{name}");
            assert!(scheme.tables().iter().all(|table| key_bits.contains(&table.key_bits())), "{name}");
            let expected = scheme.expected_candidates(1e10);
            assert!((expected / candidates - 1.0).abs() < 0.02, "{name}: {expected}");
        }
    }

    #[test]
    fn every_name_is_proved_and_no_other_is_known() {
        for name in SCHEME_NAMES {
            assert_eq!(name.parse::<TableScheme>().unwrap().name(), name);
        }
        assert!("5C2".parse::<TableScheme>().is_err());
        assert!("".parse::<TableScheme>().is_err());
    }

    /// The bits of each segment outlive the process: one line a scheme, of all segments of one
    /// fingerprint.
    #[test]
    fn golden_segments() {
        let fingerprint = Fingerprint(0x9e37_79b9_7f4a_7c15);
        let lines = SCHEME_NAMES.map(|name| {
            let scheme: TableScheme = name.parse().unwrap();
            let keys: Vec<_> =
                scheme.keys(fingerprint).map(|k| format!("{}:{:x}", k.flag, k.segment)).collect();
            format!("{name} {}\n", keys.join(" "))
        });
        assert_eq!(lines.concat(), include_str!("golden_segments.txt"));
    }
}
