//! `pdpp` lets an AI agent read a person's data through a grant that the person approved.
//!
//! # The house
//!
//! - [`cmd`]: one file or folder per command, its clap arguments and one `run`, and what several of them share; no JSON-RPC, and
//!   files only through [`fs`].
//! - [`grants`]: the life of a grant on this machine: what to ask for, how what was given differs, the one in its place, its end,
//!   and the tools over those that are served. It shows and asks nothing itself ([`grants::Dialog`]).
//! - [`provider`]: a PDPP provider as its client sees it: its URL, discovery (RFC 9728, RFC 8414), the ways
//!   to a grant ([`provider::approve`]), what a grant is ([`provider::grant`]), the resource server.
//! - [`cache`]: a credential's life on this machine: an index without secrets, a secret store, the choice
//!   of what to serve.
//! - [`mcp`]: the tool core, in four rooms. [`mcp::protocol`] speaks JSON-RPC over stdio and HTTP, at both ends, and knows no
//!   tool. [`mcp::reading`] is what a tool reads from: a [`mcp::reading::reader::Reader`] over a
//!   [`mcp::reading::backend::Backend`] (a resource server, or [`mcp::reading::hosted_tools`]), several of them as one
//!   [`mcp::reading::package`], with one cursor over it all ([`mcp::reading::paging`]). [`mcp::render`] writes the two views.
//!   [`mcp::tools`] has a file or a folder for each tool; what a host is told of them is in [`mcp::tools::surface`].
//! - [`setup`]: one right entry in a host's own config: [`setup::edit`] keeps every other byte,
//!   [`setup::clients`] is a file a host, [`setup::proof`] starts what was recorded. [`fs::foreign`] writes.
//! - [`endpoint`]: the same tools over HTTP, in front of a provider: whose bearer it is, how often, how many at once.
//! - [`vault`]: a provider on this machine: what it keeps, how a grant is enforced, its `/v1`, its authorization server and
//!   its consent pages. They share nothing with [`provider`] but the wire, so that a test of one against the other proves
//!   something; only its `/mcp` ([`vault::mcp_endpoint`]) is the tool core over them.
//!   It knows nobody's data: whoever opens a vault says whose it is, and may fill a new one.
//! - [`own`]: the vault of the person's own data, read in this process by [`own::backend`], which [`import`] fills from exports; a format of exports is one file of it.
//!   [`own::backup`] writes all of it to one file, and makes a store of such a file. [`own::separate`] is the service of another user that
//!   keeps it, and its caller. [`own::page`] is its owner's page.
//! - [`sandbox`]: the life of a fictional person, which fills a vault to try a provider with, and for tests.
//! - [`access_log`]: what agents read through this machine, for its owner. [`checks`]: whether things work, found
//!   out by trying. [`demo`]: the main job, played. [`bundle`]: a grant for whoever installed a host's bundle and has no terminal,
//!   got by a process of its own.
//! - [`error`], [`advice`], [`text`], [`ui`], [`fs`], [`archive`], [`secret`], [`net`], [`listener`], [`hex`], [`json`], [`time_text`],
//!   [`runtime`], [`shutdown`]: one error, the command to type next, safe text, the one writer, private files, the members of a
//!   file, folder or archive, a token, public addresses, connections that anybody may open, names in hexadecimal, JSON from elsewhere and on its way out, a
//!   grant's end in words, the event loop, what the end of the process waits for.
//!
//! Arrows go one way: `cmd → {bundle, checks, demo} → {endpoint, grants, sandbox, setup} → own → import → {access_log, vault} → {cache, mcp} → provider` → the
//! line above (`tests/docs/map.rs`); within [`cache`], [`checks`], [`cmd`], [`endpoint`], [`fs`], [`grants`], [`mcp`] and [`provider`]
//! no files use each other in a circle. So [`mcp`] knows no cache: it gets a bearer through one function
//! ([`mcp::reading::reader::BearerSource`]).
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
//!   else, [`mcp::reading::hosted_tools`]). It tells calls to a sink ([`mcp::call_log::AccessSink`]), which cannot hold them up; what the log has
//!   of them is never what was asked for or answered (`tests/owner_commands`).
//! - A secret has no `Display`, a redacting `Debug`, and one greppable way out ([`secret`]).
//! - The start of `mcp serve` touches its arguments, one small index file and stdin: no keyring, name look-up,
//!   TLS or directory walk before `initialize` is answered (`benches/start.rs`).
//! - A bearer goes to the provider it was issued for: scheme, host, port and path
//!   ([`provider::rs::ForeignQueryBase`], [`provider::url::ProviderUrl::covers`]), which are stored beside it and not believed of
//!   the index alone (`tests/cache/guard.rs`).
//! - No request is sent for the person's own store: it is read, granted and ended in process, and its address is one that nobody
//!   can have ([`provider::url::ProviderUrl::is_local`], `tests/own`).
//! - An import only reads what it is given, and writes nothing but the store of own data, which fiction never shares
//!   (`tests/import`). [`mcp`] never writes there either: a server opens it for reads alone ([`own`]).
//! - No secret and no capability to approve is in an argument, or in a URL that another user of the machine could read: the
//!   browser gets a private file, and only the browser that came in with it brings the answer
//!   ([`provider::approve::loopback`], `tests/connect`).
//! - A program of the same user can read what this one can: files, keyring, the file that the browser is handed. Nothing here
//!   stands in its way.
//! - A text from outside is data: never a format string, a path, a command or an instruction
//!   ([`text`], [`mcp::line`]).
//! - A result is bounded before it is built, not cut after ([`mcp::reading::paging`], [`mcp::size::Bounds`]).
//! - A refresh that has begun is not cut off by the end of its process, for 5 s ([`shutdown`], `tests/cache`).
//! - A process killed while it writes leaves the cache as it was before or after ([`fs`], [`cache`]).

pub mod access_log;
pub mod advice;
pub mod archive;
pub mod bundle;
pub mod cache;
pub mod checks;
pub mod cmd;
pub mod demo;
pub mod endpoint;
pub mod error;
pub mod fs;
pub mod grants;
pub mod hex;
pub mod import;
pub mod json;
pub mod listener;
pub mod mcp;
pub mod net;
pub mod own;
pub mod provider;
pub mod runtime;
pub mod sandbox;
pub mod secret;
pub mod setup;
pub mod shutdown;
pub mod text;
pub mod time_text;
pub mod ui;
pub mod vault;
