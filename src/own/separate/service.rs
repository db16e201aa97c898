//! The owner's socket: who may use it, and what each request does.
//!
//! | Request | Passphrase |
//! | --- | --- |
//! | hello, a link to the owner's page, ending a grant by its whole id | no |
//! | import into a new account | no |
//! | import into an existing account, status, grants, sources, forget, backup, changing the passphrase |
//! yes |

use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::file;
use super::frame::{Broken, MOST_ASKED, Received, Wire};
use super::guess::{Guesses, failed};
use super::importing;
use super::peer;
use super::place;
use super::places::{Doing, Place, Places};
use super::talk::{Ended, House, TYPING_TIME, Talk};
use super::words::{Asked, Failure, ForgottenTold, Grants, Hello, Said, Status, Told, Which};
use crate::access_log::AccessLog;
use crate::advice::Command;
use crate::error::{Error, Kind, Result};
use crate::own;
use crate::own::backup::{self, Watch, Wish};
use crate::own::forget;
use crate::own::inbox;
use crate::own::state::{State, account_names, made, vault_failed};
use crate::vault::oauth::passphrase;
use crate::vault::{OpenError, Vault};

pub use super::talk::Link;

/// How long a caller may take to send its request.
const ASKING_TIME: Duration = Duration::from_secs(10);
/// How long the end of the service waits for work in progress.
const END_TIME: Duration = Duration::from_secs(5);
/// How often it checks.
const END_PAUSE: Duration = Duration::from_millis(20);
/// The pause after an `accept` that failed because no more files can be opened.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const ROOT: u32 = 0;

/// The settings of a service.
pub struct Settings {
    /// The path of its socket.
    pub socket: PathBuf,
    /// The user id of the person whose data it is: only they and root may use the socket.
    pub person: u32,
    /// The store's directory.
    pub dir: PathBuf,
    /// Where programs are served.
    pub url: String,
    /// The vault that is served there.
    pub vault: Arc<Vault>,
    /// Creates a link to the owner's page.
    pub link: Link,
}

/// A service that answers on the owner's socket. It stops when dropped.
pub struct Service {
    socket: PathBuf,
    listener: Arc<UnixListener>,
    stops: Arc<AtomicBool>,
    places: Arc<Places>,
    thread: Option<JoinHandle<()>>,
}

/// Checks that the vault in `dir` has a passphrase: without one, no request would be answered.
///
/// # Errors
/// `passphrase_missing` (78); the errors of the store.
pub fn check_passphrase(dir: &std::path::Path) -> Result<()> {
    let vault = own::open(dir)?;
    if passphrase::is_set(vault.grants()).map_err(failed)? {
        return Ok(());
    }
    let message = "The service has no passphrase yet, and without one nothing can be approved";
    let error = Error::new(Kind::NotConnected, "passphrase_missing", message);
    Err(match place::person_of(dir) {
        // Only root can act as the store's user.
        Some(uid) => error.hint(format!("sudo pdpp provider install --for {uid}")),
        None => {
            error.run(Command::new("provider passphrase").option("--data-dir", dir.display().to_string()))
        }
    })
}

impl Service {
    /// Starts answering.
    ///
    /// # Errors
    /// `owner_socket`; `own_data_dir` (77).
    pub fn start(settings: Settings) -> Result<Self> {
        let Settings { socket, person, dir, url, vault, link } = settings;
        let no_socket = |error| {
            Error::failed("owner_socket", format!("Could not listen on the socket {}", socket.display()))
                .because(error)
                .hint("Name a path in the service's own folder: --owner-socket PATH")
        };
        inbox::clean(&dir)?;
        let listener = Arc::new(crate::fs::listen_at(&socket).map_err(no_socket)?);
        let (stops, places) = (Arc::<AtomicBool>::default(), Arc::<Places>::default());
        let house = Arc::new(House { dir, url, vault, link, guesses: Guesses::default() });
        let thread = {
            let (listener, stops, places) = (Arc::clone(&listener), Arc::clone(&stops), Arc::clone(&places));
            let accept = move || accept(&listener, person, &stops, &places, &house);
            std::thread::Builder::new().name("owner".to_owned()).spawn(accept).map_err(no_socket)?
        };
        Ok(Self { socket, listener, stops, places, thread: Some(thread) })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stops.store(true, Ordering::Relaxed);
        crate::fs::end_listening(&self.socket);
        // Threads that wait for a caller wake up.
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        self.places.end_all();
        let ends = Instant::now() + END_TIME;
        while self.places.threads() > 0 && Instant::now() < ends {
            std::thread::sleep(END_PAUSE);
        }
    }
}

