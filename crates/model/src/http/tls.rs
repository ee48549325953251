//! Whose certificates are believed.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// Why there can be no safe connections.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The file of certificates cannot be used.
    #[error("the certificates in {} cannot be read: {why}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// There is nothing to encrypt with.
    #[error("there can be no safe connections: {why}")]
    Setup {
        /// Why.
        why: String,
    },
}

/// The roots that browsers believe, and those of a file, for gateways with an own authority.
pub(crate) fn config(more: Option<PathBuf>) -> Result<Arc<ClientConfig>, TlsError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = more {
        let unusable = |why: String| TlsError::Certificates { path: path.clone(), why };
        let certificates =
            CertificateDer::pem_file_iter(&path).map_err(|error| unusable(error.to_string()))?;
        // A bundle may have some that are too old to be understood; that is no reason to stop.
        let certificates: Vec<_> = certificates.filter_map(Result::ok).collect();
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err(unusable("there are none in it, as PEM".to_owned()));
        }
    }
    let mut config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::Setup { why: error.to_string() })?
            .with_root_certificates(roots)
            .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
