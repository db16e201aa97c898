//! The separate set-up's socket: what a caller can have without the passphrase, what it passes on, and what a hostile
//! one cannot do.
//!
//! Here service and caller are the same user, and the user id that must differ from the service's is made up;
//! `.ci/run` tests it with two real users.

use std::collections::VecDeque;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use pdpp::error::{Error, Result};
use pdpp::own;
use pdpp::own::import::{Plan, Wanted};
use pdpp::own::separate::Socket;
use pdpp::own::separate::caller::{Caller, News, Person};
use pdpp::own::separate::frame::{MOST_TOLD, Wire};
use pdpp::own::separate::peer;
use pdpp::own::separate::words::{Asked, ImportAsked, ImportTold, Said, Told, Which};
use pdpp::secret::Passphrase;
use pdpp::vault::oauth::passphrase;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde_json::Value;

use super::filled::{WORK_WORD, store_in};
use crate::support::env::TestEnv;

const PASSPHRASE: &str = "heron under the bridge";
/// The caller's supposed user id, which differs from the service's.
const PERSON: u32 = 54_321;
const PATIENCE: Duration = Duration::from_mins(2);

/// A running service, and a folder of exports.
struct Desk {
    env: TestEnv,
    root: tempfile::TempDir,
    running: Option<Child>,
}

impl Drop for Desk {
    fn drop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.kill();
            let _ = running.wait();
        }
    }
}

impl Desk {
    fn new() -> Self {
        let mut desk = Self { env: TestEnv::new(), root: tempfile::tempdir().unwrap(), running: None };
        drop(own::make_store(&desk.store()).unwrap());
        desk.choose();
        desk.start();
        desk
    }

    /// One whose store has the accounts of [`store_in`].
    fn filled() -> Self {
        let mut desk = Self { env: TestEnv::new(), root: tempfile::tempdir().unwrap(), running: None };
        store_in(&desk.store());
        desk.choose();
        desk.start();
        desk
    }

    fn choose(&self) {
        let vault = own::open(&self.store()).unwrap();
        assert!(passphrase::set(vault.grants(), &PASSPHRASE.into()).unwrap());
    }

    fn store(&self) -> PathBuf {
        self.root.path().join("store")
    }

    fn socket_path(&self) -> PathBuf {
        self.root.path().join("run/owner.sock")
    }

    fn inbox(&self) -> PathBuf {
        self.store().join("inbox")
    }

