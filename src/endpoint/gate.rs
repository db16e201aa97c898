//! What the endpoint checks about a bearer: first whose it is, then whether it may send a request now.

use std::sync::Arc;

use axum::http::StatusCode;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::admission::{Admission, Bearer, NotAdmitted};
use super::introspection::{Unknown, Unusable};
use super::log::{Log, Record};
use super::rate::{Rate, Wait};
use crate::mcp::protocol::http::{self, Refusal};
use crate::mcp::protocol::service::Service;
use crate::secret::AccessToken;

/// Seconds to wait before asking again after a failed introspection.
const RETRY_AFTER: u64 = 5;

/// The gate of an endpoint.
pub struct Gate {
    admission: Arc<Admission>,
    rate: Rate,
    log: Arc<Log>,
}

impl Gate {
    /// Admits the bearers that `admission` knows, as often as `rate` allows.
    pub fn new(admission: Arc<Admission>, rate: Rate, log: Arc<Log>) -> Self {
        Self { admission, rate, log }
    }

    async fn try_admit(&self, bearer: AccessToken) -> Result<Arc<dyn Service>, Refusal> {
        let bearer = Bearer::of(bearer);
        let hash = bearer.hash();
        let record = Record::current();
        record.set_bearer(hash);
        let admitted = match self.admission.admit(bearer).await {
            Ok(admitted) => admitted,
            Err(NotAdmitted::Unusable(unusable)) => return Err(refuse(unusable)),
            Err(NotAdmitted::Unknown(unknown)) => {
                self.tell(&unknown);
                // The caller does not need to know what is wrong, but does need to know who can fix it.
                let message = match unknown {
                    Unknown::Credentials(_) => {
                        "This server cannot check this token until its operator fixes its \
                         access to the authorization server; notify the operator"
                    }
                    _ => "This server cannot check this token now; try again",
                };
                return Err(Refusal::unavailable(unknown.code(), message).retry_after(RETRY_AFTER));
            }
        };
        if let Some(client_id) = &admitted.active.client_id {
            record.set_client(client_id);
        }
        // Only after admission, so that a made-up token takes up no place.
        record.hold(self.rate.enter(hash).map_err(wait)?);
        Ok(Arc::clone(&admitted.tools) as _)
    }

    fn tell(&self, unknown: &Unknown) {
        self.log.trouble("error", unknown.code(), || in_words(unknown));
    }
}

/// What is wrong and what to do about it, for the operator.
pub fn in_words(unknown: &Unknown) -> String {
    let next = match unknown {
        Unknown::Credentials(_) => {
            let how = if cfg!(windows) {
                "restart this server".to_owned()
            } else {
                format!("kill -HUP {}", std::process::id())
            };
            format!("callers get 503; fix the credentials, then: {how}")
        }
        Unknown::Http(_) | Unknown::Malformed(_) => "callers get 503 until it answers".to_owned(),
        Unknown::Busy => "callers get 503 until one ends".to_owned(),
    };
    format!("{unknown}; {next}")
}

impl http::Gate for Gate {
    fn admit(&self, bearer: AccessToken) -> BoxFuture<'_, Result<Arc<dyn Service>, Refusal>> {
        self.try_admit(bearer).boxed()
    }

    fn asked(&self, asked: http::Asked) {
        Record::current().set_asked(asked);
    }
}

/// Refuses with 401 a token that is not for this endpoint, with 403 one that is valid for something else (RFC 6750
/// §3.1).
fn refuse(unusable: Unusable) -> Refusal {
    let code = unusable.code();
    match unusable {
        Unusable::Inactive => Refusal::invalid_token(
            code,
            "The token is unknown, expired or revoked: ask the owner for a new grant",
        ),
        Unusable::WrongIssuer => {
            Refusal::invalid_token(code, "The token was issued by another authorization server")
        }
        Unusable::WrongAudience => Refusal::invalid_token(code, "The token was issued for another resource"),
        Unusable::Owner => Refusal::insufficient_scope(
            code,
            "An owner's or control plane's token is never accepted here: use a grant's own token",
        ),
        // No challenge: another authorization would bring the same kind of token again.
        Unusable::Package => Refusal::new(
            StatusCode::FORBIDDEN,
            code,
            "This endpoint cannot read a package of several grants: use the provider's own endpoint, or a token for one grant",
        ),
        Unusable::UnknownKind => {
            Refusal::insufficient_scope(code, "Only a token of kind client is accepted here")
        }
    }
}

fn wait(wait: Wait) -> Refusal {
    let (code, seconds) = (wait.code(), wait.retry_after());
    match wait {
        Wait::TooOften { .. } => Refusal::too_many(
            code,
            "Too many requests with this token: wait for the time in Retry-After",
            seconds,
        ),
        Wait::TooManyAtOnce => Refusal::too_many(
            code,
            "Too many requests at once with this token: wait for an answer first",
            seconds,
        ),
        Wait::Busy => Refusal::new(StatusCode::SERVICE_UNAVAILABLE, code, "The endpoint is busy: try again")
            .retry_after(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r7_3_r7_8_each_refusal_has_its_status() {
        for (unusable, status) in [
            (Unusable::Inactive, 401),
            (Unusable::WrongIssuer, 401),
            (Unusable::WrongAudience, 401),
            (Unusable::Owner, 403),
            (Unusable::Package, 403),
            (Unusable::UnknownKind, 403),
        ] {
            let refusal = refuse(unusable);
            assert_eq!((refusal.status().as_u16(), refusal.code()), (status, unusable.code()));
        }
        assert_eq!(wait(Wait::TooOften { retry_after: 7 }).status().as_u16(), 429);
        assert_eq!(wait(Wait::TooManyAtOnce).status().as_u16(), 429);
        assert_eq!(wait(Wait::Busy).status().as_u16(), 503);
    }
}
