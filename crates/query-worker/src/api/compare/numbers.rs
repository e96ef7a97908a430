//! The numbers in which two texts differ.

use std::time::Duration;

use features::numbers;
use serde::Serialize;
use similar::{DiffOp, TextDiff};
use utoipa::ToSchema;

/// Longest search for the fewest differences; after that the result may have more than the fewest.
const SEARCH_MAX: Duration = Duration::from_millis(200);

/// A place at which the sequences of numbers differ.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct OtherNumbers {
    /// Numbers of `a` at this place, as decimals.
    a: Vec<String>,
    /// Numbers of `b` in place of these.
    b: Vec<String>,
}

/// Returns the places at which the numbers of two texts differ, in their order.
pub(super) fn differing(a: &str, b: &str) -> Vec<OtherNumbers> {
    let [a, b] = [a, b].map(numbers::sequence);
    let [of_a, of_b] = [&a, &b].map(|of| of.iter().map(String::as_str).collect::<Vec<_>>());
    let diff = TextDiff::configure().timeout(SEARCH_MAX).diff_slices(&of_a, &of_b);
    let differing = diff.ops().iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    differing
        .map(|op| OtherNumbers { a: a[op.old_range()].to_vec(), b: b[op.new_range()].to_vec() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_with_what_stands_in_their_place() {
        let places = |a, b| {
            let places = differing(a, b).into_iter();
            places.map(|place| format!("{}>{}", place.a.join(","), place.b.join(","))).collect::<Vec<_>>()
        };
        assert_eq!(places("It costs 1,000 on 3 May", "It costs 1000 on 4 May"), ["3>4"]);
        assert_eq!(places("第三条 10元", "第四条 10元，二十三"), ["3>4", ">23"]);
        assert_eq!(places("2:0", "0:2").len(), 2);
        assert!(places("none", "none at all").is_empty());
    }
}
