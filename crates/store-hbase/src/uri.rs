//! `SCHEME://HOST:PORT/NAME`: the place of an index in HBase, where the scheme names a transport.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use index::backend::split_authority;
use index::{Error, Place, Result};

use crate::transport::Transport;

/// The place of an index in HBase, and the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HbaseUri {
    /// The transport of the rows.
    pub transport: Transport,
    /// `HOST:PORT` of the transport's server, or several with commas between them.
    pub server: String,
    /// The table of the index, with its namespace if it has one; the documents' table appends
    /// `_docs`.
    pub name: String,
    /// The user's name for HBase, with a transport that sends one.
    pub user: String,
    /// The most connections to a server at a time.
    pub n_connections: usize,
    /// The files for TLS, where HBase's servers speak TLS and the transport does.
    pub tls: Option<TlsFiles>,
    /// `hbase/_HOST@REALM`, the principal of HBase's servers where these want Kerberos and the
    /// transport has it: the ticket then identifies the user, in place of `user`.
    pub principal: Option<String>,
    /// The tier that this process keeps of the index, where the transport reads by times.
    pub tier: Option<TierOptions>,
}

/// The bounds and the place of a tier, the older cells of an index in the memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TierOptions {
    /// The most bytes of memory that the tier takes.
    pub n_bytes_max: usize,
    /// The file from which the next process has the tier at its start.
    pub file: Option<PathBuf>,
}

/// The files that TLS needs, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificates of the authorities that have signed those of the servers.
    pub authorities: PathBuf,
    /// A certificate with its chain, and its key, for servers that ask their clients for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// The most connections that a URL may ask for: each costs the server a thread.
const HBASE_CONNECTIONS_MAX: usize = 1_000;

/// The most megabytes of a tier that a URL may ask for.
const TIER_MEGABYTES_MAX: usize = 1_000_000;

impl FromStr for HbaseUri {
    type Err = Error;

    fn from_str(uri: &str) -> Result<Self> {
        let Some((transport, rest)) = of_transport(uri) else {
            return Err(Error::invalid(format!(
                "{uri:?} is not a place in HBase; write hbase://HOST:PORT/NAME"
            )));
        };
        let (scheme, port) = (transport.scheme(), transport.port());
        let example = format!("for example {scheme}://localhost:{port}/news");
        let Some(rest) = rest.strip_prefix("//") else {
            let server = transport.server();
            return Err(Error::invalid(format!("{scheme}: needs a {server} and a name, {example}")));
        };
        let malformed =
            |what: String| Error::invalid(format!("{what}; write {scheme}://HOST:PORT/NAME, {example}"));
        let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
        // The last of several servers stands before the name.
        let (others, last) = match place.split_once('/') {
            Some((servers, _)) if transport.has_many_servers() => {
                servers.rfind(',').map_or(("", place), |comma| place.split_at(comma + 1))
            }
            _ => ("", place),
        };
        let (host, port, name) = split_authority(last, transport.port()).map_err(malformed)?;
        if host.contains(',') {
            return Err(malformed(format!(
                "{host:?} are several; {scheme}: takes one {}",
                transport.server()
            )));
        }
        check_table_name(name)?;
        let mut servers = Vec::new();
        for other in others.split_terminator(',') {
            let other = format!("{other}/");
            let (host, port, _) = split_authority(&other, transport.port()).map_err(malformed)?;
            servers.push(format!("{host}:{port}"));
        }
        servers.push(format!("{host}:{port}"));
        let mut parameters = Parameters::default();
        for parameter in query.into_iter().flat_map(|query| query.split('&')) {
            parameters.read(transport, parameter).map_err(malformed)?;
        }
        let (tls, tier) = (parameters.tls(), parameters.tier());
        Ok(Self {
            transport,
            server: servers.join(","),
            name: name.to_owned(),
            user: parameters.user.unwrap_or_else(default_user),
            n_connections: parameters.n_connections.unwrap_or(transport.n_connections()),
            tls: tls.map_err(malformed)?,
            principal: parameters.principal,
            tier: tier.map_err(malformed)?,
        })
    }
}

