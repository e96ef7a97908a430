//! Access: the keys, what each is for, and what each operation of the API needs.
//!
//! The rules (`rules.rs`) are stated here, in code. The guard of [`api`](crate::api) asks by them, and the API's
//! description is made from them. What stands before a route besides, as the names by which the worker is asked,
//! belongs to that guard.

pub mod keys;
mod pass;
pub(crate) mod rules;

use std::sync::Arc;

use self::keys::Keys;
pub(crate) use self::pass::Pass;

/// Who may come in, and by what names the worker may be asked. All and any by default.
#[derive(Clone, Default)]
pub struct Access {
    /// Without keys everybody may come in.
    pub keys: Option<Arc<Keys>>,
    /// The names besides `localhost` and IP addresses; without this any.
    pub hosts: Option<Vec<String>>,
}
