//! `pdpp mcp host`: the endpoint, MCP over HTTP in front of a provider.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use crate::advice::Command;
use crate::cache::owner::refuse_owner_credentials_in_environment;
use crate::cmd::Global;
use crate::endpoint::credentials::CredentialsSource;
use crate::endpoint::rate::Allowance;
use crate::endpoint::tls::Files;
use crate::endpoint::{self, Config};
use crate::error::{Error, Kind, Result};
use crate::listener::places::Room;
use crate::mcp::protocol::http::{AllowedOrigin, Endpoint, Limits, TrustedHost};
use crate::mcp::size::Bounds;
use crate::provider::url::ProviderUrl;
use crate::ui::Ui;

/// Serve a provider's data to remote MCP hosts, over HTTP
///
/// For a provider's operator: an MCP endpoint (Streamable HTTP, stateless) in front of the provider's resource
/// server. Every request reads with its own bearer token, which the endpoint checks with the provider's authorization
/// server. The guide is docs/endpoint.md, with examples in packaging/. Both are in the source and in every package (a
/// .deb puts them in /usr/share/doc/pdpp).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group = clap::ArgGroup::new("introspection").required(true))]
pub struct Args {
    /// The provider whose data to offer
    #[arg(long, value_name = "URL")]
    pub provider_url: ProviderUrl,

    /// The address to listen on; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], 8484)))]
    pub listen: SocketAddr,

    /// The URL at which clients reach the endpoint; it ends in /mcp [default: /mcp below the provider]
    #[arg(long, value_name = "URL")]
    pub public_url: Option<ProviderUrl>,

    /// Also answer requests whose Host is this name, in addition to the public URL's; repeat for more
    #[arg(long, value_name = "HOST[:PORT]")]
    pub trusted_host: Vec<TrustedHost>,

    /// Let pages of this origin call the endpoint; repeat for more [default: none]
    #[arg(long, value_name = "ORIGIN")]
    pub allowed_origin: Vec<AllowedOrigin>,

    /// The file with the credentials for introspection: {"client_id":…,"client_secret":…}, mode 600
    #[arg(long, value_name = "FILE", group = "introspection")]
    pub introspection_file: Option<PathBuf>,

    /// Read the introspection credentials from the keyring instead
    #[arg(long, group = "introspection", conflicts_with = "introspection_file")]
    pub introspection_keyring: bool,

    /// Serve TLS here, with this certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// The certificate's private key (PEM), mode 600
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Serve counters in Prometheus' format at /metrics on this address, separately from the endpoint
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics_listen: Option<SocketAddr>,

    /// The maximum size of a request's body
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1024..=16 << 20))]
    pub max_body_bytes: u32,

    /// The maximum size of either view of one result, from 4000 to 48000 [default: 8000 for text, 10000 for
    /// structured output]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(4000..=48000))]
    pub max_result_bytes: Option<u32>,

    /// Requests per minute with one bearer token, on average
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub requests_per_minute: u32,

    /// Concurrent requests with one bearer token
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_concurrent_per_bearer: u32,

    /// Concurrent requests in total
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_concurrent: u32,

    /// Concurrent connections; a further one closes the oldest idle one
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections: u32,

    /// Concurrent connections from one address (IPv6: /64) [default: a quarter of --max-connections]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections_per_address: Option<u32>,

    /// A proxy's address, which is exempt from the limit per address, as this computer's own addresses are; repeat for
    /// more
    #[arg(long, value_name = "ADDR")]
    pub trusted_proxy: Vec<IpAddr>,

    /// How long running requests may take after SIGTERM
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=600))]
    pub drain: u32,

    /// Print where it listens as one line of JSON on stdout: {"url":…,"public_url":…,"metrics_url":…,"pid":…}
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "\
Examples:
  pdpp mcp host --provider-url https://provider.example \\
    --introspection-file /etc/pdpp/introspection.json

SIGHUP reloads credentials and certificates; SIGTERM stops the endpoint. stderr gets one line of JSON per request.";

/// Serves until a signal stops it.
///
/// # Errors
/// Returns the errors of [`endpoint::run`], and `public_url_invalid`, `owner_credential_in_environment` or
/// `output_failed`.
pub fn run(args: &Args, global: &Global, ui: &Ui) -> Result<u8> {
    refuse_owner_credentials_in_environment()?;
    let config = config(args, global)?;
    let public_url = config.endpoint.public_url.clone();
    endpoint::run(config, |ready| {
        if args.json {
            ui.json(&serde_json::json!({
                "url": ready.url.as_str(),
                "public_url": public_url.as_str(),
                "metrics_url": ready.metrics.as_ref().map(url::Url::as_str),
                "pid": std::process::id(),
            }));
        }
        // If that line is lost, anyone who waits for it waits for ever.
        ui.lost_output().map_or(Ok(()), Err)
    })?;
    Ok(0)
}

fn config(args: &Args, global: &Global) -> Result<Config> {
    if args.provider_url.is_local() {
        let message = "`pdpp mcp host` does not serve your own data on this computer over HTTP; only `pdpp mcp serve` serves it";
        return Err(Error::new(Kind::Usage, "local_not_hosted", message).run(Command::new("mcp serve")));
    }
    let mut endpoint = Endpoint::new(public_url(args)?);
    endpoint.trusted_hosts.clone_from(&args.trusted_host);
    endpoint.allowed_origins.clone_from(&args.allowed_origin);
    endpoint.limits = Limits { body: args.max_body_bytes as usize, ..Limits::default() };
    let bounds = args
        .max_result_bytes
        .map_or_else(Bounds::default, |bytes| Bounds { text: bytes as usize, structured: bytes as usize });
    Ok(Config {
        provider: args.provider_url.clone(),
        network: global.network()?,
        listen: args.listen,
        metrics_listen: args.metrics_listen,
        endpoint,
        introspection: match &args.introspection_file {
            Some(path) => CredentialsSource::File(path.clone()),
            None => CredentialsSource::Keyring(args.provider_url.clone()),
        },
        tls: match (&args.tls_cert, &args.tls_key) {
            (Some(certificate), Some(key)) => {
                Some(Files { certificate: certificate.clone(), key: key.clone() })
            }
            _ => None,
        },
        allowance: Allowance {
            per_minute: args.requests_per_minute,
            at_once_per_bearer: args.max_concurrent_per_bearer,
            at_once: args.max_concurrent,
        },
        bounds,
        room: Room {
            most: args.max_connections as usize,
            most_per_address: args
                .max_connections_per_address
                .map_or_else(|| (args.max_connections as usize).div_ceil(4), |most| most as usize),
            trusted: args.trusted_proxy.clone(),
        },
        drain: Duration::from_secs(args.drain.into()),
    })
}

fn public_url(args: &Args) -> Result<url::Url> {
    let Some(public) = &args.public_url else {
        let below = format!("{}/mcp", args.provider_url.as_str());
        return below.parse().map_err(|error| invalid(&below).because(error));
    };
    if !public.url().path().ends_with("/mcp") {
        return Err(invalid(public.as_str()));
    }
    Ok(public.url().clone())
}

fn invalid(url: &str) -> Error {
    Error::new(Kind::Usage, "public_url_invalid", format!("{url} does not end in /mcp"))
        .hint("--public-url https://provider.example/mcp")
}