/// The parameters after the question mark.
#[derive(Default)]
struct Parameters {
    n_connections: Option<usize>,
    user: Option<String>,
    principal: Option<String>,
    authorities: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    tier_megabytes: Option<usize>,
    tier_file: Option<PathBuf>,
}

impl Parameters {
    fn read(&mut self, transport: Transport, parameter: &str) -> Result<(), String> {
        let known = || {
            let others = if transport.has_user() {
                ", user=NAME, for TLS tls-ca=PATH, with tls-cert=PATH and tls-key=PATH where HBase asks for them, for \
                 Kerberos principal=hbase/_HOST@REALM, and for large indexes tier-mb=N, from 1 to 1000000, with \
                 tier-file=PATH"
            } else {
                ""
            };
            format!(
                "{parameter:?} is not a parameter; there is connections=N, from 1 to {HBASE_CONNECTIONS_MAX}{others}"
            )
        };
        let is_new = match parameter.split_once('=') {
            Some(("connections", number)) => {
                let number =
                    number.parse().ok().filter(|number| (1..=HBASE_CONNECTIONS_MAX).contains(number));
                self.n_connections.replace(number.ok_or_else(known)?).is_none()
            }
            Some(("user", name)) if transport.has_user() && is_user(name) => {
                self.user.replace(name.to_owned()).is_none()
            }
            Some(("principal", name)) if transport.has_user() && is_principal(name) => {
                self.principal.replace(name.to_owned()).is_none()
            }
            Some(("tier-mb", number)) if transport.has_user() => {
                let number = number.parse().ok().filter(|number| (1..=TIER_MEGABYTES_MAX).contains(number));
                self.tier_megabytes.replace(number.ok_or_else(known)?).is_none()
            }
            Some((file, path)) if transport.has_user() && !path.is_empty() => {
                let place = match file {
                    "tls-ca" => &mut self.authorities,
                    "tls-cert" => &mut self.certificate,
                    "tls-key" => &mut self.key,
                    "tier-file" => &mut self.tier_file,
                    _ => return Err(known()),
                };
                place.replace(path.into()).is_none()
            }
            _ => return Err(known()),
        };
        let name = parameter.split('=').next().unwrap_or_default();
        if is_new { Ok(()) } else { Err(format!("{name} is there twice")) }
    }
}

impl Parameters {
    fn tls(&mut self) -> Result<Option<TlsFiles>, String> {
        let identity = match (self.certificate.take(), self.key.take()) {
            (None, None) => None,
            (Some(certificate), Some(key)) => Some((certificate, key)),
            _ => return Err("tls-cert and tls-key come together".to_owned()),
        };
        match (self.authorities.take(), identity) {
            (None, Some(_)) => {
                Err("tls-cert needs tls-ca, the certificates that HBase's are signed by".to_owned())
            }
            (authorities, identity) => Ok(authorities.map(|authorities| TlsFiles { authorities, identity })),
        }
    }
}

impl Parameters {
    fn tier(&mut self) -> Result<Option<TierOptions>, String> {
        match (self.tier_megabytes, self.tier_file.take()) {
            (None, Some(_)) => {
                Err("tier-file needs tier-mb, the megabytes of memory that the tier may take".to_owned())
            }
            (megabytes, file) => {
                Ok(megabytes.map(|megabytes| TierOptions { n_bytes_max: megabytes * 1_000_000, file }))
            }
        }
    }
}

fn is_user(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-@".contains(c))
}

/// Returns true if the name has a service and a host.
fn is_principal(name: &str) -> bool {
    let (service, host) = name.split_once('/').unwrap_or_default();
    !service.is_empty()
        && !host.is_empty()
        && name.chars().all(|c| c.is_alphanumeric() || "._-/@".contains(c))
}

