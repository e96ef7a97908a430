//! Throws at places of which some are free.

#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(target_arch = "x86_64")]
mod wide;

use crate::numbers::fold;

/// The most elements that are thrown together.
const ELEMENTS_MAX: usize = 256;

/// Room for what lands: a store of the widest lanes is of eight.
const LANES: usize = 8;

/// The folds that landed.
#[derive(Clone, Debug)]
pub struct Landed {
    folds: [u64; ELEMENTS_MAX + LANES],
    len: usize,
}

impl Default for Landed {
    fn default() -> Self {
        Self { folds: [0; ELEMENTS_MAX + LANES], len: 0 }
    }
}

impl Landed {
    /// The most elements of one throw.
    pub const ELEMENTS_MAX: usize = ELEMENTS_MAX;

    /// Takes the [`fold`] of each element, with `mask` over it, by a factor, and keeps those
    /// whose upper 8 bits are in the set `free`, in the order of the elements.
    ///
    /// # Panics
    /// Panics for more than [`ELEMENTS_MAX`](Self::ELEMENTS_MAX) elements.
    #[inline]
    pub fn throw(&mut self, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8]) -> &[u64] {
        assert!(elements.len() <= ELEMENTS_MAX, "{} elements", elements.len());
        throw(self, elements, mask, factor, free);
        &self.folds[..self.len]
    }

    fn throw_plain(&mut self, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8]) {
        self.len = 0;
        self.throw_rest(elements, mask, factor, free);
    }

    #[inline(always)]
    fn throw_rest(&mut self, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8]) {
        // What lands cannot be foreseen: it is kept without a jump.
        let mut len = self.len;
        for element in elements {
            let fold = fold(element ^ mask, factor);
            self.folds[len] = fold;
            len += (free[(fold >> 61) as usize] >> (fold >> 56 & 31)) as usize & 1;
        }
        self.len = len;
    }
}

in_lanes! {
    fn throw(landed: &mut Landed, elements: &[u64], mask: u64, factor: u64, free: &[u32; 8])
        = Landed::throw_plain, lanes::throw, wide::throw;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dispatch::at_each_level;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]
        #[test]
        fn what_lands_is_the_same_in_lanes(
            elements in proptest::collection::vec(any::<u64>(), 0..ELEMENTS_MAX),
            mask: u64,
            factor: u64,
            sparse: [u32; 8],
            dense: bool,
        ) {
            let free = sparse.map(|word| if dense { word | word >> 3 } else { word & word >> 3 & word << 5 });
            let expected: Vec<u64> = elements
                .iter()
                .map(|element| fold(element ^ mask, factor))
                .filter(|fold| free[(fold >> 61) as usize] >> (fold >> 56 & 31) & 1 == 1)
                .collect();
            let landed = at_each_level(|| Landed::default().throw(&elements, mask, factor, &free).to_vec());
            prop_assert!(landed.iter().all(|landed| *landed == expected));
        }
    }

    #[test]
    fn all_may_land() {
        let elements = [u64::MAX; ELEMENTS_MAX];
        for landed in at_each_level(|| Landed::default().throw(&elements, 0, 1, &[u32::MAX; 8]).to_vec()) {
            assert_eq!(landed, elements);
        }
    }
}
