//! One host's config and one entry in it: the planned change, and the change itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use super::clients::{Host, Lock};
use super::document::{BOM, document, is_switched_off, owner_credential};
use super::edit::{self, EditError, Edited, EntryPath, Fields};
use super::entry::Entry;
use super::kept::{Kept, Start};
use super::paths::Machine;
use super::policy::{self, Ban};
use super::{NAME, masked, proof};
use crate::advice::{Command, Hint};
use crate::error::{Error, Kind, Result};
use crate::fs::foreign::{ForeignError, ForeignFile, ForeignLock, LockDir, Wrote};
use crate::text::{self, shell_word};
/// How often an edit is tried again if the file changes meanwhile.
const TRIES: usize = 8;
/// The number of newest backups to keep next to a file, in addition to the first one.
const NEWEST_BACKUPS: usize = 3;
const CLI_WITHIN: Duration = Duration::from_secs(30);

/// Whose config to edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's own config, for every project.
    User,
    /// The config of the current directory.
    Project,
}

/// The change to make to one host's config.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The host.
    pub host: &'static Host,
    /// Whose config.
    pub scope: Scope,
    /// The entry's name.
    pub name: &'a str,
    /// What the entry starts; `None` removes the entry.
    pub entry: Option<Entry>,
    /// Whether an entry of that name that starts something else may be replaced or removed.
    pub any_entry: bool,
}

/// What a job does to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The file had no entry of that name.
    Added,
    /// The file had an entry of that name with other content.
    Updated,
    /// The file was already as wanted.
    Unchanged,
    /// The entry was removed.
    Removed,
    /// There was no entry to remove.
    Absent,
}

impl Action {
    /// The word for the action.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Removed => "removed",
            Self::Absent => "absent",
        }
    }
}

/// A job that is planned but not done.
#[derive(Debug)]
pub struct Plan {
    /// What would happen.
    pub action: Action,
    /// The file, by the path that the host uses.
    pub file: PathBuf,
    /// The change as a unified diff, with values outside the entry shown as `…`; empty if nothing changes.
    pub diff: String,
    /// What the entry starts; `None` for a removal.
    pub entry: Option<Entry>,
    /// The variables and the directory with which the host starts it, as set in the entry.
    pub start: Start,
    /// What the person should know about it.
    pub notes: Vec<String>,
    /// The name of the owner's credential that is in the file, if there is one.
    owner: Option<String>,
    pub(super) old: Option<Vec<u8>>,
    /// `None` to delete the file.
    pub(super) new: Option<Vec<u8>>,
}

/// A job that was done.
#[derive(Debug)]
pub struct Done {
    /// What was done, and the bytes that were written.
    pub plan: Plan,
    /// The path of the backup, if the file existed and was changed.
    pub backup: Option<PathBuf>,
    /// The host's own command that made the change, if one did.
    pub by: Option<String>,
    /// What else happened.
    pub notes: Vec<String>,
}

/// The file that the job edits.
pub fn file_of(host: &Host, machine: &Machine, scope: Scope) -> Option<PathBuf> {
    match scope {
        Scope::User => Some((host.user_file)(machine)),
        Scope::Project => host
            .project_file
            .map(|path| path.split('/').fold(machine.cwd.clone(), |dir, part| dir.join(part))),
    }
}