/// Returns the user's name: `HADOOP_USER_NAME`, as in Hadoop's clients, else `USER` or `LOGNAME`,
/// else `hbase`.
fn default_user() -> String {
    let named = |variable: &&str| std::env::var(variable).ok().filter(|name| is_user(name));
    ["HADOOP_USER_NAME", "USER", "LOGNAME"].iter().find_map(named).unwrap_or_else(|| "hbase".to_owned())
}

impl fmt::Display for HbaseUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}?connections={}", self.public_name(), self.n_connections)?;
        if self.transport.has_user() {
            write!(f, "&user={}", self.user)?;
        }
        if let Some(principal) = &self.principal {
            write!(f, "&principal={principal}")?;
        }
        if let Some(TlsFiles { authorities, identity }) = &self.tls {
            write!(f, "&tls-ca={}", authorities.display())?;
            if let Some((certificate, key)) = identity {
                write!(f, "&tls-cert={}&tls-key={}", certificate.display(), key.display())?;
            }
        }
        if let Some(TierOptions { n_bytes_max, file }) = &self.tier {
            write!(f, "&tier-mb={}", n_bytes_max / 1_000_000)?;
            if let Some(file) = file {
                write!(f, "&tier-file={}", file.display())?;
            }
        }
        Ok(())
    }
}

/// Returns the transport that a URL names, and the part after the colon; `None` if the URL is no
/// place in HBase.
pub(crate) fn of_transport(uri: &str) -> Option<(Transport, &str)> {
    let (scheme, rest) = uri.split_once(':')?;
    let transport = Transport::ALL.into_iter().find(|transport| transport.scheme() == scheme)?;
    Some((transport, rest))
}

/// Checks a table's name by HBase's own rule: a namespace of letters, digits and underscores, and a
/// name that may also have dots and dashes, but not at its start.
fn check_table_name(name: &str) -> Result<()> {
    let (namespace, table) = name.split_once(':').unwrap_or(("default", name));
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_valid = !namespace.is_empty()
        && namespace.chars().all(is_word)
        && table.starts_with(is_word)
        && table.chars().all(|c| is_word(c) || c == '.' || c == '-');
    if table.ends_with("_docs") {
        return Err(Error::invalid(format!(
            "{name:?} is the name of an index's table of documents; give the index's own name, without _docs"
        )));
    }
    if is_valid {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name:?} cannot be the name of a table; use letters, digits, '_', '-' and '.', with NAMESPACE: before it if \
         it has one"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_what_it_lacks() {
        for (uri, says) in [
            ("hbase:h/a", "hbase: needs a gateway and a name, for example hbase://localhost:9090/news"),
            ("hbase://h", "write hbase://HOST:PORT/NAME, for example hbase://localhost:9090/news"),
            ("hbase+rpc:m/a", "needs a master and a name, for example hbase+rpc://localhost:16000/news"),
            ("hbase+rpc://m/a?use=me", "connections=N, from 1 to 1000, user=NAME"),
            ("hbase+carrier-pigeon://h/a", "is not a place in HBase"),
            ("h:9090/a", "is not a place in HBase"),
        ] {
            let error = uri.parse::<HbaseUri>().unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    #[cfg(not(feature = "thrift"))]
    fn a_transport_that_is_not_in_this_build() {
        let uri: HbaseUri = "hbase://h/a".parse().unwrap();
        let error = crate::HbaseStore::open(&uri, index::Clock::system(), None).err().unwrap();
        let says = "this build has no gateway transport, so it cannot open hbase://h:9090/a; build it with the feature `thrift`";
        assert_eq!(error.to_string(), says);
    }

    #[test]
    #[cfg(all(feature = "rpc", not(feature = "kerberos")))]
    fn a_principal_in_a_build_without_kerberos() {
        let uri: HbaseUri = "hbase+rpc://m/a?principal=hbase/_HOST@A".parse().unwrap();
        let error = crate::HbaseStore::open(&uri, index::Clock::system(), None).err().unwrap().to_string();
        assert!(
            error.contains("build it with the feature `kerberos`") && error.contains("hbase://"),
            "{error}"
        );
    }
}
