//! A PDPP provider as its client sees it: where it is, how to get a grant from it, and how to read.

pub mod approve;
pub mod discovery;
pub mod grant;
pub mod http;
pub mod network;
pub mod oauth_error;
pub mod register;
pub mod rs;
pub mod url;