    fn start(&mut self) {
        let folder = self.root.path().join("run");
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        let (store, socket) = (self.store(), self.socket_path());
        let person = peer::own_user().to_string();
        let words =
            ["provider", "serve", "--listen", "127.0.0.1:0", "--json", "--data-dir", store.to_str().unwrap()];
        let more = ["--owner-socket", socket.to_str().unwrap(), "--owner-uid", &person];
        let mut command = self.env.pdpp(&[&words[..], &more[..]].concat());
        let mut running = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        assert!(said["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{line}");
        self.running = Some(running);
    }

    fn pid(&self) -> u32 {
        self.running.as_ref().unwrap().id()
    }

    fn kill(&mut self) {
        let mut running = self.running.take().unwrap();
        running.kill().unwrap();
        running.wait().unwrap();
    }

    fn socket(&self) -> Socket {
        peer::find(&self.socket_path(), PERSON).unwrap().unwrap()
    }

    fn caller(&self) -> Caller {
        Caller::begin_as(&self.socket(), PERSON).unwrap()
    }

    fn wire(&self) -> Wire {
        Wire::new(UnixStream::connect(self.socket_path()).unwrap(), MOST_TOLD)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.path().join("exports").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn ask(&self, asked: &Asked, typed: &[&str]) -> Result<Told> {
        self.caller().ask(asked, None, &mut Typist::new(typed))
    }

    fn import_as(&self, paths: &[PathBuf], wanted: Wanted, typist: &mut Typist) -> Result<ImportTold> {
        let asked = ImportAsked { wanted, ..ImportAsked::default() };
        match self.caller().import(asked, paths, &AtomicBool::new(false), typist)? {
            (Told::Imported(told), _) => Ok(told),
            (told, _) => panic!("{told:?}"),
        }
    }

    /// Imports one file; returns the counts: read, new, changed, same.
    fn import(&self, path: &Path, typed: &[&str]) -> [u64; 4] {
        let told = self.import_as(&[path.to_owned()], Wanted::default(), &mut Typist::new(typed)).unwrap();
        assert_eq!(told.stopped, None);
        let counts = &told.outcomes[0].counts;
        [counts.read, counts.new, counts.changed, counts.same]
    }

    /// How many files and threads the service has.
    fn held(&self) -> (usize, usize) {
        let count = |what: &str| fs::read_dir(format!("/proc/{}/{what}", self.pid())).unwrap().count();
        (count("fd"), count("task"))
    }

    /// Waits until the service has no more files and threads than `before`, and nothing in its inbox.
    fn is_as_before(&self, before: (usize, usize)) {
        let begun = Instant::now();
        loop {
            let now = self.held();
            // Threads of the HTTP server come and go.
            if now.0 <= before.0 + 2 && now.1 <= before.1 + 2 && !self.inbox().exists() {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{before:?} {now:?} {:?}", self.inbox().exists());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Types what it is told to type, and agrees to everything.
#[derive(Default)]
struct Typist {
    typed: VecDeque<String>,
    asked: Vec<Which>,
    plans: Vec<Plan>,
    questions: Vec<(String, Vec<String>)>,
    accounts: Vec<String>,
}

impl Typist {
    fn new(typed: &[&str]) -> Self {
        Self { typed: typed.iter().map(|text| (*text).to_owned()).collect(), ..Self::default() }
    }
}

impl Person for Typist {
    fn passphrase(&mut self, which: Which, _: bool) -> Result<Passphrase> {
        self.asked.push(which);
        let typed = self.typed.pop_front().ok_or_else(|| Error::failed("nobody_types", "Nobody types"));
        typed.map(|typed| typed.as_str().into())
    }

    fn answer(&mut self, question: &str, choices: &[String]) -> Option<String> {
        self.questions.push((question.to_owned(), choices.to_vec()));
        choices.first().cloned()
    }

    fn plan(&mut self, plan: &Plan) -> Result<()> {
        self.plans.push(plan.clone());
        Ok(())
    }

    fn account(&mut self, name: &str) -> Result<()> {
        self.accounts.push(name.to_owned());
        Ok(())
    }

    fn hear(&mut self, _: News<'_>) {}
}

fn table(rows: usize) -> String {
    let rows: Vec<_> =
        (0..rows).map(|row| format!("{row},2026-01-{:02},number {row}", row % 28 + 1)).collect();
    format!("id,date,text\n{}\n", rows.join("\n"))
}

fn mailbox(owner: &str, mails: usize) -> String {
    let mail = |at: usize| {
        format!(
            "From eva@example.org Tue Jan  2 03:04:05 2024\nFrom: eva@example.org\nDelivered-To: {owner}\n\
             Message-ID: <{at}@example.org>\nSubject: mail {at}\nDate: Tue, 2 Jan 2024 03:04:{:02} +0000\n\
             Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nHello.\n--b\n\
             Content-Type: text/csv; name=a.csv\nContent-Disposition: attachment; filename=a.csv\n\na,b\n{at},2\n--b--\n\n",
            at % 60
        )
    };
    (0..mails).map(mail).collect()
}

#[test]
fn o9_2_what_is_handed_over_is_imported_and_known_again() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(2500));
    assert_eq!(desk.import(&path, &[]), [2500, 2500, 0, 0], "a new account takes no passphrase");
    // The account exists now.
    let refused = desk.import_as(std::slice::from_ref(&path), Wanted::default(), &mut Typist::default());
    assert_eq!(refused.unwrap_err().code(), "nobody_types");
    assert_eq!(desk.import(&path, &[PASSPHRASE]), [2500, 0, 0, 2500]);
    fs::write(&path, table(2600)).unwrap();
    assert_eq!(desk.import(&path, &["another one", PASSPHRASE]), [2600, 100, 0, 2500]);
    assert!(!desk.inbox().exists());
    // Mail, whose attachments are copied, because nothing is left to read them from.
    let mail = desk.file("all.mbox", mailbox("ana@example.org", 20));
    let mut typist = Typist::default();
    let told = desk.import_as(std::slice::from_ref(&mail), Wanted::default(), &mut typist).unwrap();
    assert_eq!((told.outcomes[0].counts.new, told.store_bytes), (20, None));
    assert_eq!(typist.plans[0].typed, std::slice::from_ref(&mail));
    assert_eq!(fs::read_dir(desk.store().join("blobs")).unwrap().count(), 20);
    let told = desk.import_as(&[mail], Wanted::default(), &mut Typist::new(&[PASSPHRASE])).unwrap();
    assert_eq!(told.outcomes[0].counts.same, 20);
    assert!(told.store_bytes.is_some());
}

#[test]
fn o9_2_folders_links_and_what_cannot_be_read_are_told_as_without_a_service() {
    let desk = Desk::new();
    for at in 0..3 {
        desk.file(
            &format!("folder/mail-{at}.eml"),
            mailbox("ana@example.org", 1).split_once('\n').unwrap().1,
        );
    }
    let folder = desk.root.path().join("exports/folder");
    let name = std::ffi::OsStr::new("b\u{e9}d %41 name.eml");
    fs::copy(folder.join("mail-0.eml"), folder.join(name)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link.eml")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let mut typist = Typist::default();
    let wanted = Wanted { account: Some("Ana".to_owned()), ..Wanted::default() };
    let told = desk.import_as(std::slice::from_ref(&folder), wanted, &mut typist).unwrap();
    assert_eq!(told.outcomes[0].counts.read, 4, "{told:?}");
    let left_out: Vec<_> = typist.plans[0].left_out[0]
        .1
        .skipped
        .iter()
        .map(|one| (one.label.as_str(), one.why.as_str()))
        .collect();
    assert_eq!(left_out, [("link.eml", "a link"), ("pipe", "not a plain file")]);
    let missing = desk.root.path().join("exports/none.mbox");
    let refused = desk.import_as(&[missing], Wanted::default(), &mut Typist::default()).unwrap_err();
    assert_eq!(refused.code(), "import_path");
}

#[test]
fn o9_2_a_dry_run_and_a_refused_plan_change_nothing() {
    let desk = Desk::new();
    let path = desk.file("a.csv", table(5));
    let asked = ImportAsked { is_dry: true, ..ImportAsked::default() };
    let (told, _) = desk
        .caller()
        .import(asked, std::slice::from_ref(&path), &AtomicBool::new(false), &mut Typist::default())
        .unwrap();
    assert!(matches!(&told, Told::Plan { plan } if plan.sources[0].files == 1), "{told:?}");
    let junk = desk.file("a.bin", [0xff_u8; 300]);
    let refused = desk.import_as(&[junk], Wanted::default(), &mut Typist::default()).unwrap_err();
    assert_eq!(refused.code(), "import_unrecognised");
    let wanted = Wanted { timezone: Some("Nowhere/Land".to_owned()), ..Wanted::default() };
    let refused = desk.import_as(std::slice::from_ref(&path), wanted, &mut Typist::default()).unwrap_err();
    assert_eq!(refused.code(), "timezone_invalid");
    let wanted = Wanted { format: Some("nothing".to_owned()), ..Wanted::default() };
    let refused = desk.import_as(&[path], wanted, &mut Typist::default()).unwrap_err();
    assert_eq!(refused.code(), "import_format");
    assert!(
        own::state::State::of(&own::open_store(&desk.store()).unwrap(), &desk.store())
            .unwrap()
            .accounts
            .is_empty()
    );
}

/// The answer at `path` of the service at `url`.
fn get(url: &str, path: &str) -> String {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    std::io::read_to_string(stream).unwrap()
}

#[test]
fn o7_11_nothing_of_the_store_is_told_before_the_passphrase() {
    let desk = Desk::filled();
    let hello = desk.caller().hello().unwrap();
    assert!(hello.has_passphrase && hello.url.starts_with("http://127.0.0.1:"), "{hello:?}");
    // Nobody sees its terminal: a person whom an app sent there learns where to decide.
    let page = get(&hello.url, "/consent");
    assert!(page.contains("<code>pdpp provider open</code>") && !page.contains("terminal"), "{page}");
    let forget = Asked::Forget { account: "Work".to_owned() };
    for asked in [Asked::Status, Asked::Grants, Asked::Sources, Asked::Passphrase, forget] {
        let refused = desk.ask(&asked, &[]).unwrap_err();
        assert_eq!(refused.code(), "nobody_types", "{asked:?}");
    }
    let begun = Instant::now();
    let refused = desk.ask(&Asked::Status, &["x", "y", "z"]).unwrap_err();
    assert_eq!(refused.code(), "passphrase_wrong");
    assert!(begun.elapsed() > Duration::from_secs(3), "a wrong one costs time: {:?}", begun.elapsed());
    assert!(!format!("{refused:?}").contains("Work"));
    let told = desk.ask(&Asked::Status, &[PASSPHRASE]).unwrap();
    assert!(matches!(&told, Told::Status(status) if status.state.accounts.len() == 3), "{told:?}");
    assert!(matches!(desk.ask(&Asked::Grants, &[PASSPHRASE]), Ok(Told::Grants(_))));
    // Only an id that nobody can guess ends a grant without the passphrase.
    let refused = desk.ask(&Asked::Revoke { grant: "grt_".to_owned() }, &[]).unwrap_err();
    assert_eq!(refused.code(), "grant_unknown");
    // A plan states what the files contain: not that they are known, nor under which name.
    let path = desk.file("a.csv", table(3));
    desk.import(&path, &[]);
    let mut typist = Typist::default();
    let wanted = Wanted { account: Some("somebody".to_owned()), ..Wanted::default() };
    let told = desk.import_as(std::slice::from_ref(&path), wanted, &mut typist).unwrap();
    assert_eq!((told.outcomes[0].counts.new, typist.asked.len()), (3, 0));
    assert!(
        typist.plans[0].sources[0].notes.iter().all(|note| !note.contains(WORK_WORD)),
        "{:?}",
        typist.plans
    );
}

#[test]
fn o9_3_the_passphrase_changes_accounts_go_and_a_backup_is_the_callers_file() {
    let desk = Desk::filled();
    let file = tempfile::NamedTempFile::new_in(desk.root.path()).unwrap();
    let mut typist = Typist::new(&[PASSPHRASE, "key of the backup"]);
    let told =
        desk.caller().ask(&Asked::Backup { is_encrypted: true }, Some(file.as_file()), &mut typist).unwrap();
    let Told::BackedUp { manifest, bytes } = told else { panic!("{told:?}") };
    assert_eq!((manifest.accounts, bytes), (3, file.as_file().metadata().unwrap().len()));
    assert_eq!(typist.asked, [Which::Present, Which::Backup]);
    let mut opened = own::backup::open(file.path(), file.path()).unwrap();
    assert!(opened.is_encrypted() && opened.unlock(&"key of the backup".into()).unwrap());
    // A path that a backup cannot be written to.
    let read_only = File::open(file.path()).unwrap();
    let full = file.reopen().unwrap();
    let folder = File::open(desk.root.path()).unwrap();
    for wrong in [&read_only, &full, &folder] {
        let asked = Asked::Backup { is_encrypted: false };
        let refused = desk.caller().ask(&asked, Some(wrong), &mut Typist::new(&[PASSPHRASE])).unwrap_err();
        assert_eq!(refused.code(), "backup_file");
    }

    let mut typist = Typist::new(&[PASSPHRASE]);
    let told = desk.caller().ask(&Asked::Forget { account: "Work".to_owned() }, None, &mut typist).unwrap();
    assert!(matches!(&told, Told::Forgotten(gone) if gone.id == "cin_work"), "{told:?}");
    assert_eq!(typist.accounts, ["Work"]);
    assert!(matches!(
        desk.ask(&Asked::Forget { account: "cin_work".to_owned() }, &[PASSPHRASE]),
        Ok(Told::Gone)
    ));
    let refused = desk.ask(&Asked::Passphrase, &[PASSPHRASE, "short"]).unwrap_err();
    assert_eq!(refused.code(), "passphrase_not_chosen");
    assert_eq!(desk.ask(&Asked::Passphrase, &[PASSPHRASE, "another heron 4711"]).unwrap(), Told::Done);
    assert!(matches!(desk.ask(&Asked::Status, &["another heron 4711"]), Ok(Told::Status(_))));
}

#[test]
fn o9_2_a_service_without_a_passphrase_does_not_start_and_says_what_to_type() {
    let env = TestEnv::new();
    let root = tempfile::tempdir().unwrap();
    let (store, socket) = (root.path().join("store"), root.path().join("owner.sock"));
    drop(own::make_store(&store).unwrap());
    let serve = |more: &[&str]| {
        let words = ["provider", "serve", "--listen", "127.0.0.1:0", "--data-dir", store.to_str().unwrap()];
        env.run(&[&words[..], more].concat())
    };
    let ran = serve(&["--owner-socket", socket.to_str().unwrap(), "--owner-uid", "1000"]);
    assert_eq!(ran.code, Some(78), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("code: passphrase_missing") && ran.stderr.contains("provider passphrase"),
        "{}",
        ran.stderr
    );
    assert_eq!(serve(&["--owner-socket", socket.to_str().unwrap()]).code, Some(2));
    assert_eq!(serve(&["--owner-uid", "1000"]).code, Some(2));
    assert!(!socket.exists());
}

/// Sends a frame with any number of files.
fn send_with(wire: &Wire, said: &Said, files: &[BorrowedFd<'_>]) {
    let json = serde_json::to_vec(said).unwrap();
    let mut bytes = vec![b'j'];
    bytes.extend(u32::try_from(json.len()).unwrap().to_be_bytes());
    bytes.extend(json);
    let mut space = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(253))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        assert!(control.push(SendAncillaryMessage::ScmRights(files)));
    }
    sendmsg(wire.stream(), &[IoSlice::new(&bytes)], &mut control, SendFlags::NOSIGNAL).unwrap();
}

/// The service's answer to an import of what is behind these descriptors.
fn handed(desk: &Desk, files: &[BorrowedFd<'_>]) -> Told {
    let wire = desk.wire();
    wire.send(&Asked::Import(ImportAsked::default())).unwrap();
    let text = |text: &str| text.to_owned();
    wire.send(&Said::Source { typed: text("a.csv"), shown: text("/home/x/a.csv"), is_folder: false })
        .unwrap();
    send_with(&wire, &Said::File { name: String::new() }, files);
    let _ = wire.send(&Said::Whole);
    wire.receive(Some(PATIENCE)).unwrap().plain().unwrap()
}

fn code(told: &Told) -> &str {
    match told {
        Told::Failed(failure) => &failure.code,
        _ => "",
    }
}

#[test]
fn o9_5_hostile_descriptors_are_refused_and_closed() {
    let desk = Desk::new();
    desk.caller().hello().unwrap();
    let before = desk.held();
    let file = File::open(desk.file("a.csv", table(3))).unwrap();
    let (pipe, _pipe_end) = std::io::pipe().unwrap();
    let (socket, _other) = UnixStream::pair().unwrap();
    let folder = File::open(desk.root.path()).unwrap();
    let zero = File::open("/dev/zero").unwrap();
    let terminal =
        rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR | rustix::pty::OpenptFlags::NOCTTY).unwrap();
    // With musl, `OpenOptions` counts this flag among those that it sets itself.
    let place = rustix::fs::open(
        desk.file("b.csv", table(3)),
        rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )
    .unwrap();
    let write_only = File::options().append(true).open(desk.file("c.csv", table(3))).unwrap();
    let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    for (what, wrong) in [
        ("a pipe", pipe.as_fd()),
        ("a socket", socket.as_fd()),
        ("a folder", folder.as_fd()),
        ("/dev/zero", zero.as_fd()),
        ("a terminal", terminal.as_fd()),
        ("O_PATH", place.as_fd()),
        ("write-only", write_only.as_fd()),
        ("eventfd", event.as_fd()),
    ] {
        let told = handed(&desk, &[wrong]);
        assert_eq!(code(&told), "import_handed_over", "{what}: {told:?}");
    }
    for count in [0, 2, 4, 5, 253] {
        let told = handed(&desk, &vec![file.as_fd(); count]);
        assert_eq!(code(&told), "owner_service", "{count}: {told:?}");
    }
    // 300 in two messages, and one where none belongs.
    let wire = desk.wire();
    wire.send(&Asked::Import(ImportAsked::default())).unwrap();
    send_with(&wire, &Said::Whole, &vec![file.as_fd(); 250]);
    let _ = sendmsg(
        wire.stream(),
        &[IoSlice::new(b"x")],
        &mut SendAncillaryBuffer::default(),
        SendFlags::NOSIGNAL,
    );
    assert_eq!(code(&wire.receive(Some(PATIENCE)).unwrap().plain().unwrap()), "owner_service");
    let wire = desk.wire();
    wire.send_with(&Asked::Hello, file.as_fd()).unwrap();
    assert_eq!(code(&wire.receive(Some(PATIENCE)).unwrap().plain().unwrap()), "owner_service");
    drop(wire);
    desk.is_as_before(before);
    desk.caller().hello().unwrap();
}

#[test]
fn o9_5_files_that_change_meanwhile_are_an_error_or_what_they_were() {
    let desk = Desk::new();
    // A deleted file is still the same file.
    let path = desk.file("a.csv", table(3));
    let deleted = File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let told = handed(&desk, &[deleted.as_fd()]);
    assert!(matches!(&told, Told::Plan { .. }), "{told:?}");
    // One in memory that grows and shrinks all the time.
    let memory = File::from(rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::CLOEXEC).unwrap());
    let over = AtomicBool::new(false);
    let grown = table(200_000);
    (&memory).write_all(grown.as_bytes()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                memory.set_len(10).unwrap();
                memory.set_len(grown.len() as u64 * 3).unwrap();
            }
        });
        for _ in 0..20 {
            let told = handed(&desk, &[memory.as_fd()]);
            assert!(matches!(&told, Told::Plan { .. } | Told::Failed(_)), "{told:?}");
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    // A hole that is larger than any disk: refused before anything is written.
    let hole = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(desk.root.path().join("hole"))
        .unwrap();
    hole.set_len(8 << 40).unwrap();
    let told = handed(&desk, &[hole.as_fd()]);
    assert_eq!(code(&told), "import_disk_full", "{told:?}");
    desk.caller().hello().unwrap();
}

#[test]
fn o9_5_names_that_lead_elsewhere_are_refused() {
    let desk = Desk::new();
    let file = File::open(desk.file("a.csv", table(3))).unwrap();
    for name in ["../../own.db", "/etc/passwd", "a/../../x", "..", "%2e%2e/%2e%2e/own.db", "a%00b", "."] {
        let wire = desk.wire();
        wire.send(&Asked::Import(ImportAsked::default())).unwrap();
        let said = Said::Source { typed: "x".to_owned(), shown: "/home/x".to_owned(), is_folder: true };
        wire.send(&said).unwrap();
        wire.send_with(&Said::File { name: name.to_owned() }, file.as_fd()).unwrap();
        let told: Told = wire.receive(Some(PATIENCE)).unwrap().plain().unwrap();
        assert_eq!(code(&told), "import_handed_over", "{name}: {told:?}");
    }
    // A name of a source is only a label.
    for shown in ["/", "..", "/home/x/..", "/var/lib/../../etc", ""] {
        let wire = desk.wire();
        wire.send(&Asked::Import(ImportAsked::default())).unwrap();
        let said = Said::Source { typed: shown.to_owned(), shown: shown.to_owned(), is_folder: false };
        wire.send(&said).unwrap();
        wire.send_with(&Said::File { name: String::new() }, file.as_fd()).unwrap();
        wire.send(&Said::Whole).unwrap();
        let told: Told = wire.receive(Some(PATIENCE)).unwrap().plain().unwrap();
        assert!(matches!(&told, Told::Plan { .. }), "{shown}: {told:?}");
    }
}

#[test]
fn o9_5_silent_and_broken_callers_keep_nobody_out() {
    let desk = Desk::new();
    desk.caller().hello().unwrap();
    let before = desk.held();
    let mut silent: Vec<UnixStream> =
        (0..100).map(|_| UnixStream::connect(desk.socket_path()).unwrap()).collect();
    for (at, stream) in silent.iter_mut().enumerate() {
        // Half a frame, one that is too long, junk, nothing.
        let _ = match at % 4 {
            0 => stream.write_all(&[b'j', 0, 0]),
            1 => stream.write_all(&[b'j', 0xff, 0xff, 0xff, 0xff]),
            2 => stream.write_all(&[0xff; 64]),
            _ => Ok(()),
        };
    }
    let begun = Instant::now();
    for _ in 0..20 {
        desk.caller().hello().unwrap();
    }
    let path = desk.file("a.csv", table(10));
    assert_eq!(desk.import(&path, &[]), [10, 10, 0, 0]);
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let (files, threads) = desk.held();
    assert!(files < before.0 + 150 && threads < before.1 + 70, "{before:?} {files} {threads}");
    drop(silent);
    desk.is_as_before(before);
}

#[test]
fn o9_5_a_caller_that_goes_leaves_nothing_behind() {
    let desk = Desk::new();
    desk.caller().hello().unwrap();
    let before = desk.held();
    let file = File::open(desk.file("a.csv", table(30_000))).unwrap();
    for _ in 0..5 {
        let wire = desk.wire();
        wire.send(&Asked::Import(ImportAsked::default())).unwrap();
        let said = Said::Source { typed: "x".to_owned(), shown: "/home/x".to_owned(), is_folder: true };
        wire.send(&said).unwrap();
        for at in 0..20 {
            wire.send_with(&Said::File { name: format!("{at}.csv") }, file.as_fd()).unwrap();
        }
        // Otherwise a busy service may not have noticed it yet, and would serve it together with the next ones.
        let begun = Instant::now();
        while !desk.inbox().exists() {
            assert!(begun.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(2));
        }
        drop(wire);
        desk.is_as_before(before);
    }
    // A caller that disconnects while its import runs: whole batches stay, and the same import resumes.
    let wire = desk.wire();
    wire.send(&Asked::Import(ImportAsked::default())).unwrap();
    let said =
        Said::Source { typed: "a.csv".to_owned(), shown: "/home/x/a.csv".to_owned(), is_folder: false };
    wire.send(&said).unwrap();
    wire.send_with(&Said::File { name: String::new() }, file.as_fd()).unwrap();
    wire.send(&Said::Whole).unwrap();
    assert!(matches!(wire.receive(Some(PATIENCE)).unwrap().plain().unwrap(), Told::Plan { .. }));
    wire.send(&Said::Go { is_agreed: true }).unwrap();
    drop(wire);
    desk.is_as_before(before);
}

#[test]
fn o8_5_a_killed_service_keeps_whole_batches_and_the_same_command_goes_on() {
    let mut desk = Desk::new();
    let path = desk.file("a.csv", table(60_000));
    let socket = desk.socket();
    let importing = std::thread::spawn({
        let path = path.clone();
        move || {
            let caller = Caller::begin_as(&socket, PERSON).unwrap();
            caller.import(ImportAsked::default(), &[path], &AtomicBool::new(false), &mut Typist::default())
        }
    });
    let begun = Instant::now();
    let records = |desk: &Desk| {
        let store = own::open_store(&desk.store()).unwrap();
        let state = own::state::State::of(&store, &desk.store()).unwrap();
        state.accounts.iter().flat_map(|account| &account.streams).map(|stream| stream.records).sum::<u64>()
    };
    while records(&desk) == 0 {
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(2));
    }
    desk.kill();
    assert_eq!(importing.join().unwrap().unwrap_err().code(), "owner_service_gone");
    let kept = records(&desk);
    assert!(kept > 0 && kept < 60_000, "{kept}");
    assert!(desk.inbox().exists());
    desk.start();
    assert!(!desk.inbox().exists(), "what was received is removed at the start");
    let [read, new, changed, same] = desk.import(&path, &[PASSPHRASE]);
    assert_eq!((read, new + same, changed), (60_000, 60_000, 0));
    assert_eq!(records(&desk), 60_000);
}

#[test]
fn o9_3_a_caller_talks_to_whose_the_socket_is_alone() {
    let desk = Desk::new();
    let other = Socket { service: peer::own_user() + 1, ..desk.socket() };
    assert_eq!(Caller::begin_as(&other, PERSON).err().unwrap().code(), "owner_socket_unsafe");
    let own = peer::own_user();
    assert_eq!(Caller::begin_as(&desk.socket(), own).err().unwrap().code(), "owner_socket_unsafe");
    assert_eq!(peer::find(&desk.socket_path(), own).unwrap_err().code(), "owner_socket_unsafe");
}
