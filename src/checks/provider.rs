//! Checks whether a provider can be reached from here, and whether both clocks agree.

use futures_util::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use reqwest::header::DATE;

use super::Check;
use crate::provider::discovery::{DiscoveryError, discover};
use crate::provider::http::Http;
use crate::provider::url::ProviderUrl;

/// The clock difference from which grants and certificates are judged wrongly.
const SKEW: SignedDuration = SignedDuration::from_mins(5);

/// The findings for one provider.
pub struct Found {
    /// Whether it can be reached.
    pub reached: Check,
    /// How far this computer's clock is ahead of the provider's, if the provider sent its time.
    pub ahead: Option<SignedDuration>,
}

/// Checks each of `providers`, several at once.
pub async fn check_all(http: &Http, providers: &[ProviderUrl]) -> Vec<Found> {
    futures_util::stream::iter(providers).map(|provider| check(http, provider)).buffered(8).collect().await
}

async fn check(http: &Http, provider: &ProviderUrl) -> Found {
    let resource = provider.well_known("oauth-protected-resource");
    let through = http.network().proxy_for(&resource);
    let through = through.map(|proxy| format!(", through the proxy {proxy}")).unwrap_or_default();
    let asked = http.get_json(resource).await;
    let ahead = asked.as_ref().ok().and_then(|answer| {
        let date = answer.headers.get(DATE)?.to_str().ok()?;
        let date = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
        Some(Timestamp::now().duration_since(date))
    });
    let discovered = match asked {
        Ok(_) => discover(http, provider).await.map(drop),
        Err(error) => Err(DiscoveryError::Http(error)),
    };
    let reached = match discovered {
        Ok(()) => Check::ok("provider", format!("{provider} answers{through}")),
        Err(error) => {
            let mut failed = Check::failed("provider", &error.into_error(provider));
            failed.message = failed.message.replacen("pdpp got no usable answer", "no usable answer", 1);
            failed.message.push_str(&through);
            failed
        }
    };
    Found { reached, ahead }
}

/// Checks whether this computer's clock agrees with the providers' clocks.
pub fn clock(found: &[Found]) -> Option<Check> {
    // Use the smallest difference, because a provider's own clock may be wrong.
    let ahead = found.iter().filter_map(|found| found.ahead).min_by_key(|ahead| ahead.abs())?;
    if ahead.abs() < SKEW {
        return Some(Check::ok("clock", "agrees with the provider's"));
    }
    let (minutes, which) = (ahead.abs().as_mins(), if ahead.is_negative() { "behind" } else { "ahead of" });
    let message = format!("this computer's clock is {minutes} minutes {which} the provider's");
    let mut check = Check::stop(
        "clock",
        message,
        if cfg!(target_os = "linux") {
            "timedatectl set-ntp true"
        } else {
            "Let the system set its clock from the network"
        },
    );
    check.code = Some("clock_wrong".to_owned());
    Some(check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Level;

    fn found(ahead: Option<i64>) -> Found {
        Found { reached: Check::ok("provider", ""), ahead: ahead.map(SignedDuration::from_mins) }
    }

    #[test]
    fn a_clock_is_wrong_when_no_provider_agrees_with_it() {
        assert!(clock(&[found(None)]).is_none());
        assert_eq!(clock(&[found(Some(60)), found(Some(-1))]).unwrap().level, Level::Ok);
        let behind = clock(&[found(Some(-90)), found(Some(-60))]).unwrap();
        assert_eq!(behind.level, Level::Stop);
        assert!(behind.message.contains("60 minutes behind"), "{}", behind.message);
    }
}
