//! Getting a grant: discovery, registration, the owner's approval, a proven token in the cache (R8.1).

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::begin::{Begun, begin};
use super::dialog::{Dialog, Event, Invitation, Than};
use super::difference::{self, Difference};
use super::door::Door;
use super::keep::{Connected, Granted, Unkept};
use super::plan::{Plan, Request};
use super::{package_token, renewal, suggest};
use crate::advice::Hint;
use crate::cache::Cache;
use crate::cache::store::choice::Chosen;
use crate::error::{Error, Kind, Result};
use crate::provider::approve::flow::Flow;
use crate::provider::approve::proof::{Proof, ProofError, prove};
use crate::provider::approve::token::TokenResponse;
use crate::provider::approve::{ApproveError, Attempt};
use crate::provider::discovery::discover;
use crate::provider::grant::TokenKind;
use crate::provider::http::{Http, Limits};
use crate::provider::network::{Network, NetworkError};
use crate::provider::rs::ResourceServer;
use crate::runtime;

/// The limits of one exchange with an authorization server, and of the proof.
const LIMITS: Limits =
    Limits { connect: Duration::from_secs(5), total: Duration::from_secs(15), body: 4 << 20 };

/// Gets the grant that `request` describes, keeps it in `cache`, and ends the grant that it replaces. Nothing
/// is stored unless the owner approves and the token is for that grant alone. Ctrl-C stops it.
///
/// # Errors
/// The failure of the request, the network, the provider, the owner or the cache; `interrupted`.
pub fn connect(request: &Request, cache: &Cache, network: Network, dialog: &dyn Dialog) -> Result<Connected> {
    let plan = Plan::of(request, cache)?;
    let cache = cache.clone().asked_by(plan.again(&["--store"]));
    if let Some(name) = &request.name {
        cache.check_label(&plan.provider, name, plan.replaces.as_ref())?;
    }
    network.check_ca_file().map_err(NetworkError::into_error)?;
    network.check_way_to(plan.provider.url()).map_err(NetworkError::into_error)?;
    let http = Http::new(LIMITS).over(network);
    // Checked first: an unusable cache or output is better known before the owner is asked.
    let Chosen { kind: store, note } = cache.choose_store(request.store)?;
    cache.check_writable(store)?;
    dialog.check_output()?;

    runtime::block_on(async {
        let mut stop = runtime::StopSignals::listen();
        tokio::select! {
            granted = get_grant(&plan, &cache, http.clone(), note.as_deref(), request, dialog) => {
                // Nothing is awaited until the grant is stored: either all of it is stored, or it was
                // interrupted before.
                let granted = granted?;
                let unkept = Unkept::of(&granted.discovery, &granted.client, &granted.response);
                let mut connected = match granted.keep(&cache, &plan, store, request) {
                    Ok(connected) => connected,
                    Err(error) => return Err(unkept.end(&http, error, dialog).await),
                };
                let label = connected.credential.label.as_str();
                dialog.on(Event::Kept { provider: &plan.provider, label });
                connected.end_old(&cache, &http, dialog).await;
                Ok(connected)
            }
            () = stop.next() => Err(interrupted(&plan)),
        }
    })?
}

fn interrupted(plan: &Plan) -> Error {
    Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored")
        .hint(Hint::new("Do not approve on that page any more. To ask again: ").run(plan.again(&[])))
}

