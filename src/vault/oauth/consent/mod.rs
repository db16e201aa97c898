//! The owner's page: who asks, for what purpose, what the client could read, and until when. The owner can narrow
//! the request, review the result, and approve or deny it.
//!
//! It works without a script. The client's statements are shown in its own words and marked as such; the provider
//! states what it enforces. Only the browser that opened the owner's link sees anything (`session.rs`), and a
//! decision covers exactly what that browser saw last.

mod ends;
mod page;
mod session;
mod summary;
mod ticks;

pub use page::{document, foreign_page, goes_back_to, page_reply, plain_page, refused_page, stylesheet};

use std::collections::BTreeSet;

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::approval::Selection;
use super::authorization_details::{self, AI_TRAINING, AuthorizationDetails};
use super::client::Client;
use super::flows::{Approval, Asked, Code, Decision, Outcome, Pending, Summary, URI_PREFIX, Way};
use super::owner::{News, Notice};
use super::selection::grants;
use super::{passphrase, tokens};
use crate::vault::grant::Grant;
use crate::vault::id::random_token;
use crate::vault::store::{Catalog, record_count_within, record_counts};
use crate::vault::wire::{ApiError, Reply, Request};
use crate::vault::{Vault, time};
use ends::DAY_MS;
use page::{Form, Place, form_reply};
use summary::NotYet;
use ticks::Set;

/// The address that a program receives for its request. It shows nothing: only the owner's link leads to a
/// decision.
pub fn page_url(base: &str, pending: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("request_uri", &format!("{URI_PREFIX}{pending}"));
    format!("{base}/consent?{}", query.finish())
}

/// Adds a request, tells the owner about it, and returns its id. Looks nothing up yet.
///
/// # Errors
/// Returns an error if too many requests wait, or if the system supplies no random numbers.
pub fn ask_owner(
    vault: &Vault,
    request: &Request,
    client: Client,
    asked: Asked,
    way: Way,
) -> Result<String, ApiError> {
    // Nobody is asked, so there is nothing to hide.
    if vault.config.auto_approve {
        vault.store.read(|_, catalog| look_up(catalog, &request.base, &asked).map(|_| ()))?;
    }
    let is_asked = !vault.config.auto_approve || is_training(&asked);
    let name = client.name.clone();
    let noted = vault.flows.add(client, asked, way)?;
    if is_asked {
        vault.config.announce.tell(&Notice {
            client: &name,
            code: &noted.code,
            page: &page_url(&request.base, &noted.id),
            link: &format!("{}/consent/owner/{}", request.base, noted.secret),
        });
    }
    Ok(noted.id)
}

fn is_training(asked: &Asked) -> bool {
    asked.purpose().code() == AI_TRAINING
}

/// What can be selected of the request.
///
/// # Errors
/// Returns `invalid_request` with what does not exist and what does. This is for the owner.
pub fn look_up(catalog: &Catalog, base: &str, asked: &Asked) -> Result<AuthorizationDetails, ApiError> {
    match asked {
        Asked::Details(requested) => requested.look_up(catalog, base),
        Asked::Everything(purpose) => Ok(authorization_details::everything(catalog, base, purpose)),
        Asked::Wish(wish) => wish.look_up(catalog, base),
    }
}

/// `GET /consent?request_uri=…`, `GET /consent/device`: the page that anyone sees, whether or not the request
/// exists.
pub fn stranger_page(vault: &Vault) -> Reply {
    page::stranger(&vault.config.profile)
}

/// `GET /consent/owner/{secret}`
///
/// # Errors
/// Returns an error if the system supplies no random numbers.
pub fn open_link(vault: &Vault, request: &Request, secret: &str) -> Result<Reply, ApiError> {
    Ok(match vault.flows.open_link(secret)? {
        Some((page, browser)) => Reply::see_other(&format!("{}/consent/{page}", request.base))
            .with("set-cookie", session::cookie_header(&request.base, &page, &browser)),
        None => page::spent_link(&vault.config.profile),
    })
}

/// `GET /consent/{page}`
///
/// # Errors
/// Returns the errors of the database.
pub fn show(vault: &Vault, request: &Request, page: &str) -> Result<Reply, ApiError> {
    let (_, pending) = match session::owners(vault, request, page) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    let place = place(vault, request, page);
    if let Decision::Approved(approval) = &pending.decision {
        return vault.store.read(|_, catalog| Ok(summary::after(&place, catalog, &pending, approval)));
    }
    if let Some(ended) = page::ended(&vault.config.profile, &pending) {
        return Ok(ended);
    }
    form_page(vault, request, &place, &pending, StatusCode::OK, None)
}

