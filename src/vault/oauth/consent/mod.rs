//! The owner's page: who asks, what for, what it could read, until when. Approve, narrow, or deny.
//!
//! It works without a script. What the client said stands in its own words, marked as such; what the
//! provider enforces is said by the provider. A decision needs the token in the form and the cookie
//! that the page set (CSRF), and comes from this origin.

mod ends;
mod page;

pub use page::{foreign_page, refused_page, stylesheet};

use std::collections::{BTreeMap, BTreeSet};

use axum::http::StatusCode;
use ring::hmac;
use serde_json::{Value, json};

use super::authorization_details::{AI_TRAINING, AuthorizationDetails};
use super::flows::{Code, Decision, Outcome, Pending, URI_PREFIX, Way};
use super::selection::{Selection, resolve, resolve_each};
use super::tokens;
use crate::vault::grant::Grant;
use crate::vault::html::Html;
use crate::vault::id::{random_id, random_token};
use crate::vault::store::record_counts;
use crate::vault::wire::{ApiError, Reply, Request};
use crate::vault::{Vault, time};
use ends::{ASKED, DAY_MS, ENDS, USUAL};
use page::{Form, TurnedBack, already, ended, form, form_reply, page_reply, picker, unknown};

const COOKIE: &str = "pdpp_consent";
/// What the token of the form for a device's code is bound to, instead of a request.
pub const CODE_FORM: &str = "device";

/// Where the owner decides about a request.
pub fn page_url(base: &str, pending: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("request_uri", &format!("{URI_PREFIX}{pending}"));
    format!("{base}/consent?{}", query.finish())
}

/// `GET /consent?request_uri=…`
///
/// # Errors
/// Where the database fails.
pub fn show(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let params = request.params();
    let Some((id, pending)) = pending(vault, &params) else { return Ok(unknown(&vault.config.profile)) };
    if let Some(ended) = ended(&vault.config.profile, &pending) {
        return Ok(ended);
    }
    let (cookie, set) = cookie_or_new(request)?;
    let page = form_page(vault, &cookie, &id, &pending, None)?;
    Ok(form_reply(StatusCode::OK, page, &pending).with("set-cookie", set))
}

/// `POST /consent/sources`: the sources that the owner picked, or none to pick again.
///
/// # Errors
/// Where the database fails.
pub fn pick(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let posted = request.form();
    let (id, pending) = match checked(vault, request, &posted) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    let picked: BTreeSet<&str> =
        posted.iter().filter(|(name, _)| name == "source").map(|(_, value)| value.as_str()).collect();
    let again = posted.iter().any(|(name, _)| name == "again");
    if picked.is_empty() && !again && pending.is_unpicked() {
        let problem = TurnedBack { problem: "Tick at least one account, or deny", posted: &posted };
        return self::again(vault, request, &id, &pending, &problem);
    }
    vault.flows.pick(&id, |choice| picked.contains(choice.connection.as_str()));
    Ok(Reply::see_other(&page_url(&request.base, &id)))
}

/// `POST /consent/approve`
///
/// # Errors
/// Where the database fails.
pub fn approve(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let posted = request.form();
    let (id, pending) = match checked(vault, request, &posted) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    let value = |name: &str| posted.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    let needs_training = pending.asked.purpose_code == AI_TRAINING;
    let made = selection(&pending.asked, &posted).and_then(|selection| {
        if needs_training && value("ai_training") != Some("yes") {
            return Err(ApiError::invalid(
                "Training an AI model needs your explicit agreement: tick its box, or deny",
            ));
        }
        grants(vault, &pending, &selection)
    });
    let grants = match made {
        Ok(grants) => grants,
        Err(error) if error.status == StatusCode::BAD_REQUEST => {
            return again(
                vault,
                request,
                &id,
                &pending,
                &TurnedBack { problem: error.message(), posted: &posted },
            );
        }
        Err(error) => return Err(error),
    };
    match decide(vault, &request.base, &id, grants) {
        Err(error) if error.status != StatusCode::BAD_REQUEST => Err(error),
        // Decided meanwhile: its page says how.
        Err(_) => Ok(Reply::see_other(&page_url(&request.base, &id))),
        Ok(outcome) => Ok(match outcome {
            Outcome::Redirect(back) => Reply::see_other(&back),
            Outcome::Token(_) | Outcome::Granted(_) => Reply::see_other(&page_url(&request.base, &id)),
        }),
    }
}

/// The grants that an approval makes: one for what was asked for, one a source where sources were picked.
fn grants(vault: &Vault, pending: &Pending, selection: &Selection) -> Result<Vec<Grant>, ApiError> {
    let (profile, client, asked) = (&vault.config.profile, &pending.client.id, &pending.asked);
    vault.store.read(|_, catalog| match &pending.offer {
        Some(_) => resolve_each(catalog, profile, client, asked, selection),
        None => resolve(catalog, profile, client, asked, selection).map(|grant| vec![grant]),
    })
}

