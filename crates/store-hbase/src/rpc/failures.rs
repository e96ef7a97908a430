//! The meaning of a cluster's errors, and the errors of the store.

use std::fmt;

use hbase_rpc::Advice;
use index::backend::Away;
use index::{Error, ErrorKind};

use crate::rows::TableNames;
use crate::server::{Failure, Meaning, Server};

/// Returns the error for a caller of the store.
pub(super) fn failed(error: hbase_rpc::Error, server: &Server, tables: &TableNames) -> Error {
    if let hbase_rpc::Error::Tls(_) = &error {
        let servers = &server.address;
        let what = format!(
            "no TLS with the HBase servers of {servers}; they must speak it, tls-ca must hold the authority that \
             signed their certificates, and tls-cert with tls-key a certificate that they accept, where they ask \
             for one"
        );
        return Error::new(ErrorKind::PermissionDenied, what).caused_by(error);
    }
    if let hbase_rpc::Error::Kerberos(_) = &error {
        let what = format!("no Kerberos with the HBase servers of {}", server.address);
        return Error::new(ErrorKind::PermissionDenied, what).caused_by(error);
    }
    if error.wants_kerberos() {
        let what = format!(
            "HBase at {} wants Kerberos; name its servers' principal, ?principal=hbase/_HOST@REALM, to a build with \
             the feature `kerberos`, or go through a gateway that has it, hbase://",
            server.address
        );
        return Error::new(ErrorKind::PermissionDenied, what).caused_by(error);
    }
    let meaning = error.means();
    if let Some(refusal) = server.refusal(meaning, tables) {
        return refusal.caused_by(error);
    }
    let tried = match &error {
        hbase_rpc::Error::GaveUp { waited, .. } => format!("for {:.0} s", waited.as_secs_f32()),
        _ => "once".to_owned(),
    };
    match meaning {
        Meaning::Strange => server.strange(&tried),
        _ => server.unavailable(meaning, &tried, tables),
    }
    .caused_by(error)
}

/// Returns true if the table exists and lacks the family.
pub(super) fn is_of_a_family(error: &hbase_rpc::Error) -> bool {
    match error {
        hbase_rpc::Error::Remote(remote) => remote.class.contains("NoSuchColumnFamilyException"),
        hbase_rpc::Error::GaveUp { source, .. } => is_of_a_family(source),
        _ => false,
    }
}

/// Reports, once, that the store waits for the cluster.
pub(super) struct Watch {
    away: Away,
    servers: String,
}

impl Watch {
    pub(super) fn new(servers: &str) -> Self {
        Self { away: Away::default(), servers: servers.to_owned() }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("servers", &self.servers).finish_non_exhaustive()
    }
}

impl hbase_rpc::Watch for Watch {
    fn waits(&self, error: &hbase_rpc::Error) {
        self.away.waits(&self.servers, error);
    }

    fn goes_on(&self) {
        self.away.is_back(&self.servers);
    }

    fn gives_up(&self) {
        self.away.is_given_up();
    }
}

/// Returns the words of messages about a cluster.
pub(super) fn server(servers: &str, user: &str, principal: Option<&str>) -> Server {
    let denied = match principal {
        None => format!(
            "HBase does not let the user {user:?} do this; grant it read and write, or name another with ?user=NAME"
        ),
        Some(_) => {
            "HBase does not let the user of the ticket do this, whom `klist` names; grant it read and write"
                .to_owned()
        }
    };
    Server {
        address: servers.to_owned(),
        role: "cluster",
        kind: "an HBase master or region server",
        denied,
        way: format!("of the servers that {servers} knows"),
        away: "do its master and region servers run, is the port one of theirs (16000, 16020) and not ZooKeeper's \
               or the gateway's, and can this machine resolve and reach the names that they go by?",
        strange: "is it one, of a version that this program knows, and not its Thrift gateway or web page?",
        foreign: "is the port that of a master or a region server (16000, 16020)?",
    }
}

impl Failure for hbase_rpc::Error {
    fn means(&self) -> Meaning {
        match self {
            Self::Remote(remote) => Meaning::of_exception(&remote.class, remote.advice() != Advice::GiveUp),
            Self::Connection { .. } | Self::Deadline(_) => Meaning::Passing,
            Self::Protocol(_) => Meaning::Strange,
            Self::Tls(_) | Self::Kerberos(_) | Self::TooLong(_) | Self::Invalid(_) => Meaning::Refused,
            Self::GaveUp { source, .. } => source.means(),
        }
    }
}
