//! TLS to the servers, as in HBase 2.6 (`hbase.server.netty.tls.enabled`): on the same ports, from
//! the first byte on.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The trusted authorities, and the certificate shown to servers that ask for one.
#[derive(Clone)]
pub struct Tls(Arc<ClientConfig>);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// The reason certificates or a key cannot be used.
#[derive(Debug)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

impl Tls {
    /// Trusts servers with a certificate signed by one of these authorities, PEM, for the server's
    /// name in `hbase:meta`. `identity` is a chain of certificates and its key, both PEM, for
    /// servers that ask their clients for a certificate.
    ///
    /// # Errors
    /// [`TlsError`] if an input is no PEM of its kind, or the key is not that of the certificate.
    pub fn new(authorities: &[u8], identity: Option<(&[u8], &[u8])>) -> Result<Self, TlsError> {
        let failed =
            |what: &'static str| move |error: &dyn fmt::Display| TlsError(format!("{what}: {error}"));
        let mut roots = RootCertStore::empty();
        for certificate in certificates(authorities)? {
            roots.add(certificate).map_err(|error| failed("the certificate of an authority")(&error))?;
        }
        if roots.is_empty() {
            return Err(TlsError("there is no certificate of an authority".to_owned()));
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed("TLS")(&error))?
            .with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some((chain, key)) => {
                let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| failed("the key")(&error))?;
                let chain = certificates(chain)?;
                config
                    .with_client_auth_cert(chain, key)
                    .map_err(|error| failed("the certificate and its key")(&error))?
            }
        };
        Ok(Self(Arc::new(config)))
    }

    /// Does the handshake with the server of a name.
    pub(crate) async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        TlsConnector::from(Arc::clone(&self.0)).connect(name, stream).await
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError(format!("a certificate: {error}")))
}
