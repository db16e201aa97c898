//! Decides which part of a vault answers a request: `/v1` or the authorization server.

use axum::http::Method;
use serde_json::json;

use super::wire::{self, ApiError, Reply, Request};
use super::{Vault, oauth, rs};

impl Vault {
    /// Answers a request. Blocks, because it reads the database.
    pub fn answer(&self, request: &Request) -> Reply {
        let answered = route(self, request).unwrap_or_else(|error| error.reply(request));
        let mut reply = answered.with("request-id", request.request_id.clone());
        let of_resource_server = request.path == "/"
            || request.path.starts_with("/v1")
            || request.path.starts_with("/.well-known/oauth-protected");
        if of_resource_server {
            reply = reply.with("pdpp-version", wire::VERSION);
        }
        reply
    }
}

fn route(vault: &Vault, request: &Request) -> Result<Reply, ApiError> {
    let segments = request.segments().ok_or_else(|| ApiError::invalid("The path is not UTF-8"))?;
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    if let ["v1", rest @ ..] = path.as_slice() {
        return rs::http::answer(vault, request, rest);
    }
    if let Some(reply) = oauth::answer(vault, request, &path)? {
        return Ok(reply);
    }
    match (path.as_slice(), &request.method) {
        ([""], &Method::GET | &Method::HEAD) => Ok(Reply::ok(&json!({
            "object": "pdpp_discovery_index",
            "resource_name": vault.config.profile.name,
            "role": "resource_server",
            "links": {
                "core_query_base": "/v1",
                "schema": "/v1/schema",
                "connectors": "/v1/connectors",
                "well_known": "/.well-known/oauth-protected-resource",
            },
        }))),
        _ => Err(ApiError::nothing_at(&request.path)),
    }
}