/// Approves an open request, in the way that its program waits for.
fn decide(vault: &Vault, base: &str, id: &str, grants: Vec<Grant>) -> Result<Outcome, ApiError> {
    let mut made = None;
    let mut issued = None;
    vault.flows.decide(id, |pending| {
        let client = pending.client.id.as_str();
        let outcome = match (&pending.way, grants) {
            (Way::Redirect(redirect), grants) => {
                let code = random_token("pdpp_ac_")?;
                let back = redirect.back(base, &[("code", &code)]);
                let granted = tokens::keep(vault, client, grants)?;
                issued = Some((code, Code::new(granted, redirect.as_ref().clone())));
                Outcome::Redirect(back)
            }
            (Way::Device { .. }, grants) => Outcome::Granted(Box::new(tokens::keep(vault, client, grants)?)),
            (Way::AgentConnect, mut grants) => {
                let grant = grants.pop().ok_or_else(|| ApiError::invalid("Nothing is ticked"))?;
                Outcome::Token(Box::new(vault.issue(grant)?))
            }
        };
        made = Some(outcome.clone());
        Ok(Decision::Approved(outcome))
    })?;
    // Known before anybody is told of it.
    if let Some((code, issued)) = issued {
        vault.flows.add_code(&code, issued);
    }
    made.ok_or_else(|| ApiError::invalid("This request is not open any more"))
}

/// `POST /consent/deny`
///
/// # Errors
/// None beyond pages that say so.
pub fn deny(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let posted = request.form();
    let (id, pending) = match checked(vault, request, &posted) {
        Ok(found) => found,
        Err(refused) => return Ok(*refused),
    };
    let denied = vault.flows.decide(&id, |_| Ok(Decision::Denied));
    Ok(match &pending.way {
        Way::Redirect(redirect) if denied.is_ok() => {
            let denied = [("error", "access_denied"), ("error_description", "The owner denied the request")];
            Reply::see_other(&redirect.back(&request.base, &denied))
        }
        // Decided meanwhile: its page says how.
        _ => Reply::see_other(&page_url(&request.base, &id)),
    })
}

/// Approves a request as it is preselected, without asking: for tests, and said at the start.
///
/// # Errors
/// Where the database fails.
pub fn approve_unasked(vault: &Vault, base: &str, id: &str) -> Result<(), ApiError> {
    // Where sources are picked first, all of them are.
    vault.flows.pick(id, |_| true);
    let Some(pending) = vault.flows.get(id) else { return Ok(()) };
    if !matches!(pending.decision, Decision::Open) || pending.asked.purpose_code == AI_TRAINING {
        return Ok(());
    }
    // Of several accounts that nobody named, none: there is nobody to pick.
    if !pending.asked.choices.iter().any(|choice| choice.preselected) {
        let known: BTreeSet<&str> = pending.asked.choices.iter().map(|choice| &*choice.connection).collect();
        let known: Vec<Value> = vault.store.read(|_, catalog| {
            let known = catalog.connections.iter().filter(|connection| known.contains(&*connection.id));
            Ok::<_, ApiError>(
                known
                    .map(|account| json!({ "connection_id": account.id, "display_name": account.display_name }))
                    .collect(),
            )
        })?;
        let message = "The source has several accounts: instance_ids has to name those that are meant";
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "ambiguous_connection", message)
            .with("available_connections", known));
    }
    let kept = pending
        .asked
        .choices
        .iter()
        .enumerate()
        .filter(|(_, choice)| choice.preselected)
        .map(|(number, choice)| (number, choice.fields.iter().cloned().collect()))
        .collect();
    let expires_ms = pending.asked.expires_ms.unwrap_or_else(|| time::now_ms() + 30 * DAY_MS);
    let selection = Selection { kept, since: None, expires_ms: Some(expires_ms) };
    let grants = grants(vault, &pending, &selection)?;
    decide(vault, base, id, grants).map(|_| ())
}

fn pending(vault: &Vault, params: &[(String, String)]) -> Option<(String, Pending)> {
    let (_, uri) = params.iter().find(|(name, _)| name == "request_uri")?;
    let id = uri.strip_prefix(URI_PREFIX)?;
    Some((id.to_owned(), vault.flows.get(id)?))
}

/// The browser's cookie, a new one if need be; and the header that sets it.
fn cookie_or_new(request: &Request) -> Result<(String, String), ApiError> {
    let cookie = match cookie(request) {
        Some(cookie) => cookie,
        None => random_id("")?,
    };
    let set = format!("{COOKIE}={cookie}; Path=/consent; HttpOnly; SameSite=Strict");
    Ok((cookie, set))
}

fn cookie(request: &Request) -> Option<String> {
    let cookies = request.header("cookie")?;
    let value = cookies.split(';').find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))?;
    (value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| value.to_owned())
}