/// The page of the open request `id`, for a browser whose owner has already proved who they are; `None` if the
/// request does not exist.
///
/// # Errors
/// Returns an error if the system supplies no random numbers.
pub fn open_for_owner(vault: &Vault, base: &str, id: &str) -> Result<Option<Reply>, ApiError> {
    let opened = vault.flows.open_for_owner(id)?;
    Ok(opened.map(|(page, browser)| {
        Reply::see_other(&format!("{base}/consent/{page}"))
            .with("set-cookie", session::cookie_header(base, &page, &browser))
    }))
}

fn place<'a>(vault: &'a Vault, request: &Request, page: &'a str) -> Place<'a> {
    Place { profile: &vault.config.profile, page, csrf: session::csrf(vault, request, page) }
}

/// The form of a request as its owner left it; `None` for the initial form, if nobody has changed it or the
/// available choices have changed since.
pub fn left(pending: &Pending, asked: &AuthorizationDetails) -> Option<page::Left> {
    let left = pending.left.as_ref().filter(|left| !ticks::is_outdated(asked, left));
    left.cloned().or_else(|| match &pending.asked {
        Asked::Wish(wish) => Some(wish.form(asked)),
        _ => None,
    })
}

/// The page of a request: what it asks for, with controls to narrow it.
fn form_page(
    vault: &Vault,
    request: &Request,
    place: &Place<'_>,
    pending: &Pending,
    status: StatusCode,
    problem: Option<&str>,
) -> Result<Reply, ApiError> {
    vault.store.read(|db, catalog| {
        let asked = match look_up(catalog, &request.base, &pending.asked) {
            Ok(asked) => asked,
            Err(error) if error.status == StatusCode::BAD_REQUEST => {
                return Ok(page_reply(status, page::not_here(place, pending, error.message())));
            }
            Err(error) => return Err(error),
        };
        let totals = record_counts(db)?;
        let mut counts = Vec::new();
        for choice in &asked.choices {
            let is_narrowed = choice.since.is_some() || choice.until.is_some();
            let slot = catalog.slot(&choice.connection, &choice.stream).filter(|_| is_narrowed);
            let total =
                totals.get(&format!("{}/{}", choice.connection, choice.stream)).and_then(Value::as_u64);
            let within =
                slot.map(|slot| record_count_within(db, slot, choice.since, choice.until)).transpose()?;
            counts.push(within.and_then(|count| u64::try_from(count).ok()).or(total).unwrap_or(0));
        }
        let left = left(pending, &asked);
        let left = left.as_deref();
        let form = Form { place, pending, asked: &asked, catalog, counts: &counts, left, problem };
        Ok(form_reply(status, page::form(&form), pending))
    })
}

/// `POST /consent/{page}/sets`: ticks a set of boxes.
///
/// # Errors
/// Returns the errors of the database.
pub fn tick_set(vault: &Vault, request: &Request, page: &str) -> Result<Reply, ApiError> {
    let posted = request.form();
    let (id, pending) = match session::to_decide(vault, request, page, &posted) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    let set = posted.iter().find(|(name, _)| name == "set").and_then(|(_, name)| Set::named(name));
    let left = vault.store.read(|_, catalog| {
        let asked = look_up(catalog, &request.base, &pending.asked)?;
        Ok::<_, ApiError>(ticks::tick_set(catalog, &asked, set.unwrap_or(Set::Nothing), &posted))
    })?;
    vault.flows.note(&id, |pending| pending.left = Some(left));
    Ok(Reply::see_other(&format!("{}/consent/{page}#what", request.base)))
}

/// `POST /consent/{page}/review`: what the form would grant, to be decided.
///
/// # Errors
/// Returns the errors of the database.
pub fn review(vault: &Vault, request: &Request, page: &str) -> Result<Reply, ApiError> {
    let mut posted = request.form();
    let (id, mut pending) = match session::to_decide(vault, request, page, &posted) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    posted.retain(|(name, _)| name != "csrf");
    let place = place(vault, request, page);
    let made = reviewed(vault, &request.base, &pending, &posted).map(|(summary, _)| summary);
    pending.left = Some(posted);
    let left = pending.left.clone();
    match made {
        Ok(made) => {
            vault.flows.note(&id, |pending| (pending.left, pending.summary) = (left, Some(made)));
            Ok(Reply::see_other(&format!("{}/consent/{page}/summary", request.base)))
        }
        Err(error) if error.status == StatusCode::BAD_REQUEST => {
            vault.flows.note(&id, |pending| pending.left = left);
            form_page(vault, request, &place, &pending, StatusCode::BAD_REQUEST, Some(error.message()))
        }
        Err(error) => Err(error),
    }
}

