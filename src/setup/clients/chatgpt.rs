//! ChatGPT starts no program and reads no file. It connects to a provider's own `/mcp` over public https, so
//! this module only finds that address.

use serde_json::{Value, json};
use url::{Host, Url};

use crate::advice::{Command, Hint};
use crate::error::{Error, Result};
use crate::net;
use crate::provider::discovery::{DiscoveryError, discover};
use crate::provider::http::Http;
use crate::provider::url::ProviderUrl;

/// What ChatGPT can use of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hosted {
    /// The address to paste.
    At(Url),
    /// The provider has an MCP endpoint that cannot be reached from the internet.
    NotPublic(Url),
    /// The provider offers none.
    None,
}

impl Hosted {
    /// The result for `--json`, about `provider`.
    pub fn to_json(&self, provider: &ProviderUrl) -> Value {
        let (state, url) = match self {
            Self::At(url) => ("public", Some(url.as_str())),
            Self::NotPublic(url) => ("not_public", Some(url.as_str())),
            Self::None => ("none", None),
        };
        json!({"provider": provider.as_str(), "state": state, "url": url})
    }
}

/// Finds the MCP endpoint of `provider`: it is a PDPP provider (RFC 9728, RFC 8414), and publishes
/// protected-resource metadata that names exactly the address of its `/mcp`.
///
/// # Errors
/// The errors of discovery.
pub async fn find(http: &Http, provider: &ProviderUrl) -> Result<Hosted> {
    discover(http, provider).await.map_err(|error| error.into_error(provider))?;
    let Ok(endpoint) = format!("{}/mcp", provider.as_str()).parse::<ProviderUrl>() else {
        return Ok(Hosted::None);
    };
    let answer = http
        .get_json(endpoint.well_known("oauth-protected-resource"))
        .await
        .map_err(|error| DiscoveryError::from(error).into_error(provider))?;
    let about = answer.object().ok();
    let resource = about.as_ref().and_then(|about| about.get("resource")).and_then(Value::as_str);
    if !resource.is_some_and(|resource| endpoint.is_same_as(resource)) {
        return Ok(Hosted::None);
    }
    let url = endpoint.url().clone();
    Ok(if is_public_https(&url) { Hosted::At(url) } else { Hosted::NotPublic(url) })
}

/// Whether a service on the internet could connect to `url`, judging by its name. No name is looked up.
pub fn is_public_https(url: &Url) -> bool {
    url.scheme() == "https"
        && url.username().is_empty()
        && url.password().is_none()
        && match url.host() {
            Some(Host::Domain(name)) => is_public_name(name),
            Some(Host::Ipv4(address)) => net::is_public(address.into()),
            Some(Host::Ipv6(address)) => net::is_public(address.into()),
            None => false,
        }
}

/// Whether `name` may resolve on the internet. The names in RFC 2606, 6761, 6762, 7686 and 8375, and those
/// that home routers use, do not.
fn is_public_name(name: &str) -> bool {
    const OWN: [&str; 13] = [
        "corp",
        "example",
        "home",
        "internal",
        "intranet",
        "invalid",
        "lan",
        "local",
        "localdomain",
        "localhost",
        "onion",
        "private",
        "test",
    ];
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let last = name.rsplit('.').next().unwrap_or_default();
    name.contains('.') && !OWN.contains(&last) && name != "home.arpa" && !name.ends_with(".home.arpa")
}

/// The steps for a person.
///
/// # Errors
/// `no_public_endpoint` if there is nothing that ChatGPT could connect to.
pub fn steps(provider: &ProviderUrl, hosted: &Hosted) -> Result<String> {
    let none = |why: String| {
        Error::failed("no_public_endpoint", why).hint(
            Hint::new(
                "Ask the provider's operator for a public https /mcp; or use a host on this computer: ",
            )
            .run(Command::new("mcp setup")),
        )
    };
    match hosted {
        Hosted::At(url) => Ok(format!(
            "ChatGPT connects to your provider itself; nothing was written here.\n\
             \n  {url}\n\n\
             In ChatGPT on the web: Settings, then Apps & Connectors (or Plugins), Advanced, switch on Developer \
             mode, then Create. Give it any name, the address above, and OAuth. Your provider then asks you what \
             ChatGPT may read, as it does for pdpp."
        )),
        Hosted::NotPublic(url) => {
            Err(none(format!("ChatGPT connects from the internet, and {url} is not a public https address")))
        }
        Hosted::None => Err(none(format!(
            "ChatGPT cannot connect to {provider}: the provider does not publish an MCP endpoint at {provider}/mcp"
        ))),
    }
}

