//! Tests of TLS to a server: trusted certificates, and others.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use hbase_rpc::fake::FakeCluster;
use hbase_rpc::fake::messages::{GetMetaRegionLocationsRequest, GetMetaRegionLocationsResponse};
use hbase_rpc::{Advice, Connection, ConnectionOptions, Error, Service, Tls};
use prost::Message;
use rcgen::CertifiedKey;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A certificate and its key, PEM.
struct Identity {
    certificate: String,
    key: String,
}

fn identity() -> Identity {
    let CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    Identity { certificate: cert.pem(), key: signing_key.serialize_pem() }
}

/// Ends TLS in front of the master of a cluster, and returns the port. `client` is the certificate
/// asked of clients.
async fn in_front_of(cluster: &FakeCluster, server: &Identity, client: Option<&Identity>) -> u16 {
    let certificate = |of: &Identity| CertificateDer::from_pem_slice(of.certificate.as_bytes()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = match client {
        None => config.with_no_client_auth(),
        Some(client) => {
            let mut roots = RootCertStore::empty();
            roots.add(certificate(client)).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            config.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes()).unwrap();
    let config = config.with_single_cert(vec![certificate(server)], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (host, master) = cluster.master();
    tokio::spawn(async move {
        loop {
            let (plain, _) = listener.accept().await.unwrap();
            let Ok(mut near) = acceptor.accept(plain).await else { continue };
            let mut far = TcpStream::connect((host.as_str(), master)).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    port
}

async fn ask(port: u16, tls: Tls) -> Result<GetMetaRegionLocationsResponse, Error> {
    let options = ConnectionOptions { tls: Some(tls), ..ConnectionOptions::default() };
    let connection = Connection::open(("127.0.0.1", port), Service::ClientMeta, options).await?;
    let (request, deadline) = (GetMetaRegionLocationsRequest {}, Duration::from_secs(10));
    connection.call("GetMetaRegionLocations", &request, &[], deadline).await?.message()
}

#[tokio::test]
async fn who_trusts_whom() {
    let cluster = FakeCluster::start(1);
    let [server, client, other] = [identity(), identity(), identity()];
    let trusting = |authority: &Identity, shown: Option<&Identity>| {
        let shown = shown.map(|shown| (shown.certificate.as_bytes(), shown.key.as_bytes()));
        Tls::new(authority.certificate.as_bytes(), shown).unwrap()
    };
    let open = in_front_of(&cluster, &server, None).await;
    let closed = in_front_of(&cluster, &server, Some(&client)).await;
    for (port, tls) in [
        (open, trusting(&server, None)),
        (open, trusting(&server, Some(&other))),
        (closed, trusting(&server, Some(&client))),
    ] {
        assert!(ask(port, tls).await.unwrap().encoded_len() > 0);
    }
    for (port, tls) in [
        (open, trusting(&other, None)),
        (closed, trusting(&server, None)),
        (closed, trusting(&server, Some(&other))),
        // This server speaks no TLS.
        (cluster.master().1, trusting(&server, None)),
    ] {
        let error = ask(port, tls).await.unwrap_err();
        let is_of_tls = matches!(error, Error::Tls(_)) && error.advice() == Advice::GiveUp;
        assert!(is_of_tls || port == cluster.master().1, "{error:?}");
    }
}

#[test]
fn what_is_no_certificate_or_key() {
    let [one, other] = [identity(), identity()];
    let (certificate, key) = (one.certificate.as_bytes(), one.key.as_bytes());
    for (authorities, shown) in [
        (&b""[..], None),
        (key, None),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", None),
        (certificate, Some((certificate, &b""[..]))),
        (certificate, Some((certificate, other.key.as_bytes()))),
    ] {
        let error = Tls::new(authorities, shown).unwrap_err();
        assert!(!error.to_string().is_empty());
    }
}
