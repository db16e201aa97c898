//! `pdpp` lets an AI agent read a person's data through a grant that the person approved.
//!
//! # The house
//!
//! - [`cmd`]: a file or a folder a command, its clap arguments and one `run`, and what several of them share; no JSON-RPC, and
//!   files only through [`fs`].
//! - [`provider`]: a PDPP provider as its client sees it: its URL, discovery (RFC 9728, RFC 8414), the ways
//!   to a grant ([`provider::approve`]), what a grant is ([`provider::grant`]), the resource server.
//! - [`cache`]: a credential's life on this machine: an index without secrets, a secret store, the choice
//!   of what to serve.
//! - [`mcp`]: the tool core. [`mcp::surface`] is what a host is told, [`mcp::source`] what a tool reads from,
//!   [`mcp::package`] several of them as one, [`mcp::remote`] a provider's own tools in the place of its resource
//!   server, [`mcp::pages`] the one cursor over it all, [`mcp::tools`] a file a tool, [`mcp::evidence`] how an answer
//!   is shown; [`mcp::stdio`], [`mcp::http`] and [`mcp::server`] speak the protocol, [`mcp::client`] is its other end.
//! - [`setup`]: one right entry in a host's own config: [`setup::edit`] keeps every other byte,
//!   [`setup::clients`] is a file a host, [`setup::proof`] starts what was recorded. [`fs::foreign`] writes.
//! - [`host`]: the same tools over HTTP, in front of a provider: whose bearer it is, how often, how many at once.
//! - [`sandbox`]: an embedded provider with a made-up life in it. Its `/v1` and its authorization
//!   server share nothing with [`provider`], so that a test of one against the other proves something; its `/mcp`
//!   ([`sandbox::hosted`]) is the tool core over them.
//! - [`access_log`]: what agents read through this machine, for its owner. [`checks`]: whether things work, found
//!   out by trying.
//! - [`error`], [`advice`], [`text`], [`ui`], [`fs`], [`secret`], [`net`], [`hex`], [`order`], [`until`], [`runtime`],
//!   [`ending`]: one error, the command to type next, safe text, the one writer, private files, a token, public addresses,
//!   names in hexadecimal, sorting, a grant's end in words, the event loop, what the end of the process waits for.
//!
//! Arrows go one way: `cmd → checks → {access_log, host, sandbox, setup} → {cache, mcp} → provider` → the line above
//! (`tests/docs/map.rs`). So [`mcp`] knows no cache: it gets a bearer through one function
//! ([`mcp::source::BearerSource`]).
//!
//! # What always holds
//!
//! Each line has a test; its name is behind it.
//!
//! - Nothing but the transport writes stdout while serving; no `print!`, `exit` or `unwrap` outside
//!   tests: the lints refuse them (`tests/stdio`, `Cargo.toml`).
//! - No code path reads an owner token: [`cache::owner`] looks at names of variables, never at a value; a
//!   cached credential of that kind is refused ([`cache::select`]).
//! - [`mcp`] never writes: to a provider, to a host's config, to the cache (`tests/replay`: every request is a
//!   `GET`; a package's token is read with at its provider's own `/mcp`, by calls of the six tools and nothing
//!   else, [`mcp::remote`]). It tells calls to a sink ([`mcp::access::AccessSink`]), which cannot hold them up; what the log has
//!   of them is never what was asked for or answered (`tests/owner_commands`).
//! - A secret has no `Display`, a redacting `Debug`, and one greppable way out ([`secret`]).
//! - The start of `mcp serve` touches its arguments, one small index file and stdin: no keyring, name look-up,
//!   TLS or directory walk before `initialize` is answered (`benches/start.rs`).
//! - A bearer goes to the provider it was issued for: scheme, host, port and path
//!   ([`provider::rs::ForeignQueryBase`], [`provider::url::ProviderUrl::covers`]).
//! - A text from outside is data: never a format string, a path, a command or an instruction
//!   ([`text`], [`mcp::evidence::line`]).
//! - A result is bounded before it is built, not cut after ([`mcp::pages`], [`mcp::evidence::Bounds`]).
//! - A refresh that has begun is not cut off by the end of its process, for 5 s ([`ending`], `tests/cache`).
//! - A process killed while it writes leaves the cache as it was before or after ([`fs`], [`cache`]).

pub mod access_log;
pub mod advice;
pub mod cache;
pub mod checks;
pub mod cmd;
pub mod ending;
pub mod error;
pub mod fs;
pub mod hex;
pub mod host;
pub mod mcp;
pub mod net;
pub mod order;
pub mod provider;
pub mod runtime;
pub mod sandbox;
pub mod secret;
pub mod setup;
pub mod text;
pub mod ui;
pub mod until;