/// The forms of `pending` with the boxes of each set ticked: who and when, and with text.
///
/// # Errors
/// Returns the errors of the database.
pub fn sets(vault: &Vault, base: &str, pending: &Pending) -> Result<[page::Left; 2], ApiError> {
    vault.store.read(|_, catalog| {
        let asked = look_up(catalog, base, &pending.asked)?;
        Ok([Set::WhoAndWhen, Set::WithText].map(|set| ticks::tick_set(catalog, &asked, set, &[])))
    })
}

/// The ends that can be picked for a request for `asked`, with their values and labels. The end that is picked at
/// first comes first.
pub fn ends(asked: &AuthorizationDetails, picked: Option<&str>) -> Vec<(String, String)> {
    let now = time::now_ms();
    let mut all: Vec<(String, String)> =
        ends::ENDS.iter().map(|(value, label, _)| ((*value).to_owned(), (*label).to_owned())).collect();
    if let Some(wished) = ends::wished(asked.expires_ms, now) {
        all.push((ends::ASKED.to_owned(), page::minute(wished)));
    }
    let first = picked.unwrap_or_else(|| ends::beforehand(asked.expires_ms, asked.single_use, now));
    all.sort_by_key(|(value, _)| value != first);
    all
}

/// What the form `posted` would grant, and the grants that an approval makes.
///
/// # Errors
/// Returns `invalid_request` if that is nothing, or the errors of the database.
pub fn reviewed(
    vault: &Vault,
    base: &str,
    pending: &Pending,
    posted: &[(String, String)],
) -> Result<(Summary, Vec<Grant>), ApiError> {
    let agrees = posted.iter().any(|(name, value)| name == "ai_training" && value == "yes");
    if is_training(&pending.asked) && !agrees {
        return Err(ApiError::invalid(
            "Training an AI model needs your explicit agreement: tick its box, or deny",
        ));
    }
    vault.store.read(|_, catalog| {
        let asked = look_up(catalog, base, &pending.asked)?;
        let selection = ticks::selection(catalog, &asked, posted)?;
        let shown = summary::shown(catalog, &vault.config.profile, pending, &asked, &selection)?;
        let choices = asked.choices.into_iter().map(|choice| (choice.connection, choice.stream));
        Ok((Summary { selection, choices: choices.collect(), digest: shown.digest }, shown.grants))
    })
}

/// What a decision on the last review would cover now, and the grants; `None` if nothing was reviewed.
///
/// # Errors
/// Returns the errors of [`reviewed`].
pub fn still_shown(
    vault: &Vault,
    base: &str,
    pending: &Pending,
) -> Result<Option<(Summary, Vec<Grant>)>, ApiError> {
    let Some(known) = &pending.summary else { return Ok(None) };
    vault.store.read(|_, catalog| {
        let asked = look_up(catalog, base, &pending.asked)?;
        let selection = known.selection_in(&asked);
        let shown = summary::shown(catalog, &vault.config.profile, pending, &asked, &selection)?;
        let choices = asked.choices.into_iter().map(|choice| (choice.connection, choice.stream));
        Ok(Some((Summary { selection, choices: choices.collect(), digest: shown.digest }, shown.grants)))
    })
}

/// `GET /consent/{page}/summary`: what an approval would grant.
///
/// # Errors
/// Returns the errors of the database.
pub fn show_summary(vault: &Vault, request: &Request, page: &str) -> Result<Reply, ApiError> {
    let (id, pending) = match session::owners(vault, request, page) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    if !matches!(pending.decision, Decision::Open) || pending.is_expired() || pending.summary.is_none() {
        return Ok(Reply::see_other(&format!("{}/consent/{page}", request.base)));
    }
    summary_page(vault, request, &place(vault, request, page), &id, &pending, None)
}

