//! ChatGPT: it starts no program and reads no file. It connects to a provider's own `/mcp` over public
//! https, so all there is to do here is to find that address.

use std::net::IpAddr;

use serde_json::Value;
use url::{Host, Url};

use crate::error::{Error, Result};
use crate::provider::discovery::{DiscoveryError, discover};
use crate::provider::http::Http;
use crate::provider::url::ProviderUrl;

/// What ChatGPT can be told about a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosted {
    /// The address to paste.
    At(Url),
    /// It has an MCP endpoint that cannot be reached from the internet.
    NotPublic(Url),
    /// It offers none.
    None,
}

/// Finds the MCP endpoint of `provider`: it is a PDPP provider (RFC 9728, RFC 8414), and publishes
/// protected-resource metadata for its `/mcp` that is about that very address.
///
/// # Errors
/// Those of discovery.
pub async fn find(http: &Http, provider: &ProviderUrl) -> Result<Hosted> {
    discover(http, provider).await.map_err(|error| error.told(provider))?;
    let Ok(endpoint) = format!("{}/mcp", provider.as_str()).parse::<ProviderUrl>() else {
        return Ok(Hosted::None);
    };
    let answer = http
        .get_json(endpoint.well_known("oauth-protected-resource"))
        .await
        .map_err(|error| DiscoveryError::from(error).told(provider))?;
    let about = answer.object().ok();
    let resource = about.as_ref().and_then(|about| about.get("resource")).and_then(Value::as_str);
    if !resource.is_some_and(|resource| endpoint.is_same_as(resource)) {
        return Ok(Hosted::None);
    }
    let url = endpoint.url().clone();
    Ok(if is_public_https(&url) { Hosted::At(url) } else { Hosted::NotPublic(url) })
}

/// Whether a service on the internet could connect to it, as far as its name says.
pub fn is_public_https(url: &Url) -> bool {
    url.scheme() == "https"
        && match url.host() {
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.').to_ascii_lowercase();
                let last = name.rsplit('.').next().unwrap_or_default();
                name.contains('.')
                    && !matches!(last, "local" | "localhost" | "internal" | "lan" | "home" | "test")
                    && !name.ends_with(".home.arpa")
            }
            Some(Host::Ipv4(address)) => is_public(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => is_public(IpAddr::V6(address)),
            None => false,
        }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, ..] = v4.octets();
            // RFC 6598's shared space is private too.
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_multicast()
                || v4.is_broadcast()
                || v4.is_documentation()
                || (a == 100 && (64..128).contains(&b)))
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_public(IpAddr::V4(v4)),
            None => {
                !(v6.is_loopback()
                    || v6.is_unspecified()
                    || v6.is_multicast()
                    || v6.is_unique_local()
                    || v6.is_unicast_link_local())
            }
        },
    }
}

/// What to do with it, for a person.
///
/// # Errors
/// `no_public_endpoint` if there is nothing that ChatGPT could connect to.
pub fn steps(provider: &ProviderUrl, hosted: &Hosted) -> Result<String> {
    let none = |why: String| {
        Error::failed("no_public_endpoint", why)
            .hint("Ask whoever runs the provider for a public https /mcp; or a host on this machine: pdpp mcp setup")
    };
    match hosted {
        Hosted::At(url) => Ok(format!(
            "ChatGPT connects to your provider itself; nothing was written here.\n\
             \n  {url}\n\n\
             In ChatGPT on the web: Settings, then Apps & Connectors (or Plugins), Advanced, switch on Developer \
             mode, then Create. Give it any name, the address above, and OAuth. Your provider then asks you what \
             ChatGPT may read, as it asks for pdpp."
        )),
        Hosted::NotPublic(url) => {
            Err(none(format!("ChatGPT connects from the internet, and {url} is no public https address")))
        }
        Hosted::None => Err(none(format!(
            "ChatGPT cannot be connected to {provider}: it publishes nothing about an MCP endpoint at {provider}/mcp"
        ))),
    }
}

/// What `--remove` has to say.
pub const REMOVAL: &str = "\
ChatGPT: nothing was ever written here. Disconnect it in ChatGPT's own settings, and end its grant in your
provider's own pages.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_public_https_address_is_for_chatgpt() {
        let public = |url: &str| is_public_https(&url.parse().unwrap());
        for url in ["https://a.example.org/mcp", "https://8.8.8.8/mcp", "https://[2606:4700::1]/mcp"] {
            assert!(public(url), "{url}");
        }
        for url in [
            "http://a.example.org/mcp",
            "https://localhost/mcp",
            "https://box/mcp",
            "https://box.local/mcp",
            "https://box.home.arpa/mcp",
            "https://10.0.0.1/mcp",
            "https://127.0.0.1/mcp",
            "https://192.168.1.2/mcp",
            "https://100.64.0.1/mcp",
            "https://169.254.1.1/mcp",
            "https://[::1]/mcp",
            "https://[fd00::1]/mcp",
            "https://[::ffff:10.0.0.1]/mcp",
            "https://a.internal./mcp",
        ] {
            assert!(!public(url), "{url}");
        }
    }
}