/// What `--remove` prints.
pub const REMOVAL: &str = "\
ChatGPT: pdpp never wrote anything here. Disconnect it in ChatGPT's own settings, and end its grant on your
provider's own pages.";

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;
    use proptest::prelude::*;

    fn public(url: &str) -> bool {
        is_public_https(&url.parse().unwrap())
    }

    #[test]
    fn only_a_public_https_address_is_for_chatgpt() {
        for url in [
            "https://a.example.org/mcp",
            "https://A.Example.ORG./mcp",
            "https://a.example.org:8443/mcp",
            "https://xn--bcher-kva.de/mcp",
            "https://8.8.8.8/mcp",
            "https://[2606:4700::1]/mcp",
            "https://[::ffff:8.8.8.8]/mcp",
            "https://local.example.net/mcp",
        ] {
            assert!(public(url), "{url}");
        }
        for url in [
            "http://a.example.org/mcp",
            "https://localhost/mcp",
            "https://box/mcp",
            "https://box.local/mcp",
            "https://box.LOCAL./mcp",
            "https://a.box.home.arpa/mcp",
            "https://a.internal./mcp",
            "https://provider.test/mcp",
            "https://0x7f.1/mcp",
            "https://2130706433/mcp",
            "https://[64:ff9b::10.0.0.1]/mcp",
            "https://[2002:c0a8:1::]/mcp",
            "https://[2001:db8::1]/mcp",
            "https://[fec0::1]/mcp",
            "https://[::10.0.0.1]/mcp",
            "https://me@a.example.org/mcp",
            "https://me:word@8.8.8.8/mcp",
        ] {
            assert!(!public(url), "{url}");
        }
    }

    /// An address within `base/bits`.
    fn within(base: [u8; 4], bits: u32) -> impl Strategy<Value = Ipv4Addr> {
        let mask = u32::MAX.checked_shr(bits).unwrap_or(0);
        any::<u32>().prop_map(move |low| Ipv4Addr::from(u32::from_be_bytes(base) | (low & mask)))
    }

    fn not_public() -> impl Strategy<Value = Ipv4Addr> {
        prop_oneof![
            within([127, 0, 0, 0], 8),
            within([10, 0, 0, 0], 8),
            within([172, 16, 0, 0], 12),
            within([192, 168, 0, 0], 16),
            within([169, 254, 0, 0], 16),
            within([100, 64, 0, 0], 10),
            within([0, 0, 0, 0], 8),
            within([224, 0, 0, 0], 3),
            within([198, 18, 0, 0], 15),
        ]
    }

    proptest! {
        #[test]
        fn no_port_and_no_way_of_writing_makes_a_private_address_public(
            v4 in not_public(), port in any::<u16>(), path in "[a-z/]{0,8}",
        ) {
            let [high, low] = [v4.octets()[..2].to_vec(), v4.octets()[2..].to_vec()];
            let hex = |pair: &[u8]| format!("{:02x}{:02x}", pair[0], pair[1]);
            for host in [
                v4.to_string(),
                u32::from(v4).to_string(),
                format!("{:#x}", u32::from(v4)),
                format!("[::ffff:{v4}]"),
                format!("[64:ff9b::{v4}]"),
                format!("[2002:{}:{}::1]", hex(&high), hex(&low)),
                format!("{v4}."),
            ] {
                let url = format!("https://{host}:{port}/{path}");
                prop_assert!(!public(&url), "{}", url);
            }
        }

        #[test]
        fn only_global_unicast_addresses_are_public(bits in any::<u128>(), prefix in prop_oneof![
            Just(0xfe80_u16), Just(0xfc00), Just(0xfdff), Just(0xff02), Just(0xfec0), Just(0), Just(0x5f00)
        ]) {
            let mut part = Ipv6Addr::from(bits).segments();
            part[0] = prefix;
            let url = format!("https://[{}]/mcp", Ipv6Addr::from(part));
            prop_assert!(!public(&url), "{}", url);
            part[0] = 0x2a00 | (part[0] & 0xff);
            let url = format!("https://[{}]/mcp", Ipv6Addr::from(part));
            prop_assert!(public(&url), "{}", url);
        }

        #[test]
        fn a_name_is_public_by_its_last_label_and_never_with_a_user(
            labels in prop::collection::vec("[a-z][a-z0-9]{0,6}", 1..4), own in prop_oneof![
                Just("local"), Just("localhost"), Just("LAN"), Just("internal"), Just("home.arpa"), Just("test")
            ], dot in prop_oneof![Just(""), Just(".")], port in 1..u16::MAX, user in "[a-z]{1,4}(:[a-z]{1,4})?",
        ) {
            let name = labels.join(".");
            let url = format!("https://{name}.org{dot}:{port}/mcp");
            prop_assert!(public(&url), "{}", url);
            for url in [
                format!("https://{name}.{own}{dot}:{port}/mcp"),
                format!("https://{user}@{name}.org/mcp"),
                format!("http://{name}.org:{port}/mcp"),
                format!("https://{}/mcp", labels[0]),
            ] {
                prop_assert!(!public(&url), "{}", url);
            }
        }
    }
}