/// Shows what an approval would grant, and records that it was shown.
fn summary_page(
    vault: &Vault,
    request: &Request,
    place: &Place<'_>,
    id: &str,
    pending: &Pending,
    not_yet: Option<NotYet>,
) -> Result<Reply, ApiError> {
    let Some(known) = &pending.summary else { return Ok(Reply::see_other(&place.address(&request.base))) };
    let shown = vault.store.read(|_, catalog| {
        let asked = look_up(catalog, &request.base, &pending.asked)?;
        summary::shown(catalog, place.profile, pending, &asked, &known.selection_in(&asked))
    });
    let shown = match shown {
        Ok(shown) => shown,
        Err(error) if error.status == StatusCode::BAD_REQUEST => {
            return form_page(vault, request, place, pending, StatusCode::BAD_REQUEST, Some(error.message()));
        }
        Err(error) => return Err(error),
    };
    let digest = shown.digest.clone();
    vault.flows.note(id, |pending| {
        if let Some(summary) = &mut pending.summary {
            summary.digest.clone_from(&digest);
        }
    });
    let status = not_yet.map_or(StatusCode::OK, NotYet::status);
    let asks_passphrase = vault.config.asks_passphrase;
    Ok(form_reply(status, summary::to_decide(place, pending, &shown, asks_passphrase, not_yet), pending))
}

/// `POST /consent/{page}/approve`
///
/// # Errors
/// Returns the errors of the database.
pub fn approve(vault: &Vault, request: &Request, page: &str) -> Result<Reply, ApiError> {
    let posted = request.form();
    let (id, pending) = match session::to_decide(vault, request, page, &posted) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    let place = place(vault, request, page);
    let Some(known) = &pending.summary else { return Ok(Reply::see_other(&place.address(&request.base))) };
    let shown = vault.store.read(|_, catalog| {
        let asked = look_up(catalog, &request.base, &pending.asked)?;
        summary::shown(catalog, place.profile, &pending, &asked, &known.selection_in(&asked))
    });
    let sent = posted.iter().find(|(name, _)| name == "digest").map(|(_, value)| value.as_str());
    let shown = match shown {
        Ok(shown) if sent == Some(shown.digest.as_str()) => shown,
        Ok(_) => return summary_page(vault, request, &place, &id, &pending, Some(NotYet::Changed)),
        Err(error) if error.status == StatusCode::BAD_REQUEST => {
            return summary_page(vault, request, &place, &id, &pending, Some(NotYet::Changed));
        }
        Err(error) => return Err(error),
    };
    if let Some(not_yet) = without_passphrase(vault, &id, &posted)? {
        return summary_page(vault, request, &place, &id, &pending, Some(not_yet));
    }
    match decide(vault, &id, shown.grants) {
        Err(error) if error.status != StatusCode::BAD_REQUEST => Err(error),
        Ok(Some(back)) => Ok(Reply::see_other(&back)),
        // It was decided in the meantime; its page shows how.
        Ok(None) | Err(_) => Ok(Reply::see_other(&place.address(&request.base))),
    }
}

/// Why the form `posted` does not prove that it comes from the owner, if that needs a passphrase.
///
/// # Errors
/// Returns the errors of the database.
fn without_passphrase(
    vault: &Vault,
    id: &str,
    posted: &[(String, String)],
) -> Result<Option<NotYet>, ApiError> {
    if !vault.config.asks_passphrase {
        return Ok(None);
    }
    match vault.flows.try_passphrase(id) {
        Ok(true) => {}
        // It was decided in the meantime and is not decided again.
        Ok(false) => return Ok(None),
        Err(seconds) => return Ok(Some(NotYet::Wait(seconds))),
    }
    let typed = posted.iter().find(|(name, _)| name == "passphrase").map_or("", |(_, value)| value);
    let is_right = passphrase::is_right(&vault.grants, &typed.into())?;
    if !is_right {
        vault.flows.passphrase_missed();
    }
    Ok((!is_right).then_some(NotYet::WrongPassphrase))
}

