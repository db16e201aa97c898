//! What a decision covers, before and after it: accounts, streams, fields, time and end.

use axum::http::StatusCode;

use super::page::{
    DENY, Place, counted, heading, holds, kind, left_out, minute, page_reply, purpose, shell, who_asks, words,
};
use crate::vault::declaration::Stream;
use crate::vault::grant::{Grant, GrantStream};
use crate::vault::html::Html;
use crate::vault::oauth::approval::Selection;
use crate::vault::oauth::authorization_details::AuthorizationDetails;
use crate::vault::oauth::flows::{Approval, Pending, Way};
use crate::vault::oauth::selection::grants;
use crate::vault::store::Catalog;
use crate::vault::wire::{ApiError, Reply};
use crate::vault::{Profile, accounts, time};

/// What is shown before a decision, the grants that it would make, and the digest that identifies it.
pub(super) struct Shown {
    html: Html,
    pub(super) grants: Vec<Grant>,
    pub(super) digest: String,
}

/// What `selection` keeps of a request, in the form that is shown.
///
/// # Errors
/// Returns `invalid_request` if that is nothing.
pub(super) fn shown(
    catalog: &Catalog,
    profile: &Profile,
    pending: &Pending,
    asked: &AuthorizationDetails,
    selection: &Selection,
) -> Result<Shown, ApiError> {
    let grants = grants(catalog, profile, pending, asked, selection)?;
    let mut html = Html::new();
    list(&mut html, catalog, &grants);
    let of_selection = selection.undated.iter().filter_map(|number| asked.choices.get(*number));
    let of_selection = of_selection.map(|choice| (&*choice.connection, &*choice.stream));
    let of_request = asked.undated.iter().map(|(connection, stream)| (&**connection, &**stream));
    left_out(&mut html, catalog, of_request.chain(of_selection));
    html.markup("<section aria-labelledby=\"end\">\n<h2 id=\"end\">End of access</h2>\n<p>")
        .text(&selection.expires_ms.map_or_else(|| "No end".to_owned(), minute))
        .markup(if asked.single_use { ", for one reading session." } else { "." })
        .markup(" You can end it sooner: ")
        .markup(match (&pending.way, profile.holds) {
            // The next page has no button: it disappears as soon as its command has the tokens.
            (Way::Here, _) => "with <code>pdpp provider revoke</code>",
            // A person's own store.
            (_, Some(_)) => {
                "on the next page, later in <code>pdpp provider open</code> or with <code>pdpp provider \
                 revoke</code>, or with <code>pdpp disconnect</code> on the app’s computer"
            }
            (_, None) => "on the next page, or with <code>pdpp disconnect</code> on the app’s computer",
        })
        .markup(". The app keeps what it has read by then.</p>\n</section>\n");
    purpose(&mut html, pending, asked);
    who_asks(&mut html, pending);
    holds(&mut html, profile);
    let mut decided = html.clone().into_bytes();
    decided.extend(asked.fingerprint().into_bytes());
    let digest = crate::hex::sha256(&decided);
    Ok(Shown { html, grants, digest })
}

/// Why an approval was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotYet {
    /// It was about something other than the current state.
    Changed,
    /// The passphrase was missing or wrong.
    WrongPassphrase,
    /// A passphrase was wrong a short time ago; this many seconds are left to wait.
    Wait(u64),
}

impl NotYet {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Changed => StatusCode::CONFLICT,
            Self::WrongPassphrase => StatusCode::FORBIDDEN,
            Self::Wait(_) => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    fn why(self) -> String {
        match self {
            Self::Changed => {
                "The available data, or the result, has changed since you saw it. This is the current state."
                    .to_owned()
            }
            Self::WrongPassphrase => "That is not the passphrase.".to_owned(),
            Self::Wait(seconds) => {
                let unit = if seconds == 1 { "second" } else { "seconds" };
                format!("The last passphrase was wrong. Try again in {seconds} {unit}.")
            }
        }
    }
}

/// The page that asks for the decision, with the owner's passphrase if `asks_passphrase`.
pub(super) fn to_decide(
    place: &Place<'_>,
    pending: &Pending,
    shown: &Shown,
    asks_passphrase: bool,
    not_yet: Option<NotYet>,
) -> Html {
    let mut main = Html::new();
    heading(&mut main, pending);
    if let Some(not_yet) = not_yet {
        main.markup("<p class=\"problem\" role=\"alert\"><strong>Not approved yet.</strong> ")
            .text(&not_yet.why())
            .markup("</p>\n");
    }
    place.deny_form(&mut main);
    place.begin_form(&mut main, None, "approve");
    main.markup("<input type=\"hidden\" name=\"digest\"").attribute("value", &shown.digest).markup(">");
    if asks_passphrase {
        main.markup(
            "<p class=\"passphrase\"><label for=\"passphrase\">Your passphrase</label>\n<input id=\"passphrase\" \
             type=\"password\" name=\"passphrase\" autocomplete=\"current-password\" required autofocus></p>\n",
        );
    }
    main.markup("<div class=\"actions\">\n")
        .markup(DENY)
        .markup("<button type=\"submit\" class=\"approve\">Approve</button>\n<a")
        .attribute("href", &format!("/consent/{}", place.page))
        .markup(">Change the selection</a>\n</div>\n</form>\n<p>If you approve, it can read this and nothing else:</p>\n")
        .html(&shown.html);
    let not_yet = if not_yet.is_some() { "Not approved yet: " } else { "" };
    shell(place.profile, &format!("{not_yet}What {} would read", pending.client.name), &main)
}

