//! Addresses of remote inputs, as written by users.

use anyhow::{bail, ensure};

/// Protocol of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    S3,
    Gs,
    Web,
    Hdfs,
}

/// The parts of an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url<'a> {
    pub(super) scheme: Scheme,
    /// In lowercase, however it was written.
    scheme_name: &'static str,
    /// A bucket, or a host and its port.
    pub(super) host: &'a str,
    /// Without the leading slash; not decoded, since only addresses of the web are percent-encoded.
    pub(super) path: &'a str,
    /// Query and fragment of a web address, with the leading `?` or `#`.
    query: &'a str,
}

/// Returns the scheme before `://`, if `text` begins with one.
pub(super) fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_one = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_one.then_some(scheme)
}

impl<'a> Url<'a> {
    pub(super) fn parse(text: &'a str) -> anyhow::Result<Self> {
        let written = scheme(text).unwrap_or_default();
        let rest = text.get(written.len() + "://".len()..).unwrap_or_default();
        let (scheme, scheme_name) = match &*written.to_ascii_lowercase() {
            "s3" => (Scheme::S3, "s3"),
            "gs" => (Scheme::Gs, "gs"),
            "http" => (Scheme::Web, "http"),
            "https" => (Scheme::Web, "https"),
            "hdfs" => (Scheme::Hdfs, "hdfs"),
            _ => bail!("inputs are local, or at s3:// gs:// http:// https:// or hdfs://, not {written}://"),
        };
        let (rest, query) = match rest.find(['?', '#']) {
            Some(end) if scheme == Scheme::Web => rest.split_at(end),
            _ => (rest, ""),
        };
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        // HADOOP_CONF_DIR may name the HDFS.
        ensure!(!host.is_empty() || scheme == Scheme::Hdfs, "{text} names no host or bucket");
        ensure!(
            !host.contains('@'),
            "{scheme_name}:// takes no user name or password in the address, which others could read"
        );
        Ok(Self { scheme, scheme_name, host, path, query })
    }

    /// Returns the beginning common to all addresses of one storage.
    pub(super) fn storage(&self) -> String {
        format!("{}://{}", self.scheme_name, self.host)
    }

    /// Returns the key of the file in its storage.
    pub(super) fn key(&self) -> String {
        match self.scheme {
            Scheme::Web => format!("{}{}", self.name(), self.query.split('#').next().unwrap_or_default()),
            _ => self.path.to_owned(),
        }
    }

    /// Returns the address as shown to the user. The query stays out of reports and journals, since
    /// a signature in it would open the file to every reader.
    pub(super) fn name(&self) -> String {
        self.name_of(self.path)
    }

    /// Returns the name of another file in the same storage.
    pub(super) fn name_of(&self, path: &str) -> String {
        format!("{}/{path}", self.storage())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_from_paths() {
        for (text, expected) in [
            ("s3://bucket/key", Some("s3")),
            ("https://host", Some("https")),
            ("ftp://host/a", Some("ftp")),
            ("a/b://c", None),
            ("crawl.jsonl", None),
            ("://x", None),
            ("/s3://", None),
        ] {
            assert_eq!(scheme(text), expected, "{text}");
        }
    }

    #[test]
    fn addresses_have_parts() {
        for (text, host, key, name) in [
            ("s3://b/a/c?d.jsonl", "b", "a/c?d.jsonl", "s3://b/a/c?d.jsonl"),
            ("gs://b", "b", "", "gs://b/"),
            ("S3://B/Key", "B", "Key", "s3://B/Key"),
            ("hdfs://h:8020/a%20b", "h:8020", "a%20b", "hdfs://h:8020/a%20b"),
            ("hdfs:///a", "", "a", "hdfs:///a"),
            ("https://h/a.csv?sig=1#x", "h", "https://h/a.csv?sig=1", "https://h/a.csv"),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.host, &*url.key(), &*url.name()), (host, key, name), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for (text, part) in [
            ("ftp://host/a", "not ftp://"),
            ("s3:///key", "names no host or bucket"),
            ("http://", "names no host or bucket"),
            ("https://me:secret@host/a", "takes no user name"),
        ] {
            let error = Url::parse(text).unwrap_err().to_string();
            assert!(error.contains(part) && !error.contains("secret"), "{error} should say {part}");
        }
    }
}
