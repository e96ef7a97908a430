//! Places by URL: a table of the stores, one crate each.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use index::{Error, Index, MemoryUri, Mode, OpenOptions, Place, Result, TextKeeping};

use crate::counter;

/// Schemes by which other programs ask Sentinel.
const SENTINELS: [&str; 4] = ["sentinel", "redis-sentinel", "redis+sentinel", "rediss+sentinel"];

/// A store that a URL can name.
struct Backend {
    /// The part of the URL before the colon.
    scheme: &'static str,
    /// A template of the URL, for messages.
    usage: &'static str,
    /// Parses the part after the colon.
    parse: fn(&str) -> Result<Arc<dyn Place>>,
}

/// The stores in this build.
const BACKENDS: &[Backend] = &[
    #[cfg(feature = "embedded")]
    Backend {
        scheme: "embedded",
        usage: "embedded:PATH (a directory, for example embedded:./my-index)",
        parse: parse::<store_embedded::EmbeddedUri>,
    },
    #[cfg(feature = "hbase")]
    Backend {
        scheme: "hbase",
        usage: "hbase://HOST:PORT/NAME",
        parse: |rest| parse::<store_hbase::HbaseUri>(&format!("hbase:{rest}")),
    },
    #[cfg(feature = "hbase")]
    Backend {
        scheme: "hbase+rpc",
        usage: "hbase+rpc://HOST:PORT[,HOST:PORT…]/NAME",
        parse: |rest| parse::<store_hbase::HbaseUri>(&format!("hbase+rpc:{rest}")),
    },
    #[cfg(feature = "redis")]
    Backend {
        scheme: "redis",
        usage: "redis://HOST:PORT/NAME",
        parse: |rest| match rest.strip_prefix("//") {
            Some(rest) => parse::<store_redis::RedisUri>(rest),
            None => Err(Error::invalid(
                "redis: needs a server and a name, for example redis://localhost:6379/news",
            )),
        },
    },
    Backend { scheme: "memory", usage: "memory:", parse: parse::<MemoryUri> },
];

fn parse<P: Place + FromStr<Err = Error> + 'static>(rest: &str) -> Result<Arc<dyn Place>> {
    Ok(Arc::new(rest.parse::<P>()?))
}

/// The place of an index in any store: a [`Place`] parsed from a URL.
#[derive(Clone, Debug)]
pub struct StoreUri(Arc<dyn Place>);

impl FromStr for StoreUri {
    type Err = Error;

    fn from_str(uri: &str) -> Result<Self> {
        let (scheme, rest) = uri.split_once(':').unwrap_or((uri, ""));
        if let Some(backend) = BACKENDS.iter().find(|backend| uri.contains(':') && backend.scheme == scheme) {
            return match (backend.parse)(rest) {
                Ok(place) => Ok(Self(place)),
                // The error of a bad URL may quote the password.
                Err(error) => match shown(uri).split_once(':') {
                    Some((_, shown)) if shown != rest => (backend.parse)(shown).map(Self),
                    _ => Err(error),
                },
            };
        }
        if SENTINELS.contains(&scheme) {
            return Err(Error::invalid(
                "this program does not ask Sentinel which server is the primary; give redis://HOST:PORT/NAME, with \
                 a name or a proxy that leads to it: after a fail-over a new connection is made by that name",
            ));
        }
        if scheme == "rediss" {
            return Err(Error::invalid(
                "rediss: is Redis over TLS, which this program does not speak; run a TLS proxy such as stunnel on this \
                 machine, and name it by redis://localhost:PORT/NAME",
            ));
        }
        let usages: Vec<&str> = BACKENDS.iter().map(|backend| backend.usage).collect();
        let (last, others) = usages.split_last().expect("there is always a store in memory");
        let usage =
            if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) };
        Err(Error::invalid(format!("{:?} names no store; use {usage}", shown(uri))))
    }
}