impl Job<'_> {
    fn place(&self) -> EntryPath<'_> {
        EntryPath { container: self.host.container, name: self.name }
    }

    fn fields(&self) -> Option<Fields> {
        self.entry.as_ref().map(|entry| self.fields_of(entry))
    }

    fn fields_of(&self, entry: &Entry) -> Fields {
        (self.host.fields)(entry, self.name)
    }

    /// The entry alone, in the format of the host's file, for pasting.
    pub fn snippet(&self) -> String {
        let Some(fields) = self.fields() else { return String::new() };
        match edit::put(self.host.format, None, self.place(), &fields) {
            Ok(Edited::Added(text)) => text,
            _ => fields.to_json().to_string(),
        }
    }

    /// A link that adds the entry, if the host has such links.
    pub fn link(&self) -> Option<String> {
        Some((self.host.link?)(&self.fields()?, self.name))
    }

    /// The file that the job edits.
    ///
    /// # Errors
    /// `no_such_scope`, `relative_config_dir`.
    pub fn file(&self, machine: &Machine) -> Result<PathBuf> {
        let variable = machine.relative_of(self.host);
        if let Some(variable) = variable.filter(|_| self.scope == Scope::User) {
            return Err(relative(self.host, variable));
        }
        file_of(self.host, machine, self.scope).ok_or_else(|| {
            Error::new(
                Kind::Usage,
                "no_such_scope",
                format!("{} does not read servers from a project's config", self.host.title),
            )
            .run(Command::new("mcp setup").value(self.host.id))
        })
    }

    fn locate(&self, machine: &Machine) -> Result<ForeignFile> {
        let file = ForeignFile::locate(&self.file(machine)?).map_err(|error| self.left_alone(error))?;
        // A checkout may contain a link to a file of the person's own.
        let project = dunce::canonicalize(&machine.cwd).unwrap_or_else(|_| machine.cwd.clone());
        let leads_out =
            self.scope == Scope::Project && file.real() != file.named() && !file.real().starts_with(&project);
        if leads_out && !self.any_entry {
            return Err(Error::failed(
                "config_outside_project",
                format!(
                    "{} is a link to {}, which is outside this project; pdpp left it unchanged",
                    file.named().display(),
                    file.real().display()
                ),
            )
            .hint(Hint::new("To edit that file anyway: ").run(self.command(self.name).words("--yes"))));
        }
        Ok(file)
    }

    /// Plans the change. Touches nothing.
    ///
    /// # Errors
    /// `config_unreadable`, `config_unwritable`, `config_damaged`, `config_outside_project`, `entry_not_ours`,
    /// `entry_narrowed`, `entry_keeps_settings`, `host_policy`, `owner_credential_in_config`, `no_such_scope`,
    /// `relative_config_dir`.
    pub fn plan(&self, machine: &Machine) -> Result<Plan> {
        self.plan_for(machine, &self.locate(machine)?, 0)
    }

    /// `made` is the number of folders that are made for a new file.
    fn plan_for(&self, machine: &Machine, file: &ForeignFile, made: usize) -> Result<Plan> {
        let old = file.read().map_err(|error| self.left_alone(error))?;
        let mut plan = self.edit_beside(file.named(), old, &|| file.backed_up().collect())?;
        if plan.old.is_none() {
            plan.new = plan.new.map(|new| match String::from_utf8(new) {
                Ok(text) => edit::with_folders(text, made).into_bytes(),
                Err(other) => other.into_bytes(),
            });
        }
        let ban = plan.entry.as_ref().and_then(|entry| policy::ban(machine, self.host, self.name, entry));
        if let Some(Ban { file, rule }) = ban {
            return Err(Error::failed(
                "host_policy",
                format!(
                    "`{rule}` in {} keeps {} from using a server `{}`; pdpp left its config unchanged",
                    file.display(),
                    self.host.title,
                    self.name
                ),
            )
            .hint("Change that rule, or ask the administrator of this computer, and run this again"));
        }
        if plan.old != plan.new {
            file.check_writable().map_err(|error| self.left_alone(error))?;
        }
        Ok(plan)
    }

    /// The edit alone, on bytes. `backups` are the contents of the file's backups, newest first.
    pub(super) fn edit_beside(
        &self,
        file: &Path,
        old: Option<Vec<u8>>,
        backups: &dyn Fn() -> Vec<Vec<u8>>,
    ) -> Result<Plan> {
        let before = old.as_deref().map(document).transpose().map_err(|why| self.damaged(file, &why))?;
        let damaged = |error: EditError| self.damaged(file, &error.to_string());
        let text = before.map(|(_, text)| text);
        let root = edit::read(self.host.format, text.unwrap_or_default()).map_err(damaged)?;
        let owner = owner_credential(&root, self.host.container);
        // Removing an entry never exposes more.
        if self.entry.is_some()
            && let Some(name) = owner
        {
            return Err(Error::new(
                Kind::Refused,
                "owner_credential_in_config",
                format!(
                    "{} contains {name}: an agent must never have an owner's credential within reach",
                    file.display()
                ),
            )
            .hint(format!("Remove {name} from it, then run this again")));
        }
        let there = edit::entry(&root, self.place());
        let ours = there.and_then(|there| self.host.ours(there));
        if there.is_some() && ours.is_none() && !self.any_entry {
            return Err(Error::failed(
                "entry_not_ours",
                format!(
                    "{} already has an entry `{}` that starts or names something else",
                    file.display(),
                    self.name
                ),
            )
            .hint(self.under_another_name().then("; or --yes, if pdpp may replace that entry")));
        }
        let narrowed = there.filter(|_| self.entry.is_some() && ours.is_some()).and_then(Narrowed::of);
        if let Some(narrowed) = narrowed.filter(|_| !self.any_entry) {
            return Err(narrowed.refused(self, file));
        }
        let mut notes = Vec::new();
        if there.is_some_and(is_switched_off) && self.entry.is_some() && ours.is_some() {
            notes.push(format!(
                "the entry is switched off and stays off: switch it on in {}",
                self.host.title
            ));
        }
        let entry = match (&self.entry, &ours) {
            (Some(entry), Some(old)) => Some(entry.clone().with_choices_of(old)),
            (entry, _) => entry.clone(),
        };
        let kept = match (&self.entry, &entry, there.filter(|_| ours.is_some())) {
            (Some(wanted), Some(entry), Some(there)) => {
                let options = entry.arguments.get(wanted.arguments.len()..).unwrap_or_default();
                Kept::of(there, &self.fields_of(entry), options)
            }
            _ => Kept::default(),
        };
        // A project's file may belong to someone else, who chose these settings.
        if self.scope == Scope::Project && !self.any_entry && !kept.lines.is_empty() {
            return Err(self.keeps(file, &kept));
        }
        notes.extend(kept.lines.iter().map(|line| format!("kept from the existing entry: {line}")));
        let edited = match (entry.as_ref().map(|entry| self.fields_of(entry)), &ours) {
            (Some(fields), Some(_)) => {
                edit::update(self.host.format, text.unwrap_or_default(), self.place(), &fields)
            }
            (Some(fields), None) => edit::put(self.host.format, text, self.place(), &fields),
            (None, _) => edit::take(self.host.format, text.unwrap_or_default(), self.place()),
        };
        let edited = edited.map_err(damaged)?;
        let has_bom = before.is_some_and(|(bom, _)| bom);
        let drops_bom = has_bom && self.host.chokes_on_bom && self.entry.is_some();
        let whole = |text: String| {
            Some(if has_bom && !drops_bom { format!("{BOM}{text}") } else { text }.into_bytes())
        };
        // A byte order mark that setup left out for its entry comes back, even if the rest has changed since.
        let returned = |text: String| {
            let is_left_out = !has_bom && self.host.chokes_on_bom && self.had_bom(&backups());
            if is_left_out { Some(format!("{BOM}{text}").into_bytes()) } else { whole(text) }
        };
        let (action, new) = match edited {
            Edited::Added(text) => (Action::Added, whole(text)),
            Edited::Updated(text) => (Action::Updated, whole(text)),
            Edited::Removed(text) => (Action::Removed, returned(text)),
            Edited::RemovedWithFile => (Action::Removed, None),
            // The host would not read the existing entry.
            Edited::Unchanged if entry.is_some() && drops_bom => {
                (Action::Updated, whole(text.unwrap_or_default().to_owned()))
            }
            Edited::Unchanged if entry.is_some() => (Action::Unchanged, old.clone()),
            Edited::Unchanged => (Action::Absent, old.clone()),
        };
        if drops_bom && new != old {
            notes.push(format!(
                "removed the byte order mark at the start of the file: {} does not read a file that has one",
                self.host.title
            ));
        }
        let entries = [entry.as_ref(), ours.as_ref()];
        let diff = self.diff(file, old.as_deref(), new.as_deref(), &entries);
        Ok(Plan { action, file: file.to_owned(), diff, entry, start: kept.start, notes, owner, old, new })
    }

    /// Whether the file began with a byte order mark before setup added its entry: the newest backup without the entry
    /// shows that.
    fn had_bom(&self, backups: &[Vec<u8>]) -> bool {
        let before = backups.iter().find_map(|bytes| {
            let (bom, text) = document(bytes).ok()?;
            let root = edit::read(self.host.format, text).ok()?;
            edit::entry(&root, self.place()).is_none().then_some(bom)
        });
        before.unwrap_or(false)
    }

    /// Applies the change: reads, edits and writes under the available locks, until the replaced content is the
    /// content that was read.
    ///
    /// # Errors
    /// Same as [`Job::plan`], and `config_busy`.
    pub async fn apply(&self, machine: &Machine) -> Result<Done> {
        let mut notes = Vec::new();
        if let Some(done) = self.through_claude(machine, &mut notes).await? {
            return Ok(done);
        }
        let stamp = stamp();
        let mut made = 0;
        for _ in 0..TRIES {
            let file = self.locate(machine)?;
            // Creates nothing, not even a directory, if there is nothing to change.
            let plan = self.plan_for(machine, &file, 0)?;
            if plan.old == plan.new {
                return Ok(Done { plan, backup: None, by: None, notes });
            }
            made = made.max(file.missing_folders());
            let lock = file.lock().map_err(|error| self.left_alone(error))?;
            let host_lock = self.host_lock(&file)?;
            let plan = self.plan_for(machine, &file, made)?;
            if let Some(backup) = self.write(&file, &lock, &plan, &stamp)? {
                if plan.new.is_none() {
                    file.remove_backups(&lock, &|bytes| self.is_all_ours(bytes));
                }
                file.prune_backups(&lock, NEWEST_BACKUPS);
                // A lock may be a file in the folder.
                drop((host_lock, lock));
                if plan.new.is_none() {
                    // A host counts as installed if its folder exists.
                    file.remove_folders(folders_of(plan.old.as_deref()));
                }
                if let (Some(name), Some(backup)) = (&plan.owner, &backup) {
                    notes.push(format!(
                        "the backup contains {name}, an owner's credential. Delete it: rm {}",
                        shell_word(&backup.to_string_lossy())
                    ));
                }
                return Ok(Done { plan, backup, by: None, notes });
            }
        }
        let file = self.locate(machine)?;
        Err(Error::failed(
            "config_busy",
            format!("{} changes faster than pdpp can edit it", file.named().display()),
        )
        .hint(format!("Close {}, then run this again", self.host.title)))
    }

    /// Writes the planned content. Returns the backup's path, or `None` if the file is no longer what was read.
    #[allow(
        clippy::option_option,
        reason = "the outer option tells whether it was written, the inner one whether there is a backup"
    )]
    fn write(
        &self,
        file: &ForeignFile,
        lock: &ForeignLock,
        plan: &Plan,
        stamp: &str,
    ) -> Result<Option<Option<PathBuf>>> {
        if plan.old == plan.new {
            return Ok(Some(None));
        }
        let left_alone = |error| self.left_alone(error);
        // Nobody loses anything when setup removes what only setup made.
        let lost = plan.old.as_deref().filter(|old| plan.new.is_some() || !self.is_all_ours(old));
        let backup = lost.map(|old| file.back_up(old, stamp)).transpose().map_err(left_alone)?;
        let wrote = match (&plan.new, &plan.old) {
            (Some(new), old) => file.replace(lock, old.as_deref(), new),
            (None, Some(old)) => file.remove(lock, old),
            (None, None) => Ok(Wrote::Yes),
        };
        Ok((wrote.map_err(left_alone)? == Wrote::Yes).then_some(backup))
    }

    /// Whether a file has only the entry, exactly as setup wrote it.
    fn is_all_ours(&self, bytes: &[u8]) -> bool {
        let Ok((_, text)) = document(bytes) else { return false };
        if edit::take(self.host.format, text, self.place()) != Ok(Edited::RemovedWithFile) {
            return false;
        }
        let root = edit::read(self.host.format, text).unwrap_or_default();
        let there = edit::entry(&root, self.place());
        there.is_some_and(|there| {
            self.host.ours(there).is_some_and(|entry| self.fields_of(&entry).to_json() == *there)
        })
    }

    /// Whether the file has what was written, even if another program has written to it since.
    pub(super) fn is_in_place(&self, machine: &Machine) -> bool {
        let job = Job { any_entry: true, ..self.clone() };
        job.plan(machine).is_ok_and(|plan| plan.action == Action::Unchanged)
    }

    fn host_lock(&self, file: &ForeignFile) -> Result<Option<LockDir>> {
        let Some(lock) = self.host.lock.filter(|_| self.scope == Scope::User) else { return Ok(None) };
        let mut path = file.named().as_os_str().to_owned();
        path.push(".lock");
        let path = Path::new(&path);
        let taken = match lock {
            Lock::Empty => LockDir::take(path),
            Lock::Marked => LockDir::take_marked(path),
        };
        taken.map(Some).map_err(|error| self.left_alone(error))
    }

    /// Lets Claude Code add an entry itself if it is installed. Claude Code cannot replace an entry in a single
    /// step, so replacing and removing edit the file.
    async fn through_claude(&self, machine: &Machine, notes: &mut Vec<String>) -> Result<Option<Done>> {
        if self.host.id != "claude" || self.scope != Scope::User {
            return Ok(None);
        }
        let (Some(program), Some(fields)) = (machine.program("claude"), self.fields()) else {
            return Ok(None);
        };
        let file = self.locate(machine)?;
        let plan = self.plan_for(machine, &file, 0)?;
        if plan.action != Action::Added {
            return Ok(None);
        }
        let lock = file.lock().map_err(|error| self.left_alone(error))?;
        let stamp = stamp();
        let backup = plan.old.as_deref().map(|old| file.back_up(old, &stamp)).transpose();
        let backup = backup.map_err(|error| self.left_alone(error))?;
        let words = ["mcp", "add-json", "-s", "user", self.name, "-"].map(ToOwned::to_owned);
        let by = format!("claude {}", words.join(" "));
        let ran = proof::run(&program, &words, Some(&fields.to_json().to_string()), CLI_WITHIN).await;
        file.prune_backups(&lock, NEWEST_BACKUPS);
        drop(lock);
        // Its report is not enough: the entry must be in the file.
        let now = self.plan_for(machine, &self.locate(machine)?, 0)?;
        if now.action == Action::Unchanged {
            let diff =
                self.diff(&plan.file, plan.old.as_deref(), now.old.as_deref(), &[plan.entry.as_ref(), None]);
            let plan = Plan { diff, new: now.old, ..plan };
            return Ok(Some(Done { plan, backup, by: Some(by), notes: std::mem::take(notes) }));
        }
        let why = match ran {
            Ok((_, output)) => text::one_line(text::prefix(output.trim(), 300)).into_owned(),
            Err(error) => error.to_string(),
        };
        // Claude Code reports this about an administrator's rules, which may be anywhere.
        if why.to_lowercase().contains("policy") {
            return Err(Error::failed(
                "host_policy",
                "Claude Code does not accept the entry; pdpp left its config unchanged",
            )
            .because(why)
            .hint("Ask the administrator of this computer"));
        }
        notes.push(format!("`{by}` did not add it ({why}), so pdpp edited the file"));
        Ok(None)
    }

    /// Restores the state before `done` if nobody has changed the file since; otherwise removes the entry.
    ///
    /// # Errors
    /// Same as [`Job::apply`].
    pub async fn roll_back(&self, machine: &Machine, done: &Done) -> Result<()> {
        let file = self.locate(machine)?;
        let lock = file.lock().map_err(|error| self.left_alone(error))?;
        let host_lock = self.host_lock(&file)?;
        let back = match (&done.plan.new, &done.plan.old) {
            (new, Some(old)) => file.replace(&lock, new.as_deref(), old),
            (Some(new), None) => file.remove(&lock, new),
            (None, None) => return Ok(()),
        };
        let back = back.map_err(|error| self.left_alone(error))?;
        drop((host_lock, lock));
        if back == Wrote::Yes {
            if done.plan.old.is_none() {
                file.remove_folders(folders_of(done.plan.new.as_deref()));
            }
            return Ok(());
        }
        let undo = Job { entry: None, any_entry: true, ..self.clone() };
        Box::pin(undo.apply(machine)).await.map(|_| ())
    }

    fn keeps(&self, file: &Path, kept: &Kept) -> Error {
        let message = format!(
            "The entry `{}` of {} has settings that this run did not choose, and a host would start pdpp with them. pdpp left \
             it unchanged:\n    {}",
            self.name,
            file.display(),
            kept.lines.join("\n    ")
        );
        let again = self.command(self.name).words("--yes");
        let hint = Hint::new("To keep all of them: ").run(again).then("; to start over: ");
        Error::failed("entry_keeps_settings", message)
            .hint(hint.run(self.command(self.name).words("--remove")))
    }

    pub(super) fn left_alone(&self, error: ForeignError) -> Error {
        let (code, hint) = match &error {
            ForeignError::Dangling(_) => {
                ("config_unreadable", "Create the file that it points to, or remove the link".into())
            }
            ForeignError::Loop(path) => (
                "config_unreadable",
                format!(
                    "Remove the link: {} {}",
                    if cfg!(windows) { "del" } else { "rm" },
                    shell_word(&path.to_string_lossy())
                )
                .into(),
            ),
            ForeignError::NotAFile(_) | ForeignError::TooLarge(_) => {
                ("config_unreadable", format!("{} could not read it either", self.host.title).into())
            }
            ForeignError::ReadOnly(path) => (
                "config_unwritable",
                Hint::new(format!(
                    "{} {}, or change the file that it is generated from: ",
                    if cfg!(windows) { "attrib -r" } else { "chmod u+w" },
                    shell_word(&path.to_string_lossy())
                ))
                .run(self.by_hand()),
            ),
            ForeignError::OtherOwner(_) => ("config_unwritable", "Run this as that user".into()),
            ForeignError::HardLinked(..) => (
                "config_unwritable",
                Hint::new("Replace it with a separate copy, or paste the entry: ").run(self.by_hand()),
            ),
            ForeignError::Locked(path) => (
                "config_busy",
                format!(
                    "Run this again; if no other pdpp is running, rmdir {}",
                    shell_word(&path.to_string_lossy())
                )
                .into(),
            ),
            ForeignError::Io(path, why) => {
                let dir = path.parent().unwrap_or(path).to_string_lossy().into_owned();
                let hint = match why.kind() {
                    // Windows reports one of these if another program has the file open, too.
                    _ if cfg!(windows) && matches!(why.raw_os_error(), Some(5 | 32 | 33)) => {
                        format!("Quit {}, which may have the file open, and run this again", self.host.title)
                    }
                    std::io::ErrorKind::PermissionDenied => format!("chmod u+rwx {}", shell_word(&dir)),
                    std::io::ErrorKind::StorageFull => "Free some space on that disk".to_owned(),
                    _ => format!("Check {}", shell_word(&dir)),
                };
                ("config_unwritable", Hint::new(format!("{hint}, or paste the entry: ")).run(self.by_hand()))
            }
        };
        Error::failed(code, format!("pdpp left the config of {} unchanged", self.host.title))
            .because(error)
            .hint(hint)
    }

    fn damaged(&self, file: &Path, why: &str) -> Error {
        let hint = if self.entry.is_some() {
            format!("Fix the file, or add this yourself:\n{}", self.snippet().trim_end())
        } else {
            format!("Fix the file, or remove `{}` yourself", self.name)
        };
        Error::failed("config_damaged", format!("pdpp cannot edit {}, and left it unchanged", file.display()))
            .because(why)
            .hint(hint)
    }

    /// The command for this job, with `name` for the entry.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new("mcp setup").value(self.host.id);
        if name != NAME {
            command = command.option("--name", name);
        }
        if self.scope == Scope::Project {
            command = command.words("--scope project");
        }
        command
    }

    fn by_hand(&self) -> Command {
        self.command(self.name).words("--print")
    }

    fn under_another_name(&self) -> Hint {
        if self.entry.is_none() {
            return Hint::new("Name the entry to remove: ").run(Command::new("mcp setup"));
        }
        Hint::new("To use another name: ").run(self.command(&format!("{}-2", self.name)))
    }

    /// The change as a unified diff, which shows only the values of `entries`.
    fn diff(
        &self,
        file: &Path,
        old: Option<&[u8]>,
        new: Option<&[u8]>,
        entries: &[Option<&Entry>; 2],
    ) -> String {
        if old == new {
            return String::new();
        }
        let mut known = BTreeSet::new();
        for entry in entries.iter().flatten() {
            let entry = self.fields_of(entry).to_json();
            let values = entry.as_object().into_iter().flat_map(Map::values);
            let scalars =
                values.flat_map(|one| one.as_array().map_or(std::slice::from_ref(one), Vec::as_slice));
            known.extend(scalars.map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned)));
        }
        // An address may hold a password.
        known.retain(|value| !value.contains('@'));
        let text = |bytes: Option<&[u8]>| {
            masked::masked(self.host.format, &String::from_utf8_lossy(bytes.unwrap_or_default()), &known)
        };
        let name = file.display().to_string();
        let header = |there: bool| if there { name.clone() } else { "/dev/null".to_owned() };
        diffy::DiffOptions::new()
            .set_original_filename(header(old.is_some()))
            .set_modified_filename(header(new.is_some()))
            .create_patch(&text(old), &text(new))
            .to_string()
    }
}

