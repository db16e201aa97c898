//! How the owner's browser comes in, and how it is recognised later: a secret that a private file posts, or a
//! code that a person types; then a cookie. Anyone else who reaches the port has none of the three.

use std::sync::{Mutex, PoisonError};

use axum::http::header::{COOKIE, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::watch;
use url::Url;

use super::page;
use crate::provider::approve::ApproveError;
use crate::provider::register::CALLBACK;

/// The number of letters in a code. With this many [`LETTERS`] there are 2.6e10 codes: trying five thousand a
/// second for the ten minutes that a page usually lasts would succeed with a chance of one in eight thousand.
const CODE_LENGTH: usize = 8;
/// Consonants that are hard to confuse: no code is a word.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";

/// Lets one browser in, once.
#[derive(Debug)]
pub(super) struct Entrance {
    /// The address that it leads to.
    target: Url,
    secret: SecretString,
    code: SecretString,
    cookie_name: String,
    cookie: SecretString,
    is_used: Mutex<bool>,
    entered: watch::Sender<bool>,
}

/// The result of a post to the entrance.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The browser is in.
    In,
    /// The browser brought the right secret or code, but another browser is already in.
    Used,
    /// A wrong code.
    WrongCode,
    /// Anything else.
    Nothing,
}

impl Entrance {
    /// An entrance that leads to `target`, for the listener on `port`: cookies of one machine are not separated
    /// by port.
    pub(super) fn to(target: Url, port: u16) -> Result<Self, ApproveError> {
        Ok(Self {
            target,
            secret: random()?,
            code: code()?,
            cookie_name: format!("pdpp-connect-{port}"),
            cookie: random()?,
            is_used: Mutex::new(false),
            entered: watch::Sender::new(false),
        })
    }

    pub(super) const fn target(&self) -> &Url {
        &self.target
    }

    /// The code in the form that a person reads.
    pub(super) fn code(&self) -> String {
        let (first, last) = self.code.expose_secret().split_at(CODE_LENGTH / 2);
        format!("{first}-{last}")
    }

    /// The file for a browser, which posts the secret to `address`.
    pub(super) fn file(&self, address: &str) -> SecretString {
        SecretString::from(page::file(address, self.secret.expose_secret()))
    }

    /// Handles a posted form.
    pub(super) fn enter(&self, form: &[u8]) -> Entry {
        let (mut secret, mut typed) = (None, None);
        for (name, value) in url::form_urlencoded::parse(form) {
            match name.as_ref() {
                "secret" => secret = Some(value),
                "code" => typed = Some(value),
                _ => {}
            }
        }
        let is_right = match (secret, typed) {
            (Some(secret), _) => same(&secret, self.secret.expose_secret()),
            (None, Some(typed)) => {
                let letters = typed.chars().filter(char::is_ascii_alphabetic);
                let letters: String = letters.map(|c| c.to_ascii_uppercase()).collect();
                if !same(&letters, self.code.expose_secret()) {
                    return Entry::WrongCode;
                }
                true
            }
            (None, None) => false,
        };
        if !is_right {
            return Entry::Nothing;
        }
        let was_used = {
            let mut is_used = self.is_used.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *is_used, true)
        };
        if was_used {
            return Entry::Used;
        }
        self.entered.send_replace(true);
        Entry::In
    }

    /// Waits until a browser is in.
    pub(super) async fn entered(&self) {
        // The sender lives as long as this does.
        let _ = self.entered.subscribe().wait_for(|entered| *entered).await;
    }

    /// The cookie by which the browser that came in is recognised from then on. `Lax`, because the provider's
    /// page sends the browser back; for the callback only, because other ports of this computer get this port's
    /// cookies.
    pub(super) fn set_cookie(&self) -> Option<HeaderValue> {
        let (name, value) = (&self.cookie_name, self.cookie.expose_secret());
        let mut cookie =
            HeaderValue::try_from(format!("{name}={value}; Path={CALLBACK}; HttpOnly; SameSite=Lax")).ok()?;
        cookie.set_sensitive(true);
        Some(cookie)
    }

    /// Whether a request comes from the browser that came in.
    pub(super) fn is_of_this_browser(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        // Another port may have set a cookie of the same name, which is then sent along.
        cookies.flat_map(|cookies| cookies.split(';')).any(|cookie| {
            let named = cookie.trim().strip_prefix(self.cookie_name.as_str());
            named
                .and_then(|rest| rest.strip_prefix('='))
                .is_some_and(|value| same(value, self.cookie.expose_secret()))
        })
    }
}

