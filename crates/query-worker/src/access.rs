//! Access: API keys, their scopes, and the scope that each operation of the API needs.
//!
//! `rules.rs` states the rules in code; both the guard of [`api`](crate::api) and the API's
//! description use them. Other checks before a route, such as the one of host names, belong to the
//! guard.

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
