//! Deletes an account, confirmed by its name and, if there is one, by the passphrase.

use axum::http::StatusCode;

use super::frame::{Frame, Part, page};
use super::sources::segment;
use super::{Answer, Failed, Pages, see, value};
use crate::own::forget::{self, OUT_OF_REACH};
use crate::own::state::{State, account_names};
use crate::vault::html::Html;

/// The name, the label and the number of records of the account with this id.
fn account(pages: &Pages, id: &str) -> Result<(String, String, u64), Failed> {
    let state = State::of(pages.vault.store(), &pages.dir)?;
    let found = state.accounts.into_iter().find(|account| account.id == id).ok_or_else(Failed::not_found)?;
    let records = found.streams.iter().map(|stream| stream.records).sum();
    let label = account_names(pages.vault.store())?.remove(id).unwrap_or_else(|| found.name.clone());
    Ok((found.name, label, records))
}

/// `GET …/forget/{id}`
pub(super) fn ask(
    pages: &Pages,
    frame: &Frame<'_>,
    id: &str,
    status: StatusCode,
    problem: Option<&str>,
) -> Answer {
    let (name, label, records) = account(pages, id)?;
    let title = format!("Forget {label}?");
    let mut main = Html::new();
    main.markup("<h1>").text(&title).markup("</h1>\n");
    if let Some(problem) = problem {
        main.markup("<p class=\"problem\" role=\"alert\"><strong>Nothing was deleted.</strong> ");
        main.text(problem).markup("</p>\n");
    }
    main.markup("<p>This deletes the account and everything in it from the store: ");
    main.text(&indicatif::HumanCount(records).to_string());
    main.markup(
        " records, their entries in the search index and the copies of their attachments. Grants that \
         cover only this account end too. This cannot be undone.</p>\n<p>",
    );
    main.text(OUT_OF_REACH).markup(".</p>\n");
    frame.begin_form(&mut main, &format!("/forget/{}", segment(id)));
    main.markup(
        "<p class=\"field\"><label for=\"name\">To confirm, type the account’s name: <span \
                 class=\"said\">",
    );
    main.text(&name);
    main.markup(
        "</span></label>\n<input id=\"name\" name=\"name\" required autocomplete=\"off\" autocapitalize=\"off\" \
         spellcheck=\"false\"></p>\n",
    );
    if frame.asks_passphrase {
        Frame::passphrase_field(&mut main, false);
    }
    main.markup("<p class=\"buttons\"><button type=\"submit\" class=\"end\">Forget it</button> ");
    frame.link(&mut main, "", "Keep it");
    main.markup("</p>\n</form>\n");
    Ok(page(frame, status, &title, Some(Part::Sources), &main))
}

/// `POST …/forget/{id}`
pub(super) fn forget(
    pages: &Pages,
    frame: &Frame<'_>,
    id: &str,
    form: &[(String, String)],
    base: &str,
) -> Answer {
    let (name, label, _) = account(pages, id)?;
    if frame.asks_passphrase
        && let Some(why) = pages.check_passphrase(frame.session, form)?
    {
        return ask(pages, frame, id, StatusCode::FORBIDDEN, Some(&why));
    }
    if value(form, "name").map(str::trim) != Some(name.trim()) {
        let why = format!("That is not the account’s name: it is called {}.", crate::text::one_line(&name));
        return ask(pages, frame, id, StatusCode::BAD_REQUEST, Some(&why));
    }
    let gone = forget::forget(&pages.dir, id)?;
    if let Some(cache) = &pages.cache {
        forget::remove_tokens(cache, &gone.ended)?;
    }
    pages.sessions.say(frame.session, gone.in_words(&label).join("\n"));
    Ok(see(frame, base, ""))
}