/// 256 random bits in base64url.
pub(in crate::provider::approve) fn random() -> Result<SecretString, ApproveError> {
    use base64::Engine as _;
    let bytes = random_bytes::<32>()?;
    Ok(SecretString::from(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)))
}

fn random_bytes<const N: usize>() -> Result<[u8; N], ApproveError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| ApproveError::NoRandomness)?;
    Ok(bytes)
}

/// A code in which every letter is equally likely.
fn code() -> Result<SecretString, ApproveError> {
    let mut code = String::new();
    while code.len() < CODE_LENGTH {
        let fair = 256 / LETTERS.len() * LETTERS.len();
        let letters = random_bytes::<CODE_LENGTH>()?.map(usize::from);
        let letters = letters.iter().filter(|byte| **byte < fair).map(|byte| LETTERS[byte % LETTERS.len()]);
        code.extend(letters.take(CODE_LENGTH - code.len()).map(char::from));
    }
    Ok(SecretString::from(code))
}

/// Whether two texts are the same, in a time that depends only on their lengths.
pub(super) fn same(text: &str, other: &str) -> bool {
    let pairs = text.bytes().zip(other.bytes());
    let differs = pairs.fold(0, |differs, (byte, other)| differs | (byte ^ other));
    text.len() == other.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrance() -> Entrance {
        Entrance::to("https://as.example/x".parse().unwrap(), 4711).unwrap()
    }

    fn headers(cookie: &str) -> HeaderMap {
        HeaderMap::from_iter([(COOKIE, HeaderValue::from_str(cookie).unwrap())])
    }

    #[test]
    fn the_secret_or_the_code_lets_one_browser_in_once() {
        let by_secret = entrance();
        let form = format!("secret={}", by_secret.secret.expose_secret());
        for nothing in ["", "secret=", "secret=x", "other=1"] {
            assert_eq!(by_secret.enter(nothing.as_bytes()), Entry::Nothing, "{nothing}");
        }
        assert_eq!(by_secret.enter(form.as_bytes()), Entry::In);
        assert_eq!(by_secret.enter(form.as_bytes()), Entry::Used);
        assert_eq!(by_secret.enter(format!("code={}", by_secret.code()).as_bytes()), Entry::Used);

        let by_code = entrance();
        let code = by_code.code();
        for wrong in ["", "AAAA-AAAA", &code[..8], &format!("{code}B")] {
            assert_eq!(by_code.enter(format!("code={wrong}").as_bytes()), Entry::WrongCode, "{wrong}");
        }
        // Typed as people type it: in lower case, with spaces.
        let typed = format!("code=+{}", code.to_lowercase().replace('-', "+"));
        assert_eq!(by_code.enter(typed.as_bytes()), Entry::In);
    }

    #[test]
    fn a_browser_is_known_by_its_cookie_alone() {
        let entrance = entrance();
        let set = entrance.set_cookie().unwrap();
        assert!(set.is_sensitive());
        let set = set.to_str().unwrap();
        let (pair, rest) = set.split_once("; ").unwrap();
        assert_eq!(rest, "Path=/callback; HttpOnly; SameSite=Lax");
        assert!(entrance.is_of_this_browser(&headers(pair)));
        assert!(entrance.is_of_this_browser(&headers(&format!("a=b; pdpp-connect-4711=x; {pair}"))));
        for other in ["", "a=b", "pdpp-connect-4711=", "pdpp-connect-4711=x", &format!("x{pair}")] {
            assert!(!entrance.is_of_this_browser(&headers(other)), "{other}");
        }
        assert!(!self::entrance().is_of_this_browser(&headers(pair)), "another request's");
    }

    #[test]
    fn a_code_is_eight_letters_that_are_drawn_anew() {
        let codes: std::collections::BTreeSet<String> = (0..50).map(|_| entrance().code()).collect();
        assert_eq!(codes.len(), 50);
        let is_code = |code: &String| {
            code.len() == 9 && code.bytes().all(|byte| byte == b'-' || LETTERS.contains(&byte))
        };
        assert!(codes.iter().all(is_code), "{codes:?}");
        assert!(!format!("{:?}", entrance()).contains(&codes.first().unwrap()[..4]));
    }

    proptest::proptest! {
        #[test]
        fn texts_are_the_same_when_they_are(text in ".{0,8}", other in ".{0,8}") {
            proptest::prop_assert_eq!(same(&text, &other), text == other);
        }
    }
}
