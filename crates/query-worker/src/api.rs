//! HTTP API: the routes, their requests and answers, and the OpenAPI description.
//!
//! The [`worker`](crate::worker) runs the operations, [`access`](crate::access) states their
//! scopes, and [`problem`](crate::problem) holds the answers to failures. The API does not depend
//! on connections.

mod about;
mod analyze;
mod batch;
mod body;
mod compare;
mod description;
mod documents;
mod guard;
mod list;
mod page;
mod query;
mod text;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequestParts, MatchedPath, Path};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{Method, Uri};
use axum::middleware;
use axum::routing::get;
use index::DocumentId;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Number;
use utoipa::openapi::ObjectBuilder;
use utoipa::openapi::schema::{OneOfBuilder, Schema, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::body::Json;
use self::guard::Guard;
use crate::access::{Access, rules};
use crate::problem::Problem;
use crate::request;
use crate::worker::Worker;

/// Path of the OpenAPI description.
const DESCRIPTION: &str = "/openapi.json";

/// Builds the router of all routes over one worker, for the requests that `access` admits.
pub fn router(worker: Arc<Worker>, access: Access) -> Router {
    let (router, description) = documented().split_for_parts();
    let description = description::written(&description, &worker.index().rule());
    let guard = Guard::new(access, worker.limits().request_seconds_max);
    let description = ([(CONTENT_TYPE, "application/json")], Bytes::from(description.to_string()));
    page::routes(router)
        .route(DESCRIPTION, get(async move || description))
        .fallback(async |uri: Uri| Problem::not_found(uri.path()))
        .method_not_allowed_fallback(async |path: Option<MatchedPath>, method: Method, uri: Uri| {
            let known = path.map(|path| methods(path.as_str())).unwrap_or_default();
            Problem::method_not_allowed(&method, uri.path(), &known)
        })
        .layer(middleware::from_fn_with_state(Arc::new(guard), guard::guard))
        // Outermost, so that it sees the answers of all other layers.
        .layer(middleware::from_fn_with_state(Arc::clone(&worker), request::observe))
        .with_state(worker)
}

/// Returns the methods that a path answers, joined for a message.
fn methods(path: &str) -> String {
    rules::methods(path).unwrap_or_else(|| if is_open(path) { "GET".to_owned() } else { String::new() })
}

/// Returns true if a path is outside of the API and answers GET without a key: a file of the page,
/// or the description.
fn is_open(path: &str) -> bool {
    path == DESCRIPTION || page::paths().any(|of_page| of_page == path)
}

/// Returns the router of the described routes, with their description.
fn documented() -> OpenApiRouter<Arc<Worker>> {
    OpenApiRouter::with_openapi(description::begun())
        .routes(routes!(query::query))
        .routes(routes!(query::query_batch))
        .routes(routes!(documents::insert_if_new, list::list))
        .routes(routes!(documents::insert_batch))
        .routes(routes!(documents::get, documents::remove))
        .routes(routes!(text::text))
        .routes(routes!(compare::compare))
        .routes(routes!(analyze::analyze))
        .routes(routes!(about::index))
        .routes(routes!(about::alive))
        .routes(routes!(about::ready))
        .routes(routes!(about::metrics))
}

/// Parses one JSON object.
fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Problem> {
    // A byte order mark, which some editors write.
    let json = json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json);
    // serde would read an array's elements as the fields, in order.
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::bad_request("this must be a JSON object"));
    }
    serde_json::from_slice(json)
        .map_err(|error| Problem::bad_request(&format!("this is not the JSON expected: {error}")))
}

/// Deserializes an optional field as a number without a fraction. JSON Schema takes 10.0 as the
/// integer 10, and some clients write integers so.
fn whole<'de, D: Deserializer<'de>, N: TryFrom<u64>>(deserializer: D) -> Result<Option<N>, D::Error> {
    let Some(number) = Option::<Number>::deserialize(deserializer)? else { return Ok(None) };
    let is_exact = |float: f64| float.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&float);
    let whole =
        number.as_u64().or_else(|| number.as_f64().filter(|&f| is_exact(f)).map(|float| float as u64));
    let whole = whole.and_then(|whole| N::try_from(whole).ok());
    whole.map(Some).ok_or_else(|| D::Error::custom(format!("{number} is not a whole number in range")))
}

/// An id as clients have it: an integer is its digits, as in the inputs of the batch job.
#[derive(Deserialize)]
#[serde(untagged, expecting = "an id is a string or an integer")]
enum GivenId {
    Text(String),
    Integer(Number),
}

/// Describes the ids that [`id_or_integer`] takes.
fn given_id() -> Schema {
    let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(4096));
    let integer = ObjectBuilder::new().schema_type(Type::Integer);
    let one_of = OneOfBuilder::new()
        .item(text.pattern(Some("^[^\\x00-\\x1f\\x7f-\\x9f]*$")))
        .item(integer.minimum(Some(i64::MIN as isize)).maximum(Some(u64::MAX as usize)))
        .item(ObjectBuilder::new().schema_type(Type::Null));
    Schema::OneOf(one_of.build())
}

/// Deserializes an optional id.
fn id_or_integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    /// Largest integer below which a double has every integer.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    Ok(match Option::<GivenId>::deserialize(deserializer)? {
        None => None,
        Some(GivenId::Text(id)) => Some(id),
        Some(GivenId::Integer(number)) if !number.is_f64() => Some(number.to_string()),
        // JSON Schema takes 10.0 as the integer 10, as in `whole`.
        Some(GivenId::Integer(number)) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 && float.abs() < EXACT => Some((float as i64).to_string()),
            _ => return Err(D::Error::custom(format!("the id {number} is not an integer"))),
        },
    })
}

/// The id of a document in a path, percent-decoded. An id may contain slashes.
struct PathId(DocumentId);

impl FromRequestParts<Arc<Worker>> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, worker: &Arc<Worker>) -> Result<Self, Problem> {
        let id = Path::<String>::from_request_parts(parts, worker).await;
        let Path(id) =
            id.map_err(|_| Problem::bad_request("the id in the path must be percent-encoded UTF-8"))?;
        document_id(id).map(Self)
    }
}

/// Checks an id from a client.
fn document_id(id: String) -> Result<DocumentId, Problem> {
    DocumentId::new(id).map_err(|error| Problem::bad_request(&error.to_string()))
}
