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

/// Keys and host names that requests are checked against. The default admits every request.
#[derive(Clone, Default)]
pub struct Access {
    /// The keys; `None` admits requests without a key.
    pub keys: Option<Arc<Keys>>,
    /// Names of the worker besides `localhost` and IP addresses; `None` admits any name.
    pub hosts: Option<Vec<String>>,
}
