//! The answer that a browser returns with (RFC 6749 §4.1.2, RFC 9207).

use secrecy::{ExposeSecret, SecretString};

use super::entrance::same;
use crate::provider::approve::ApproveError;
use crate::provider::oauth_error::OAuthError;
use crate::provider::url::ProviderUrl;
use crate::text;

/// What the answer must carry.
#[derive(Debug)]
pub struct Expected {
    /// `state`, compared character by character.
    pub state: SecretString,
    /// The server that was asked, to compare with `iss`.
    pub issuer: ProviderUrl,
    /// Whether `iss` must be present (RFC 9207 §2.3).
    pub issuer_required: bool,
}

/// Reads the query of the callback.
pub(super) fn check(query: &str, expected: &Expected) -> Result<SecretString, ApproveError> {
    let all: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let once = |name: &str| {
        let mut values = all.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(ApproveError::Malformed(format!("it has `{name}` more than once"))),
            (value, None) => Ok(value.filter(|value| !value.is_empty())),
        }
    };
    // Checked before anything else is believed, errors included.
    if !once("state")?.is_some_and(|state| same(state, expected.state.expose_secret())) {
        return Err(ApproveError::StateMismatch);
    }
    match once("iss")? {
        Some(issuer) if expected.issuer.is_same_as(issuer) => {}
        None if !expected.issuer_required => {}
        found => {
            return Err(ApproveError::OtherIssuer {
                asked: expected.issuer.to_string(),
                found: found.map_or_else(|| "nobody".to_owned(), |found| text::prefix(found, 300).to_owned()),
            });
        }
    }
    match (once("error")?, once("code")?) {
        (Some("access_denied"), _) => Err(ApproveError::Denied),
        (Some(code), _) => {
            let message =
                once("error_description")?.map(|description| text::prefix(description, 300).to_owned());
            let error = OAuthError { status: 400, code: Some(text::prefix(code, 100).to_owned()), message };
            Err(ApproveError::refused(error, Vec::new()))
        }
        (None, Some(code)) if code.len() <= 4096 => Ok(SecretString::from(code)),
        (None, _) => Err(ApproveError::Malformed("it has no usable `code`".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expected(issuer_required: bool) -> Expected {
        Expected {
            state: SecretString::from("st-1"),
            issuer: "https://as.example/t".parse().unwrap(),
            issuer_required,
        }
    }

    fn code(query: &str, issuer_required: bool) -> String {
        match check(query, &expected(issuer_required)) {
            Ok(code) => code.expose_secret().to_owned(),
            Err(error) => error.code().to_owned(),
        }
    }

    #[test]
    fn an_answer_is_checked_before_it_is_believed() {
        const ISS: &str = "iss=https%3A%2F%2Fas.example%2Ft";
        assert_eq!(code(&format!("code=c%201&state=st-1&{ISS}"), true), "c 1");
        assert_eq!(code("code=c&state=st-1", false), "c");
        for wrong in
            ["code=c", "code=c&state=", "code=c&state=st-2", "code=c&state=st-11", "error=access_denied"]
        {
            assert_eq!(code(wrong, false), "state_mismatch", "{wrong}");
        }
        assert_eq!(code("code=c&state=st-1", true), "answer_issuer_mismatch");
        for other in ["https://evil.example", "https://as.example", "x"] {
            assert_eq!(code(&format!("code=c&state=st-1&iss={other}"), false), "answer_issuer_mismatch");
        }
        assert_eq!(code("error=access_denied&state=st-1", false), "access_denied");
        assert_eq!(code("error=invalid_scope&code=c&state=st-1", false), "request_refused");
        assert_eq!(code("state=st-1", false), "authorization_answer_malformed");
        assert_eq!(code("code=a&code=b&state=st-1", false), "authorization_answer_malformed");
        assert_eq!(code("code=a&state=st-1&state=st-1", false), "authorization_answer_malformed");
    }

    proptest! {
        #[test]
        fn nothing_but_the_state_lets_a_code_through(query in "[a-z=&%0-9-]{0,40}|code=[a-z]{1,3}&state=st-[0-9]{1,2}") {
            if check(&query, &expected(false)).is_ok() {
                let state = url::form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "state");
                prop_assert!(state.is_some_and(|(_, state)| state == "st-1"));
            }
        }
    }
}
