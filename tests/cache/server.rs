//! A fake provider whose refresh tokens are valid once: presenting a used one ends the family.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use pdpp::cache::Cache;
use pdpp::cache::credential::{Credential, Renewal, Secrets};
use pdpp::secret::AccessToken;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::support::credential::credential;

/// What the token endpoint does with a good refresh token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    Rotate,
    /// Uses it up, and breaks off the answer.
    SpendAndBreak,
    /// Uses it up, and never answers.
    SpendAndHang,
    /// Rotates after 300 ms.
    Slowly,
    /// Rotates after 2.5 s: longer than the time that a running call gets at the end of input.
    Late,
    Busy,
    InvalidGrant,
    OtherGrant,
    /// Rotates, with members that are in no standard.
    Oddly,
    /// Refuses a request with `resource` before it checks the token.
    WithoutResource,
}

#[allow(clippy::struct_excessive_bools, reason = "each is one thing that a server does")]
pub struct Life {
    pub does: Token,
    /// Whether the family is alive.
    pub is_alive: bool,
    /// How often a token was requested.
    pub asked: usize,
    pub refresh_token: String,
    pub access_token: String,
    /// The last form that it received.
    pub form: Vec<(String, String)>,
    /// Names another issuer than before.
    pub is_other_issuer: bool,
    /// Accepts no token.
    pub is_deaf: bool,
    /// Acts as a gateway that refuses a token: only the header has the reason.
    pub is_gateway: bool,
}

#[derive(Clone)]
pub struct Server {
    pub url: String,
    pub life: Arc<Mutex<Life>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let life = Life {
            does: Token::Rotate,
            is_alive: true,
            asked: 0,
            refresh_token: "refresh-0".to_owned(),
            access_token: "access-0".to_owned(),
            form: Vec::new(),
            is_other_issuer: false,
            is_deaf: false,
            is_gateway: false,
        };
        let server = Self { url, life: Arc::new(Mutex::new(life)) };
        let app = Router::new().fallback(answer).with_state(server.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, app).await.unwrap();
            });
        });
        server
    }

    pub fn set(&self, does: Token) {
        self.life.lock().unwrap().does = does;
    }

    pub fn asked(&self) -> usize {
        self.life.lock().unwrap().asked
    }

    /// Waits until a token was requested `times` times.
    pub fn wait_until_asked(&self, times: usize) {
        let end = Instant::now() + Duration::from_mins(1);
        while self.asked() < times {
            assert!(Instant::now() < end, "nobody asked for a token");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// A credential with this server's first tokens, whose access token has expired.
    pub fn ended(&self) -> Credential {
        Credential {
            client_id: Some("client-1".to_owned()),
            token_expires_at: Some(jiff::Timestamp::UNIX_EPOCH),
            refreshable: true,
            renewal: Renewal {
                token_endpoint: Some(format!("{}/oauth/token", self.url)),
                resource: Some(format!("{}/mcp", self.url)),
                ..Renewal::default()
            },
            ..credential(&self.url, "g1", "Diary")
        }
    }

    /// Puts such a credential, edited, into `cache`.
    pub fn put(&self, cache: &Cache, edit: impl FnOnce(&mut Credential)) -> Credential {
        let mut credential = self.ended();
        edit(&mut credential);
        let token = AccessToken::new("access-0".to_owned()).unwrap();
        let secrets = Secrets::new(token, Some(SecretString::from("refresh-0")));
        cache.store(credential.clone(), &secrets, None).unwrap();
        credential
    }
}

async fn answer(State(server): State<Server>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let url = &server.url;
    match path.as_str() {
        "/.well-known/oauth-protected-resource" => {
            let issuer = if server.life.lock().unwrap().is_other_issuer {
                format!("{url}/other")
            } else {
                url.clone()
            };
            reply(
                200,
                &json!({"resource": url, "authorization_servers": [issuer], "pdpp_core_query_base": format!("{url}/v1")}),
            )
        }
        "/.well-known/oauth-authorization-server" | "/.well-known/oauth-authorization-server/other" => {
            let issuer = if path.ends_with("other") { format!("{url}/other") } else { url.clone() };
            reply(200, &json!({"issuer": issuer, "token_endpoint": format!("{url}/oauth/token")}))
        }
        "/oauth/token" => token(&server, request).await,
        _ => {
            let (wanted, is_deaf, is_gateway) = {
                let life = server.life.lock().unwrap();
                (format!("Bearer {}", life.access_token), life.is_deaf, life.is_gateway)
            };
            if is_deaf || request.headers().get(header::AUTHORIZATION).is_none_or(|given| *given != *wanted) {
                if is_gateway {
                    let challenge = r#"Bearer realm="gateway", error="invalid_token""#;
                    let challenge = [(header::WWW_AUTHENTICATE, challenge)];
                    return (StatusCode::UNAUTHORIZED, challenge, "<p>No entry</p>").into_response();
                }
                return reply(
                    401,
                    &json!({"error": {"type": "auth", "code": "context.active_false", "message": "dead"}}),
                );
            }
            if path == "/v1/blobs/b1" {
                return ([(header::CONTENT_TYPE, "text/plain")], "the blob").into_response();
            }
            reply(200, &json!({"object": "schema", "bearer": {"token_kind": "client"}, "connectors": []}))
        }
    }
}

async fn token(server: &Server, request: Request) -> Response {
    let body = axum::body::to_bytes(request.into_body(), 1 << 16).await.unwrap();
    let form: Vec<(String, String)> = url::form_urlencoded::parse(&body).into_owned().collect();
    let given = form.iter().find(|(name, _)| name == "refresh_token").map(|(_, value)| value.clone());
    let (does, body) = {
        let mut life = server.life.lock().unwrap();
        life.asked += 1;
        life.form = form;
        let does = life.does;
        match does {
            Token::Busy => return reply(503, &json!({"error": "temporarily_unavailable"})),
            Token::WithoutResource if life.form.iter().any(|(name, _)| name == "resource") => {
                return reply(400, &json!({"error": "invalid_target"}));
            }
            Token::InvalidGrant => return reply(400, &json!({"error": "invalid_grant"})),
            _ => {}
        }
        if !life.is_alive || given.as_deref() != Some(&life.refresh_token) {
            // Reusing a used token ends the family (RFC 9700 §4.14.2).
            life.is_alive = false;
            "none".clone_into(&mut life.access_token);
            return reply(400, &json!({"error": "invalid_grant", "error_description": "reused"}));
        }
        life.refresh_token = format!("refresh-{}", life.asked);
        life.access_token = format!("access-{}", life.asked);
        let mut body = json!({
            "access_token": life.access_token, "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": life.refresh_token,
            "grant_id": if does == Token::OtherGrant { "g2" } else { "g1" },
        });
        if does == Token::Oddly {
            body["expires_in"] = json!("3600");
            body["expires_at"] = json!("never");
            body["grant"] = json!({"expires_at": "later", "issued_at": -1});
        }
        (does, body)
    };
    match does {
        Token::SpendAndBreak => {
            let half = futures_util::stream::iter([Ok(vec![b'{']), Err(std::io::Error::other("cut"))]);
            return Body::from_stream(half).into_response();
        }
        Token::SpendAndHang => tokio::time::sleep(Duration::from_hours(1)).await,
        Token::Slowly => tokio::time::sleep(Duration::from_millis(300)).await,
        Token::Late => tokio::time::sleep(Duration::from_millis(2_500)).await,
        _ => {}
    }
    reply(200, &body)
}

fn reply(status: u16, body: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::from_u16(status).unwrap(), json, body.to_string()).into_response()
}
