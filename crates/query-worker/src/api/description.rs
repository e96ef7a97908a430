//! What the description of the API has beside what the handlers say of themselves: what is before their paths, what the
//! index decides, and what is the same for all of them.

use serde_json::{Value, json};
use utoipa::OpenApi;

use super::guard;
use crate::problem::Kind;

/// What the description of the API says before its paths, which the handlers have.
#[derive(OpenApi)]
#[openapi(info(
    title = "Pigeonhole",
    description = "Have we seen this text, or one like it? Insert what is new."
))]
struct Description;

/// The description without its paths.
pub(super) fn begun() -> utoipa::openapi::OpenApi {
    Description::openapi()
}

/// The description as it is served by a worker whose index finds documents within `max_distance`.
pub(super) fn written(description: &utoipa::openapi::OpenApi, max_distance: u32) -> Value {
    let mut description = serde_json::to_value(description).unwrap_or_default();
    let schemas = &mut description["components"]["schemas"];
    // utoipa says that exactly one of two fields must be there of enums only, and of an enum serde says nothing useful to a
    // client whose body fits none of its kinds.
    for (schema, one, other) in [("Query", "text", "fingerprint"), ("Side", "text", "id")] {
        let only = |one: &str, other: &str| -> Value {
            json!({ "required": [one], "properties": { one: { "type": "string" }, other: { "type": "null" } } })
        };
        schemas[schema]["oneOf"] = json!([only(one, other), only(other, one)]);
    }
    schemas["Query"]["properties"]["max_distance"]["maximum"] = json!(max_distance);
    schemas["Problem"]["properties"]["type"]["enum"] = Kind::ALL.iter().map(|kind| kind.urn()).collect();
    let scheme = "Needed where the worker runs with --keys. The scope that a key must have is named with each operation.";
    description["components"]["securitySchemes"][guard::SCHEME] =
        json!({ "type": "http", "scheme": "bearer", "description": scheme });
    add_headers(&mut description);
    description
}

/// Says of each answer which headers it has.
fn add_headers(description: &mut Value) {
    let header = |description: &str, schema: Value| json!({ "description": description, "schema": schema });
    let text = json!({ "type": "string" });
    let seconds = json!({ "type": "integer", "minimum": 0 });
    let id = "The request, as the worker's log names it: what it came with, where that is 1 to 64 characters of A-Z, a-z, 0-9, \
              `-`, `_` and `.`, else an id made here";
    description["components"]["headers"] = json!({
        "RequestId": header(id, json!({ "type": "string", "pattern": "^[A-Za-z0-9_.-]{1,64}$" })),
        "RetryAfter": header("With 429 and 503: in how many seconds to try again", seconds),
        "Authenticate": header("With 401: `Bearer`", text.clone()),
        "Location": header("With 201: where the document is looked up", text),
    });
    let of = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
    let operations = description["paths"].as_object_mut().into_iter().flatten();
    let operations = operations.filter_map(|(_, of_path)| of_path.as_object_mut()).flatten();
    for (_, operation) in operations {
        let responses = operation["responses"].as_object_mut().into_iter().flatten();
        for (status, response) in responses {
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
}
