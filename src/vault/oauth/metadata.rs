//! What a client reads first (RFC 9728, RFC 8414). Advertises only what is available.

use serde_json::{Value, json};

use super::authorization_details::DETAILS_TYPE;
use super::clients::PRE_REGISTERED;
use super::token_endpoint::DEVICE_GRANT;
use crate::vault::rs::params::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::vault::rs::search::ORDER;
use crate::vault::wire::{ApiError, Request};
use crate::vault::{Vault, mcp_endpoint};

/// `GET /.well-known/oauth-protected-resource`
pub fn protected_resource(vault: &Vault, request: &Request) -> Value {
    let base = &request.base;
    let mut metadata = json!({
        "resource": base,
        "resource_name": vault.config.profile.name,
        "authorization_servers": [base],
        "bearer_methods_supported": ["header"],
        "pdpp_core_query_base": format!("{base}/v1"),
        "pdpp_provider_connect_version": "draft-2026-04-16",
        "pdpp_self_export_supported": false,
        "pdpp_token_kinds_supported": ["client"],
        "pdpp_agent_discovery": {
            "advisory": true,
            "recommended_flow": "pdpp connect",
            "cli": {
                "bin_name": "pdpp",
                "connect_command": "pdpp connect <provider-url>",
                "run_command": format!("pdpp connect {base}"),
                "no_owner_token": true,
                "no_owner_token_policy": "owner_browser_approval_required",
            },
        },
    });
    if let Ok(endpoint) = mcp_endpoint::endpoint(base) {
        metadata["pdpp_agent_discovery"]["mcp"] = endpoint.discovery_hint();
    }
    if vault.config.core {
        metadata["capabilities"] = json!({
            "lexical_retrieval": { "supported": false },
            "semantic_retrieval": { "supported": false },
            "hybrid_retrieval": { "supported": false },
        });
        return metadata;
    }
    metadata["pdpp_discovery_hints"] = json!({
        "query_base": "/v1",
        "schema_endpoint": "/v1/schema",
        "connectors_endpoint": "/v1/connectors",
        "streams_endpoint_template": "/v1/streams/{stream}",
        "aggregate": { "endpoint_template": "/v1/streams/{stream}/aggregate" },
        "search": { "endpoint": "/v1/search", "filter_requires_single_stream": true, "scope_param": "streams[]" },
        "blob_indirection": "data.blob_ref.fetch_url",
        "changes_since_bootstrap": "beginning",
        "hybrid_pagination_supported": false,
    });
    metadata["capabilities"] = json!({
        "lexical_retrieval": {
            "supported": true,
            "endpoint": "/v1/search",
            "cross_stream": true,
            "cursor_supported": true,
            "count_supported": false,
            "default_limit": DEFAULT_LIMIT,
            "max_limit": MAX_LIMIT,
            "snippets": true,
            "index_state": "built",
            "score": {
                "supported": true,
                "kind": ORDER,
                "order": "lower_is_better",
                "value_semantics": "implementation_relative",
            },
        },
        "semantic_retrieval": { "supported": false },
        "hybrid_retrieval": { "supported": false },
    });
    metadata
}

/// `GET /.well-known/oauth-protected-resource/mcp`
///
/// # Errors
/// Returns no error if the caller used one of this server's own names.
pub fn mcp_resource(vault: &Vault, request: &Request) -> Result<Value, ApiError> {
    let no_url = |_| ApiError::invalid("This is not the name of this server");
    let endpoint = mcp_endpoint::endpoint(&request.base).map_err(no_url)?;
    Ok(endpoint.mcp_document(&mcp_endpoint::about(vault.config.profile.name, &request.base).map_err(no_url)?))
}

/// `GET /.well-known/oauth-authorization-server`
pub fn authorization_server(vault: &Vault, request: &Request) -> Value {
    let base = &request.base;
    let clients: Vec<Value> = PRE_REGISTERED
        .iter()
        .map(|(client_id, client_name)| {
            json!({
                "client_id": client_id,
                "client_name": client_name,
                "token_endpoint_auth_method": "none",
            })
        })
        .collect();
    let mut metadata = json!({
        "issuer": base,
        "registration_endpoint": format!("{base}/oauth/register"),
        "authorization_endpoint": format!("{base}/oauth/authorize"),
        "token_endpoint": format!("{base}/oauth/token"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "token_endpoint_auth_methods_supported": ["none"],
        "client_id_metadata_document_supported": true,
        "pdpp_registration_modes_supported":
            ["dynamic", "pre_registered_public", "client_id_metadata_document"],
        "authorization_details_types_supported": [DETAILS_TYPE],
        "pdpp_pre_registered_public_clients": clients,
        "pdpp_authorization_details_types_supported": [DETAILS_TYPE],
        // A request without `authorization_details` may carry `purpose_code` and `purpose_description` itself.
        "pdpp_purpose_parameters_supported": true,
    });
    let more = if vault.is_public(request) {
        json!({
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "scopes_supported": ["pdpp:read"],
            "pdpp_provider_connect_capabilities": ["third_party_client_connect"],
        })
    } else {
        json!({
            "agent_connect_endpoint": format!("{base}/agent-connect"),
            "pushed_authorization_request_endpoint": format!("{base}/oauth/par"),
            "introspection_endpoint": format!("{base}/introspect"),
            "introspection_endpoint_auth_methods_supported": ["client_secret_basic"],
            "device_authorization_endpoint": format!("{base}/oauth/device_authorization"),
            "grant_types_supported": ["authorization_code", "refresh_token", DEVICE_GRANT],
            "pdpp_device_authorization_profiles_supported": [{
                "profile": "grant_scoped_mcp",
                "pdpp_token_kind": "client",
                "normal_mcp_setup": true,
                "authorization_details_type": DETAILS_TYPE,
                "required_parameters": ["client_id", "resource", "authorization_details"],
            }],
            "pdpp_provider_connect_capabilities": ["cli_device_connect", "third_party_client_connect"],
        })
    };
    if let (Value::Object(metadata), Value::Object(more)) = (&mut metadata, more) {
        metadata.extend(more);
    }
    metadata
}
