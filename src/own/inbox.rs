//! Where exports are received that come from elsewhere than a file of the person's: a private folder of the store's directory,
//! from which they are imported, and which goes in every case.

use std::collections::BTreeSet;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::archive::LeftOut;
use crate::error::{Error, Kind, Result};
use crate::fs::{PrivateDir, free_space};
use crate::import::account::Known;
use crate::import::format::Format;
use crate::import::formats;
use crate::import::pipeline::{self, Ended, Import, LEAST_FREE, Watch};
use crate::import::resume::{self, Terms};
use crate::import::survey::{Adviser, Job, Named, Request, Survey};
use crate::import::tally::{BadItem, Outcome, Unread};
use crate::vault::declaration::Connector;
use crate::vault::store::Store;
use crate::vault::store::ledger::{Ledger, Settings};

/// The folder of the store's directory that they are in.
const FOLDER: &str = "inbox";
/// Held as long as what is in a folder is used.
const LOCK: &str = ".lock";
/// How much is received between two looks at the room that is left.
const LOOKS: u64 = 8 << 20;
/// Files of one import at most, and bytes of one's name.
const MAX_FILES: usize = 1_000;
const MAX_NAME: usize = 200;

/// A folder that receives exports. It goes when this is dropped.
#[derive(Debug)]
pub struct Inbox {
    store: PathBuf,
    dir: PrivateDir,
    _lock: crate::fs::DirLock,
    names: std::sync::Mutex<Vec<String>>,
}

/// What to do with them.
#[derive(Debug, Clone, Default)]
pub struct InboxRequest {
    /// Whose data it is, where the person said so.
    pub account: Option<String>,
    /// The zone of times that name none, where the person said so.
    pub timezone: Option<String>,
}

/// How far an import is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that were read.
    pub bytes: u64,
    /// Bytes that there are, as far as that is known.
    pub of: u64,
    /// Items that were read.
    pub items: u64,
}

/// What would be imported.
#[derive(Debug, Default)]
pub struct Plan {
    /// What would be imported of what was received.
    pub sources: Vec<Planned>,
    /// Members that no format recognises, by the source that they are in.
    pub unrecognised: Vec<(PathBuf, String)>,
    /// What is left out or cannot be read, by the source that it is in.
    pub left_out: Vec<(PathBuf, LeftOut)>,
}

/// What would be imported of one source by one format for one account.
#[derive(Debug)]
pub struct Planned {
    /// The source.
    pub path: PathBuf,
    /// What a person calls its format.
    pub title: String,
    /// The connector's key.
    pub connector: String,
    /// The account.
    pub account: String,
    /// How many files there are to read.
    pub files: usize,
    /// How many bytes there are to read, as far as that is known.
    pub bytes: u64,
    /// What the person should know, in whole sentences.
    pub notes: Vec<String>,
    /// Whether an agent can read of the account already.
    pub is_granted: bool,
}

/// What became of it.
#[derive(Debug)]
pub struct Imported {
    /// By source.
    pub outcomes: Vec<Outcome>,
    /// Why it went no further; what was written is whole.
    pub stopped: Option<Error>,
}

impl Inbox {
    /// A new folder for the store in `dir`. What killed processes left goes.
    ///
    /// # Errors
    /// `own_data_dir`; `no_randomness`.
    pub fn begin(dir: &Path) -> Result<Self> {
        let failed = |error| super::unusable(dir, error);
        let all = PrivateDir::create(&dir.join(FOLDER)).map_err(failed)?;
        sweep(&all);
        let name = crate::hex::random::<8>().map_err(|error| {
            Error::failed("no_randomness", "The system gave no randomness").because(error.to_string())
        })?;
        let own = PrivateDir::create(&all.path().join(name)).map_err(failed)?;
        let lock = own.lock(LOCK).map_err(failed)?;
        Ok(Self { store: dir.to_owned(), dir: own, _lock: lock, names: std::sync::Mutex::default() })
    }

