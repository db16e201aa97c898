//! ChatGPT: the address of a provider's own `/mcp`, found by discovery. The provider has a public name, TLS from a
//! separate authority, and is reached through a proxy in the same program.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::json_of;
use crate::support::env::TestEnv;

/// A proxy whose tunnels all end at a provider called `name`, which announces its `/mcp` as `about` defines. Returns
/// the options that lead there.
fn provider(env: &TestEnv, name: &str, about: Option<Value>) -> [String; 4] {
    let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let ca_file = env.home().join("company.pem");
    std::fs::write(&ca_file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let (config, name) = (Arc::new(config), name.to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let (name, about) = (name.clone(), about.clone());
            std::thread::spawn(move || {
                assert!(head(&mut stream).starts_with(&format!("CONNECT {name}:443 ")));
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                answer(StreamOwned::new(connection, stream), &name, about);
            });
        }
    });
    [
        "--proxy".to_owned(),
        format!("http://{address}"),
        "--ca-file".to_owned(),
        ca_file.to_str().unwrap().to_owned(),
    ]
}

fn head(stream: &mut impl Read) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn answer(mut stream: impl Read + Write, name: &str, about: Option<Value>) {
    let head = head(&mut stream);
    let path = head.split(' ').nth(1).unwrap_or_default();
    let body = match path {
        "/.well-known/oauth-protected-resource/me" => Some(json!({
            "resource": format!("https://{name}/me"),
            "authorization_servers": [format!("https://{name}")],
            "pdpp_core_query_base": format!("https://{name}/me/v1"),
        })),
        "/.well-known/oauth-protected-resource/me/mcp" => about,
        "/.well-known/oauth-authorization-server" => Some(json!({"issuer": format!("https://{name}")})),
        _ => None,
    };
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_default().to_string();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(answer.as_bytes()).and_then(|()| stream.flush());
}

fn resource(url: &str) -> Value {
    json!({"resource": url, "authorization_servers": ["https://provider.example.org"]})
}

#[test]
fn r8_2_chatgpt_gets_the_public_address_that_the_provider_publishes() {
    let env = TestEnv::new();
    let url = "https://provider.example.org/me/mcp";
    let way = provider(&env, "provider.example.org", Some(resource(url)));
    let way: Vec<_> = way.iter().map(String::as_str).collect();
    let ask = ["mcp", "setup", "chatgpt", "--provider", "https://provider.example.org/me"];
    let ran = env.run(&[&ask[..], &way].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [&format!("\n  {url}\n"), "nothing was written here", "Developer mode", "OAuth"] {
        assert!(ran.stdout.contains(part), "{part} in {ran:?}");
    }
    for more in ["--dry-run", "--print", "--yes"] {
        let ran = env.run(&[&ask[..], &way, &["--json", more]].concat());
        let outcome = json_of(&ran);
        assert_eq!(ran.code, Some(0), "{more}: {outcome}");
        assert_eq!(
            (&outcome["chatgpt"][0]["state"], &outcome["chatgpt"][0]["url"]),
            (&json!("public"), &json!(url)),
            "{more}"
        );
    }
    // The client must trust the authority that signed that.
    let ran = env.run(&[&ask[..], &way[..2]].concat());
    assert!(ran.code == Some(69) && ran.stderr.contains("provider_tls_failed"), "{ran:?}");
    assert_eq!(env.files(), ["company.pem"]);
}

#[test]
fn chatgpt_without_a_public_address_is_a_failure_in_every_form() {
    for (name, about, state) in [
        ("provider.example.org", None, "none"),
        ("provider.example.org", Some(resource("https://elsewhere.example.org/me/mcp")), "none"),
        ("provider.example.org", Some(resource("http://provider.example.org/me/mcp")), "none"),
        ("provider.test", Some(resource("https://provider.test/me/mcp")), "not_public"),
    ] {
        let env = TestEnv::new();
        let way = provider(&env, name, about);
        let way: Vec<_> = way.iter().map(String::as_str).collect();
        let url = format!("https://{name}/me");
        let ask = ["mcp", "setup", "chatgpt", "--provider", &url];
        for more in [&[][..], &["--dry-run"], &["--print"], &["--yes"]] {
            let ran = env.run(&[&ask[..], &way, more].concat());
            assert!(ran.code == Some(1) && ran.stderr.contains("no_public_endpoint"), "{more:?}: {ran:?}");
            assert_eq!(ran.stdout, "", "{more:?}");
            let ran = env.run(&[&ask[..], &way, more, &["--json"]].concat());
            let outcome = json_of(&ran);
            assert_eq!(ran.code, Some(1), "{more:?}: {outcome}");
            let provider = &outcome["chatgpt"][0];
            assert_eq!(
                (&provider["state"], &provider["error"]["code"]),
                (&json!(state), &json!("no_public_endpoint")),
                "{outcome}"
            );
        }
        assert_eq!(env.files(), ["company.pem"]);
    }
}

#[test]
fn chatgpt_needs_a_provider_and_keeps_the_other_hosts_report() {
    let env = TestEnv::new();
    let ran = env.run(&["mcp", "setup", "chatgpt"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    assert!(ran.stderr.contains("pdpp mcp setup chatgpt --provider"), "{ran:?}");
    // The results for other hosts are reported anyway.
    let ran = env.run(&["mcp", "setup", "codex", "chatgpt", "--json"]);
    let outcome = json_of(&ran);
    assert_eq!((ran.code, &outcome["hosts"][0]["action"]), (Some(78), &json!("added")), "{outcome}");
    assert_eq!(outcome["chatgpt"]["error"]["code"], "not_connected");
    // There is nothing to remove, and nobody to ask.
    let ran = env.run(&["mcp", "setup", "chatgpt", "--remove"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("pdpp never wrote anything here"), "{ran:?}");
    // A provider given for another host would seem to limit what that host is served.
    let ran = env.run(&["mcp", "setup", "codex", "--provider", "https://a.example.org"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--provider is only for chatgpt"), "{ran:?}");
}
