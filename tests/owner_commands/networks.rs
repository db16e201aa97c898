//! A proxy and a company's own certificate authority, both fakes on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::connect::provider::{Provider, Switches};
use crate::support::env::{Ran, TestEnv};

/// A name that nothing resolves: only a proxy reaches it.
const PROVIDER: &str = "https://provider.test/me";

/// A provider that speaks TLS with a certificate of its own authority, and has only its metadata.
fn tls_provider(env: &TestEnv) -> (SocketAddr, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["provider.test".to_owned()]).unwrap();
    let ca_file = env.home().join("company.pem");
    std::fs::write(&ca_file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            std::thread::spawn(move || metadata(StreamOwned::new(connection, stream)));
        }
    });
    (address, ca_file)
}

fn metadata(mut stream: impl Read + Write) {
    let head = head(&mut stream);
    let body = if head.contains("oauth-protected-resource") {
        json!({
            "resource": PROVIDER,
            "authorization_servers": ["https://provider.test"],
            "pdpp_core_query_base": format!("{PROVIDER}/v1"),
        })
    } else {
        json!({"issuer": "https://provider.test"})
    };
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
}

fn head(stream: &mut impl Read) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// A proxy that opens every tunnel to `to`, or answers each `CONNECT` with another status; records its requests.
fn proxy(to: SocketAddr, status: &'static str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                seen.lock().unwrap().push(head(&mut client));
                let _ = client.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes());
                if !status.starts_with("200") {
                    return;
                }
                let mut server = TcpStream::connect(to).unwrap();
                let (mut from, mut back) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from, &mut back));
                let _ = std::io::copy(&mut server, &mut client);
                let _ = client.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    (address, asked)
}

/// What the doctor reports about the provider.
fn provider_check(ran: &Ran) -> Value {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == "provider").cloned().unwrap()
}

#[test]
fn a_provider_is_reached_through_a_proxy_and_trusted_by_a_named_authority() {
    let env = TestEnv::new();
    let (server, ca_file) = tls_provider(&env);
    let (address, asked) = proxy(server, "200 OK");
    let proxy = format!("http://owner:canary-password@{address}");
    let ca_file = ca_file.to_str().unwrap();
    let doctor = ["--log-level", "info", "doctor", PROVIDER, "--json"];

    let ran = env.run(&[&doctor[..], &["--proxy", &proxy, "--ca-file", ca_file]].concat());
    let found = provider_check(&ran);
    assert_eq!(found["level"], "ok", "{found}");
    assert_eq!(found["message"], format!("{PROVIDER} answers, through the proxy http://{address}"));
    let request = asked.lock().unwrap()[0].clone();
    assert!(request.starts_with("CONNECT provider.test:443 HTTP/1.1\r\n"), "{request}");
    assert!(request.to_lowercase().contains("proxy-authorization: basic "), "{request}");
    assert!(!format!("{ran:?}").contains("canary"), "{ran:?}");

    // The usual variable has the same effect.
    let mut command = env.pdpp(&[&doctor[..], &["--ca-file", ca_file]].concat());
    let ran = Ran::from(command.env("HTTPS_PROXY", &proxy).output().unwrap());
    assert_eq!(provider_check(&ran)["level"], "ok", "{ran:?}");
    assert!(!format!("{ran:?}").contains("canary"), "{ran:?}");

    // Without the authority nothing is trusted, and the message is for people.
    let ran = env.run(&[&doctor[..], &["--proxy", &proxy]].concat());
    let found = provider_check(&ran);
    assert_eq!((&found["level"], &found["code"]), (&json!("stop"), &json!("provider_tls_failed")));
    assert!(found["next"].as_str().unwrap().contains("--ca-file"), "{found}");
    let message = found["message"].as_str().unwrap();
    assert!(
        message.contains("its certificate")
            && !message.contains("UnknownIssuer")
            && !message.contains("Other("),
        "{message}"
    );
}

#[test]
fn a_proxys_failure_is_told_apart_from_the_providers() {
    let env = TestEnv::new();
    let (server, _) = tls_provider(&env);
    for (status, words) in [
        ("407 Proxy Authentication Required", "user name and password"),
        ("403 Forbidden", "refused"),
        ("502 Bad Gateway", "refused, or could not reach"),
    ] {
        let (address, _) = proxy(server, status);
        let proxy = format!("http://owner:canary@{address}");
        let ran = env.run(&["doctor", PROVIDER, "--json", "--proxy", &proxy]);
        let found = provider_check(&ran);
        assert_eq!((&found["level"], &found["code"]), (&json!("stop"), &json!("proxy_failed")), "{found}");
        let message = found["message"].as_str().unwrap();
        assert!(message.contains(words) && message.contains(&address.to_string()), "{message}");
        assert!(!format!("{ran:?}").contains("canary"));
    }
    // Nothing listens there.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ran = env.run(&["doctor", PROVIDER, "--json", "--proxy", &format!("http://{gone}")]);
    let found = provider_check(&ran);
    assert_eq!(found["code"], "proxy_failed", "{found}");
    assert!(found["message"].as_str().unwrap().contains("refused"), "{found}");
}

#[test]
fn this_machine_is_reached_past_every_proxy() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = format!("http://{gone}");
    let ran = env.run(&["doctor", provider.url(), "--json", "--proxy", &proxy]);
    assert_eq!(provider_check(&ran)["level"], "ok", "{ran:?}");
    let mut command = env.pdpp(&["connect", provider.url(), "--no-browser"]);
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env(name, &proxy);
    }
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn wrong_options_are_typed_errors_that_repeat_no_password() {
    let env = TestEnv::new();
    for proxy in
        ["owner:canary@proxy", "socks5://owner:canary@proxy.test", "http://owner:canary@proxy.test/path"]
    {
        let ran = env.run(&["doctor", "--proxy", proxy]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("code: proxy_invalid") && !ran.stderr.contains("canary"), "{ran:?}");
    }
    let ran = env.run(&["doctor", "--nonsense", "--proxy", "http://owner:canary@proxy.test"]);
    assert!(ran.code == Some(2) && !format!("{ran:?}").contains("canary"), "{ran:?}");

    let ran = env.run(&["doctor", PROVIDER, "--json", "--ca-file", "/no/such/file.pem"]);
    assert_eq!(provider_check(&ran)["code"], "ca_file_invalid", "{ran:?}");
    let ran = env.run(&["connect", PROVIDER, "--no-browser", "--ca-file", "/no/such/file.pem"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("code: ca_file_invalid"), "{ran:?}");
    // A command that could not reach the provider removes nothing from this computer.
    let (env, _provider) = super::connected(super::Switches::default());
    for command in ["disconnect", "status"] {
        let more: &[&str] = if command == "disconnect" { &["--all", "--yes"] } else { &["--check"] };
        let ran = env.run(&[&[command, "--ca-file", "/no/such/file.pem"], more].concat());
        assert!(ran.code == Some(2) && ran.stderr.contains("code: ca_file_invalid"), "{ran:?}");
    }
    assert!(env.run(&["status", "--json"]).stdout.contains("grant_id"));
}
