//! `GET /oauth/authorize`: the owner's browser, sent by a program (RFC 6749 §4.1, RFC 7636, RFC 9207).

use super::flows::Way;
use super::sent::Sent;
use super::{consent, pairing};
use crate::vault::Vault;
use crate::vault::wire::{ApiError, Reply, Request};

/// The error code for bad authorization details (RFC 9396 §5).
const DETAILS_FAULT: &str = "invalid_authorization_details";

/// `GET /oauth/authorize`
///
/// # Errors
/// Returns the errors of the database. Everything else is a page.
pub fn answer(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let page = |what: &str| Ok(consent::refused_page(&vault.config.profile, what));
    // A picture or a frame that another site's page loads is not a person who goes somewhere.
    if request.header("sec-fetch-dest").is_some_and(|goes_to| goes_to != "document") {
        return page("it loaded this page as part of another page, instead of opening it");
    }
    let sent = match Sent::read(vault, request, request.params()) {
        Ok(sent) => sent,
        Err(error) if error.status.is_server_error() => return Err(error),
        Err(error) => return page(error.message()),
    };
    // The sender is unknown, so no part of the request is kept until the owner admits it.
    if vault.is_public(request) {
        return Ok(pairing::page(vault, &sent, None));
    }
    let client = match sent.client(vault, request) {
        Ok(client) => client,
        Err(error) if error.status.is_server_error() => return Err(error),
        Err(error) => return page(error.message()),
    };
    let redirect = sent.redirect(request);
    let made = (|| {
        let asked = sent.asked(request)?;
        let way = Way::Redirect(Box::new(redirect.clone()));
        let id = consent::ask_owner(vault, request, client, asked, way)?;
        let back = if vault.config.auto_approve {
            consent::approve_unasked(vault, &request.base, &id)?
        } else {
            None
        };
        Ok::<_, ApiError>((id, back))
    })();
    // Errors are shown here. Nobody is redirected anywhere before an owner has decided.
    match made {
        Ok((_, Some(back))) => Ok(Reply::see_other(&back)),
        Ok((id, None)) => Ok(Reply::see_other(&consent::page_url(&request.base, &id))),
        Err(error) if error.status.is_server_error() => Err(error),
        // With --auto-approve nobody is asked, so the program receives an error the same way as an approval.
        Err(error) if vault.config.auto_approve => {
            let code = if error.code == "invalid_request" { DETAILS_FAULT } else { error.code };
            Ok(Reply::see_other(&redirect.back(&[("error", code), ("error_description", error.message())])))
        }
        Err(error) => page(error.message()),
    }
}
