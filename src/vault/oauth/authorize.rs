//! `GET /oauth/authorize`: the owner's browser, sent by a program (RFC 6749 §4.1, RFC 7636, RFC 9207).

use super::flows::Way;
use super::sent::Sent;
use super::{consent, pairing};
use crate::vault::Vault;
use crate::vault::wire::{ApiError, Reply, Request};

/// RFC 9396 §5.
const DETAILS_FAULT: &str = "invalid_authorization_details";

/// `GET /oauth/authorize`
///
/// # Errors
/// Where the database fails; all else is a page.
pub fn answer(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let page = |what: &str| Ok(consent::refused_page(&vault.config.profile, what));
    // What another site's page loads by itself, as a picture or a frame, is no person who goes somewhere.
    if request.header("sec-fetch-dest").is_some_and(|goes_to| goes_to != "document") {
        return page("it did not send a person here");
    }
    let sent = match Sent::read(vault, request, request.params()) {
        Ok(sent) => sent,
        Err(error) if error.status.is_server_error() => return Err(error),
        Err(error) => return page(error.message()),
    };
    // Nobody knows who that is, so nothing is kept of it until the owner lets it in.
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
    // Whatever is wrong is shown: nobody is sent anywhere before an owner decided.
    match made {
        Ok((_, Some(back))) => Ok(Reply::see_other(&back)),
        Ok((id, None)) => Ok(Reply::see_other(&consent::page_url(&request.base, &id))),
        Err(error) if error.status.is_server_error() => Err(error),
        // With --auto-approve nobody is asked, so that a program is told of a fault as it is of an approval.
        Err(error) if vault.config.auto_approve => {
            let code = if error.code == "invalid_request" { DETAILS_FAULT } else { error.code };
            Ok(Reply::see_other(&redirect.back(&[("error", code), ("error_description", error.message())])))
        }
        Err(error) => page(error.message()),
    }
}
