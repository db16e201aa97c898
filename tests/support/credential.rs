//! A credential as `pdpp connect` would store it.

use pdpp::cache::credential::{Credential, CredentialId, Renewal};
use pdpp::cache::store::StoreKind;
use pdpp::provider::approve::token::UnreadEnds;
use pdpp::provider::grant::{GrantId, TokenKind};

/// A credential of the provider at `url`, in a file: without a source, an expiry or a refresh token.
pub fn credential(url: &str, grant_id: &str, label: &str) -> Credential {
    Credential {
        id: CredentialId::random().unwrap(),
        store: StoreKind::File,
        parts: 1,
        provider: url.parse().unwrap(),
        grant_id: GrantId::try_from(grant_id.to_owned()).unwrap(),
        query_base: format!("{url}/v1").parse().unwrap(),
        issuer: url.to_owned(),
        client_id: None,
        token_kind: TokenKind::Client,
        label: label.to_owned(),
        sources: Vec::new(),
        access_mode: None,
        issued_at: None,
        grant_expires_at: None,
        token_expires_at: None,
        unread_ends: UnreadEnds::default(),
        refreshable: false,
        asked: None,
        given: Vec::new().into(),
        renewal: Renewal::default(),
        ending: false,
        data_dir: None,
        host: None,
    }
}
