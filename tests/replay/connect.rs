//! `pdpp connect` against recorded flows: what it prints, what it leaves in the cache, and what it leaves when the
//! owner refuses.

use std::path::PathBuf;

use serde_json::Value;

use super::{own, reference, say};
use crate::support::env::{Ran, TestEnv};
use crate::support::provider::{Exchange, Provider, token};

struct Flow {
    env: TestEnv,
    provider: Provider,
    ran: Ran,
}

/// Runs `pdpp connect` against the flow in `dir`, whose `POST`s arrive in the order of `steps`.
fn flow(exchanges: Vec<Exchange>, steps: &[&str], arguments: &[&str]) -> Flow {
    let env = TestEnv::new();
    let provider = Provider::start_flow(exchanges, steps);
    let url = provider.url();
    let mut all = vec!["connect", url.as_str(), "--no-browser", "--json"];
    all.extend(arguments);
    let ran = env.run(&all);
    Flow { env, provider, ran }
}

fn own_flow(name: &str, steps: &[&str], arguments: &[&str]) -> Flow {
    flow(Exchange::load(&own().join(name)), steps, arguments)
}

impl Flow {
    /// It succeeded: the token is in the cache, in the secret store only, and valid for its provider.
    #[track_caller]
    fn connected(&self, placeholder: &str, grant: &str) -> Value {
        assert_eq!(self.ran.code, Some(0), "{:#?}", self.ran);
        assert!(self.provider.unmatched().is_empty(), "{:?}", self.provider.unmatched());
        assert_eq!(self.provider.steps_left(), [""; 0]);
        let report: Value = serde_json::from_str(self.ran.stdout.trim()).unwrap();
        assert!(report.to_string().contains(grant), "{report}");
        let secret = token(placeholder);
        for (name, text) in [("stdout", &self.ran.stdout), ("stderr", &self.ran.stderr)] {
            assert!(!text.contains("secret-"), "a secret on {name}: {text}");
        }
        let mut holders = Vec::new();
        for file in self.env.files() {
            let text = std::fs::read_to_string(self.env.home().join(&file)).unwrap_or_default();
            if text.contains(&secret) {
                holders.push(file);
            }
        }
        assert_eq!(holders.len(), 1, "one file holds the token: {holders:?}");
        assert!(!holders[0].ends_with("index.json"), "{holders:?}");
        let index = self.env.cache_dir().join("index.json");
        let index = std::fs::read_to_string(index).unwrap();
        assert!(index.contains(grant) && index.contains(&self.provider.url()), "{index}");
        assert!(!index.contains("secret-"), "{index}");
        // R8.1: one compact schema read with the new token proves it.
        let proof: Vec<_> = self.provider.log().into_iter().filter(|asked| asked.bearer.is_some()).collect();
        assert_eq!(proof.len(), 1, "{proof:#?}");
        assert_eq!(proof[0].uri, "/v1/schema?view=compact");
        assert_eq!(proof[0].bearer.as_deref(), Some(placeholder));
        report
    }

    /// It was refused: it has a specific code and exit code, and leaves no part of a credential.
    #[track_caller]
    fn refused(&self, code: &str, exit: i32) {
        assert_eq!(self.ran.code, Some(exit), "{:#?}", self.ran);
        assert!(self.provider.unmatched().is_empty(), "{:?}", self.provider.unmatched());
        let all = format!("{}{}", self.ran.stdout, self.ran.stderr);
        assert!(all.contains(code), "no {code} in {all}");
        assert!(!all.contains("secret-"), "a secret in {all}");
        for file in self.env.files() {
            let text = std::fs::read_to_string(self.env.home().join(&file)).unwrap_or_default();
            assert!(!text.contains("secret-"), "{file} holds a secret");
            assert!(!text.contains("\"grant_id\""), "{file} holds a credential");
        }
    }
}

#[test]
fn r8_1_native() {
    let flow = own_flow(
        "connect-native",
        &["01_register", "02_agent_connect", "03_poll_pending", "04_poll_approved"],
        &[],
    );
    flow.connected("NATIVE_TOKEN", "gr-native");
    assert!(!flow.ran.stderr.contains("/approve/at-native"), "{}", flow.ran.stderr);
}

#[test]
fn r8_1_pushed_request_where_the_provider_fronts_several_sources() {
    let steps = ["01_register", "03_par", "04_agent_connect", "05_poll_pending", "06_poll_approved"];
    let flow = own_flow("connect-par", &steps, &["--source", "https://connectors.example/trailbook"]);
    flow.connected("PAR_TOKEN", "gr-par");
}

#[test]
fn a_source_has_to_be_named_where_there_are_several() {
    let flow = own_flow("connect-par", &["01_register", "02_agent_connect_without_request_uri"], &[]);
    flow.refused("source_required", 2);
    assert!(flow.ran.stdout.contains("--source"), "{}", flow.ran.stdout);
    let steps = ["01_register", "08_par_unknown_source"];
    own_flow("connect-par", &steps, &["--source", "https://connectors.example/nothing"])
        .refused("request_refused", 77);
}

