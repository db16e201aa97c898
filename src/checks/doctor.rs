//! Checks everything that may prevent a person from reading their data.

use jiff::Timestamp;

use super::status::not_connected;
use super::{Check, Level, credential, hosts, machine, provider, set_up};
use crate::access_log::AccessLog;
use crate::cache::Cache;
use crate::cache::credential::Credential;
use crate::cache::select::{disconnect_command, renew_command};
use crate::provider::http::Http;
use crate::provider::url::ProviderUrl;
use crate::time_text;

/// Checks this computer, the connection to each connected provider and to the providers in `more`, each grant, and
/// each host.
pub async fn check_everything(cache: &Cache, http: &Http, more: &[ProviderUrl]) -> Vec<Check> {
    let mut checks = vec![machine::program(), machine::environment()];
    // The contents of a damaged cache are unknown. Report that and do not guess.
    let kept = machine::cache(cache);
    let credentials = cache.credentials().ok();
    let is_usable = kept.level != Level::Stop;
    checks.push(kept);
    if is_usable {
        checks.push(machine::secrets(cache));
    }
    checks.extend(machine::authorities(http.network()));
    let mut providers: Vec<ProviderUrl> = Vec::new();
    for provider in credentials.iter().flatten().map(|credential| &credential.provider).chain(more) {
        if !provider.is_local() && !providers.contains(provider) {
            providers.push(provider.clone());
        }
    }
    let found = provider::check_all(http, &providers).await;
    checks.extend(provider::clock(&found));
    let is_away = |found: &provider::Found| found.reached.level == Level::Stop;
    let away: Vec<_> =
        providers.iter().zip(&found).filter(|(_, found)| is_away(found)).map(|(away, _)| away).collect();
    let grants = match &credentials {
        Some(credentials) => grants(cache, http, credentials, &away).await,
        None => Vec::new(),
    };
    checks.extend(machine::own_data(cache));
    checks.push(set_up::Found::here(cache).check());
    checks.extend(found.into_iter().map(|found| found.reached));
    checks.extend(grants);
    checks.extend(cache.ending().unwrap_or_default().iter().map(|waiting| {
        let message = format!("{} ({}) is not ended at its provider yet", waiting.label, waiting.grant_id);
        Check::warn("grant", message, disconnect_command(waiting))
    }));
    if is_usable {
        checks.push(machine::access_log(&AccessLog::new(cache.dir())));
    }
    let in_reach = checks.iter().any(|check| check.name == "tokens" && check.level == Level::Ok);
    checks.extend(hosts::check_all(in_reach).await);
    checks
}

/// Checks each grant. If its provider is in `away`, which has its own finding already, uses only what this computer
/// knows.
async fn grants(cache: &Cache, http: &Http, credentials: &[Credential], away: &[&ProviderUrl]) -> Vec<Check> {
    if credentials.is_empty() {
        return vec![Check::failed("grant", &not_connected(cache))];
    }
    let now = Timestamp::now();
    let is_away = |credential: &&Credential| away.contains(&&credential.provider);
    let asked: Vec<_> = credentials.iter().filter(|credential| !is_away(credential)).cloned().collect();
    let mut checked = credential::check_all(cache, http, &asked, credentials).await.into_iter();
    let mut verdict = |grant: &Credential| {
        let checked = if is_away(&grant) { None } else { checked.next() };
        checked.unwrap_or_else(|| credential::from_here(cache, grant, credentials, now))
    };
    let check = |grant: &Credential| {
        let verdict = verdict(grant);
        let name = format!("{} ({})", grant.label, grant.grant_id);
        match (verdict.why, grant.ends_soon(now)) {
            (Some(why), _) => Check {
                code: verdict.code,
                ..Check::stop("grant", format!("{name}: {why}"), verdict.next.unwrap_or_default())
            },
            (None, _) if is_away(&grant) => Check {
                next: None,
                ..Check::warn("grant", format!("{name}: not tried, because its provider does not answer"), "")
            },
            (None, Some(end)) => {
                let left = time_text::left(end, now).unwrap_or_default();
                Check::warn(
                    "grant",
                    format!("{name} works until {} ({left})", time_text::day_and_time(end)),
                    renew_command(grant, credentials),
                )
            }
            (None, None) => Check::ok("grant", format!("{name}: {}", verdict.state.word())),
        }
    };
    credentials.iter().map(check).collect()
}