impl Deref for StoreUri {
    type Target = dyn Place;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Display for StoreUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The URL without its credentials: the part before `@` may be a password.
#[must_use]
pub fn shown(uri: &str) -> String {
    match (uri.split_once("://"), uri.rsplit_once('@')) {
        (Some((scheme, _)), Some((before, place))) if before.len() > scheme.len() => {
            format!("{scheme}://…@{place}")
        }
        _ => uri.to_owned(),
    }
}

/// The local directory that holds the index at `uri`, if there is one.
#[must_use]
pub fn local_path(uri: &str) -> Option<PathBuf> {
    uri.parse::<StoreUri>().ok()?.capabilities().local_path.map(Path::to_owned)
}

/// The text keeping of a new index at `uri` unless an option sets it.
#[must_use]
pub fn texts_default(uri: &str) -> TextKeeping {
    uri.parse::<StoreUri>().map_or(TextKeeping::None, |place| place.capabilities().texts)
}

/// Returns true if an index at `uri` can drop a document that another one contains: see
/// [`Index::containing`].
#[must_use]
pub fn decides_contained(uri: &str) -> bool {
    uri.parse::<StoreUri>().is_ok_and(|place| place.capabilities().contained)
}

/// Returns true if an index at `uri` outlives this process.
#[must_use]
pub fn outlives_process(uri: &str) -> bool {
    uri.parse::<StoreUri>().is_ok_and(|place| place.capabilities().outlives_process)
}

/// Opens the index at `uri`, or creates it where `options` allow, for callers without a
/// fingerprinter.
///
/// # Errors
/// `Mismatch` for an index unlike `options`, naming the fields; `NotFound` for a missing index that
/// may not be made; and the errors of the store.
pub fn open_index(uri: &str, options: &OpenOptions) -> Result<Index> {
    let uri: StoreUri = uri.parse()?;
    // Invalid options are refused before anything is created for them.
    if options.mode == Mode::CreateIfMissing {
        options.new_metadata()?;
    }
    let index = Index::over(uri.open(options.mode, options.clock(), None)?, options)?;
    let counter = counter(index.recipe());
    Ok(index.counting(counter))
}

#[cfg(all(feature = "embedded", feature = "hbase", feature = "redis"))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (uri, expected) in [
            ("redis://user:secret@h/a", "redis://…@h/a"),
            ("redis://:sec/re@t@h:1/a?db=1", "redis://…@h:1/a?db=1"),
            ("redis://h/a", "redis://h/a"),
            ("embedded:./a@b", "embedded:./a@b"),
        ] {
            assert_eq!(shown(uri), expected);
            if expected.contains('…') {
                let refused = uri.parse::<StoreUri>().unwrap_err().to_string();
                assert!(!refused.contains("sec"), "{refused}");
            }
        }
        for (uri, expected) in [
            ("hbase://user:secret@h/a", "…@h"),
            ("valkey://user:secret@h/a", "…@h/a"),
            ("rediss://user:secret@h/a", "stunnel"),
            ("redis+sentinel://user:secret@h/a", "Sentinel"),
        ] {
            let refused = uri.parse::<StoreUri>().unwrap_err().to_string();
            assert!(refused.contains(expected) && !refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn urls() {
        for (uri, expected) in [
            ("memory:", Some("memory:")),
            ("embedded:./a b", Some("embedded:./a b")),
            ("embedded:/var/lib/x", Some("embedded:/var/lib/x")),
            ("embedded:///var/lib/x", Some("embedded:/var/lib/x")),
            ("embedded:x:y", Some("embedded:x:y")),
            ("embedded://x", None),
            ("memory:x", None),
            ("memory", None),
            ("embedded:", None),
            ("", None),
            ("./index", None),
            ("lmdb:./index", None),
            ("hbase://localhost:9091/news", Some("hbase://localhost:9091/news?connections=8")),
            ("hbase://10.0.0.1/crawl:news-2.v1", Some("hbase://10.0.0.1:9090/crawl:news-2.v1?connections=8")),
            ("hbase://[::1]:9090/a?connections=3", Some("hbase://[::1]:9090/a?connections=3")),
            ("hbase://[::1]/a", Some("hbase://[::1]:9090/a?connections=8")),
            ("hbase:", None),
            ("hbase:localhost:9090/news", None),
            ("hbase://localhost:9090", None),
            ("hbase://localhost:9090/", None),
            ("hbase://localhost:0/news", None),
            ("hbase://localhost:x/news", None),
            ("hbase://:9090/news", None),
            ("hbase://me@localhost/news", None),
            ("hbase://localhost/a/b", None),
            ("hbase://localhost/-a", None),
            ("hbase://localhost/:a", None),
            ("hbase://localhost/a?connections=0", None),
            ("hbase://localhost/a?connection=4", None),
            ("hbase://localhost/a?connections=4&connections=5", None),
            ("hbase://localhost/a_docs", None),
            ("hbase://a,b/news", None),
            ("hbase://localhost/a?user=me", None),
            ("hbase+rpc://m/news?user=me", Some("hbase+rpc://m:16000/news?connections=2&user=me")),
            (
                "hbase+rpc://m1:1,m2,[::1]/n:a?connections=3&user=a.b",
                Some("hbase+rpc://m1:1,m2:16000,[::1]:16000/n:a?connections=3&user=a.b"),
            ),
            ("hbase+rpc:m/news", None),
            ("hbase+rpc://m,/news", None),
            ("hbase+rpc://,m/news", None),
            ("hbase+rpc://m", None),
            (
                "hbase+rpc://m/a?user=u&tls-ca=/etc/ca.pem&tls-key=k&tls-cert=c",
                Some("hbase+rpc://m:16000/a?connections=2&user=u&tls-ca=/etc/ca.pem&tls-cert=c&tls-key=k"),
            ),
            (
                "hbase+rpc://m/a?principal=hbase/_HOST@A.B&user=u",
                Some("hbase+rpc://m:16000/a?connections=2&user=u&principal=hbase/_HOST@A.B"),
            ),
            ("hbase+rpc://m/a?principal=hbase", None),
            ("hbase+rpc://m/a?principal=hbase/", None),
            ("hbase://m/a?principal=hbase/_HOST@A.B", None),
            ("hbase+rpc://m/a?tls-ca=a&tls-key=k", None),
            ("hbase+rpc://m/a?tls-cert=c&tls-key=k", None),
            ("hbase+rpc://m/a?tls-ca=", None),
            ("hbase://m/a?tls-ca=a", None),
            ("hbase+rpc://m/a?user=", None),
            ("hbase+rpc://m/a?user=a&user=b", None),
            ("hbase+rpc://m/a?user=a/b", None),
            ("redis://localhost:6380/news", Some("redis://localhost:6380/news?db=0")),
            ("redis://10.0.0.1/crawl:news-2.v1", Some("redis://10.0.0.1:6379/crawl:news-2.v1?db=0")),
            ("redis://[::1]/a?db=3", Some("redis://[::1]:6379/a?db=3")),
            ("redis://[::1]:1/a", Some("redis://[::1]:1/a?db=0")),
            ("redis://h/a?db=1&password-file=/run/x y", Some("redis://h:6379/a?db=1&password-file=/run/x y")),
            ("redis://h/a?user=u&password-file=p", Some("redis://h:6379/a?db=0&user=u&password-file=p")),
            ("redis://h/a?user=", None),
            ("redis:", None),
            ("redis:localhost/news", None),
            ("redis://localhost", None),
            ("redis://localhost/", None),
            ("redis://localhost/0/news", None),
            ("redis://localhost:0/news", None),
            ("redis://localhost/{news}", None),
            ("redis://localhost/-a", None),
            ("redis://:secret@localhost/news", None),
            ("redis://localhost/a?db=-1", None),
            ("redis://localhost/a?db=", None),
            ("redis://localhost/a?database=1", None),
            ("redis://localhost/a?password-file=", None),
            ("rediss://localhost/news", None),
        ] {
            let parsed = uri.parse::<StoreUri>().ok().map(|uri| uri.to_string());
            assert_eq!(parsed.as_deref(), expected, "{uri}");
            if let Some(parsed) = parsed {
                let again: StoreUri = parsed.parse().expect("what is shown can be read");
                assert_eq!(again.to_string(), parsed);
            }
        }
    }

    #[test]
    fn a_place_says_what_its_store_can_do() {
        for (uri, local_path, outlives_process, public_name) in [
            ("memory:", None, false, "memory:"),
            ("embedded:/var/lib/x", Some("/var/lib/x"), true, "embedded:/var/lib/x"),
            ("hbase://h/a?connections=3", None, true, "hbase://h:9090/a"),
            ("hbase+rpc://h,i/a?user=me", None, true, "hbase+rpc://h:16000,i:16000/a"),
            ("redis://h/a?password-file=/run/x", None, true, "redis://h:6379/a"),
        ] {
            let uri: StoreUri = uri.parse().unwrap();
            let found = uri.capabilities();
            assert_eq!(found.local_path, local_path.map(Path::new), "{uri}");
            assert_eq!(found.outlives_process, outlives_process, "{uri}");
            assert_eq!(uri.public_name(), public_name);
        }
    }
}
