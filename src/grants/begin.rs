//! How a request begins, and the questions that follow from a provider's refusal.

use super::browser::Browser;
use super::dialog::{Dialog, Event, SourceAnswer};
use super::plan::{Plan, Request};
use super::{narrowing, suggest};
use crate::cache::Cache;
use crate::error::{Error, Kind, Result};
use crate::provider::approve::flow::Flow;
use crate::provider::approve::wanted::Wanted;
use crate::provider::approve::{self, ApproveError, Attempt};
use crate::provider::discovery::Discovery;
use crate::provider::grant::TokenKind;
use crate::provider::http::Http;
use crate::provider::register::Client;

/// A request that is ready for the owner's decision.
pub(super) struct Begun {
    pub(super) attempt: Attempt,
    pub(super) client: Client,
    /// What was finally asked for.
    pub(super) wanted: Wanted,
    pub(super) flow: Flow,
}

/// Begins a request. If the provider needs to know which source, asks the person, if anyone can answer.
///
/// # Errors
/// The provider's refusal; `interrupted`.
pub(super) async fn begin(
    http: &Http,
    discovery: &Discovery,
    plan: &Plan,
    cache: &Cache,
    request: &Request,
    dialog: &dyn Dialog,
) -> Result<Begun> {
    let server = &discovery.authorization_server;
    let failed = |refused: ApproveError| refused.into_error(&plan.provider, &|without| plan.again(without));
    // A person who names a flow gets it.
    let elsewhere = match Browser::of_this_process() {
        Browser::Elsewhere(why) if request.flow.is_none() => Some(why),
        _ => None,
    };
    let mut wanted = plan.wanted.clone();
    let mut instead = plan.instead.iter();
    let mut asked = request.flow;
    let mut questions = 0;
    loop {
        let remembered = cache.client_id(server.issuer.as_str())?;
        let begun = async {
            let flow = Flow::choose(server, &wanted, asked, elsewhere.is_some())?;
            if let (Flow::DeviceCode, Some(why), 0) = (flow, elsewhere, questions) {
                dialog.on(Event::UsesDeviceCode { why });
            }
            approve::begin(http, discovery, remembered, &wanted, flow).await.map(|begun| (begun, flow))
        };
        let refused = match begun.await {
            Ok(((attempt, client), flow)) => return Ok(Begun { attempt, client, wanted, flow }),
            Err(error) => error,
        };
        questions += 1;
        // The sources from earlier grants can be picked if the provider itself lists none.
        let refused = suggest::with_names(refused, &wanted, &plan.provider, &cache.credentials()?);
        if refused.is_of_the_request()
            && let (Some(next), Some(old)) = (instead.next(), &plan.replaces)
        {
            let is_picked = next.is_plain() && old.token_kind == TokenKind::McpPackage;
            if asked.is_none() && is_picked && Flow::AuthorizationCode.is_offered(server) {
                asked = Some(Flow::AuthorizationCode);
            }
            if next.streams != wanted.streams {
                dialog.on(Event::PickTheSame { refused: &refused, old });
            }
            wanted = next.clone();
            continue;
        }
        let is_first = questions <= 2;
        match &refused {
            ApproveError::SourceRequired { choices } if is_first => {
                let can_pick = asked.is_none()
                    && Flow::AuthorizationCode.is_offered(server)
                    && elsewhere.is_none()
                    && wanted.is_plain();
                match dialog.choose_source(choices, can_pick).map_err(|error| not_chosen(&error))? {
                    Some(SourceAnswer::Source(id)) => wanted.source = Some(narrowing::source(&id, &[])?),
                    Some(SourceAnswer::PickThere) => asked = Some(Flow::AuthorizationCode),
                    None => return Err(failed(refused)),
                }
            }
            ApproveError::InstanceRequired { choices } if is_first => {
                let chosen = dialog.choose_instance(choices).map_err(|error| not_chosen(&error))?;
                match (chosen, wanted.source.as_mut()) {
                    (Some(id), Some(source)) => source.instance_ids = vec![id],
                    _ => return Err(failed(refused)),
                }
            }
            _ => return Err(failed(refused)),
        }
    }
}

/// Ctrl-C at a question, or a terminal that went away.
fn not_chosen(error: &std::io::Error) -> Error {
    Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored")
        .because(std::io::Error::from(error.kind()))
        .hint("Name the source instead: --source <URI>")
}
