//! The choice of a loop by what the machine has.

/// Defines a function that does as `$plain` does: by `$wide` where the machine has AVX-512, or else
/// by `$lanes` where it has AVX2.
///
/// A closure in a function with features of its own, and no `#[inline(always)]`, has these too: the
/// adapters of arrays and iterators that call it are for any machine, and stay calls.
macro_rules! in_lanes {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?)
        $(-> $result:ty)? = $plain:path, $lanes:path, $wide:path;) => {
        $(#[$attribute])*
        #[cfg_attr(
            target_arch = "x86_64",
            expect(unsafe_code, reason = "what is compiled for a machine is called only on such a one")
        )]
        $visibility fn $name($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                use crate::dispatch::{Level, level};

                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
                fn with_avx2($($argument: $type),*) $(-> $result)? {
                    $lanes($($argument),*)
                }
                #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,avx512vpopcntdq")]
                fn with_avx512($($argument: $type),*) $(-> $result)? {
                    $wide($($argument),*)
                }
                match level() {
                    // SAFETY: the level says that the machine has all features of the function.
                    Level::Avx512 => return unsafe { with_avx512($($argument),*) },
                    // SAFETY: as above.
                    Level::Avx2 => return unsafe { with_avx2($($argument),*) },
                    Level::Plain => {}
                }
            }
            $plain($($argument),*)
        }
    };
}

/// The instructions of a machine: a later level has those of the levels before it.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Those of any machine.
    Plain,
    /// AVX2, and what came with it in each machine.
    Avx2,
    /// AVX-512 with the parts that AMD's and Intel's servers have since Zen 4 and Ice Lake.
    Avx512,
}

/// Returns the level of this machine.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn level() -> Level {
    static FOUND: std::sync::OnceLock<Level> = std::sync::OnceLock::new();
    let found = *FOUND.get_or_init(find);
    #[cfg(test)]
    let found = found.min(MOST.get());
    found
}

#[cfg(target_arch = "x86_64")]
fn find() -> Level {
    let has_avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt");
    let has_avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vbmi2")
        && is_x86_feature_detected!("avx512vpopcntdq");
    match (has_avx2, has_avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        (false, _) => Level::Plain,
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
thread_local! {
    /// The level beyond which a test does not go.
    static MOST: std::cell::Cell<Level> = const { std::cell::Cell::new(Level::Avx512) };
}

/// Returns what `made` returns with the plain loops, with AVX2 and with AVX-512; on a machine
/// without one of these with what it has.
#[cfg(test)]
pub(crate) fn at_each_level<T>(mut made: impl FnMut() -> T) -> Vec<T> {
    #[cfg(target_arch = "x86_64")]
    {
        let levels = [Level::Plain, Level::Avx2, Level::Avx512].into_iter();
        levels
            .map(|level| {
                MOST.set(level);
                made()
            })
            .collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    vec![made()]
}
