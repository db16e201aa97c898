//! Promise: a credential on this machine is neither lost nor leaked.

mod dumps;
mod guard;
mod keyring;
mod killed;
mod refresh;
mod server;