/// Approves an open request in the way that its program waits for. Returns the address to which the owner's browser
/// returns, if the program waits for that.
///
/// # Errors
/// Returns `invalid_request` if the request is no longer open, or the errors of the database.
pub fn decide(vault: &Vault, id: &str, grants: Vec<Grant>) -> Result<Option<String>, ApiError> {
    let (mut back, mut issued) = (None, None);
    let mut news = None;
    vault.flows.decide(id, |pending| {
        let granted = tokens::keep(vault, &pending.client.id, grants)?;
        let outcome = match (&pending.way, granted.grants.as_slice()) {
            (Way::Redirect(redirect), _) => {
                let code = random_token("pdpp_ac_")?;
                back = Some(redirect.back(&[("code", &code)]));
                issued = Some((code, Code::new(granted.clone(), redirect.as_ref().clone())));
                Outcome::Redirect
            }
            (Way::Device, _) => Outcome::Device,
            (Way::Here, grants) => Outcome::Here(
                grants.iter().map(|grant| tokens::issue_kept(vault, grant)).collect::<Result<_, _>>()?,
            ),
            (Way::AgentConnect, [grant]) => Outcome::Token(tokens::issue_kept(vault, grant)?),
            (Way::AgentConnect, _) => return Err(ApiError::invalid("Nothing is ticked")),
        };
        let until = granted.grants.first().and_then(|grant| grant.expires_at.clone());
        news = Some((pending.client.name.clone(), until));
        let approval = Approval { at_ms: time::now_ms(), granted, outcome, is_over: false };
        Ok(Decision::Approved(Box::new(approval)))
    })?;
    // Stored before anyone learns of it.
    if let Some((code, issued)) = issued {
        vault.flows.add_code(&code, issued);
    }
    if let Some((client, until)) = news.filter(|_| !vault.config.auto_approve) {
        vault.config.announce.tell_news(&News::Approved { client: &client, until: until.as_deref() });
    }
    Ok(back)
}

/// `POST /consent/{page}/deny`
///
/// # Errors
/// Every error is shown as a page.
pub fn deny(vault: &Vault, request: &Request, page: &str) -> Result<Reply, ApiError> {
    let posted = request.form();
    let (id, pending) = match session::to_decide(vault, request, page, &posted) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    let denied = vault.flows.decide(&id, |_| Ok(Decision::Denied { at_ms: time::now_ms() }));
    if denied.is_ok() {
        vault.config.announce.tell_news(&News::Denied { client: &pending.client.name });
    }
    Ok(match &pending.way {
        Way::Redirect(redirect) if denied.is_ok() => {
            let denied = [("error", "access_denied"), ("error_description", "The owner denied the request")];
            Reply::see_other(&redirect.back(&denied))
        }
        // It was decided in the meantime; its page shows how.
        _ => Reply::see_other(&format!("{}/consent/{page}", request.base)),
    })
}

/// `POST /consent/{page}/end`: ends what was approved.
///
/// # Errors
/// Returns the errors of the database.
pub fn end(vault: &Vault, request: &Request, page: &str) -> Result<Reply, ApiError> {
    let posted = request.form();
    let (id, pending) = match session::posted_by_owner(vault, request, page, &posted) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    if let Decision::Approved(approval) = &pending.decision {
        tokens::end_grants(vault, approval.granted.grants.iter().map(|grant| grant.grant_id.as_str()))?;
        vault.flows.note_over(&id);
    }
    Ok(Reply::see_other(&format!("{}/consent/{page}", request.base)))
}

/// Approves a request without asking, unless it leaves open which account it means. This is for tests, and a
/// message at the start announces it. Returns what [`decide`] returns.
///
/// # Errors
/// Returns the errors of the database.
pub fn approve_unasked(vault: &Vault, base: &str, id: &str) -> Result<Option<String>, ApiError> {
    let Some(pending) = vault.flows.get(id) else { return Ok(None) };
    if !matches!(pending.decision, Decision::Open) || is_training(&pending.asked) {
        return Ok(None);
    }
    let grants = vault.store.read(|_, catalog| {
        let asked = look_up(catalog, base, &pending.asked)?;
        let fields = |fields: &[String]| fields.iter().cloned().collect();
        let kept: Vec<_> = asked
            .choices
            .iter()
            .enumerate()
            .filter(|(_, choice)| !choice.is_ambiguous)
            .map(|(number, choice)| (number, fields(&choice.fields)))
            .collect();
        // If several accounts exist and none is named, none is approved, because nobody is there to pick.
        if kept.is_empty() {
            let known: BTreeSet<&str> = asked.choices.iter().map(|choice| &*choice.connection).collect();
            let known: Vec<Value> = catalog
                .connections
                .iter()
                .filter(|connection| known.contains(&*connection.id))
                .map(|account| json!({ "connection_id": account.id, "display_name": account.display_name }))
                .collect();
            let message = "The source has several accounts. Name the ones that you mean in instance_ids";
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "ambiguous_connection", message)
                .with("available_connections", known));
        }
        let expires_ms = asked.expires_ms.unwrap_or_else(|| time::now_ms() + 30 * DAY_MS);
        let selection = Selection { kept, expires_ms: Some(expires_ms), ..Selection::default() };
        grants(catalog, &vault.config.profile, &pending, &asked, &selection)
    })?;
    decide(vault, id, grants)
}
