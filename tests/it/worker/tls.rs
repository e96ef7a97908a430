//! TLS, with certificates made by the tests.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use super::is_problem;
use crate::support::{Worker, run, until};

/// Makes a certificate and its key, writes both, and returns the certificate.
fn certify(folder: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    fs::write(folder.join("cert.pem"), made.cert.pem()).unwrap();
    made.cert.der().clone()
}

fn connect(worker: &Worker) -> TcpStream {
    TcpStream::connect(worker.base().trim_start_matches("http://")).unwrap()
}

/// Returns true if a client that trusts this certificate gets an answer.
fn answers(worker: &Worker, certificate: &CertificateDer<'static>) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    let client = ClientConnection::new(config, "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(client, connect(worker));
    let mut answer = String::new();
    let asked = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok() && answer.starts_with("HTTP/1.1 200")
}

#[test]
fn a_certificate_that_is_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = certify(folder);
    let files = ["cert.pem", "key.pem"].map(|name| folder.join(name).to_str().unwrap().to_owned());
    let mut worker = Worker::start("memory:", &["--tls-cert", &files[0], "--tls-key", &files[1]]);
    assert!(answers(&worker, &first));

    fs::write(&files[1], "no key").unwrap();
    worker.log_until("cannot be read again");
    assert!(answers(&worker, &first), "the good pair stays");
    let second = certify(folder);
    until(|| answers(&worker, &second));
    assert!(!answers(&worker, &first));

    // Plain HTTP gets an explanation.
    let mut plain = connect(&worker);
    plain.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect(&answer);
    assert!(head.starts_with("HTTP/1.1 400 "), "{answer}");
    let problem: Value = serde_json::from_str(body).unwrap();
    is_problem((400, problem), 400, "needs-tls");
}

/// A silent client holds a connection no longer than one that sends a head.
#[test]
fn a_handshake_that_does_not_come() {
    let folder = tempfile::tempdir().unwrap();
    certify(folder.path());
    let files = ["cert.pem", "key.pem"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let tls = ["--tls-cert", &files[0], "--tls-key", &files[1], "--header-seconds-max", "0.2"];
    let worker = Worker::start("memory:", &tls);
    for begins in [&b""[..], b"\x16\x03\x01"] {
        let mut silent = connect(&worker);
        silent.write_all(begins).unwrap();
        assert_eq!(silent.read(&mut [0]).unwrap_or(0), 0, "it is closed");
    }
}

#[test]
fn pairs_that_are_none() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    folders.iter().for_each(|folder| drop(certify(folder.path())));
    let file = |n: usize, name: &str| folders[n].path().join(name).to_str().unwrap().to_owned();
    let start = |cert: &str, key: &str| {
        run("query-worker", ["--store", "memory:", "--tls-cert", cert, "--tls-key", key]).expect(2).stderr
    };
    assert!(start(&file(0, "cert.pem"), &file(1, "key.pem")).contains("of no use with"));
    assert!(start(&file(0, "key.pem"), &file(0, "key.pem")).contains("no certificate"));
    assert!(start(&file(0, "cert.pem"), "/nowhere/key.pem").contains("/nowhere/key.pem"));
    let run = run("query-worker", ["--store", "memory:", "--tls-cert", "cert.pem"]).expect(2);
    assert!(run.stderr.contains("--tls-key"), "{}", run.stderr);
}

/// Files in common forms of openssl and others that the worker cannot read: the error names a
/// command that converts them.
#[test]
fn files_in_another_form() {
    let folder = tempfile::tempdir().unwrap();
    let der = certify(folder.path());
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let (good_cert, good_key) = (fs::read(&cert).unwrap(), fs::read(&key).unwrap());
    let encrypted = b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for (cert_bytes, key_bytes, part) in [
        (&der[..], &good_key[..], "openssl x509 -inform DER"),
        (&good_cert, b"\x30\x82", "openssl pkey -inform DER"),
        (&good_cert, encrypted, "openssl pkey -in"),
        (&good_cert[..good_cert.len() / 2], &good_key, "cut short"),
        (&good_cert, &good_key[..good_key.len() / 2], "cut short"),
    ] {
        fs::write(&cert, cert_bytes).unwrap();
        fs::write(&key, key_bytes).unwrap();
        let [cert, key] = [&cert, &key].map(|file| file.to_str().unwrap());
        let args = ["--store", "memory:", "--check", "--tls-cert", cert, "--tls-key", key];
        let said = run("query-worker", args).expect(2).stderr;
        assert!(said.contains(part), "{part:?}: {said}");
    }
}
