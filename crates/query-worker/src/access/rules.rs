//! The scope that each operation of the API needs. An operation is a method and a path, the path as
//! the route has it.

use axum::http::Method;

use super::keys::Scope::{self, Admin, Read, Write};

/// Operations without a key: they reveal nothing about the contents of the index.
const OPEN: Option<Scope> = None;

/// The scope for each operation. A new operation needs a line here; without one it needs `admin`.
pub(crate) static RULES: [(Method, &str, Option<Scope>); 14] = [
    (Method::POST, "/v1/query", Some(Read)),
    (Method::POST, "/v1/query:batch", Some(Read)),
    (Method::POST, "/v1/documents", Some(Write)),
    (Method::POST, "/v1/documents:batch", Some(Write)),
    (Method::GET, "/v1/documents", Some(Read)),
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

/// Returns the scope that an operation needs, or `None` if it needs no key.
pub(crate) fn needs(method: &Method, path: &str) -> Option<Scope> {
    let rule = RULES.iter().find(|(of_method, of_path, _)| of_method == method && *of_path == path);
    rule.map_or(Some(Admin), |&(_, _, needs)| needs)
}

/// Returns the methods of a path, joined with "and" for a message; `None` if no rule has the path.
pub(crate) fn methods(path: &str) -> Option<String> {
    let of_path = RULES.iter().filter(|(_, of_path, _)| *of_path == path);
    let mut methods: Vec<&str> = of_path.map(|(method, ..)| method.as_str()).collect();
    methods.sort_unstable();
    (!methods.is_empty()).then(|| methods.join(" and "))
}
