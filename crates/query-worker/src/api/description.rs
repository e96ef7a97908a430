//! Parts of the OpenAPI description beyond those of the handlers: the introduction, the key of each
//! operation by the rules, the bounds of the index, and the common headers.

use axum::http::Method;
use index::Rule;
use serde_json::{Value, json};
use utoipa::OpenApi;

use crate::access::keys::Scope;
use crate::access::rules;
use crate::problem::Kind;

/// Name of the security scheme.
const SCHEME: &str = "key";

/// Introduction of the description. The paths come from the handlers.
#[derive(OpenApi)]
#[openapi(info(
    title = "Pigeonhole",
    description = "Have we seen this text, or one like it? Insert what is new."
))]
struct Description;

/// Returns the description without its paths.
pub(super) fn begun() -> utoipa::openapi::OpenApi {
    Description::openapi()
}

/// Completes the description for a worker whose index finds documents by `rule`.
pub(super) fn written(description: &utoipa::openapi::OpenApi, rule: &Rule) -> Value {
    let mut description = serde_json::to_value(description).unwrap_or_default();
    let schemas = &mut description["components"]["schemas"];
    // For fields of a struct, utoipa cannot state that exactly one of some is required. An enum
    // could, but serde's error for a body that fits no variant does not help a client.
    for (schema, names) in [("Query", &["text", "fingerprint", "id"][..]), ("Side", &["text", "id"])] {
        let only = |one: &&str| {
            let types = names.iter().map(|name| {
                let given = if *name == "id" { json!(["string", "integer"]) } else { json!("string") };
                ((*name).to_owned(), json!({ "type": if name == one { given } else { json!("null") } }))
            });
            json!({ "required": [one], "properties": types.collect::<serde_json::Map<_, _>>() })
        };
        schemas[schema]["oneOf"] = names.iter().map(only).collect();
    }
    // A fingerprint has no signature.
    schemas["Query"]["oneOf"][1]["properties"]["min_similarity"] = json!({ "type": "null" });
    schemas["Query"]["properties"]["max_distance"]["maximum"] = json!(rule.max_distance.as_bits());
    // An index without signatures has no similarities to bound.
    let asked = &mut schemas["Query"]["properties"];
    match rule.min_similarity {
        Some(least) => asked["min_similarity"]["minimum"] = json!(least.get()),
        None => drop(asked.as_object_mut().map(|asked| asked.remove("min_similarity"))),
    }
    schemas["Problem"]["properties"]["type"]["enum"] = Kind::ALL.iter().map(|kind| kind.urn()).collect();
    let scheme = "Needed where the worker runs with --keys. The scope that a key must have is named with each operation.";
    description["components"]["securitySchemes"][SCHEME] =
        json!({ "type": "http", "scheme": "bearer", "description": scheme });
    description["components"]["headers"] = headers();
    for (method, path, operation) in operations(&mut description) {
        operation["security"] = security(rules::needs(&method, &path));
        add_headers(operation);
    }
    description
}

/// Returns the operations of a description, each with its method and its path.
fn operations(description: &mut Value) -> impl Iterator<Item = (Method, String, &mut Value)> {
    let paths = description["paths"].as_object_mut().into_iter().flatten();
    paths.flat_map(|(path, of_path)| {
        let operations = of_path.as_object_mut().into_iter().flatten();
        operations.filter_map(|(method, operation)| {
            Some((method.to_uppercase().parse().ok()?, path.clone(), operation))
        })
    })
}

/// Returns the security requirement of an operation; `[{}]` needs no key.
fn security(needs: Option<Scope>) -> Value {
    match needs {
        Some(scope) => json!([{ SCHEME: [scope.name()] }]),
        None => json!([{}]),
    }
}

/// Returns the headers of answers.
fn headers() -> Value {
    let header = |description: &str, schema: Value| json!({ "description": description, "schema": schema });
    let text = json!({ "type": "string" });
    let seconds = json!({ "type": "integer", "minimum": 0 });
    let id = "The request, as the worker's log names it: what it came with, where that is 1 to 64 characters of A-Z, a-z, 0-9, \
              `-`, `_` and `.`, else an id made here";
    json!({
        "RequestId": header(id, json!({ "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$" })),
        "RetryAfter": header("With 429 and 503: in how many seconds to try again", seconds),
        "Authenticate": header("With 401: `Bearer`", text.clone()),
        "Location": header("With 201: where the document is looked up", text),
    })
}

/// Adds references to its headers to each answer of an operation.
fn add_headers(operation: &mut Value) {
    let of = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        response["headers"]["X-Request-Id"] = of("RequestId");
        match status.as_str() {
            "201" => response["headers"]["Location"] = of("Location"),
            "default" => {
                response["headers"]["Retry-After"] = of("RetryAfter");
                response["headers"]["WWW-Authenticate"] = of("Authenticate");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use simhash::Distance;

    use super::*;

    /// An operation without a rule would need the scope `admin`, and its description would say so.
    #[test]
    fn each_operation_has_a_rule_and_each_rule_an_operation() {
        let (_, described) = crate::api::documented().split_for_parts();
        let mut described = written(&described, &Distance::of_differing(0b111).into());
        let described: BTreeSet<_> = operations(&mut described)
            .map(|(method, path, operation)| (path, method.to_string(), operation["security"].to_string()))
            .collect();
        let ruled = rules::RULES.iter().map(|(method, path, needs)| {
            let security =
                needs.map_or("[{}]".to_owned(), |scope| format!("[{{\"key\":[\"{}\"]}}]", scope.name()));
            ((*path).to_owned(), method.to_string(), security)
        });
        assert_eq!(described, ruled.collect());
        assert_eq!(described.len(), rules::RULES.len(), "no operation has two rules");
    }
}
