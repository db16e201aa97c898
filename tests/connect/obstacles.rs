//! What `connect` reports when something prevents it: before anyone is asked, and with the command to type.

use std::process::Stdio;

use super::provider::{Provider, Switches};
use super::{connect, credentials};
use crate::support::env::{Ran, TestEnv};

const MAIL: &str = "https://sandbox.pdpp.example/connectors/mail";

#[cfg(target_os = "linux")]
fn to_full(env: &TestEnv, arguments: &[&str]) -> Ran {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let child = env.pdpp(arguments).stdout(Stdio::from(full)).stderr(Stdio::piped()).spawn().unwrap();
    Ran::from(child.wait_with_output().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_takes_nothing_is_noticed_before_the_owner_is_asked() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    for more in [&["--json"][..], &[]] {
        let ran = to_full(&env, &[&["connect", provider.url(), "--no-browser"], more].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        if more.is_empty() {
            assert!(ran.stderr.contains("code: output_failed"), "{}", ran.stderr);
        }
    }
    assert!(provider.seen("").is_empty(), "nobody was asked");
    // A finished step is not repeated.
    assert_eq!(connect(&env, &provider, &["--name", "Mine"]).code, Some(0));
    let ran = to_full(&env, &["disconnect", "Mine", "--yes", "--json"]);
    assert!(ran.code != Some(0) && credentials(&env).is_empty(), "{ran:?}");
    assert!(!ran.stderr.contains("then run it again"), "{}", ran.stderr);
}

#[test]
fn a_variable_that_names_no_proxy_is_refused_where_it_counts() {
    let mut env = TestEnv::new();
    env.set("HTTPS_PROXY", Some("junk:::canary".to_owned()));
    let ran = env.run(&["connect", "https://provider.test/me", "--no-browser"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for part in ["error: HTTPS_PROXY is not a proxy's address", "code: proxy_invalid", "next: "] {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("canary"), "{}", ran.stderr);
    // This computer is never reached through a proxy.
    let provider = Provider::start(Switches::default());
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_machine_without_certificates_reaches_itself_without_tls() {
    let mut env = TestEnv::new();
    let nowhere = env.home().join("nowhere").to_str().unwrap().to_owned();
    env.set("SSL_CERT_FILE", Some(nowhere.clone()));
    env.set("SSL_CERT_DIR", Some(nowhere));
    let provider = Provider::start(Switches::default());
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    // TLS needs the certificates, on this computer too.
    for url in ["https://127.0.0.1:1", "https://provider.test/me"] {
        let ran = env.run(&["connect", url, "--no-browser"]);
        assert!(ran.stderr.contains("code: http_setup_failed"), "{url}: {}", ran.stderr);
    }
}

#[test]
fn a_token_has_no_place_until_there_is_one_to_come() {
    let env = TestEnv::new();
    let ran = env.run(&["connect", "http://127.0.0.1:1", "--no-browser"]);
    assert!(ran.stderr.starts_with("error: "), "nothing of a keyring: {}", ran.stderr);
    let provider = Provider::start(Switches::default());
    let ran = connect(&env, &provider, &[]);
    assert!(ran.stderr.starts_with("No keyring works here"), "{}", ran.stderr);
}

#[test]
fn fields_are_named_as_they_are_asked_for_and_required_ones_are_no_surprise() {
    use crate::support::filled::start;
    use pdpp::sandbox::Config;
    let sandbox = start(Config { auto_approve: true, ..Config::default() });
    let env = TestEnv::new();
    let url = sandbox.url();
    let run = |more: &[&str]| {
        env.run(&[&["connect", url, "--no-browser", "--flow", "par", "--purpose", "x"], more].concat())
    };
    let ran = run(&["--field", "messages.subjekt"]);
    assert!(ran.stderr.contains("code: field_unknown"), "{ran:?}");
    // Every stream of that name, each with its owner.
    for part in ["It knows:\n  messages.subject (Mail)\n", "  messages.text (Chat"] {
        assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
    }
    let next = format!("pdpp connect {url} --flow par --purpose x --field messages.subject\n");
    assert!(ran.stderr.contains(&next), "{}", ran.stderr);
    assert_eq!(run(&["--field", "messages.subject"]).code, Some(0), "it can be typed as it is said");

    let ran = run(&["--source", MAIL, "--instance", "cin_mail_work", "--field", "messages.subject"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("warning"), "what a stream requires is part of it: {}", ran.stderr);
    sandbox.stop();
}

#[test]
fn a_directory_is_served_by_one_sandbox() {
    use pdpp::sandbox::{Config, start};
    let dir = tempfile::tempdir().unwrap();
    let config = || Config { data_dir: Some(dir.path().join("kept")), ..Config::default() };
    let first = start(config()).unwrap();
    let refused = start(config()).err().unwrap();
    assert_eq!(refused.code(), "sandbox_in_use");
    for part in [first.url(), &std::process::id().to_string()] {
        assert!(refused.message().contains(part), "{part} in {}", refused.message());
    }
    first.stop();
    start(config()).unwrap().stop();
}

/// Every message about an ended grant names the same command, and not one that leaves the old grant.
#[test]
fn a_grant_that_is_over_is_renewed_by_one_command_whoever_tells_it() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    assert_eq!(connect(&env, &provider, &[]).code, Some(0));
    let index = env.cache_dir().join("index.json");
    let edited = std::fs::read_to_string(&index).unwrap().replace("2099-", "2020-");
    std::fs::write(&index, edited).unwrap();
    let next = format!("pdpp connect {} --renew", provider.url());
    for arguments in [&["status"][..], &["doctor"], &["mcp", "call", "schema"], &["mcp", "serve"]] {
        let ran = env.run(arguments);
        let output = ran.stdout + &ran.stderr;
        assert!(output.contains(&format!("next: {next}\n")), "{arguments:?}: {output}");
        assert!(!output.replace(&next, "").contains("pdpp connect"), "{arguments:?}: {output}");
    }
}
