//! What the program does with further parts of Windows: its browser, its Credential Manager, its console.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use pdpp::cache::Cache;
use serde_json::{Value, json};

use crate::connect::provider::{Provider, Switches};
use crate::support::env::{Ran, TestEnv, stoppable};

/// Every user of a machine can read every argument of every process. `tests/connect` tests the same for other
/// systems.
#[test]
fn o7_2_the_browser_gets_a_private_file_and_no_argument_says_more() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches {
        attempt: |attempt, urls| {
            attempt["approval_url"] = json!(format!("{}/consent?a=1&b=%PATH%;c=`id` --new", urls.issuer));
        },
        ..Switches::default()
    });
    let log = env.home().join("log");
    let mut command = env.pdpp(&["connect", provider.url()]);
    let ran = Ran::from(command.env("PDPP_TEST_BROWSER", &log).output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let line = std::fs::read_to_string(log).unwrap();
    let (program, address) = line.trim_end().split_once("browser.exe").unwrap();
    assert!(!program.contains("--") && !line.contains("consent") && !line.contains("127.0.0.1"), "{line}");
    let address = address.trim_start_matches('"').trim().trim_matches('"');
    assert!(address.starts_with("file:///") && address.ends_with(".html"), "{line}");
    let url: url::Url = address.parse().unwrap();
    assert_eq!((url.query(), url.fragment()), (None, None), "{line}");
    let path = url.to_file_path().unwrap();
    assert!(path.starts_with(env.cache_dir()), "{line}");
    assert!(!path.exists() && !path.parent().unwrap().exists(), "{line} is left");
    assert!(
        !ran.stderr.contains("/consent") && ran.stderr.contains("Your browser opens the page"),
        "{ran:?}"
    );
}

/// `.ci/run windows` runs it by its name, with a Credential Manager; the other tests have none.
#[test]
#[ignore = "needs a Credential Manager"]
fn tokens_go_into_the_credential_manager_and_come_back() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let ran = env.run(&["connect", provider.url()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("No keyring"), "{ran:?}");
    let status = env.run(&["status", "--json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["credentials"][0]["store"], "keyring", "{status}");
    assert!(env.files().iter().all(|file| !file.contains("secrets")), "{:?}", env.files());
    // In another process, as a host starts it.
    let ran = env.run(&["status", "--check"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("works"), "{ran:?}");
    // Into a file and back.
    for place in ["file", "keyring"] {
        let ran = env.run(&["status", "--move-to", place]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(
            env.files().iter().any(|file| file.contains("secrets/")),
            place == "file",
            "{:?}",
            env.files()
        );
        let ran = env.run(&["status", "--check"]);
        assert!(ran.code == Some(0) && ran.stdout.contains("works"), "{place}: {ran:?}");
    }
    let doctor = env.run(&["doctor"]);
    assert!(doctor.stdout.contains("the keyring stores and returns them"), "{doctor:?}");
    // This provider offers no way to end a grant, and pdpp reports that.
    let ran = env.run(&["disconnect", "--all", "--yes"]);
    assert!(ran.code == Some(1) && ran.stdout.contains("deleted here"), "{ran:?}");
    assert!(Cache::open(&env.cache_dir()).unwrap().credentials().unwrap().is_empty());
}

/// Windows accepts 2,560 bytes per entry.
#[test]
#[ignore = "needs a Credential Manager"]
fn a_token_that_is_longer_than_an_entry_comes_back_whole() {
    use pdpp::cache::credential::CredentialId;
    use pdpp::cache::store::keyring::KeyringStore;
    use pdpp::cache::store::{SecretPlace, SecretStore as _, StoreKind};
    use secrecy::{ExposeSecret as _, SecretString};
    for length in [1, 1_190, 1_191, 9_000] {
        let secret = SecretString::from("\u{e4}\u{1f600}x".chars().cycle().take(length).collect::<String>());
        let id = CredentialId::random().unwrap();
        let place = SecretPlace { id, store: StoreKind::Keyring, parts: KeyringStore.parts(&secret) };
        KeyringStore.put(&place, &secret).unwrap();
        let found = KeyringStore.get(&place).unwrap().unwrap();
        assert_eq!(found.expose_secret(), secret.expose_secret(), "{length}");
        KeyringStore.delete(&place).unwrap();
        assert!(KeyringStore.get(&place).unwrap().is_none(), "{length}");
    }
}

/// If there is no Credential Manager, as in a service's session, the token goes into a private file.
#[test]
fn without_a_credential_manager_a_private_file_is_the_place() {
    let env = TestEnv::new();
    let provider = Provider::start(Switches::default());
    let ran = env.run(&["connect", provider.url()]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("No keyring works here"), "{ran:?}");
    assert!(!pdpp::fs::is_open_to_others(&env.cache_dir().join("secrets")));
}

/// A serving server, and one that is starting, end after their signals. `tests/stdio` and `tests/cache` have the
/// bounds of R1.8; Wine cannot produce Ctrl-Break or the end of a console.
#[test]
fn ctrl_c_stops_a_sandbox_as_a_stop_does() {
    let env = TestEnv::new();
    let mut command = env.pdpp(&["sandbox", "--listen", "127.0.0.1:0", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = stoppable(&mut command).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut ready).unwrap();
    let ready: Value = serde_json::from_str(&ready).unwrap();
    assert_eq!(ready["pid"].to_string(), child.id().to_string());
    let said = Instant::now();
    super::ctrl_c(child.id());
    let ended = child.wait().unwrap();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(ended.code(), Some(0), "{stderr}");
    assert!(stderr.contains("stopped") && said.elapsed() < Duration::from_secs(5), "{stderr}");
}
