//! TLS of the endpoint itself, if no proxy in front serves it.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::ExposeSecret as _;
use tokio_rustls::TlsAcceptor;

use super::credentials::{NotRead, read_private, read_text};
use crate::error::{Error, Result};
use crate::text::shell_word;

/// The files of the certificate and the key.
#[derive(Debug, Clone)]
pub struct Files {
    /// PEM: the certificate, then the ones between it and its authority.
    pub certificate: PathBuf,
    /// PEM: its private key, which only this process's user may read.
    pub key: PathBuf,
}

/// Accepts connections; the certificate can be exchanged at run time.
pub struct Tls {
    files: Files,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads `files`.
    ///
    /// # Errors
    /// Returns `host_tls` if they cannot be used.
    pub fn open(files: Files) -> Result<Self> {
        let config = RwLock::new(files.read()?);
        Ok(Self { files, config })
    }

    /// Reads the files again. If they cannot be used, the old ones stay in use.
    ///
    /// # Errors
    /// Returns `host_tls` if they cannot be used.
    pub fn reload(&self) -> Result<()> {
        let config = self.files.read()?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// The acceptor for the next connection.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Files {
    fn read(&self) -> Result<Arc<ServerConfig>> {
        let failed = |what: &str, path: &PathBuf, why: NotRead| {
            let hint = why.remedy(path).unwrap_or_else(|| {
                let path = shell_word(&path.display().to_string()).into_owned();
                let kind = if what == "key" { "pkey -noout" } else { "x509 -noout -subject -dates" };
                format!("openssl {kind} -in {path}")
            });
            Error::new(why.kind(), "host_tls", format!("The TLS {what} {} cannot be used", path.display()))
                .because(why)
                .hint(hint)
        };
        let (pem, _) =
            read_text(&self.certificate).map_err(|why| failed("certificate", &self.certificate, why))?;
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| failed("certificate", &self.certificate, NotRead::other("it is not PEM")))?;
        if chain.is_empty() {
            return Err(failed(
                "certificate",
                &self.certificate,
                NotRead::other("it contains no certificate"),
            ));
        }
        let pem = read_private(&self.key).map_err(|why| failed("key", &self.key, why))?;
        let key = PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes())
            .map_err(|_| failed("key", &self.key, NotRead::other("it contains no PEM private key")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
            .map_err(|error| {
                failed(
                    "key",
                    &self.key,
                    NotRead::other(format!("it does not match the certificate: {error}")),
                )
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
