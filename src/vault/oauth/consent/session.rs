//! The owner's browser. It opened the link that only the owner received, and has a cookie from then on.

use ring::hmac;

use super::page::{already, foreign_page, paired_elsewhere, stranger};
use crate::vault::Vault;
use crate::vault::oauth::flows::{Pending, Way};
use crate::vault::wire::{Reply, Request};

const COOKIE: &str = "pdpp_owner";

/// The header that gives a browser the secret of a page. The browser also sends this computer's cookies to servers
/// on its other ports, unless the cookie has a path. So this one has the page's path, which nobody else knows.
pub(super) fn cookie_header(base: &str, page: &str, secret: &str) -> String {
    let secure = if base.starts_with("https:") { "; Secure" } else { "" };
    format!("{COOKIE}={secret}; Path=/consent/{page}; HttpOnly; SameSite=Strict{secure}")
}

/// The form's token, for this browser and this page.
pub(super) fn csrf(vault: &Vault, request: &Request, page: &str) -> String {
    let of = format!("{}\n{page}", request.cookie(COOKIE).unwrap_or_default());
    crate::hex::sha256(hmac::sign(&vault.csrf, of.as_bytes()).as_ref())
}

/// The request of a page, for the browser that the page belongs to; the stranger's page for anyone else.
pub(super) fn owners(vault: &Vault, request: &Request, page: &str) -> Result<(String, Pending), Box<Reply>> {
    let profile = &vault.config.profile;
    let found = request.cookie(COOKIE).and_then(|secret| vault.flows.of_page(page, secret));
    // A request that was made at one name is decided at that name.
    let found = found.filter(|(_, pending)| match &pending.way {
        Way::Redirect(redirect) => vault.is_public_base(&redirect.issuer) == vault.is_public(request),
        _ => !vault.is_public(request),
    });
    found.ok_or_else(|| {
        Box::new(if vault.is_public(request) { paired_elsewhere(profile) } else { stranger(profile) })
    })
}

/// The request that a form belongs to, if the form comes from its own page.
pub(super) fn posted_by_owner(
    vault: &Vault,
    request: &Request,
    page: &str,
    posted: &[(String, String)],
) -> Result<(String, Pending), Box<Reply>> {
    let profile = &vault.config.profile;
    if request.is_foreign() {
        return Err(Box::new(foreign_page(profile)));
    }
    let (id, pending) = owners(vault, request, page)?;
    let sent = posted.iter().find(|(name, _)| name == "csrf").map(|(_, value)| value.as_str());
    if sent != Some(csrf(vault, request, page).as_str()) {
        return Err(Box::new(foreign_page(profile)));
    }
    Ok((id, pending))
}

/// Does the same as [`posted_by_owner`], for a request that is not decided yet.
pub(super) fn to_decide(
    vault: &Vault,
    request: &Request,
    page: &str,
    posted: &[(String, String)],
) -> Result<(String, Pending), Box<Reply>> {
    let (id, pending) = posted_by_owner(vault, request, page, posted)?;
    match already(&vault.config.profile, &pending) {
        Some(reply) => Err(Box::new(reply)),
        None => Ok((id, pending)),
    }
}
