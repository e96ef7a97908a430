//! The rules: which scope a key must have for which operation of the API. An operation is a method and a path, as the
//! route has it.

use axum::http::Method;

use super::keys::Scope::{self, Admin, Read, Write};

/// What needs no key, since it says nothing of what is in the index.
const OPEN: Option<Scope> = None;

/// What each operation needs. An operation more has a line here; without one it is for those who may do everything.
pub(crate) static RULES: [(Method, &str, Option<Scope>); 13] = [
    (Method::POST, "/v1/query", Some(Read)),
    (Method::POST, "/v1/query:batch", Some(Read)),
    (Method::POST, "/v1/documents", Some(Write)),
    (Method::POST, "/v1/documents:batch", Some(Write)),
    (Method::GET, "/v1/documents/{id}", Some(Read)),
    (Method::DELETE, "/v1/documents/{id}", Some(Admin)),
    (Method::GET, "/v1/documents/{id}/text", Some(Read)),
    (Method::POST, "/v1/compare", Some(Read)),
    (Method::POST, "/v1/analyze", Some(Read)),
    (Method::GET, "/v1/index", Some(Read)),
    (Method::GET, "/metrics", Some(Read)),
    (Method::GET, "/healthz", OPEN),
    (Method::GET, "/readyz", OPEN),
];

/// The scope that a key must have for an operation; none where it needs no key.
pub(crate) fn needs(method: &Method, path: &str) -> Option<Scope> {
    let rule = RULES.iter().find(|(of_method, of_path, _)| of_method == method && *of_path == path);
    rule.map_or(Some(Admin), |&(_, _, needs)| needs)
}

/// The methods that a path answers, as people write them down; none where it has no rule.
pub(crate) fn methods(path: &str) -> Option<String> {
    let of_path = RULES.iter().filter(|(_, of_path, _)| *of_path == path);
    let mut methods: Vec<&str> = of_path.map(|(method, ..)| method.as_str()).collect();
    methods.sort_unstable();
    (!methods.is_empty()).then(|| methods.join(" and "))
}
