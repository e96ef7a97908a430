//! TLS: the certificate, read again when its files change.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context, ensure};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::reload::{self, Reloaded};

/// The certificate and key in force, with the files that hold them.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads a PEM chain of certificates, the worker's own first, and the PEM key of that
    /// certificate.
    ///
    /// # Errors
    /// A file cannot be read, or the key does not belong to the certificate.
    pub fn open(certificate: &Path, key: &Path) -> anyhow::Result<Self> {
        let read = [read(certificate, CHAIN)?, read(key, KEY)?];
        let current = RwLock::new(parse([certificate, key], &read)?.0);
        Ok(Self { certificate: certificate.to_owned(), key: key.to_owned(), current })
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)).into()
    }
}

/// Open connections keep the certificate that they began with.
impl Reloaded for Tls {
    const WHAT: &'static str = "the certificates";
    const LABEL: &'static str = "certificates";

    fn files(&self) -> Vec<PathBuf> {
        vec![self.certificate.clone(), self.key.clone()]
    }

    fn read(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        Ok(vec![read(&self.certificate, CHAIN)?, read(&self.key, KEY)?])
    }

    fn take(&self, contents: &[Vec<u8>]) -> anyhow::Result<usize> {
        let (current, n_certificates) = parse([&self.certificate, &self.key], contents)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(n_certificates)
    }
}

/// Names of the two files in messages.
const CHAIN: &str = "certificate";
const KEY: &str = "key";

fn read(file: &Path, what: &str) -> anyhow::Result<Vec<u8>> {
    let read = File::open(file).and_then(|mut open| reload::read_whole(&mut open));
    read.with_context(|| of(file, what))
}

fn of(file: &Path, what: &str) -> String {
    format!("failed to read the {what} of `{}`", file.display())
}

/// Builds the configuration from the two files; returns it with the length of the chain.
fn parse(files: [&Path; 2], contents: &[Vec<u8>]) -> anyhow::Result<(Arc<ServerConfig>, usize)> {
    let ([certificate, key], [chain, private]) = (files, contents) else {
        anyhow::bail!("a certificate and its key are two files");
    };
    check_pem(certificate, chain, "openssl x509").with_context(|| of(certificate, CHAIN))?;
    let chain = CertificateDer::pem_slice_iter(chain).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(explain).with_context(|| of(certificate, CHAIN))?;
    ensure!(!chain.is_empty(), "there is no certificate in `{}`", certificate.display());
    check_pem(key, private, "openssl pkey").with_context(|| of(key, KEY))?;
    let private = PrivateKeyDer::from_pem_slice(private).map_err(explain).with_context(|| of(key, KEY))?;
    let n_certificates = chain.len();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().context("failed to set up TLS")?;
    let config = config.with_no_client_auth().with_single_cert(chain, private);
    let mut config = config.with_context(|| {
        format!("the key of `{}` is of no use with `{}`", key.display(), certificate.display())
    })?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), n_certificates))
}

/// Refuses DER and encrypted keys. The message names `tool`, which converts the file to PEM.
fn check_pem(file: &Path, bytes: &[u8], tool: &str) -> anyhow::Result<()> {
    let has = |part: &str| bytes.windows(part.len()).any(|window| window == part.as_bytes());
    let shown = file.display();
    // Certificates and keys in DER begin with a SEQUENCE (X.690, 8.9).
    ensure!(
        bytes.first() != Some(&0x30),
        "this is DER; `{tool} -inform DER -in {shown} -out FILE` makes PEM of it"
    );
    ensure!(
        !has("BEGIN ENCRYPTED PRIVATE KEY") && !has("Proc-Type: 4,ENCRYPTED"),
        "it is encrypted, and the worker knows no password; `openssl pkey -in {shown} -out FILE` asks for it and \
         decrypts; keep FILE from others"
    );
    Ok(())
}

/// Adds advice to an error of the PEM parser.
fn explain(error: pem::Error) -> anyhow::Error {
    match error {
        pem::Error::MissingSectionEnd { .. } | pem::Error::Base64Decode(_) => anyhow::Error::new(error)
            .context("it is cut short or damaged; `openssl x509 -noout -in FILE` and `openssl pkey -noout -in FILE` check one"),
        error => error.into(),
    }
}
