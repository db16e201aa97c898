//! Refresh: one process at a time, nothing lost, nothing sent twice.

use std::io::{BufRead as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use pdpp::cache::Cache;
use pdpp::cache::credential::Credential;
use pdpp::secret::AccessToken;
use serde_json::{Value, json};

use super::server::{Server, Token};
use crate::support::cases::cases;
use crate::support::env::{Ran, TestEnv};

struct Stage {
    env: TestEnv,
    cache: Cache,
    server: Server,
    credential: Credential,
    runtime: tokio::runtime::Runtime,
}

fn stage(edit: impl FnOnce(&mut Credential)) -> Stage {
    let env = TestEnv::new();
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let server = Server::start();
    let credential = server.put(&cache, edit);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    Stage { env, cache, server, credential, runtime }
}

fn end_token_in(cache: &Cache) {
    let path = cache.dir().join("index.json");
    let mut index: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    index["credentials"][0]["renewal"]["due"] = "2020-01-01T00:00:00Z".into();
    index["credentials"][0]["token_expires_at"] = "2020-01-01T00:00:00Z".into();
    std::fs::write(&path, index.to_string()).unwrap();
}

fn start_call(env: &TestEnv) -> std::process::Child {
    let mut call = env.pdpp(&["mcp", "call", "schema", "--json"]);
    call.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
}

impl Stage {
    fn bearer(&self) -> Result<String, &'static str> {
        let bearer = self.runtime.block_on(self.cache.bearer(&self.credential));
        bearer.map(|token| token.expose_bearer().to_owned()).map_err(|error| error.code())
    }

    fn instead_of(&self, dead: &str) -> Result<String, &'static str> {
        let dead = AccessToken::new(dead.to_owned()).unwrap();
        let bearer = self.runtime.block_on(self.cache.bearer_instead_of(&self.credential, &dead));
        bearer.map(|token| token.expose_bearer().to_owned()).map_err(|error| error.code())
    }

    /// Makes the stored access token expire.
    fn end_token(&self) {
        end_token_in(&self.cache);
    }

    fn is_alive(&self) -> bool {
        self.server.life.lock().unwrap().is_alive
    }
}

#[test]
fn two_processes_and_one_refresh_token_again_and_again() {
    let stage = stage(|_| ());
    for round in 1..=cases(25) as usize {
        stage.end_token();
        let both = [start_call(&stage.env), start_call(&stage.env)];
        for call in both {
            let ran = Ran::from(call.wait_with_output().unwrap());
            assert_eq!(ran.code, Some(0), "round {round}: {ran:?}");
        }
        assert_eq!(stage.server.asked(), round, "one refresh a round");
        assert!(stage.is_alive(), "no token was presented twice");
    }
    let secrets = std::fs::read_dir(stage.cache.dir().join("secrets")).unwrap().count();
    assert_eq!(secrets, 1, "nothing is left of those before");
}

#[test]
fn many_calls_of_one_process_are_one_refresh() {
    let stage = stage(|_| ());
    stage.server.set(Token::Slowly);
    let tokens = stage.runtime.block_on(async {
        futures_util::future::join_all((0..20).map(|_| stage.cache.bearer(&stage.credential))).await
    });
    assert!(tokens.iter().all(|token| token.as_ref().unwrap().expose_bearer() == "access-1"));
    assert_eq!((stage.server.asked(), stage.is_alive()), (1, true));
}

#[test]
fn a_grant_that_is_disconnected_during_a_refresh_stays_so_with_the_newer_token() {
    let stage = stage(|_| ());
    stage.server.set(Token::Slowly);
    std::thread::scope(|scope| {
        scope.spawn(|| stage.bearer());
        stage.server.wait_until_asked(1);
        stage.cache.keep_to_end(std::slice::from_ref(&stage.credential)).unwrap();
    });
    assert_eq!(stage.cache.credentials().unwrap(), []);
    let ending = stage.cache.ending().unwrap().remove(0);
    let bearer = stage.runtime.block_on(stage.cache.bearer(&ending)).unwrap();
    assert_eq!(bearer.expose_bearer(), "access-1", "to end it with");
    assert_eq!((stage.server.asked(), stage.is_alive()), (1, true));
}

#[test]
fn calls_that_waited_for_a_failure_share_it() {
    let stage = stage(|_| ());
    stage.server.set(Token::Busy);
    let tokens = stage.runtime.block_on(async {
        futures_util::future::join_all((0..20).map(|_| stage.cache.bearer(&stage.credential))).await
    });
    assert!(tokens.iter().all(|token| token.as_ref().unwrap_err().code() == "refresh_busy"));
    assert_eq!(stage.server.asked(), 1);
    // The next attempt tries again.
    stage.server.set(Token::Rotate);
    assert_eq!(stage.bearer(), Ok("access-2".to_owned()));
}

