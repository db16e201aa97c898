//! The resource server: each read takes a grant's bearer and reads through [`super::enforcement`]. [`Vault::read`] is the
//! one way in; [`http`] is the same for whoever comes by HTTP.

pub mod aggregate;
#[cfg(test)]
mod beyond_tests;
pub mod blobs;
#[cfg(test)]
mod columns_tests;
mod context;
pub mod decimal;
pub mod field_window;
mod grouped;
pub mod http;
#[cfg(test)]
mod later_days_tests;
pub mod params;
mod periods;
pub mod read;
pub mod records;
pub mod schema;
pub mod search;
pub mod streams;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Vault;
use super::grant::Grant;
use super::oauth::tokens;
use super::wire::ApiError;
use context::Context;
use read::{Read, Resource};

/// What a read gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Everything but a blob.
    Json(Value),
    /// A blob's bytes.
    Blob {
        /// Its media type.
        media_type: String,
        /// All of it.
        bytes: Vec<u8>,
    },
}

impl Vault {
    /// Answers a read, within the grant that `bearer` stands for. Blocking: it reads the database.
    ///
    /// # Errors
    /// Every refusal.
    pub fn read(&self, bearer: Option<&str>, read: &Read) -> Result<Answer, ApiError> {
        let grant = tokens::authorize(self, bearer)?;
        self.read_for_program(&grant, read)
    }

    /// The same for a program whose grant this is.
    fn read_for_program(&self, grant: &Grant, read: &Read) -> Result<Answer, ApiError> {
        if self.config.core && !read.resource.is_core() {
            return Err(ApiError::nothing_at(read.path()));
        }
        self.read_within(grant, read)
    }

    /// Answers a read within `grant`: what every read comes to.
    ///
    /// # Errors
    /// Every refusal.
    pub(super) fn read_within(&self, grant: &Grant, read: &Read) -> Result<Answer, ApiError> {
        let context = Context { vault: self, read, grant };
        let answer = match &read.resource {
            Resource::Schema => schema::get(&context),
            Resource::Connectors => streams::connectors(&context),
            Resource::Streams => streams::list(&context),
            Resource::Stream(stream) => streams::detail(&context, stream),
            Resource::Records(stream) => records::list(&context, stream),
            Resource::Record(stream, id) => records::single(&context, stream, id),
            Resource::FieldWindow(stream, id) => field_window::get(&context, stream, id),
            Resource::Aggregate(stream) => aggregate::get(&context, stream),
            Resource::Search => search::lexical(&context),
            Resource::Blob(id) => {
                let (media_type, bytes) = blobs::get(&context, id)?;
                return Ok(Answer::Blob { media_type, bytes });
            }
        };
        answer.map(Answer::Json)
    }
}