fn accept(
    listener: &UnixListener,
    person: u32,
    stops: &AtomicBool,
    places: &Arc<Places>,
    house: &Arc<House>,
) {
    while !stops.load(Ordering::Relaxed) {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(ACCEPT_PAUSE);
            continue;
        };
        if stops.load(Ordering::Relaxed) {
            return;
        }
        // Other users get no answer.
        let Ok(user) = peer::user_of(&stream) else { continue };
        if user != person && user != ROOT {
            continue;
        }
        let Some(place) = places.enter(&stream, user == ROOT) else {
            refuse_busy(stream);
            continue;
        };
        let house = Arc::clone(house);
        let converse = move || converse(stream, &place, &house);
        // If there is no thread for it, its place is free again.
        let _ = std::thread::Builder::new().name("owner-talk".to_owned()).spawn(converse);
    }
}

fn refuse_busy(stream: UnixStream) {
    let busy = Error::failed("owner_service_busy", "The service is working for too many callers at once")
        .hint("Wait a little, then run it again");
    // Its buffer is empty, so this does not block.
    let _ = Wire::new(stream, MOST_ASKED).send(&Told::Failed(Failure::from(&busy)));
}

fn converse(stream: UnixStream, place: &Place, house: &House) {
    let wire = Wire::new(stream, MOST_ASKED);
    let mut talk = Talk::new(&wire, place, house);
    if let Err(Ended::Failed(error)) = answer(&mut talk) {
        let error = own::told(&house.dir, error);
        let _ = talk.tell(&Told::Failed(Failure::from(&error)));
    }
}

fn answer(talk: &mut Talk<'_>) -> Result<(), Ended> {
    let received: Received = talk.hear(ASKING_TIME)?;
    let (asked, file) = received.with_file::<Asked>()?;
    if file.is_some() != matches!(asked, Asked::Backup { .. }) {
        return Err(Broken::Wrong("an open file belongs to a backup, and to no other request").into());
    }
    let vault = &talk.house.vault;
    match asked {
        Asked::Hello => talk.tell(&Told::Hello(Hello {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            url: talk.house.url.clone(),
            data_dir: talk.dir().display().to_string(),
            has_passphrase: passphrase::is_set(vault.grants()).map_err(failed)?,
        })),
        Asked::Open => {
            let url = (talk.house.link)().ok_or_else(|| {
                Error::failed("owner_page_missing", "The service has no owner's page")
                    .hint("Update the service to the same release as this pdpp")
            })?;
            talk.tell(&Told::Link { url })
        }
        Asked::Revoke { grant } => revoke(talk, &grant),
        Asked::Import(asked) => importing::import(talk, asked),
        Asked::Status => {
            talk.unlock()?;
            let (vault, dir) = (&talk.house.vault, talk.dir());
            talk.tell(&Told::Status(Status {
                data_dir: dir.display().to_string(),
                store_id: own::store_id(vault.store())?,
                state: State::of(vault.store(), dir)?,
                live_grants: made(vault)?.iter().filter(|made| made.state == "live").count(),
            }))
        }
        Asked::Grants => {
            talk.unlock()?;
            let vault = &talk.house.vault;
            talk.tell(&Told::Grants(Grants {
                data_dir: talk.dir().display().to_string(),
                made: made(vault)?,
                names: account_names(vault.store())?,
                reads: AccessLog::of_store(talk.dir()).last_reads(),
            }))
        }
        Asked::Sources => {
            talk.unlock()?;
            let sources = own::import::known_sources(talk.house.vault.store())?;
            let mut paths: Vec<String> = Vec::new();
            for source in sources {
                paths.retain(|known| *known != source.path);
                paths.push(source.path);
            }
            talk.tell(&Told::Sources { paths })
        }
        Asked::Forget { account } => forget(talk, &account),
        Asked::Backup { is_encrypted } => {
            let file = file.ok_or(Broken::Wrong("a backup needs an open file"))?;
            back_up(talk, &file, is_encrypted)
        }
        Asked::Passphrase => {
            talk.unlock()?;
            let new = talk.passphrase(Which::New, false)?;
            if new.characters() < passphrase::LEAST {
                let message = format!(
                    "A passphrase needs at least {} characters; nothing was changed",
                    passphrase::LEAST
                );
                return Err(Error::new(Kind::Refused, "passphrase_not_chosen", message)
                    .run(Command::new("provider passphrase"))
                    .into());
            }
            if !passphrase::set(talk.house.vault.grants(), &new).map_err(failed)? {
                return Err(own::explain(OpenError::NoRandomness).into());
            }
            talk.tell(&Told::Done)
        }
    }
}

