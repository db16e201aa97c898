//! The same reads by HTTP and in this process (O1.5).

use std::sync::Arc;

use pdpp::mcp::reading::backend::{Backend, ReadError};
use pdpp::mcp::reading::request::Request;
use pdpp::own::backend::InProcess;
use pdpp::provider::http::{Http, Limits};
use pdpp::provider::rs::ResourceServer;
use pdpp::sandbox;
use pdpp::secret::AccessToken;
use serde_json::Value;
