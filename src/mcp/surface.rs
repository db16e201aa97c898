//! The six tools and the instructions as data: the only place where a description is written.

use std::sync::{Arc, LazyLock};

use rmcp::model::{ResourceTemplate, Tool};

/// What a host tells its model about this server, whole within 512 characters (R1.5).
pub const INSTRUCTIONS: &str = "placeholder";

/// The six tools, in the order in which they are listed. Parsed once; always the same bytes (R2.9).
#[allow(clippy::expect_used, reason = "the JSON is compiled in and a test parses it")]
pub fn tools() -> Arc<[Tool]> {
    static TOOLS: LazyLock<Arc<[Tool]>> =
        LazyLock::new(|| serde_json::from_str(include_str!("tools.json")).expect("tools.json"));
    Arc::clone(&TOOLS)
}

/// The resource templates, in the order in which they are listed.
pub const fn resource_templates() -> Vec<ResourceTemplate> {
    Vec::new()
}
