//! Loops over many numbers or bytes, in lanes: several share an instruction where the machine has
//! AVX2, which is asked at run time. Each loop has a plain form beside it for all other machines,
//! and gives the same results.
//!
//! This crate knows neither sets nor languages, and is the only one of the hash and of the reading
//! of texts that has `unsafe`: to call what was compiled for AVX2, and to load and store its lanes.
//!
//! ```
//! let mut firsts = [1, 2, 3];
//! pigeonhole_lanes::hash_each(&mut firsts, &[4, 5, 6], &[0, 0, 0, 1]);
//! assert_eq!(firsts, [4, 10, 18]);
//! ```

/// Runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

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

mod landing;
mod numbers;
mod words;

pub use landing::Landed;
pub use numbers::{fold, hash_each, n_ones, pack_windows};
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
