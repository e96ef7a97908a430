//! The choice of a loop by what the machine has.

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
                if crate::dispatch::has_avx2() {
                    // SAFETY: `has_avx2` says that the machine has all features of the function.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            $plain($($argument),*)
        }
    };
}

/// Returns true if the machine has AVX2, and what came with it in each machine.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}
