//! The few pages that a browser sees on the loopback port.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};
use url::Url;

/// A page that needs nothing else. `title` and `text` are this program's own words.
pub(super) fn text(status: StatusCode, title: &str, text: &str) -> Response<Body> {
    of(status, title, "", &format!("<p>{text}</p>"))
}

/// The page that asks for the code from the terminal, with a note about the code that was typed before.
pub(super) fn code_form(status: StatusCode, note: &str) -> Response<Body> {
    let body = format!(
        "<p>{note}Type the code that the terminal shows.</p>\n<form method=\"post\" action=\"/\">\n\
         <p><label>Code <input name=\"code\" required autofocus autocomplete=\"off\" autocapitalize=\"characters\" \
         spellcheck=\"false\" maxlength=\"20\"></label>\n<button>Continue</button></p>\n</form>"
    );
    of(status, "Continue in this browser", "", &body)
}

/// The page that forwards to `url`. It is a page and not a redirect: with a redirect, a post from a local file
/// would become part of the provider's own chain of redirects.
pub(super) fn leads_to(url: &Url) -> Response<Body> {
    let url = escape(url.as_str());
    let head = format!("<meta http-equiv=\"refresh\" content=\"0; url={url}\">\n");
    let body =
        format!("<p>The next page opens automatically. If it does not, <a href=\"{url}\">open it</a>.</p>");
    of(StatusCode::OK, "Continue to the next page", &head, &body)
}

/// The file that a browser opens: it posts `secret` to `address`, automatically or with a button.
pub(super) fn file(address: &str, secret: &str) -> String {
    let body = format!(
        "<form method=\"post\" action=\"{}\">\n<input type=\"hidden\" name=\"secret\" value=\"{}\">\n\
         <p><button>Continue</button></p>\n</form>\n<script>document.forms[0].submit()</script>",
        escape(address),
        escape(secret)
    );
    // The file's address is left out of the request, and of the history that others may see.
    html("Continue to the next page", "<meta name=\"referrer\" content=\"no-referrer\">\n", &body)
}

/// `text` escaped for a double-quoted attribute.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

fn html(title: &str, head: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n{head}<title>{title} – pdpp</title>\n<style>\n\
         body {{ margin: 15vh auto 0; max-width: 32rem; padding: 0 1.5rem; font: 1.125rem/1.5 system-ui, sans-serif; }}\n\
         h1 {{ font-size: 1.5rem; line-height: 1.25; }}\ninput, button {{ font: inherit; }}\n</style>\n</head>\n<body>\n\
         <main>\n<h1>{title}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )
}

fn of(status: StatusCode, title: &str, head: &str, body: &str) -> Response<Body> {
    const HEADERS: [(HeaderName, &str); 6] = [
        (CONNECTION, "close"),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
        ),
    ];
    let body = html(title, head, body);
    let length = HeaderValue::from(body.len());
    let mut page = Response::new(Body::from(body));
    *page.status_mut() = status;
    let headers = page.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_LENGTH, length);
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_cannot_leave_its_attribute() {
        let file = file("http://127.0.0.1:1/\"><script>x</script>", "a\"b");
        assert!(
            file.contains("http://127.0.0.1:1/&quot;&gt;&lt;script&gt;x") && file.contains("a&quot;b"),
            "{file}"
        );
        assert_eq!(file.matches("<script>").count(), 1);
    }
}