    /// Receives the file `name`.
    ///
    /// # Errors
    /// `import_path` (2) for a name that is none; `import_disk_full`; `import_unreadable` where the content breaks off, or the disk refuses.
    pub fn receive(&self, name: &str, content: &mut dyn Read) -> Result<()> {
        let is_fine = !name.is_empty()
            && name.len() <= MAX_NAME
            && !name.starts_with('.')
            && !name.contains(['/', '\\', '\0'])
            && !crate::text::has_hidden(name);
        let mut names = self.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !is_fine || names.len() >= MAX_FILES || names.iter().any(|known| known == name) {
            let message = format!("A file called {} cannot be received", crate::text::one_line(name));
            return Err(Error::new(Kind::Usage, "import_path", message).hint("Give it another name"));
        }
        let failed = |error: io::Error| {
            Error::failed("import_unreadable", "The file could not be received").because(error)
        };
        let mut file = self.dir.begin(name).map_err(failed)?;
        let (mut room, mut since) = (vec![0; 64 << 10], LOOKS);
        loop {
            if since >= LOOKS {
                if free_space(&self.store).is_some_and(|free| free < LEAST_FREE + LOOKS) {
                    return Err(Error::failed(
                        "import_disk_full",
                        "There is no room for it: 1 GiB of the disk stays free",
                    )
                    .hint("Make room, then send it again"));
                }
                since = 0;
            }
            let read = content.read(&mut room).map_err(failed)?;
            if read == 0 {
                break;
            }
            file.write_all(&room[..read]).map_err(failed)?;
            since += read as u64;
        }
        file.commit().map_err(failed)?;
        names.push(name.to_owned());
        Ok(())
    }

    /// What would be imported.
    ///
    /// # Errors
    /// Those of a survey: `import_unrecognised`, `import_question`, …; those of the store.
    pub fn plan(&self, request: &InboxRequest) -> Result<Plan> {
        let known = super::open_store(&self.store)?;
        let (_, survey) = self.survey(request, &known)?;
        let granted = super::granted(&self.store)?;
        Ok(planned(&survey, &granted))
    }

    /// Imports what was received.
    ///
    /// # Errors
    /// As [`Inbox::plan`]; `import_running`.
    pub fn import(self, request: &InboxRequest, watch: &mut dyn FnMut(Progress)) -> Result<Imported> {
        let known = super::open_store(&self.store)?;
        let (asked, survey) = self.survey(request, &known)?;
        drop(known);
        let _lock = super::lock(&self.store)?;
        let store = super::make_store(&self.store)?;
        let failed = |error| Error::failed("own_store", "Could not write to the store").because(error);
        store.prepare_for_many().map_err(|error: rusqlite::Error| failed(error))?;
        let is_stopped = AtomicBool::new(false);
        let terms = Terms {
            since_ms: asked.since_ms,
            copies_attachments: asked.copies_attachments,
            names_bad: false,
            now_ms: Timestamp::now().as_millisecond(),
        };
        let import =
            Import { store: &store, dir: &self.store, terms, stop: &is_stopped, least_free: LEAST_FREE };
        let of = survey.jobs.iter().map(Job::bytes).fold(0, u64::saturating_add);
        let mut told = Told { watch, done: (0, 0), now: (0, 0), of };
        let (mut outcomes, mut stopped) = (Vec::new(), None);
        for job in &survey.jobs {
            let Ended { mut outcome, stopped: why } = pipeline::run(&import, job, &mut told);
            outcome.path = PathBuf::from(job.typed.file_name().unwrap_or(job.typed.as_os_str()));
            outcomes.push(outcome);
            told.done = (told.done.0.saturating_add(told.now.0), told.done.1 + told.now.1);
            told.now = (0, 0);
            if why.is_some() {
                stopped = why;
                break;
            }
        }
        Ok(Imported { outcomes, stopped })
    }

