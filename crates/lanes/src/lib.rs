//! Loops over many numbers or bytes, in lanes: several share an instruction where the machine has
//! AVX2, which is asked at run time. Each loop has a plain form beside it for all other machines,
//! and gives the same results.
//!
//! This crate knows neither sets nor languages, and is the only one of the hash and of the reading
//! of texts that has `unsafe`: to call what was compiled for AVX2, and to load and store its lanes.
//!
//! ```
//! let mut folds = [0; 3];
//! pigeonhole_lanes::fold_each(&[1, 2, 1 << 63], 0, 6, &mut folds);
//! assert_eq!(folds, [6, 12, 3]);
//! ```

/// Defines a function that does as `$plain` does, by `$lanes` where the machine has AVX2.
macro_rules! in_lanes {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?)
        $(-> $result:ty)? = $plain:path, $lanes:path;) => {
        $(#[$attribute])*
        #[cfg_attr(
            target_arch = "x86_64",
            expect(unsafe_code, reason = "what is compiled for AVX2 is called only where it is there")
        )]
        $visibility fn $name($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
                fn with_avx2($($argument: $type),*) $(-> $result)? {
                    $lanes($($argument),*)
                }
                if crate::has_avx2() {
                    // SAFETY: `has_avx2` says that the machine has all features of the function.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            $plain($($argument),*)
        }
    };
}

mod numbers;
mod words;

pub use numbers::{fold, fold_each, hash_each, n_ones, pack_windows};
pub use words::{ByteKind, Words};

/// Returns true if the machine has AVX2, and what came with it in each machine.
#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}
