//! Form-encoded requests, which OAuth's own endpoints take (RFC 6749 appendix B).

use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use url::Url;

use crate::provider::http::{Answer, Http, HttpError};

/// `POST`s `fields` to `url`, without any credential but what they hold.
///
/// # Errors
/// As [`Http::send`].
pub async fn post(http: &Http, url: Url, fields: &[(&str, &str)]) -> Result<Answer, HttpError> {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let request = http.request(Method::POST, url)?.header(ACCEPT, "application/json");
    http.send(request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)).await
}
