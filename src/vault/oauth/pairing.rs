//! How an owner admits a stranger's request at the public name: with a pairing code, which is shown where the vault
//! runs and typed in the browser that the app sent here.
//!
//! Until then no part of a request is kept. Its parameters are in the page and come back with the code. However
//! many strangers ask, nobody loses a place, no document is fetched, and nobody is notified. With the code the
//! request waits like any other, and that browser has its page at once, as if it had opened an owner's link.
//!
//! # Guessing
//! A code has 12 of 20 letters: 20^12 = 4.1e15. It is compared in constant time and used up by its first use. It
//! decides nothing, because the passphrase is still required. A wrong code is answered after a second
//! ([`WRONG_TIME`]), but only a few answers wait at once ([`MOST_WAITING`]). A caller that sends more gets the
//! answer at once, so that waiting guesses never use up the connections of others, least of all the owner's.
//! Nothing counts wrong codes, because anyone could fill such a count to keep the owner out. So the speed of the
//! machine limits a guesser. At 5,000 tries per second for a year against one code that is never used, 1.6e11 tries
//! find it with a chance of 1 in 26,000; at one try per second, 1 in 130 million.

use std::time::Duration;

use axum::http::StatusCode;

use super::consent;
use super::flows::{Noted, Way};
use super::owner::News;
use super::sent::Sent;
use crate::vault::Vault;
use crate::vault::html::Html;
use crate::vault::wire::{ApiError, Reply, Request};

/// The delay before the answer to a wrong code.
pub const WRONG_TIME: Duration = Duration::from_secs(1);
/// How many answers wait at once: a small part of all possible connections.
pub const MOST_WAITING: usize = 16;

/// The page that asks for the code of a request. It shows where the request would return to, and nothing else.
pub fn page(vault: &Vault, sent: &Sent, problem: Option<&str>) -> Reply {
    let mut main = Html::new();
    main.markup("<h1>An app asks for access</h1>\n");
    if let Some(problem) = problem {
        main.markup("<p class=\"problem\" role=\"alert\"><strong>Not admitted yet.</strong> ")
            .text(problem)
            .markup("</p>\n");
    }
    main.markup("<p>After you decide, your browser returns to <strong>")
        .text(&consent::goes_back_to(&sent.redirect_uri))
        .markup(
            "</strong>. If you did not start this there, close this page.</p>\n<p>To see what it asks for, enter the \
             pairing code. You find it ",
        );
    if vault.config.profile.is_service {
        main.markup(
            "on the owner’s page, which <code>pdpp provider open</code> opens on the owner’s computer",
        );
    } else {
        main.markup("in the terminal of <code>")
            .text(vault.config.profile.command)
            .markup("</code>, where this provider runs, or on the owner’s page");
    }
    main.markup(
        ". It works once.</p>\n<form method=\"post\" action=\"/oauth/pair\">\n<input type=\"hidden\" name=\"request\"",
    )
        .attribute("value", &sent.as_query())
        .markup(
            ">\n<p class=\"passphrase\"><label for=\"code\">Pairing code</label>\n<input id=\"code\" name=\"code\" \
             autocomplete=\"off\" autocapitalize=\"characters\" spellcheck=\"false\" required></p>\n<div class=\"actions\">\n\
             <button type=\"submit\" class=\"approve\">Continue</button>\n</div>\n</form>\n",
        );
    let (status, title) = match problem {
        Some(_) => (StatusCode::FORBIDDEN, "Not admitted yet: an app asks for access"),
        None => (StatusCode::OK, "An app asks for access"),
    };
    consent::plain_page(&vault.config.profile, status, title, &main)
}

/// `POST /oauth/pair`
///
/// # Errors
/// Returns the errors of the database, or an error if the system supplies no random numbers. Everything else is a
/// page.
pub fn pair(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let Some(pairing) = &vault.pairing else { return Err(ApiError::nothing_at(&request.path)) };
    let profile = &vault.config.profile;
    if request.is_foreign() {
        return Ok(consent::foreign_page(profile));
    }
    let form = request.form();
    let field =
        |name: &str| form.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str());
    let query = url::form_urlencoded::parse(field("request").as_bytes()).into_owned().collect();
    let sent = match Sent::read(vault, request, query) {
        Ok(sent) => sent,
        Err(error) if error.status.is_server_error() => return Err(error),
        Err(error) => return Ok(consent::refused_page(profile, error.message())),
    };
    if !pairing.take(field("code"))? {
        return Ok(page(vault, &sent, Some("That is not the pairing code, or it was already used.")));
    }
    let begun = begin(vault, request, &sent);
    // Whatever the result, the code is used up and the owner must see the next one.
    let tell = |client: &str, code: &str| {
        let next = pairing.code();
        vault.config.announce.tell_news(&News::Paired { client, code, next: &next });
    };
    let noted = match begun {
        Ok((client, noted)) => {
            tell(&client, &noted.code);
            noted
        }
        Err(error) => {
            tell("", "");
            if error.status.is_server_error() {
                return Err(error);
            }
            return Ok(consent::refused_page(profile, error.message()));
        }
    };
    consent::open_link(vault, request, &noted.secret)
}

/// Adds the request `sent` of a stranger whom the owner admitted. Returns its client's name.
///
/// # Errors
/// Returns what is wrong with the request, for the owner, or the errors of the database.
fn begin(vault: &Vault, request: &Request, sent: &Sent) -> Result<(String, Noted), ApiError> {
    let client = sent.client(vault, request)?;
    let asked = sent.asked(request)?;
    let name = client.name.clone();
    let noted = vault.flows.add(client, asked, Way::Redirect(Box::new(sent.redirect(request))))?;
    Ok((name, noted))
}
