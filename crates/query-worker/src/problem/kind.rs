//! Kinds of problems: stable identifiers for programs. The crate's README says what each means; a
//! test holds the two together.

use axum::http::StatusCode;

macro_rules! kinds {
    ($($kind:ident $name:literal $status:ident,)*) => {
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Kind {
            $($kind,)*
        }

        impl Kind {
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)*];

            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            pub(crate) fn status(self) -> StatusCode {
                match self {
                    $(Self::$kind => StatusCode::$status,)*
                }
            }
        }
    };
}

kinds! {
    BadRequest "bad-request" BAD_REQUEST,
    NeedsTls "needs-tls" BAD_REQUEST,
    NotHttp "not-http" BAD_REQUEST,
    NoKey "no-key" UNAUTHORIZED,
    UnknownKey "unknown-key" UNAUTHORIZED,
    WrongScope "wrong-scope" FORBIDDEN,
    CrossOrigin "cross-origin" FORBIDDEN,
    NoSuchDocument "no-such-document" NOT_FOUND,
    NoText "no-text" NOT_FOUND,
    NotFound "not-found" NOT_FOUND,
    MethodNotAllowed "method-not-allowed" METHOD_NOT_ALLOWED,
    TooSlow "too-slow" REQUEST_TIMEOUT,
    TooLarge "too-large" PAYLOAD_TOO_LARGE,
    TextTooLong "text-too-long" PAYLOAD_TOO_LARGE,
    TooManyLines "too-many-lines" PAYLOAD_TOO_LARGE,
    UriTooLong "uri-too-long" URI_TOO_LONG,
    Encoded "encoded" UNSUPPORTED_MEDIA_TYPE,
    UnknownHost "unknown-host" MISDIRECTED_REQUEST,
    NoFeatures "no-features" UNPROCESSABLE_ENTITY,
    TooManyRequests "too-many-requests" TOO_MANY_REQUESTS,
    HeadTooLarge "head-too-large" REQUEST_HEADER_FIELDS_TOO_LARGE,
    Internal "internal" INTERNAL_SERVER_ERROR,
    Timeout "timeout" SERVICE_UNAVAILABLE,
    Stopping "stopping" SERVICE_UNAVAILABLE,
    Busy "busy" SERVICE_UNAVAILABLE,
    TooManyConnections "too-many-connections" SERVICE_UNAVAILABLE,
    StoreUnavailable "store-unavailable" SERVICE_UNAVAILABLE,
}

impl Kind {
    /// The `type` of a problem.
    pub(crate) fn urn(self) -> String {
        format!("urn:pigeonhole:problem:{}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_in_the_book_has_them_all() {
        let (_, table) = include_str!("../../../../docs/src/service.md").split_once("## Problems").unwrap();
        let rows =
            table.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| !line.is_empty());
        let documented: Vec<_> =
            rows.map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" ")).collect();
        let known = Kind::ALL.iter().map(|kind| format!("| `{}` {}", kind.name(), kind.status().as_u16()));
        assert_eq!(documented, known.collect::<Vec<_>>());
    }
}
