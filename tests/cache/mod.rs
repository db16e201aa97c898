//! Promise: a credential on this computer is neither lost nor leaked.

mod dumps;
mod ends;
mod guard;
mod keyring;
mod killed;
mod panics;
mod pending;
mod refresh;
mod server;