/// The form's token: of this browser and this request.
fn csrf(vault: &Vault, cookie: &str, id: &str) -> String {
    let tag = hmac::sign(&vault.csrf, format!("{cookie}\n{id}").as_bytes());
    crate::hex::sha256(tag.as_ref())
}

/// Whether a form came from a page of ours about `subject`, in the browser that was shown it.
pub fn is_own_form(vault: &Vault, request: &Request, posted: &[(String, String)], subject: &str) -> bool {
    let sent = posted.iter().find(|(name, _)| name == "csrf").map(|(_, value)| value.as_str());
    let expected = cookie(request).map(|cookie| csrf(vault, &cookie, subject));
    let foreign = request.header("origin").is_some_and(|origin| origin != request.base)
        || request.header("sec-fetch-site").is_some_and(|site| site != "same-origin");
    !foreign && expected.is_some() && sent == expected.as_deref()
}

/// The open request that a form is about, if the form is ours.
fn checked(
    vault: &Vault,
    request: &Request,
    posted: &[(String, String)],
) -> Result<(String, Pending), Box<Reply>> {
    let Some((id, pending)) = pending(vault, posted) else {
        return Err(Box::new(unknown(&vault.config.profile)));
    };
    if !is_own_form(vault, request, posted, &id) {
        return Err(Box::new(foreign_page(&vault.config.profile)));
    }
    let profile = &vault.config.profile;
    match already(profile, &pending).or_else(|| ended(profile, &pending)) {
        Some(page) => Err(Box::new(page)),
        None => Ok((id, pending)),
    }
}

fn selection(asked: &AuthorizationDetails, posted: &[(String, String)]) -> Result<Selection, ApiError> {
    let values = |wanted: &'static str| {
        posted.iter().filter(move |(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    let connections: BTreeSet<&str> = values("connection").collect();
    let mut fields: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for value in values("field") {
        if let Some((number, name)) = value.split_once('.')
            && let Ok(number) = number.parse()
        {
            fields.entry(number).or_default().insert(name.to_owned());
        }
    }
    let mut kept = Vec::new();
    for number in values("stream").filter_map(|number| number.parse::<usize>().ok()).collect::<BTreeSet<_>>()
    {
        if asked.choices.get(number).is_some_and(|choice| connections.contains(choice.connection.as_str())) {
            kept.push((number, fields.remove(&number).unwrap_or_default()));
        }
    }
    if kept.is_empty() {
        return Err(ApiError::invalid(
            "Nothing would be shared: tick an account and at least one of its streams, or deny",
        ));
    }
    let since = match values("since").next().filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => Some(
            time::parse_ms(text)
                .ok_or_else(|| ApiError::invalid("The date does not read: write it as 2026-01-31"))?,
        ),
    };
    let end = values("expires").next().unwrap_or(USUAL);
    if let (ASKED, Some(asked)) = (end, asked.expires_ms) {
        return Ok(Selection { kept, since, expires_ms: Some(asked) });
    }
    let (.., lasts) = ENDS
        .iter()
        .find(|(value, ..)| *value == end)
        .ok_or_else(|| ApiError::invalid("Pick how long the access lasts"))?;
    Ok(Selection { kept, since, expires_ms: Some(time::now_ms() + lasts) })
}

fn again(
    vault: &Vault,
    request: &Request,
    id: &str,
    pending: &Pending,
    turned_back: &TurnedBack<'_>,
) -> Result<Reply, ApiError> {
    let cookie = cookie(request).unwrap_or_default();
    let page = form_page(vault, &cookie, id, pending, Some(turned_back))?;
    Ok(form_reply(StatusCode::BAD_REQUEST, page, pending))
}

/// The page of a request: sources to pick, or what could be read of them.
fn form_page(
    vault: &Vault,
    cookie: &str,
    id: &str,
    pending: &Pending,
    turned_back: Option<&TurnedBack<'_>>,
) -> Result<Html, ApiError> {
    let csrf = csrf(vault, cookie, id);
    vault.store.read(|db, catalog| {
        let counts = record_counts(db)?;
        let profile = &vault.config.profile;
        let form_of = Form { profile, pending, id, csrf, catalog, counts: &counts, turned_back };
        Ok(if pending.is_unpicked() { picker(&form_of) } else { form(&form_of) })
    })
}

/// The page on which the code of a device is typed, or compared where the address brought it.
///
/// # Errors
/// Without randomness.
pub fn code_page(
    vault: &Vault,
    request: &Request,
    status: StatusCode,
    code: &str,
    problem: Option<&str>,
) -> Result<Reply, ApiError> {
    let (cookie, set) = cookie_or_new(request)?;
    let code: String = code.chars().take(40).collect();
    let page = page::device_code(&vault.config.profile, &csrf(vault, &cookie, CODE_FORM), &code, problem);
    Ok(page_reply(status, page).with("set-cookie", set))
}
