//! How an attempt begins: the request, and the questions to a person that a provider's refusal leads to.

use std::fmt::Write as _;

use super::plan::Plan;
use super::told::source_line;
use super::{Args, browser, narrow, suggest};
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::error::{Error, Kind, Result};
use crate::provider::approve::flow::Flow;
use crate::provider::approve::wanted::Wanted;
use crate::provider::approve::{self, ApproveError, Attempt, Choice};
use crate::provider::discovery::Discovery;
use crate::provider::grant::TokenKind;
use crate::provider::http::Http;
use crate::provider::register::Client;
use crate::text;
use crate::ui::Ui;
/// Begins an attempt; where the provider has to be told which source, a person is asked, if there is one.
pub(super) async fn begin(
    http: &Http,
    discovery: &Discovery,
    plan: &Plan,
    cache: &Cache,
    args: &Args,
    ui: &Ui,
) -> Result<(Attempt, Client, Wanted, Flow)> {
    let server = &discovery.authorization_server;
    let again = |without: &[&str]| plan.again(without);
    let told = |error: ApproveError| error.into_error(&plan.provider, &again);
    let with_names = |refused, wanted: &Wanted| -> Result<ApproveError> {
        Ok(suggest::with_names(refused, wanted, &plan.provider, &cache.credentials()?))
    };
    // Who names a way has it.
    let elsewhere = if args.flow.is_some() { None } else { browser::why_none_here() };
    let mut wanted = plan.wanted.clone();
    let mut instead = plan.instead.iter();
    let mut asked = args.flow;
    let mut questions = 0;
    loop {
        let remembered = cache.client_id(server.issuer.as_str())?;
        let begun = async {
            let flow = Flow::choose(server, &wanted, asked, elsewhere.is_some())?;
            if let (Flow::DeviceCode, Some(why), 0) = (flow, elsewhere, questions) {
                ui.note(&format!("Using a device code, since {why} (--flow picks another way).\n"));
            }
            approve::begin(http, discovery, remembered, &wanted, flow).await.map(|begun| (begun, flow))
        };
        let refused = match begun.await {
            Ok(((attempt, client), flow)) => return Ok((attempt, client, wanted, flow)),
            Err(error) => error,
        };
        questions += 1;
        if refused.is_of_the_request()
            && let (Some(next), Some(old)) = (instead.next(), &plan.replaces)
        {
            let is_picked = next.is_plain() && old.token_kind == TokenKind::McpPackage;
            if asked.is_none() && is_picked && Flow::AuthorizationCode.is_offered(server) {
                asked = Some(Flow::AuthorizationCode);
            }
            if next.streams != wanted.streams {
                ui.note(&not_exactly(&refused, old));
            }
            wanted = next.clone();
            continue;
        }
        let is_first = questions <= 2;
        match &refused {
            ApproveError::SourceRequired { choices } if is_first => {
                let can_pick =
                    asked.is_none() && Flow::AuthorizationCode.is_offered(server) && elsewhere.is_none();
                match ask_source(choices, can_pick && wanted.is_plain(), ui)? {
                    Some(Answer::Source(id)) => wanted.source = Some(narrow::source(&id, &[])?),
                    Some(Answer::PickThere) => asked = Some(Flow::AuthorizationCode),
                    None => return Err(told(with_names(refused, &wanted)?)),
                }
            }
            ApproveError::InstanceRequired { choices } if is_first => {
                let asked = ask_instance(choices, ui)?;
                match (asked, wanted.source.as_mut()) {
                    (Some(id), Some(source)) => source.instance_ids = vec![id],
                    _ => return Err(told(with_names(refused, &wanted)?)),
                }
            }
            _ => return Err(told(with_names(refused, &wanted)?)),
        }
    }
}

/// Which source, as a person says.
enum Answer {
    Source(String),
    /// On the provider's own page.
    PickThere,
}

fn ask_source(choices: &[Choice], can_pick: bool, ui: &Ui) -> Result<Option<Answer>> {
    const THERE: &str = "pick on the provider's page";
    if choices.is_empty() {
        let hint = if can_pick { format!(" (nothing: {THERE})") } else { String::new() };
        let question = format!("The provider has several sources. URI of the one to ask for{hint}");
        return Ok(match ui.ask(&question).map_err(|error| not_asked(&error))? {
            Some(id) if !id.is_empty() => Some(Answer::Source(id)),
            Some(_) if can_pick => Some(Answer::PickThere),
            _ => None,
        });
    }
    let mut items: Vec<String> = choices.iter().map(Choice::to_string).collect();
    if can_pick {
        items.push(THERE.to_owned());
    }
    let picked = ui.pick("Which source to ask for", &items).map_err(|error| not_asked(&error))?;
    Ok(picked.map(|at| choices.get(at).map_or(Answer::PickThere, |choice| Answer::Source(choice.id.clone()))))
}

fn ask_instance(choices: &[Choice], ui: &Ui) -> Result<Option<String>> {
    if choices.is_empty() {
        let question = "The source is configured more than once. Id of the instance to ask for";
        let typed = ui.ask(question).map_err(|error| not_asked(&error))?;
        return Ok(typed.filter(|id| !id.is_empty()));
    }
    let items: Vec<String> = choices.iter().map(Choice::to_string).collect();
    let picked = ui.pick("Which one to ask for", &items).map_err(|error| not_asked(&error))?;
    Ok(picked.and_then(|at| choices.get(at)).map(|choice| choice.id.clone()))
}

/// Ctrl-C at a question, or a terminal that went away.
fn not_asked(error: &std::io::Error) -> Error {
    Error::new(Kind::Interrupted, "interrupted", "Stopped; nothing is stored")
        .because(std::io::Error::from(error.kind()))
        .hint("Name the source instead: --source <URI>")
}

/// Says that a provider takes no request for what a grant has, and what that is: its owner can pick the same.
fn not_exactly(refused: &ApproveError, old: &Credential) -> String {
    let mut said = format!(
        "The provider takes no request for just what the old grant has ({}): pick the same on its page.\nThe old grant has:\n",
        text::one_line(&refused.to_string())
    );
    for source in &old.sources {
        let _ = writeln!(said, "  {}", source_line(source));
    }
    said
}
