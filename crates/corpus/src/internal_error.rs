//! Panics in the work on one record or one file: a bug in this program, which costs only that
//! record or file.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};

thread_local! {
    /// True while this thread runs guarded work.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
    /// Source location of this thread's last guarded panic, as ` at FILE:LINE`.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs a panic hook that prints nothing on stderr for panics in guarded work: their reasons
/// report them. All other panics go to the previous hook.
pub fn install_hook() {
    let default = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        if IS_GUARDED.get() {
            PLACE.set(info.location().map(|place| format!(" at {}:{}", place.file(), place.line())));
        } else {
            default(info);
        }
    }));
}

/// Runs `work`, which must not panic but might; the error is the reason shown to the user. The
/// caller must discard any state that `work` left half changed.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let was_guarded = IS_GUARDED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(was_guarded);
    done.map_err(|payload| {
        let place = PLACE.take().unwrap_or_default();
        format!("internal error{place}: {}; please report it, with the record if you can", message(&*payload))
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_reason() {
        assert_eq!(caught(|| 7), Ok(7));
        let places = [1, 2, 3];
        let why = caught(|| places[places.len()]).unwrap_err();
        assert!(why.contains("internal error") && why.contains("the len is 3"), "{why}");
        assert!(why.contains("please report it"), "{why}");
        assert!(caught(|| panic::panic_any(7)).unwrap_err().contains("without a message"));
    }
}