#[test]
fn the_request_names_client_and_resource_and_the_token_is_kept() {
    let stage = stage(|_| ());
    assert_eq!(stage.bearer(), Ok("access-1".to_owned()));
    assert_eq!(stage.bearer(), Ok("access-1".to_owned()), "kept, not asked for again");
    let form = stage.server.life.lock().unwrap().form.clone();
    let wanted = [
        ("grant_type", "refresh_token"),
        ("refresh_token", "refresh-0"),
        ("resource", &format!("{}/mcp", stage.server.url)),
        ("client_id", "client-1"),
    ];
    assert_eq!(form, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let now = &stage.cache.credentials().unwrap()[0];
    assert!(now.is_same_grant(&stage.credential) && now.id != stage.credential.id);
    assert!(now.renewal.begun.is_none() && now.renewal.due.unwrap() < now.token_expires_at.unwrap());
}

/// By then the old refresh token is used up, so everything usable in the answer must be stored.
#[test]
fn odd_members_of_an_answer_never_cost_the_new_tokens() {
    let stage = stage(|_| ());
    stage.server.set(Token::Oddly);
    assert_eq!(stage.bearer(), Ok("access-1".to_owned()));
    let now = &stage.cache.credentials().unwrap()[0];
    let lasts = now.token_expires_at.unwrap().duration_since(jiff::Timestamp::now()).as_secs();
    assert!((3_500..=3_600).contains(&lasts), "{lasts}");
    stage.end_token();
    assert_eq!(stage.bearer(), Ok("access-2".to_owned()));
}

#[test]
fn a_server_that_knows_no_resource_is_asked_without() {
    let stage = stage(|_| ());
    stage.server.set(Token::WithoutResource);
    assert_eq!(stage.bearer(), Ok("access-2".to_owned()));
    assert_eq!((stage.server.asked(), stage.is_alive()), (2, true));
    let form = stage.server.life.lock().unwrap().form.clone();
    assert!(form.iter().all(|(name, _)| name != "resource"), "{form:?}");
}

#[test]
fn a_token_that_a_gateway_calls_invalid_in_its_header_is_replaced() {
    let stage = stage(|credential| credential.token_expires_at = None);
    {
        let mut life = stage.server.life.lock().unwrap();
        life.is_gateway = true;
        "access-elsewhere".clone_into(&mut life.access_token);
    }
    let ran = stage.env.run(&["mcp", "call", "schema"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!((stage.server.asked(), stage.bearer()), (1, Ok("access-1".to_owned())));
}

#[test]
fn a_caller_that_leaves_does_not_lose_the_token() {
    let stage = stage(|_| ());
    stage.server.set(Token::Slowly);
    let (cache, credential) = (stage.cache.clone(), stage.credential.clone());
    let call = stage.runtime.spawn(async move { cache.bearer(&credential).await });
    stage.server.wait_until_asked(1);
    call.abort();
    let end = Instant::now() + Duration::from_secs(30);
    while stage.cache.credentials().unwrap()[0].id == stage.credential.id {
        assert!(Instant::now() < end, "the token was lost");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(stage.bearer(), Ok("access-1".to_owned()));
    assert_eq!((stage.server.asked(), stage.is_alive()), (1, true));
}

#[test]
fn a_lost_answer_says_reconnect_and_is_not_asked_for_again() {
    let stage = stage(|_| ());
    stage.server.set(Token::SpendAndBreak);
    assert_eq!(stage.bearer(), Err("refresh_lost"));
    stage.server.set(Token::Rotate);
    assert_eq!(stage.bearer(), Err("refresh_lost"));
    assert_eq!((stage.server.asked(), stage.is_alive()), (1, true), "the spent token was not presented");
    let ran = stage.env.run(&["mcp", "serve"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    assert!(ran.stderr.contains(&format!("next: pdpp connect {}", stage.server.url)), "{ran:?}");
}

#[test]
fn a_process_killed_in_the_exchange_is_a_lost_answer() {
    let stage = stage(|_| ());
    stage.server.set(Token::SpendAndHang);
    let mut call = stage.env.pdpp(&["mcp", "call", "schema"]);
    let mut call =
        call.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    stage.server.wait_until_asked(1);
    call.kill().unwrap();
    call.wait().unwrap();
    stage.server.set(Token::Rotate);
    assert_eq!(stage.bearer(), Err("refresh_lost"));
    assert_eq!((stage.server.asked(), stage.is_alive()), (1, true));
}

#[test]
fn a_refused_refresh_token_says_reconnect_once_and_for_all() {
    let stage = stage(|_| ());
    stage.server.set(Token::InvalidGrant);
    assert_eq!(stage.bearer(), Err("refresh_refused"));
    assert_eq!(stage.bearer(), Err("refresh_refused"));
    assert_eq!(stage.server.asked(), 1);
}

#[test]
fn a_busy_or_absent_server_costs_no_token() {
    let stage = stage(|_| ());
    stage.server.set(Token::Busy);
    assert_eq!(stage.bearer(), Err("refresh_busy"));
    stage.server.set(Token::Rotate);
    assert_eq!(stage.bearer(), Ok("access-2".to_owned()));
    let away = self::stage(|credential| {
        // Nothing listens on the port of a listener that was dropped.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        credential.issuer = format!("http://127.0.0.1:{port}");
        credential.renewal.token_endpoint = Some(format!("http://127.0.0.1:{port}/token"));
    });
    assert_eq!(away.bearer(), Err("provider_unreachable"));
    assert!(away.cache.credentials().unwrap()[0].is_renewable());
}

#[test]
fn a_token_that_still_works_is_used_where_a_new_one_cannot_be_had() {
    let stage = stage(|credential| {
        credential.token_expires_at = Some(jiff::Timestamp::now() + Duration::from_hours(1));
    });
    let path = stage.cache.dir().join("index.json");
    let mut index: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    index["credentials"][0]["renewal"]["due"] = "2020-01-01T00:00:00Z".into();
    std::fs::write(&path, index.to_string()).unwrap();
    stage.server.set(Token::Busy);
    assert_eq!(stage.bearer(), Ok("access-0".to_owned()));
    assert_eq!(stage.server.asked(), 1, "it was tried");
}

#[test]
fn nothing_is_asked_for_beyond_the_grants_end() {
    let stage = stage(|credential| credential.grant_expires_at = Some(jiff::Timestamp::UNIX_EPOCH));
    assert_eq!(stage.bearer(), Err("grant_expired"));
    assert_eq!(stage.instead_of("access-0"), Err("grant_expired"));
    assert_eq!(stage.server.asked(), 0);
}

#[test]
fn an_unknown_token_endpoint_is_discovered_from_the_same_issuer_only() {
    let stage = stage(|credential| credential.renewal.token_endpoint = None);
    assert_eq!(stage.bearer(), Ok("access-1".to_owned()));
    let other = self::stage(|credential| credential.renewal.token_endpoint = None);
    other.server.life.lock().unwrap().is_other_issuer = true;
    assert_eq!(other.bearer(), Err("issuer_changed"));
    let edited = self::stage(|credential| {
        credential.renewal.token_endpoint = Some("https://evil.example/token".to_owned());
    });
    assert_eq!(edited.bearer(), Err("endpoint_foreign"));
    assert_eq!((other.server.asked(), edited.server.asked()), (0, 0));
}

#[test]
fn a_token_of_another_grant_is_not_taken() {
    let stage = stage(|_| ());
    stage.server.set(Token::OtherGrant);
    assert_eq!(stage.bearer(), Err("refresh_lost"));
}

#[test]
fn a_token_that_the_provider_calls_dead_is_replaced_once() {
    let future = || Some(jiff::Timestamp::now() + Duration::from_hours(1));
    let stage = stage(|credential| credential.token_expires_at = future());
    assert_eq!(stage.bearer(), Ok("access-0".to_owned()));
    assert_eq!(stage.instead_of("access-0"), Ok("access-1".to_owned()));
    assert_eq!(stage.instead_of("access-0"), Ok("access-1".to_owned()), "another had it replaced already");
    assert_eq!(stage.server.asked(), 1);
    let fixed = self::stage(|credential| {
        credential.token_expires_at = future();
        credential.refreshable = false;
    });
    assert_eq!(fixed.instead_of("access-0"), Err("token_dead"));
    assert_eq!(fixed.server.asked(), 0);
}

#[test]
fn calls_at_once_with_dead_tokens_are_one_refresh_a_grant() {
    let env = TestEnv::new();
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let servers = [Server::start(), Server::start()];
    let dead = || AccessToken::new("access-0".to_owned()).unwrap();
    let grants = servers.each_ref().map(|server| {
        server.set(Token::Slowly);
        server.put(&cache, |credential| credential.token_expires_at = None)
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let started = Instant::now();
    let got = runtime.block_on(async {
        let calls = grants.iter().cycle().take(20).map(|grant| async {
            cache.bearer_instead_of(grant, &dead()).await.unwrap().expose_bearer().to_owned()
        });
        futures_util::future::join_all(calls).await
    });
    assert!(got.iter().all(|token| token == "access-1"), "{got:?}");
    assert_eq!(servers.each_ref().map(Server::asked), [1, 1]);
    assert!(started.elapsed() < Duration::from_secs(10), "one grant does not wait for the other");
    // The token that replaced it is declared dead too: the reader stops asking, and reports it.
    let again = AccessToken::new("access-1".to_owned()).unwrap();
    let error = runtime.block_on(cache.bearer_instead_of(&grants[0], &again)).unwrap_err();
    assert_eq!((error.code(), servers[0].asked()), ("token_dead", 1));
}

#[test]
fn a_grant_that_was_removed_meanwhile_stays_removed() {
    let stage = stage(|_| ());
    stage.server.set(Token::Slowly);
    let (cache, credential) = (stage.cache.clone(), stage.credential.clone());
    let call =
        stage.runtime.spawn(async move { cache.bearer(&credential).await.map_err(|error| error.code()) });
    stage.server.wait_until_asked(1);
    assert_eq!(stage.cache.remove(&stage.credential).unwrap().credentials.len(), 1);
    assert_eq!(stage.runtime.block_on(call).unwrap().unwrap_err(), "disconnected");
    assert_eq!(stage.cache.credentials().unwrap(), []);
    assert_eq!(std::fs::read_dir(stage.cache.dir().join("secrets")).unwrap().count(), 0);
}

#[test]
fn a_running_server_replaces_a_dead_token_with_one_try() {
    let stage = stage(|credential| credential.token_expires_at = None);
    "access-elsewhere".clone_into(&mut stage.server.life.lock().unwrap().access_token);
    let ran = stage.env.run(&["mcp", "call", "schema"]);
    assert_eq!((ran.code, stage.server.asked()), (Some(0), 1), "{ran:?}");
    // This also holds if the new one is refused: there is no third attempt, although the package reads again because
    // the credential in the index has changed.
    let other = self::stage(|credential| credential.token_expires_at = None);
    other.server.life.lock().unwrap().is_deaf = true;
    let ran = other.env.run(&["mcp", "call", "schema"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(other.server.asked(), 1);
    assert!(ran.stdout.contains("context.active_false") && ran.stdout.contains("pdpp connect"), "{ran:?}");
}

/// A blob is read like everything else: with another token if the first is dead.
#[test]
fn a_blob_is_read_with_the_token_that_replaced_a_dead_one() {
    let stage = stage(|credential| credential.token_expires_at = None);
    "access-elsewhere".clone_into(&mut stage.server.life.lock().unwrap().access_token);
    let mut server = stage.env.pdpp(&["mcp", "serve"]);
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let read =
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/read", "params": {"uri": "pdpp://blob/b1"}});
    writeln!(input, "{initialize}\n{initialized}\n{read}").unwrap();
    let answer = std::io::BufReader::new(server.stdout.take().unwrap()).lines().nth(1).unwrap().unwrap();
    assert!(answer.contains("dGhlIGJsb2I="), "{answer}");
    assert_eq!(stage.server.asked(), 1);
    drop(input);
    assert!(server.wait().unwrap().success());
}

/// The sandbox has its own refresh-token families, which share nothing with this side.
#[test]
fn two_processes_renew_a_grant_of_the_sandbox() {
    use crate::support::filled::start;
    use pdpp::sandbox::Config;
    let provider = start(Config { auto_approve: true, ..Config::default() });
    let env = TestEnv::new();
    let ran = crate::connect::flows::by_code_at(
        &env,
        provider.url(),
        &["--flow", "authorization-code", "--source", "https://sandbox.pdpp.example/connectors/bank"],
        crate::connect::flows::approving,
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let cache = Cache::open(&env.cache_dir()).unwrap();
    let mut ids = vec![cache.credentials().unwrap()[0].id.clone()];
    for round in 0..10 {
        end_token_in(&cache);
        let both = [start_call(&env), start_call(&env)];
        for call in both {
            let ran = Ran::from(call.wait_with_output().unwrap());
            assert_eq!(ran.code, Some(0), "round {round}: {ran:?}");
        }
        let now = cache.credentials().unwrap().remove(0);
        assert!(now.is_renewable() && !ids.contains(&now.id), "renewed, and its family lives");
        ids.push(now.id);
    }
    provider.stop();
}