async fn get_grant(
    plan: &Plan,
    cache: &Cache,
    http: Http,
    store_note: Option<&str>,
    request: &Request,
    dialog: &dyn Dialog,
) -> Result<Granted> {
    let provider = &plan.provider;
    let discovery = discover(&http, provider).await.map_err(|error| error.into_error(provider))?;
    let Begun { attempt, client, wanted, flow } =
        begin(&http, &discovery, plan, cache, request, dialog).await?;
    let attempt = attempt.within(request.wait);

    if let Some(note) = store_note {
        dialog.on(Event::Store(note));
    }
    let differing = plan.replaces.as_ref().map(|old| renewal::differing(old, &wanted)).unwrap_or_default();
    if !differing.is_empty() {
        dialog.on(Event::AccountsDiffer(&differing));
    }
    let failed = |error| {
        let credentials = cache.credentials().unwrap_or_default();
        suggest::with_names(error, &wanted, provider, &credentials)
            .into_error(provider, &|without| plan.again(without))
    };
    let door = Door::of(&attempt, request).await.map_err(failed)?;
    let shown = door.shown(&attempt);
    dialog.on(Event::Approve(Invitation {
        discovery: &discovery,
        attempt: &attempt,
        wanted: &wanted,
        flow,
        shown,
    }));
    let response = wait(&http, &attempt, &door, request, cache, dialog).await.map_err(failed)?;

    // Several grants picked at once: one token for the provider's own /mcp, with which /v1 proves nothing.
    if let (Flow::AuthorizationCode, Some(TokenKind::McpPackage), Some(id)) =
        (flow, response.kind, response.package_id.clone())
    {
        let sources = package_token::sources(http, &discovery, &id, &response).await;
        let (proof, difference) = (Proof { grant_id: id, sources }, Difference::unknown());
        let kind = TokenKind::McpPackage;
        return Ok(Granted { discovery, client, response, wanted, flow, proof, kind, difference });
    }
    let rs = ResourceServer::new(http.clone(), provider, discovery.query_base.clone())
        .map_err(|error| Error::failed("query_base_foreign", error.to_string()))?;
    let proof = match prove(&rs, &response).await {
        Ok(proof) => proof,
        Err(error) => {
            // An owner's token is used for nothing, not even to end the grant.
            let is_owners = matches!(error, ProofError::Owner);
            let error = error.into_error(provider, plan.again(&[]));
            if is_owners {
                return Err(error);
            }
            return Err(Unkept::of(&discovery, &client, &response).end(&http, error, dialog).await);
        }
    };
    let required = difference::required(&rs, &wanted, &response).await;
    let difference = difference::compare(&wanted, &response, &proof, &required);
    // A grant that replaces another is compared with that one.
    if plan.replaces.is_none() {
        dialog.on(Event::Differs(&difference, Than::Asked));
    }
    let kind = TokenKind::Client;
    Ok(Granted { discovery, client, response, wanted, flow, proof, kind, difference })
}

/// How long a browser may take to open its file.
const BROWSER_STARTS: Duration = Duration::from_secs(15);

/// Opens the owner's browser and waits for the owner's decision.
async fn wait(
    http: &Http,
    attempt: &Attempt,
    door: &Door,
    request: &Request,
    cache: &Cache,
    dialog: &dyn Dialog,
) -> Result<TokenResponse, ApproveError> {
    let mut approval = std::pin::pin!(attempt.wait(http));
    let mut leading_on = std::pin::pin!(door.lead_on());
    // The browser may open the page, and come back, before its opener has ended.
    let mut handed = tokio::select! {
        biased;
        file = door.open(attempt, request, cache, dialog) => file,
        decided = &mut approval => return decided,
        never = &mut leading_on => match never {},
    };
    let end = Instant::now() + attempt.waits();
    dialog.on(Event::Waits { at_most: attempt.waits() });
    let mut second = tokio::time::interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut entered = std::pin::pin!(door.entered(attempt));
    let mut late = std::pin::pin!(tokio::time::sleep(BROWSER_STARTS));
    let mut is_awaited = handed.is_some();
    loop {
        tokio::select! {
            decided = &mut approval => {
                dialog.waiting(None);
                return decided;
            }
            never = &mut leading_on => match never {},
            () = &mut entered, if handed.is_some() => {
                handed = None;
                is_awaited = false;
            }
            () = &mut late, if is_awaited => {
                is_awaited = false;
                if let Some(instead) = door.instead(attempt) {
                    // The progress line would be in the way.
                    dialog.waiting(None);
                    dialog.on(instead);
                }
            }
            _ = second.tick() => dialog.waiting(Some(end.saturating_duration_since(Instant::now()))),
        }
    }
}