/// The page after an approval.
pub(super) fn after(place: &Place<'_>, catalog: &Catalog, pending: &Pending, approval: &Approval) -> Reply {
    let mut main = Html::new();
    let grants = &approval.granted.grants;
    let name = pending.client.name.as_str();
    if approval.is_over {
        main.markup("<h1>Access ended</h1>\n<p><q>")
            .text(name)
            .markup("</q> can no longer read anything here. It keeps what it has read.</p>\n");
        return page_reply(StatusCode::OK, shell(place.profile, "Access ended", &main));
    }
    main.markup("<h1>Access approved</h1>\n<p><q>")
        .text(name)
        .markup("</q> learns of this when it next asks, if it is still waiting. You can close this page and go back to the app.</p>\n<p>Approved at ")
        .text(&minute(approval.at_ms))
        .markup(". It ends ");
    match grants.first().and_then(|grant| grant.expires_at.as_deref()).and_then(time::parse_ms) {
        Some(end) => main.markup("automatically at ").text(&minute(end)),
        None => main.markup("when you end it"),
    };
    main.markup(".</p>\n");
    list(&mut main, catalog, grants);
    main.markup("<section aria-labelledby=\"revoke\">\n<h2 id=\"revoke\">How to end it sooner</h2>\n");
    if let Way::Here = pending.way {
        for grant in grants {
            main.markup("<p><code>pdpp provider revoke ").text(&grant.grant_id).markup("</code></p>\n");
        }
        main.markup("<p>An agent keeps what it has read by then. <code>pdpp provider grants</code> lists all grants.</p>\n</section>\n");
        return page_reply(StatusCode::OK, shell(place.profile, "Access approved", &main));
    }
    place.begin_form(&mut main, None, "end");
    main.markup("<button type=\"submit\" class=\"deny\">End this access now</button>\n</form>\n")
        .markup("<p>This button works for an hour, in this browser. After that, run <code>pdpp disconnect</code> on \
                 the app’s computer. Grant id: <code>")
        .text(&grants.iter().map(|grant| grant.grant_id.as_str()).collect::<Vec<_>>().join(", "))
        .markup("</code></p>\n</section>\n");
    page_reply(StatusCode::OK, shell(place.profile, "Access approved", &main))
}

/// What the grants include, account by account.
fn list(main: &mut Html, catalog: &Catalog, grants: &[Grant]) {
    for connection in &catalog.connections {
        let connector = catalog.connector(&connection.connector);
        let mut streams: Vec<&GrantStream> = Vec::new();
        for grant in grants {
            streams.extend(grant.streams.iter().filter(|stream| {
                stream.instance_ids.contains(&connection.id)
                    && connector.is_some_and(|connector| grant.source_of(stream).id == connector.id)
            }));
        }
        let Some(connector) = connector.filter(|_| !streams.is_empty()) else { continue };
        let display = accounts::label(catalog, &connection.id);
        main.markup("<details class=\"granted\"><summary><span class=\"name\">")
            .text(&display)
            .markup("</span>");
        kind(main, &display, &connector.name);
        main.markup(":\n<span class=\"flow\">");
        let streams: Vec<(&GrantStream, &Stream)> = streams
            .into_iter()
            .filter_map(|granted| Some((granted, connector.stream(&granted.name)?.as_ref())))
            .collect();
        for (number, (granted, declared)) in streams.iter().enumerate() {
            main.markup(if number == 0 { "" } else { "; " });
            stream(main, granted, declared);
        }
        main.markup("</span></summary>\n");
        for (granted, declared) in &streams {
            let (fields, not_shown) = granted.in_words(declared);
            main.markup("<p><strong>").text(&words(&granted.name)).markup("</strong>: ").text(&fields);
            if let Some(not_shown) = not_shown {
                main.markup(" <span class=\"said\">(").text(&not_shown).markup(")</span>");
            }
            main.markup("</p>\n");
        }
        main.markup("</details>\n");
    }
}

/// A stream in a few words.
fn stream(main: &mut Html, granted: &GrantStream, declared: &Stream) {
    main.markup("<strong>").text(&words(&granted.name)).markup("</strong> <span class=\"said\">");
    if let Some(keys) = &granted.resources {
        main.text(&counted(keys.len(), "named record", "named records")).markup(", ");
    }
    if let Some(time) = &granted.time_constraint {
        main.text(&time.in_words()).markup(", ");
    }
    let (given, all) = (granted.fields.len(), declared.fields.len());
    main.text(&if given == all {
        format!("all {}", counted(all, "field", "fields"))
    } else {
        format!("{given} of {all} fields")
    })
    .markup("</span>");
}
