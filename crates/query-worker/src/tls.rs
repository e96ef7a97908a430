//! TLS: the certificate, which is read again when its files change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context, ensure};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The certificate by which the worker is known.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads a chain of certificates, the worker's own first, and the key of that, both PEM.
    ///
    /// # Errors
    /// They cannot be read, or the key is not that of the certificate.
    pub fn open(certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        let current = RwLock::new(read(certificate, key)?);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), current })
    }

    /// What it is read from.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        vec![self.certificate.clone(), self.key.clone()]
    }

    /// Reads the files again. Connections that are open stay as they are.
    ///
    /// # Errors
    /// As [`Tls::open`]; the certificate of before stays.
    pub fn reload(&self) -> anyhow::Result<()> {
        let current = read(&self.certificate, &self.key)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

fn read(certificate: &Path, key: &Path) -> anyhow::Result<Arc<ServerConfig>> {
    let of = |file: &Path, what: &str| format!("failed to read the {what} of `{}`", file.display());
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.with_context(|| of(certificate, "certificate"))?;
    ensure!(!chain.is_empty(), "there is no certificate in `{}`", certificate.display());
    let private = PrivateKeyDer::from_pem_file(key).with_context(|| of(key, "key"))?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().context("failed to set up TLS")?;
    let config = config.with_no_client_auth().with_single_cert(chain, private);
    let mut config = config.with_context(|| {
        format!("the key of `{}` is of no use with `{}`", key.display(), certificate.display())
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
