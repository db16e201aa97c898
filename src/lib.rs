//! `pdpp` lets an AI agent read a person's data through a grant that the person approved.
//!
//! # The crate's modules
//!
//! - [`cmd`]: one file or folder per command, with its clap arguments and one `run`, and what several commands
//!   share. It has no JSON-RPC, and reads and writes files only through [`fs`].
//! - [`grants`]: the life of a grant on this computer: what to ask for, how the grant differs from that, its
//!   renewal, its end, and the tools over the grants that are served. It shows nothing and asks nothing itself
//!   ([`grants::Dialog`]).
//! - [`provider`]: a PDPP provider as its client sees it: its URL, discovery (RFC 9728, RFC 8414), the ways to
//!   get a grant ([`provider::approve`]), the grant itself ([`provider::grant`]), and the resource server.
//! - [`cache`]: the life of a credential on this computer: an index without secrets, a secret store, and the
//!   choice of what to serve.
//! - [`mcp`]: the tool core, in four modules. [`mcp::protocol`] speaks JSON-RPC over stdio and HTTP, as server
//!   and client, and does not know the tools. [`mcp::reading`] is what a tool reads from: a
//!   [`mcp::reading::reader::Reader`] over a [`mcp::reading::backend::Backend`] (a resource server, or
//!   [`mcp::reading::hosted_tools`]), or several as one [`mcp::reading::package`], with one cursor over all of
//!   them ([`mcp::reading::paging`]). [`mcp::render`] writes the two views. [`mcp::tools`] has a file or a
//!   folder for each tool; [`mcp::tools::surface`] is what a host sees of them.
//! - [`setup`]: one correct entry in a host's own config. [`setup::edit`] keeps every other byte,
//!   [`setup::clients`] has one file per host, [`setup::proof`] starts the recorded command, and
//!   [`fs::foreign`] writes the file.
//! - [`endpoint`]: the same tools over HTTP, in front of a provider: whose bearer a request has, how often it
//!   may come, and how many run at once.
//! - [`vault`]: a provider on this computer: its store, the enforcement of grants, its `/v1`, its authorization
//!   server and its consent pages. It shares nothing with [`provider`] except the wire protocol, so that testing
//!   one against the other proves something. Only its `/mcp` ([`vault::mcp_endpoint`]) is built from the tool core.
//!   It contains no data: the code that opens a vault names its owner, and may fill a new vault.
//! - [`own`]: the vault of the person's own data. [`own::backend`] reads it in this process, and [`import`]
//!   fills it from exports, with one file per export format. [`own::backup`] writes the whole store to one
//!   file, and makes a store from such a file. [`own::separate`] is the service that keeps the store under
//!   another user, and its caller. [`own::page`] is the owner's page.
//! - [`sandbox`]: the data of a made-up person, which fills a vault for trying a provider, and for tests.
//! - [`access_log`]: what agents read through this computer, for its owner.
//! - [`checks`]: checks whether things work, by trying them.
//! - [`demo`]: plays the whole path, from an import to an agent's answer, with made-up data.
//! - [`bundle`]: a grant for a person who installed a host's bundle and has no terminal. A separate process
//!   requests it.
//!
//! All of these may use the modules at the bottom:
//!
//! - What a person sees: [`error`] is the one error type, [`advice`] the command to type next, [`text`] makes text
//!   safe to show, [`time_text`] puts a grant's end into words, and [`ui`] is the only writer to the terminal.
//! - Files and bytes: [`fs`] writes private files, [`archive`] lists the members of a file, folder or archive,
//!   [`json`] reads and writes JSON, [`hex`] names bytes in hexadecimal, and [`secret`] holds a token.
//! - The network: [`net`] knows which addresses are public, and [`listener`] accepts connections from anyone.
//! - The process: [`runtime`] is the event loop, and [`shutdown`] what the process waits for before it ends.
//!
//! Arrows go one way: `cmd → {bundle, checks, demo} → {endpoint, grants, sandbox, setup} → own → import →
//! {access_log, vault} → {cache, mcp} → provider` → the modules at the bottom (`tests/docs/map.rs`). Within
//! [`cache`], [`checks`], [`cmd`], [`endpoint`], [`fs`], [`grants`], [`mcp`], [`provider`], [`sandbox`] and
//! [`vault`], no files use each other in a circle. [`mcp`] does not know the cache: it gets a bearer through one
//! function ([`mcp::reading::reader::BearerSource`]).
//!
//! # Invariants
//!
//! Each line ends with the name of its test.
//!
//! - While serving, only the transport writes to stdout; there is no `print!`, `exit` or `unwrap` outside
//!   tests. The lints refuse them (`tests/stdio`, `Cargo.toml`).
//! - No code path reads an owner's token: [`cache::owner`] looks at the names of variables, never at a value, and
//!   [`cache::select`] refuses a cached credential of that kind.
//! - [`mcp`] never writes to a provider, to a host's config or to the cache (`tests/replay`: every request is a
//!   `GET`; a package's token reads at its provider's own `/mcp`, only through calls of the six tools,
//!   [`mcp::reading::hosted_tools`]). It reports calls to a sink ([`mcp::call_log::AccessSink`]), which cannot
//!   delay them; the log never contains a question or an answer (`tests/owner_commands`).
//! - A secret has no `Display`, a redacting `Debug`, and one way out that you can grep for ([`secret`]).
//! - Starting `mcp serve` touches only its arguments, one small index file and stdin: no keyring, name look-up,
//!   TLS or directory walk before `initialize` is answered (`benches/start.rs`).
//! - A bearer goes only to the provider it was issued for: scheme, host, port and path
//!   ([`provider::rs::ForeignQueryBase`], [`provider::url::ProviderUrl::covers`]). These are stored with the
//!   bearer, so that an edited index cannot send it elsewhere (`tests/cache/guard.rs`).
//! - No request is sent for the person's own store: it is read, granted and ended in process, and its address
//!   cannot exist on any network ([`provider::url::ProviderUrl::is_local`], `tests/own`).
//! - An import only reads what it is given, and writes only to the store of own data, which never contains
//!   made-up data (`tests/import`). [`mcp`] never writes there either: a server opens it read-only ([`own`]).
//! - No secret and no capability to approve is in an argument, or in a URL that another user of the computer
//!   could read. The browser gets a private file, and only the browser that presented it can return the
//!   answer ([`provider::approve::loopback`], `tests/connect`).
//! - A program of the same user can read what this one can: files, keyring, the file that the browser gets.
//!   Nothing here prevents that.
//! - A text from outside is data: never a format string, a path, a command or an instruction ([`text`],
//!   [`mcp::line`]).
//! - A result is bounded before it is built, not cut afterwards ([`mcp::reading::paging`],
//!   [`mcp::size::Bounds`]).
//! - The end of the process does not cut off a refresh that has begun, for 5 s ([`shutdown`], `tests/cache`).
//! - A process that is killed while it writes leaves the cache as it was before or after the write ([`fs`],
//!   [`cache`]).

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