/// How many folders setup made for a file with these bytes.
fn folders_of(bytes: Option<&[u8]>) -> usize {
    bytes.and_then(|bytes| document(bytes).ok()).map_or(0, |(_, text)| edit::folders(text))
}

/// How a person has limited what an entry shows to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Narrowed {
    /// The entry serves only certain grants.
    Grants,
    /// The entry is switched off.
    Off,
}

impl Narrowed {
    pub(super) fn of(entry: &Value) -> Option<Self> {
        let narrows = |word: &String| {
            ["--grant", "--provider"].iter().any(|option| {
                word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        };
        if Entry::from_config(entry).is_some_and(|entry| entry.arguments.iter().any(narrows)) {
            return Some(Self::Grants);
        }
        is_switched_off(entry).then_some(Self::Off)
    }

    fn refused(self, job: &Job<'_>, file: &Path) -> Error {
        let again = job.command(job.name).words("--yes");
        let (how, hint) = match self {
            Self::Grants => (
                "serves only certain grants",
                Hint::new("To let it serve every grant on this computer: ").run(again),
            ),
            Self::Off => (
                "is switched off",
                Hint::new(format!("Switch it on in {}; or update it and leave it off: ", job.host.title))
                    .run(again),
            ),
        };
        Error::failed(
            "entry_narrowed",
            format!("The entry `{}` of {} {how}; pdpp left it unchanged", job.name, file.display()),
        )
        .hint(hint)
    }
}

/// The error for a config directory that differs with the directory where the host is started.
pub(super) fn relative(host: &Host, variable: &str) -> Error {
    Error::failed(
        "relative_config_dir",
        format!(
            "{variable} is not an absolute path, so {} reads a different config in each directory",
            host.title
        ),
    )
    .hint(if cfg!(windows) {
        format!("Set it to an absolute path: setx {variable} PATH")
    } else {
        format!("export {variable}=\"$(realpath \"${variable}\")\"")
    })
}

/// The current time as part of a file name: `20261128T100000Z`.
fn stamp() -> String {
    let now = jiff::Timestamp::from_second(jiff::Timestamp::now().as_second()).unwrap_or_default();
    now.to_string().replace(['-', ':'], "")
}
