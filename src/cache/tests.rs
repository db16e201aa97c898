//! The cache as a whole: what is stored, replaced, read and removed.
#![allow(clippy::disallowed_methods, reason = "tests put things in the way")]

use super::credential::tests::credential;
use super::credential::{Credential, Secrets};
use super::index::RegisteredClient;
use super::store::StoreKind;
use super::store::choice::{Chosen, StoreChoice};
use super::*;
use crate::secret::AccessToken;

fn cache() -> (tempfile::TempDir, Cache) {
    let root = tempfile::tempdir().unwrap();
    let cache = Cache::open(&root.path().join("pdpp")).unwrap();
    (root, cache)
}

fn secrets(token: &str) -> Secrets {
    Secrets::new(AccessToken::new(token.to_owned()).unwrap(), None)
}

async fn bearer(cache: &Cache, credential: &Credential) -> String {
    cache.bearer(credential).await.unwrap().expose_bearer().to_owned()
}

fn secret_files(cache: &Cache) -> usize {
    std::fs::read_dir(cache.dir().join("secrets")).map_or(0, Iterator::count)
}

#[test]
fn nothing_is_created_by_reading() {
    let (root, cache) = cache();
    assert_eq!(cache.credentials().unwrap(), []);
    assert_eq!(cache.client_id("https://as.example").unwrap(), None);
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn the_same_grant_is_replaced_and_never_another() {
    let (_root, cache) = cache();
    let first = credential("https://a.example/t1", "g1");
    let other_grant = credential("https://a.example/t1", "g2");
    let other_tenant = credential("https://a.example/t2", "g1");
    let secure = credential("https://localhost:4711/t1", "g1");
    let plain = credential("http://localhost:4711/t1", "g1");
    for (credential, token) in
        [(&first, "one"), (&other_grant, "two"), (&other_tenant, "three"), (&secure, "s"), (&plain, "p")]
    {
        assert_eq!(cache.store(credential.clone(), &secrets(token), None).unwrap(), Stored::Added);
    }
    let again = credential("https://a.example/t1", "g1");
    assert_ne!(again.id, first.id);
    assert_eq!(cache.store(again.clone(), &secrets("four"), None).unwrap(), Stored::Replaced);

    assert_eq!(cache.credentials().unwrap().len(), 5);
    assert_eq!(secret_files(&cache), 5, "the replaced token is gone");
    assert_eq!((bearer(&cache, &secure).await, bearer(&cache, &plain).await), ("s".into(), "p".into()));
    assert_eq!(bearer(&cache, &again).await, "four");
    assert_eq!(bearer(&cache, &other_grant).await, "two");
    assert_eq!(bearer(&cache, &other_tenant).await, "three");
    // A process that read the index earlier still gets the grant's bearer.
    assert_eq!(bearer(&cache, &first).await, "four");
}

#[tokio::test]
async fn a_missing_secret_says_reconnect() {
    let (_root, cache) = cache();
    let one = credential("https://a.example", "g1");
    cache.store(one.clone(), &secrets("canary"), None).unwrap();
    std::fs::remove_dir_all(cache.dir().join("secrets")).unwrap();
    let error = cache.bearer(&one).await.unwrap_err();
    assert_eq!((error.code(), error.kind().exit_code()), ("secret_missing", 78));
    assert_eq!(error.next_step().as_deref(), Some("pdpp connect https://a.example --renew --grant g1"));
}

#[cfg(unix)]
#[test]
fn r8_4_files_are_private_and_the_index_holds_no_secret() {
    use std::os::unix::fs::MetadataExt;
    let (_root, cache) = cache();
    cache.store(credential("https://a.example", "g1"), &secrets("canary-4711"), None).unwrap();
    let mut seen = Vec::new();
    let mut todo = vec![cache.dir().to_owned()];
    while let Some(path) = todo.pop() {
        let found = std::fs::metadata(&path).unwrap();
        let wanted = if found.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(found.mode() & 0o777, wanted, "{}", path.display());
        if found.is_dir() {
            todo.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if std::fs::read_to_string(&path).unwrap().contains("canary-4711") {
            seen.push(path);
        }
    }
    assert_eq!(seen.len(), 1, "the token is in one place: {seen:?}");
    assert!(seen[0].starts_with(cache.dir().join("secrets")));
}

#[tokio::test]
async fn a_death_between_secret_and_index_leaves_the_old_credential_and_is_cleaned_up() {
    let (_root, cache) = cache();
    let old = credential("https://a.example", "g1");
    cache.store(old.clone(), &secrets("old"), None).unwrap();

    // As far as `store` gets before its commit.
    let died = credential("https://a.example", "g1");
    let writer = cache.writer().unwrap();
    let mut index = cache.read_index().unwrap();
    index.discard(&died.place());
    writer.write(&index).unwrap();
    cache.secret_store(died.store).put(&died.place(), &secrets("died").to_text()).unwrap();
    drop(writer);

    assert_eq!(cache.credentials().unwrap(), std::slice::from_ref(&old));
    assert_eq!(bearer(&cache, &old).await, "old");
    assert_eq!(secret_files(&cache), 2);
    cache.store(credential("https://b.example", "g1"), &secrets("b"), None).unwrap();
    assert_eq!(secret_files(&cache), 2, "the dead process's secret was deleted");
    assert_eq!(bearer(&cache, &old).await, "old");
}

#[test]
fn what_a_move_left_that_died_at_its_end_is_deleted_by_the_next() {
    let (_root, cache) = cache();
    cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
    let old = credential("https://a.example", "g1").place();
    let writer = cache.writer().unwrap();
    let mut index = cache.read_index().unwrap();
    index.discard(&old);
    writer.write(&index).unwrap();
    drop(writer);
    cache.secret_store(old.store).put(&old, &secrets("moved").to_text()).unwrap();
    assert_eq!((secret_files(&cache), cache.move_to(StoreKind::File).unwrap().already), (2, 1));
    assert_eq!((secret_files(&cache), cache.read_index().unwrap().discarded), (1, vec![]));
}

#[tokio::test]
async fn a_store_that_fails_leaves_the_cache_as_it_was() {
    let (_root, cache) = cache();
    let old = credential("https://a.example", "g1");
    cache.store(old.clone(), &secrets("old"), None).unwrap();
    let fresh = credential("https://a.example", "g1");
    // Something blocks the new secret's file.
    std::fs::create_dir(cache.dir().join("secrets").join(fresh.id.as_str())).unwrap();
    let error = cache.store(fresh, &secrets("new"), None).unwrap_err();
    assert_eq!(error.code(), "secret_store_failed");
    assert_eq!(cache.credentials().unwrap(), std::slice::from_ref(&old));
    assert_eq!(bearer(&cache, &old).await, "old");
}

#[tokio::test]
async fn what_is_removed_is_gone_with_its_secret_and_nothing_else_is() {
    let (_root, cache) = cache();
    assert!(cache.remove_all().unwrap().credentials.is_empty());
    let one = credential("https://a.example", "g1");
    let other = Credential { label: "Letters".to_owned(), ..credential("https://a.example", "g2") };
    for each in [&one, &other] {
        cache.store(each.clone(), &secrets("t"), None).unwrap();
    }
    let removed = cache.remove(&one).unwrap();
    assert_eq!((removed.credentials, removed.left.is_none()), (vec![one.clone()], true));
    assert_eq!((cache.credentials().unwrap(), secret_files(&cache)), (vec![other], 1));
    assert_eq!(cache.bearer(&one).await.unwrap_err().code(), "disconnected");
    assert!(cache.remove(&one).unwrap().credentials.is_empty());
    assert_eq!(cache.remove_all().unwrap().credentials.len(), 1);
    assert_eq!((cache.credentials().unwrap(), secret_files(&cache)), (vec![], 0));
}

/// Long enough that the content that was read is remembered, and the file is only looked at from then on.
#[cfg(unix)]
async fn settle() {
    tokio::time::sleep(std::time::Duration::from_millis(3_100)).await;
}

#[cfg(unix)]
#[tokio::test]
async fn what_another_process_changes_between_two_calls_counts_for_the_second() {
    let (_root, cache) = cache();
    let ids = ["ended", "renewed", "kept", "damaged", "lost"];
    let all = ids.map(|id| credential("https://a.example", id));
    for one in &all {
        cache.store(one.clone(), &secrets("t"), None).unwrap();
    }
    settle().await;
    for one in all.iter().chain(&all) {
        assert_eq!(bearer(&cache, one).await, "t");
    }
    let [ended, renewed, kept, damaged, lost] = &all;
    let elsewhere = Cache::open(cache.dir()).unwrap();
    elsewhere.remove(ended).unwrap();
    assert_eq!(cache.bearer(ended).await.unwrap_err().code(), "disconnected");
    elsewhere.store(credential("https://a.example", "renewed"), &secrets("new"), None).unwrap();
    assert_eq!(bearer(&cache, renewed).await, "new");
    let secret_of = |one: &Credential| cache.dir().join("secrets").join(one.id.as_str());
    let text = std::fs::read_to_string(secret_of(damaged)).unwrap();
    std::fs::write(secret_of(damaged), text.replace('{', "[")).unwrap();
    assert_eq!(cache.bearer(damaged).await.unwrap_err().code(), "secret_damaged");
    std::fs::remove_file(secret_of(lost)).unwrap();
    assert_eq!(cache.bearer(lost).await.unwrap_err().code(), "secret_missing");
    assert_eq!(bearer(&cache, kept).await, "t");

    // An editor changes the file in place, keeping its length and its time.
    settle().await;
    assert_eq!(bearer(&cache, kept).await, "t");
    let index =
        std::fs::OpenOptions::new().read(true).write(true).open(cache.dir().join("index.json")).unwrap();
    let (before, text) =
        (index.metadata().unwrap().modified().unwrap(), std::io::read_to_string(&index).unwrap());
    std::os::unix::fs::FileExt::write_all_at(&index, text.replace("\"kept\"", "\"swap\"").as_bytes(), 0)
        .unwrap();
    index.set_modified(before).unwrap();
    assert_eq!(cache.bearer(kept).await.unwrap_err().code(), "disconnected");
}

#[tokio::test]
async fn what_is_to_be_ended_is_nobodys_until_it_is_connected_again() {
    let (_root, cache) = cache();
    let one = credential("https://a.example", "g1");
    cache.store(one.clone(), &secrets("t"), None).unwrap();
    cache.keep_to_end(std::slice::from_ref(&one)).unwrap();
    let ending = Credential { ending: true, ..one.clone() };
    assert_eq!((cache.credentials().unwrap(), cache.ending().unwrap()), (vec![], vec![ending.clone()]));
    assert_eq!(cache.bearer(&one).await.unwrap_err().code(), "disconnected", "a server that already knew it");
    assert_eq!(bearer(&cache, &ending).await, "t", "to end it");
    assert_eq!(cache.move_to(StoreKind::File).unwrap().already, 0);
    cache.check_label(&one.provider, &one.label, None).unwrap();
    let other = credential("https://a.example", "g2");
    cache.store(other, &secrets("t"), None).unwrap();
    assert_eq!(cache.credentials().unwrap()[0].label, one.label, "its name is free");
    cache.store(credential("https://a.example", "g1"), &secrets("new"), None).unwrap();
    assert_eq!((cache.credentials().unwrap().len(), cache.ending().unwrap()), (2, vec![]));
    assert_eq!(bearer(&cache, &one).await, "new");
}

#[test]
fn all_is_removed_from_a_damaged_cache_too() {
    let (_root, cache) = cache();
    cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
    std::fs::write(cache.dir().join("index.json"), "{").unwrap();
    let advice = cache.credentials().unwrap_err();
    assert!(advice.next_step().unwrap().contains("pdpp disconnect --all"), "{advice:?}");
    cache.remove_all().unwrap();
    assert_eq!((cache.credentials().unwrap(), secret_files(&cache)), (vec![], 0));
}

#[test]
fn a_newer_cache_is_not_removed() {
    let (_root, cache) = cache();
    cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
    std::fs::write(cache.dir().join("index.json"), r#"{"version":7}"#).unwrap();
    assert_eq!(cache.remove_all().unwrap_err().code(), "cache_too_new");
    assert_eq!(secret_files(&cache), 1);
}

#[test]
fn a_check_for_room_leaves_nothing_behind() {
    let (_root, cache) = cache();
    cache.check_writable(StoreKind::File).unwrap();
    let left: Vec<_> =
        std::fs::read_dir(cache.dir()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!((left, secret_files(&cache)), (vec!["secrets".into()], 0));
    let blocked = cache.dir().join("file");
    std::fs::write(&blocked, "").unwrap();
    let error = Cache::open(&blocked.join("x")).unwrap().check_writable(StoreKind::File).unwrap_err();
    assert!(["cache_unreadable", "cache_unwritable"].contains(&error.code()), "{error:?}");
}

#[test]
fn the_asked_for_store_is_remembered() {
    let (_root, cache) = cache();
    cache.remember_store(StoreChoice::File).unwrap();
    let file = Chosen { kind: StoreKind::File, note: None };
    assert_eq!(cache.choose_store(None).unwrap(), file);
    cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
    assert_eq!(cache.choose_store(None).unwrap(), file);
}

#[test]
fn a_label_that_is_taken_is_refused_before_and_numbered_after_an_approval() {
    let (_root, cache) = cache();
    let one = credential("https://a.example", "g1");
    cache.store(one.clone(), &secrets("t"), None).unwrap();
    let taken = cache.check_label(&one.provider, "Diary", None).unwrap_err();
    assert_eq!((taken.code(), taken.kind().exit_code()), ("label_taken", 2));
    assert!(taken.next_step().unwrap().ends_with("pdpp connect https://a.example --renew --grant Diary"));
    cache.check_label(&one.provider, "Diary", Some(&one)).unwrap();
    cache.check_label(&"https://b.example".parse().unwrap(), "Diary", None).unwrap();
    cache.store(credential("https://a.example", "g2"), &secrets("t"), None).unwrap();
    let mut renewed = credential("https://a.example", "g3");
    cache.store_in_place_of(&mut renewed, &secrets("t"), None, Some(&one)).unwrap();
    cache.remove(&one).unwrap();
    let labels: Vec<_> = cache.credentials().unwrap().into_iter().map(|one| one.label).collect();
    assert_eq!(labels, ["Diary 2", "Diary"]);
}

#[test]
fn what_a_dead_writer_left_half_written_is_deleted_by_the_next() {
    let (_root, cache) = cache();
    let store = || cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
    store();
    let half = [cache.dir().join(".tmp-x"), cache.dir().join("secrets/.tmp-y")];
    for file in &half {
        std::fs::write(file, "canary").unwrap();
    }
    store();
    assert!(half.iter().all(|file| !file.exists()));
}

#[test]
fn many_writers_lose_nothing() {
    let (_root, cache) = cache();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let cache = &cache;
            scope.spawn(move || {
                let one = credential("https://a.example", &format!("g{n}"));
                cache.store(one, &secrets("t"), None).unwrap();
            });
        }
    });
    assert_eq!(cache.credentials().unwrap().len(), 8);
    assert_eq!(secret_files(&cache), 8);
}

#[test]
fn a_client_id_is_remembered_per_issuer() {
    let (_root, cache) = cache();
    let client = |issuer: &str, id: &str| {
        Some(RegisteredClient { issuer: issuer.to_owned(), client_id: id.to_owned() })
    };
    let one = || credential("https://a.example", "g1");
    cache.store(one(), &secrets("t"), client("https://as.example", "c1")).unwrap();
    cache.store(one(), &secrets("t"), client("https://other.example", "c2")).unwrap();
    cache.store(one(), &secrets("t"), client("https://as.example", "c3")).unwrap();
    assert_eq!(cache.client_id("https://as.example").unwrap().as_deref(), Some("c3"));
    assert_eq!(cache.client_id("https://other.example").unwrap().as_deref(), Some("c2"));
    assert_eq!(cache.client_id("https://third.example").unwrap(), None);
}

#[test]
fn an_index_that_is_too_large_is_named_with_what_to_do() {
    let (_root, cache) = cache();
    cache.store(credential("https://a.example", "g1"), &secrets("t"), None).unwrap();
    let index = cache.dir().join("index.json");
    std::fs::write(&index, vec![b' '; (4 << 20) + 1]).unwrap();
    let error = cache.credentials().unwrap_err();
    let told = error.in_full();
    assert_eq!(error.code(), "cache_damaged");
    assert!(told.contains(index.to_str().unwrap()) && told.contains("larger than 4 MiB"), "{told}");
    assert!(error.next_step().unwrap().contains("disconnect --all"));
}

#[test]
fn damaged_and_newer_indexes_are_refused_and_left_alone() {
    let (_root, cache) = cache();
    let one = || credential("https://a.example", "g1");
    cache.store(one(), &secrets("t"), None).unwrap();
    let index = cache.dir().join("index.json");
    for (text, code) in [("{", "cache_damaged"), (r#"{"version":7,"x":1}"#, "cache_too_new")] {
        std::fs::write(&index, text).unwrap();
        assert_eq!(cache.credentials().unwrap_err().code(), code);
        assert_eq!(cache.store(one(), &secrets("t"), None).unwrap_err().code(), code);
        assert_eq!(std::fs::read_to_string(&index).unwrap(), text);
    }
}
