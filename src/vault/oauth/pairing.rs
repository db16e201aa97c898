//! How an owner lets a stranger's request in at the public name: by a pairing code, which is shown where the vault runs and typed in
//! the browser that the app sent here.
//!
//! Until then nothing is kept of a request. Its parameters ride in the page and come back with the code, so that however many
//! strangers ask, no place of anybody's is taken, no document is fetched, and nobody is told of anything. With the code the
//! request waits like any other, and that browser has its page at once, as if it had opened an owner's link.
//!
//! # Guessing
//! A code has 12 of 20 letters: 20^12 = 4.1e15. It is compared in constant time and spent by its use; it decides nothing, since
//! the passphrase is still asked for. A wrong code is answered after a second ([`WRONG_TIME`]), while a few wait
//! ([`MOST_WAITING`]) - whoever sends more at once gets the answer at once, so that waiting guesses never take the places of
//! others, the owner's above all. Nothing counts wrong codes, because such a count could be filled by anybody to keep the owner
//! out. So a guesser has what the machine answers: at 5,000 tries a second, for a year and against one code that is never used,
//! 1.6e11 tries find it with a chance of 1 in 26,000; one after the other, at a try a second, of 1 in 130 million.

use std::time::Duration;

use axum::http::StatusCode;

use super::consent;
use super::flows::{Noted, Way};
use super::owner::News;
use super::sent::Sent;
use crate::vault::Vault;
use crate::vault::html::Html;
use crate::vault::wire::{ApiError, Reply, Request};

/// After a wrong code, until its answer.
pub const WRONG_TIME: Duration = Duration::from_secs(1);
/// Answers that wait for that at once: a small part of the connections that there may be.
pub const MOST_WAITING: usize = 16;

/// The page that asks for the code of a request, of which it tells where it would go back to, and nothing else.
pub fn page(vault: &Vault, sent: &Sent, problem: Option<&str>) -> Reply {
    let mut main = Html::new();
    main.markup("<h1>An app asks for access</h1>\n");
    if let Some(problem) = problem {
        main.markup("<p class=\"problem\" role=\"alert\"><strong>Not let in yet.</strong> ")
            .text(problem)
            .markup("</p>\n");
    }
    main.markup("<p>When all is decided, your browser goes back to <strong>")
        .text(&consent::goes_back_to(&sent.redirect_uri))
        .markup(
            "</strong>. If you began nothing there, close this page.</p>\n<p>To see what it asks for, type the pairing code. It is \
             shown ",
        );
    if vault.config.profile.is_service {
        main.markup(
            "on the owner’s page, which <code>pdpp provider open</code> opens on the owner’s computer",
        );
    } else {
        main.markup("where this provider runs: on the terminal of <code>")
            .text(vault.config.profile.command)
            .markup("</code>, or on the owner’s page");
    }
    main.markup(
        ". It is good once.</p>\n<form method=\"post\" action=\"/oauth/pair\">\n<input type=\"hidden\" name=\"request\"",
    )
        .attribute("value", &sent.as_query())
        .markup(
            ">\n<p class=\"passphrase\"><label for=\"code\">Pairing code</label>\n<input id=\"code\" name=\"code\" \
             autocomplete=\"off\" autocapitalize=\"characters\" spellcheck=\"false\" required></p>\n<div class=\"actions\">\n\
             <button type=\"submit\" class=\"approve\">Go on</button>\n</div>\n</form>\n",
        );
    let (status, title) = match problem {
        Some(_) => (StatusCode::FORBIDDEN, "Not let in yet: an app asks for access"),
        None => (StatusCode::OK, "An app asks for access"),
    };
    consent::plain_page(&vault.config.profile, status, title, &main)
}

/// `POST /oauth/pair`
///
/// # Errors
/// Where the database fails; without randomness; all else is a page.
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
        return Ok(page(vault, &sent, Some("That is not the pairing code, or it was used before.")));
    }
    let begun = begin(vault, request, &sent);
    // Whatever comes of it, the code is spent and the owner has to know the next one.
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

/// Notes the request `sent` of a stranger that the owner let in; gives what its client calls itself.
///
/// # Errors
/// What is wrong with it, for the owner; where the database fails.
fn begin(vault: &Vault, request: &Request, sent: &Sent) -> Result<(String, Noted), ApiError> {
    let client = sent.client(vault, request)?;
    let asked = sent.asked(request)?;
    let name = client.name.clone();
    let noted = vault.flows.add(client, asked, Way::Redirect(Box::new(sent.redirect(request))))?;
    Ok((name, noted))
}
