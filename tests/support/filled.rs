//! Sandboxes whose store is already filled. Without optimisation it takes seconds to create the made-up data, and
//! most tests only need it to exist.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use pdpp::sandbox::Config;
use pdpp::vault::Vault;
use pdpp::vault::oauth::owner::Announce;
use pdpp::vault::server::Handle;

/// What owners received: the link for each address that a program was given.
static LINKS: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);
/// And the address for each code.
static CODES: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);

/// The owner's link for the request whose page is at `approval_url`; available once.
pub fn owner_link(approval_url: &str) -> Option<String> {
    LINKS.lock().unwrap().remove(approval_url)
}

/// The address of the request whose code is `code`.
pub fn page_of_code(code: &str) -> String {
    CODES.lock().unwrap().remove(code).expect("the owner was told")
}

/// An owner whose link [`owner_link`] can return.
pub fn announce() -> Announce {
    Announce::by(|notice| {
        LINKS.lock().unwrap().insert(notice.page.to_owned(), notice.link.to_owned());
        CODES.lock().unwrap().insert(notice.code.to_owned(), notice.page.to_owned());
    })
}

/// A sandbox over a separate data directory; both are gone when dropped.
pub struct Filled<T> {
    sandbox: T,
    _dir: tempfile::TempDir,
}

impl<T> Deref for Filled<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.sandbox
    }
}

impl Filled<Handle> {
    pub fn stop(self) {
        self.sandbox.stop();
    }
}

/// The provider of `config`, without a socket.
pub fn open(config: Config) -> Filled<Vault> {
    filled(config, |config| pdpp::sandbox::open(config).unwrap())
}

/// The sandbox of `config`, listening.
pub fn start(config: Config) -> Filled<Handle> {
    filled(config, |config| pdpp::sandbox::start(config).unwrap())
}

fn filled<T>(mut config: Config, open: impl FnOnce(Config) -> T) -> Filled<T> {
    let dir = data_dir(config.seed.unwrap());
    config.data_dir = Some(dir.path().to_owned());
    config.announce = announce();
    let sandbox = open(config);
    Filled { sandbox, _dir: dir }
}

/// A sandbox's data directory with the made-up data of `seed`, and without tokens or secrets.
pub fn data_dir(seed: u64) -> tempfile::TempDir {
    let mut dir = tempfile::Builder::new();
    #[cfg(unix)]
    dir.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    let dir = dir.tempdir().unwrap();
    std::fs::copy(store_of(seed), dir.path().join("sandbox.db")).unwrap();
    dir
}

/// The store with the made-up data of `seed`, created by the first test that needs it after a build.
fn store_of(seed: u64) -> PathBuf {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("life-{seed}.db"));
    let modified = |path: &Path| std::fs::metadata(path).and_then(|file| file.modified()).ok();
    let built = modified(&std::env::current_exe().unwrap());
    if modified(&kept).is_none_or(|made| Some(made) <= built) {
        // Others may create it at the same time: each makes its own, and the last one stays.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        drop(pdpp::sandbox::open_store(dir.path(), Some(seed)).unwrap());
        std::fs::rename(dir.path().join("sandbox.db"), &kept).unwrap();
    }
    kept
}

#[test]
fn a_filled_store_has_the_life_that_a_new_one_would_be_filled_with() {
    let rows = |vault: &Vault| -> Vec<(String, String)> {
        vault
            .store()
            .read::<_, rusqlite::Error>(|db, _| {
                let mut all = db.prepare("SELECT key, ifnull(data, '') FROM record ORDER BY rid")?;
                all.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .unwrap()
    };
    let filled = rows(&open(Config::default()));
    assert!(filled.len() > 1_000);
    assert_eq!(filled, rows(&pdpp::sandbox::open(Config::default()).unwrap()));
}