/// Ends a grant. A caller that knows its whole id learns nothing by this, so ending it needs no
/// passphrase.
fn revoke(talk: &Talk<'_>, id: &str) -> Result<(), Ended> {
    let vault = &talk.house.vault;
    let made = made(vault)?;
    let Some(one) = made.iter().find(|made| made.grant.grant_id == id) else {
        let message = "No grant of your own data has that id";
        return Err(Error::new(Kind::Usage, "grant_unknown", message)
            .run(Command::new("provider grants"))
            .into());
    };
    vault.end_grants(std::iter::once(id)).map_err(|error| vault_failed(&error))?;
    talk.tell(&Told::Revoked { was_live: one.state == "live" })
}

fn forget(talk: &mut Talk<'_>, account: &str) -> Result<(), Ended> {
    talk.unlock()?;
    let store = own::open_store(talk.dir())?;
    let found = forget::find(&store, account)?;
    drop(store);
    let Some(found) = found else {
        // An unfinished deletion continues.
        drop(own::make_store(talk.dir())?);
        return talk.tell(&Told::Gone);
    };
    talk.tell(&Told::Account { name: found.display_name.clone() })?;
    match talk.hear(TYPING_TIME)?.plain()? {
        Said::Go { is_agreed: true } => {}
        _ => return Ok(()),
    }
    if !talk.place.does(Doing::Works) {
        return Err(Ended::Gone);
    }
    let gone = forget::forget(talk.dir(), &found.id)?;
    talk.tell(&Told::Forgotten(ForgottenTold {
        id: gone.id,
        records: gone.records,
        ended: gone.ended,
        narrowed: gone.narrowed,
    }))
}

fn back_up(talk: &mut Talk<'_>, file: &std::fs::File, is_encrypted: bool) -> Result<(), Ended> {
    talk.unlock()?;
    let refused = |error: std::io::Error| {
        Error::failed("backup_file", "The file that was handed over for the backup cannot be used")
            .because(error)
            .hint("Name a file in a folder that you can write to")
    };
    file::check_writable(file).map_err(refused)?;
    let passphrase = if is_encrypted { Some(talk.passphrase(Which::Backup, false)?) } else { None };
    if !talk.place.does(Doing::Works) {
        return Err(Ended::Gone);
    }
    let stop = AtomicBool::new(false);
    let say = |what: &str| {
        if talk.tell(&Told::Does { what: what.to_owned() }).is_err() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let shown = std::path::Path::new("the file that was handed over");
    let wish = Wish { file: shown, replaces: true, passphrase: passphrase.as_ref(), handed: Some(file) };
    let done = backup::back_up(talk.dir(), &wish, &Watch { stop: &stop, say: &say })?;
    talk.tell(&Told::BackedUp { manifest: done.manifest, bytes: done.bytes })
}
