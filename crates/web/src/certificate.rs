//! The certificate of servers with TLS: made once, kept in a private directory, identified by its fingerprint.

use crate::limits;
use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use swb_engine::file_access;
use tokio_rustls::TlsAcceptor;

/// How a server identifies itself.
#[derive(Clone)]
pub(crate) struct TlsIdentity {
    pub(crate) acceptor: TlsAcceptor,
    /// SHA-256 of the certificate, as browsers show it.
    pub(crate) fingerprint: String,
}

/// Reads the certificate in a directory, or makes one there.
pub(crate) async fn identity(dir: &Path, names: Vec<String>) -> Result<TlsIdentity, String> {
    let read = move |dir: &Path| load(dir).or_else(|_| make(dir, names));
    let (certificate, key) = file_access::run_within(limits::CERTIFICATE, dir, read)
        .await
        .map_err(|error| error.to_string())?
        .map_err(|error| format!("cannot make a certificate in {}: {error}", dir.display()))?;
    let fingerprint = fingerprint(&certificate);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key))
        .map_err(|error| format!("cannot use the certificate in {}: {error}", dir.display()))?;
    Ok(TlsIdentity { acceptor: TlsAcceptor::from(Arc::new(config)), fingerprint })
}

type Pair = (CertificateDer<'static>, PrivateKeyDer<'static>);

fn files(dir: &Path) -> (PathBuf, PathBuf) {
    (dir.join("web-certificate.pem"), dir.join("web-key.pem"))
}

fn load(dir: &Path) -> io::Result<Pair> {
    let (certificate, key) = files(dir);
    let read = |path: &Path| file_access::read_text(path, limits::CERTIFICATE_BYTES);
    let certificate =
        CertificateDer::from_pem_slice(read(&certificate)?.as_bytes()).map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_slice(read(&key)?.as_bytes()).map_err(io::Error::other)?;
    Ok((certificate, key))
}

fn make(dir: &Path, names: Vec<String>) -> io::Result<Pair> {
    let key = KeyPair::generate().map_err(io::Error::other)?;
    let mut parameters = CertificateParams::new(names).map_err(io::Error::other)?;
    parameters.distinguished_name.push(DnType::CommonName, "Switchboard");
    let certificate = parameters.self_signed(&key).map_err(io::Error::other)?;
    let (certificate_file, key_file) = files(dir);
    file_access::write(&key_file, key.serialize_pem().as_bytes())?;
    file_access::write(&certificate_file, certificate.pem().as_bytes())?;
    load(dir)
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    let digest = Sha256::digest(certificate.as_ref());
    digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
}