#[test]
fn a_forgotten_client_is_registered_again_once() {
    let env = TestEnv::new();
    let steps = [
        "01_register",
        "03_par",
        "04_agent_connect",
        "05_poll_pending",
        "06_poll_approved",
        // The second time, the client id is remembered, but the provider does not know it any more.
        "09_par_unknown_client",
        "01_register",
        "03_par",
        "04_agent_connect",
        "06_poll_approved",
    ];
    let mut exchanges = Exchange::load(&own().join("connect-par"));
    for exchange in &mut exchanges {
        if exchange.name == "09_par_unknown_client" {
            exchange.request_body.as_mut().unwrap()["client_id"] = "cl-77e0".into();
        }
    }
    let provider = Provider::start_flow(exchanges, &steps);
    let url = provider.url();
    let arguments =
        ["connect", &url, "--no-browser", "--json", "--source", "https://connectors.example/trailbook"];
    for _ in 0..2 {
        let ran = env.run(&arguments);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
    }
    assert!(provider.unmatched().is_empty() && provider.steps_left().is_empty(), "{:?}", provider.log());
}

#[test]
fn r8_1_device_code() {
    let steps = ["01_register", "02_device_authorization", "03_token_pending", "05_token"];
    let more = ["--flow", "device-code", "--source", "https://connectors.example/trailbook"];
    let flow = own_flow("device-code", &steps, &more);
    flow.connected("DEVICE_TOKEN", "gr-device");
    assert!(flow.ran.stderr.contains("LARK-2207"), "the code is shown: {}", flow.ran.stderr);
}

#[test]
fn reference_device_code() {
    let Some(mut exchanges) = recorded("device-code-grant-scoped") else { return };
    // The one address that the recording kept, in a form's own spelling.
    for exchange in &mut exchanges {
        if let Some(Value::String(form)) = &mut exchange.request_body {
            *form = form.replace("localhost%3A17663", "rs.example.test");
        }
    }
    let steps = ["01_register_201", "02_device_authorization_200", "03_token_pending_400", "08_token_200"];
    let more = ["--flow", "device-code", "--source", "https://registry.pdpp.dev/connectors/slack"];
    let flow = flow(exchanges, &steps, &more);
    // The recording has one read, of a stream: the proof's own read is not in it.
    assert_eq!(flow.provider.steps_left(), [""; 0], "{:#?}", flow.ran);
    assert!(flow.ran.stderr.contains("06789D"), "the code is shown: {}", flow.ran.stderr);
    say("reference: device-code-grant-scoped was run up to the token");
}

#[test]
fn slow_down_is_obeyed() {
    let steps = ["01_register", "02_agent_connect", "03_poll_slow_down", "04_poll_approved"];
    let before = std::time::Instant::now();
    let flow = own_flow("connect-slow-down", &steps, &[]);
    flow.connected("SLOW_TOKEN", "gr-slow");
    // RFC 8628 §3.5: five seconds more from then on.
    assert!(before.elapsed().as_secs() >= 6, "{:?}", before.elapsed());
}

#[test]
fn a_denial_is_reported_and_stores_nothing() {
    own_flow("connect-denied", &["01_register", "02_agent_connect", "03_poll_denied"], &[])
        .refused("access_denied", 77);
    let steps = ["01_register", "03_par", "04_agent_connect", "05_poll_denied"];
    own_flow("connect-denied-par", &steps, &["--source", "https://connectors.example/trailbook"])
        .refused("access_denied", 77);
}

#[test]
fn an_expiry_is_reported_and_stores_nothing() {
    let steps = ["01_register", "02_agent_connect", "03_poll_pending", "04_poll_expired"];
    own_flow("connect-expired", &steps, &[]).refused("expired", 77);
    // Nobody came: the attempt's own time is over.
    let steps = ["01_register", "02_agent_connect", "03_poll_pending", "03_poll_pending", "03_poll_pending"];
    own_flow("connect-ran-out", &steps, &[]).refused("expired", 77);
}

/// A recorded flow with the discovery documents, which its own directory lacks.
fn recorded(name: &str) -> Option<Vec<Exchange>> {
    let dir: PathBuf = reference().or_else(|| {
        say(&format!("{name}: not beside this clone, not run"));
        None
    })?;
    let discovery =
        Exchange::load(&dir).into_iter().filter(|exchange| exchange.name.starts_with("discovery_"));
    let mut all = Exchange::load(&dir.join(name));
    all.extend(discovery);
    Some(all)
}

#[test]
fn reference_native() {
    let Some(exchanges) = recorded("connect-flow") else { return };
    let steps = [
        "03_post_oauth_register_201",
        "04_post_agent_connect_201",
        "05_post_agent_connect_ATTEMPT_token_202",
        "08_post_agent_connect_ATTEMPT_token_200",
    ];
    flow(exchanges, &steps, &[]).connected("CLIENT_TOKEN", "grt_dd59b20617570e7b");
    say("reference: connect-flow was run");
}

#[test]
fn reference_pushed_request_approved_and_denied() {
    let Some(exchanges) = recorded("par-agent-connect") else { return };
    let source = ["--source", "https://registry.pdpp.dev/connectors/slack"];
    let approved = [
        "01_register_201",
        "03_par_201",
        "04_agent_connect_201",
        "05_poll_pending_202",
        "09_poll_approved_200",
    ];
    flow(exchanges.clone(), &approved, &source).connected("ACCESS_TOKEN", "grt_99dabb87f260eec3");
    let denied = ["01_register_201", "12_par2_201", "13_agent_connect2_201", "15_poll_denied_403"];
    flow(exchanges.clone(), &denied, &source).refused("access_denied", 77);
    let bad = ["01_register_201", "17_par_bad_source_400"];
    flow(exchanges.clone(), &bad, &["--source", "https://registry.pdpp.dev/connectors/nope"])
        .refused("source_unknown", 2);
    let unnamed = ["01_register_201", "02_agent_connect_without_request_uri_400"];
    flow(exchanges, &unnamed, &[]).refused("source_required", 2);
    say("reference: par-agent-connect was run: approved, denied, unknown source, no source");
}
