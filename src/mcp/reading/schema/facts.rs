//! What the schema declares about a stream, remembered for a minute (R4.7).

use std::sync::Arc;

use super::compact;
use crate::mcp::reading::catalog::StreamFacts;
use crate::mcp::reading::reader::Reader;
use crate::mcp::reading::request::{Request, SchemaView};

impl Reader {
    /// What is already known about a stream, without a read.
    pub fn known_facts(&self, stream: &str, connection: Option<&str>) -> Option<Arc<Vec<StreamFacts>>> {
        self.catalog().get(stream, connection)
    }

    /// What the schema declares about a stream; empty if it cannot be read, which never fails a call.
    pub async fn facts(&self, stream: &str, connection: Option<&str>) -> Arc<Vec<StreamFacts>> {
        if let Some(facts) = self.catalog().get(stream, connection) {
            return facts;
        }
        let turn = self.catalog().turn(stream, connection);
        let _turn = turn.lock().await;
        if let Some(facts) = self.catalog().get(stream, connection) {
            return facts;
        }
        match compact(self, Some(stream), connection).await {
            Ok(schema) => {
                let facts = StreamFacts::all_from_schema(&schema, stream);
                self.catalog().put(stream, connection, facts)
            }
            Err(_) => self.catalog().put_unread(stream, connection),
        }
    }

    /// What the full schema declares, which describes a field's values (`format`) in more detail than the compact
    /// one; empty if it cannot be read.
    pub async fn full_facts(&self, stream: &str, connection: Option<&str>) -> Vec<StreamFacts> {
        match self.read(&Request::schema(SchemaView::Plain, Some(stream), connection)).await {
            Ok(full) => StreamFacts::all_from_schema(&full.body, stream),
            Err(_) => Vec::new(),
        }
    }

    /// What the schema declares now: read every time (R3.62). `None` if it cannot be read.
    pub async fn live_facts(&self, stream: &str, connection: Option<&str>) -> Option<Arc<Vec<StreamFacts>>> {
        let schema = compact(self, Some(stream), connection).await.ok()?;
        let facts = StreamFacts::all_from_schema(&schema, stream);
        Some(self.catalog().put(stream, connection, facts))
    }

    /// Whether the provider supports only the Core; asked once, if it is not known yet.
    pub async fn is_core(&self) -> bool {
        if !self.is_known_core() {
            let _ = compact(self, None, None).await;
        }
        self.is_known_core()
    }
}