    fn survey(&self, request: &InboxRequest, known: &Store) -> Result<(Request, Survey)> {
        let names = self.names.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let formats: Vec<&'static dyn Format> = formats::ALL.to_vec();
        let source = |name: &String| Named {
            path: self.dir.path().join(name),
            formats: formats.clone(),
            is_as: false,
            account: request.account.clone(),
        };
        let zone = request.timezone.as_deref().map(TimeZone::get).transpose().map_err(|error| {
            Error::new(Kind::Usage, "timezone_invalid", "That is not a time zone")
                .because(error)
                .hint("Such as Europe/Oslo")
        })?;
        let asked = Request {
            paths: names.iter().map(source).collect(),
            zone,
            date_order: None,
            since_ms: None,
            copies_attachments: true,
        };
        // The folder lies within the store's directory, and is the one part of it that is imported from.
        let elsewhere = self.store.join(super::PROFILE.database);
        let survey = Survey::of(&asked, &elsewhere, &mut Unasked(known))?;
        Ok((asked, survey))
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let _ = self.dir.remove_all();
        let _ = self.dir.remove_empty();
    }
}

/// Removes the folders of processes that were killed.
fn sweep(all: &PrivateDir) {
    for entry in std::fs::read_dir(all.path()).into_iter().flatten().flatten() {
        let Ok(left) = PrivateDir::open(&entry.path()) else { continue };
        if let Ok(Some(_lock)) = left.try_lock(LOCK) {
            let _ = left.remove_all();
            let _ = left.remove_empty();
        }
    }
}

fn planned(survey: &Survey, granted: &BTreeSet<String>) -> Plan {
    let planned = |job: &Job| Planned {
        path: job.typed.clone(),
        title: job.format.title().to_owned(),
        connector: job.plan.connector.key.clone(),
        account: job.plan.account.clone(),
        files: job.units.len(),
        bytes: job.bytes(),
        notes: job.plan.whose.note.iter().chain(&job.plan.notes).cloned().collect(),
        is_granted: granted.contains(&job.connection()),
    };
    let left_out = survey.left_out.iter().map(|(path, left)| {
        let (skipped, unreadable) = (left.skipped.clone(), left.unreadable.clone());
        (path.clone(), LeftOut { skipped, unreadable })
    });
    Plan {
        sources: survey.jobs.iter().map(planned).collect(),
        unrecognised: survey.unrecognised.clone(),
        left_out: left_out.collect(),
    }
}

/// Whoever is told how far it is.
struct Told<'a> {
    watch: &'a mut dyn FnMut(Progress),
    done: (u64, u64),
    now: (u64, u64),
    of: u64,
}

impl Watch for Told<'_> {
    fn progress(&mut self, bytes: u64, items: u64) {
        self.now = (bytes, items);
        let bytes = self.done.0.saturating_add(bytes);
        (self.watch)(Progress { bytes, of: self.of.max(bytes), items: self.done.1 + items });
    }

    fn bad(&mut self, _: &BadItem) {}

    fn unread(&mut self, _: &Unread) {}
}

/// What is known of earlier imports; nobody can be asked.
struct Unasked<'a>(&'a Store);

impl Adviser for Unasked<'_> {
    fn settled(&self, connection: &str) -> Option<Settings> {
        let settled = |db: &rusqlite::Connection, _: &_| Ledger(db).account(connection);
        let found = self.0.read::<_, rusqlite::Error>(settled).ok()??;
        Some(found.1)
    }

    fn connectors(&self) -> Vec<Arc<Connector>> {
        let all = self.0.read::<_, rusqlite::Error>(|_, catalog| Ok(catalog.connectors.clone()));
        all.unwrap_or_default()
    }

    fn accounts(&self, job: &Job) -> Vec<Known> {
        self.0.read(|db, catalog| resume::known_accounts(db, catalog, job)).unwrap_or_default()
    }

    fn answer(&mut self, _: &str, _: &[String]) -> Option<String> {
        None
    }
}
