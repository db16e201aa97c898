//! The resource server. Each read needs a grant's bearer and reads through [`super::enforcement`]. [`Vault::read`]
//! is the only way in; [`http`] offers it over HTTP.

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

/// The result of a read.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Any answer except a blob.
    Json(Value),
    /// A blob's bytes.
    Blob {
        /// Its media type.
        media_type: String,
        /// All of its bytes.
        bytes: Vec<u8>,
    },
}

impl Vault {
    /// Answers a read within the grant that `bearer` was issued for. Blocks, because it reads the database.
    ///
    /// # Errors
    /// Returns every refusal.
    pub fn read(&self, bearer: Option<&str>, read: &Read) -> Result<Answer, ApiError> {
        let grant = tokens::authorize(self, bearer)?;
        self.read_for_program(&grant, read)
    }

    /// Does the same for the program that holds this grant.
    fn read_for_program(&self, grant: &Grant, read: &Read) -> Result<Answer, ApiError> {
        if self.config.core && !read.resource.is_core() {
            return Err(ApiError::nothing_at(read.path()));
        }
        self.read_within(grant, read)
    }

    /// Answers a read within `grant`. Every read ends up here.
    ///
    /// # Errors
    /// Returns every refusal.
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
