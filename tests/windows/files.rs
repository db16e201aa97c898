//! Files: who may use them, open or locked files, line ends, unusual names.

use std::fs::OpenOptions;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use pdpp::fs::{PrivateDir, is_open_to_others};
use windows_permissions::constants::SeObjectType::SE_FILE_OBJECT;
use windows_permissions::constants::SecurityInformation;
use windows_permissions::wrappers::{
    ConvertSecurityDescriptorToStringSecurityDescriptor, GetNamedSecurityInfo, SetNamedSecurityInfo,
};
use windows_permissions::{LocalBox, SecurityDescriptor};

use crate::support::env::TestEnv;

/// The access list of `path`, as text.
fn list(path: &Path) -> String {
    let what = SecurityInformation::Dacl;
    let found = GetNamedSecurityInfo(path.as_os_str(), SE_FILE_OBJECT, what).unwrap();
    ConvertSecurityDescriptorToStringSecurityDescriptor(&found, what).unwrap().into_string().unwrap()
}

/// Lets everyone read `path`, and do everything if `more` is set.
fn open_to_everybody(path: &Path, rights: &str) {
    let list = format!("D:P(A;OICI;{rights};;;WD)(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;OW)");
    let list: LocalBox<SecurityDescriptor> = list.parse().unwrap();
    let what = SecurityInformation::Dacl | SecurityInformation::ProtectedDacl;
    SetNamedSecurityInfo(path.as_os_str(), SE_FILE_OBJECT, what, None, None, list.dacl(), None).unwrap();
}

/// The access list of a private file has only the person, the system and the administrators.
#[test]
fn what_is_private_lets_nobody_else_in() {
    let root = tempfile::tempdir().unwrap();
    let dir = PrivateDir::create(&root.path().join("a").join("b")).unwrap();
    dir.write("written", b"1").unwrap();
    dir.append("appended", b"1\n").unwrap();
    dir.make_file("made").unwrap();
    drop(dir.lock("locked").unwrap());
    drop(dir.new_file(Path::new("new")).unwrap());
    assert!(!is_open_to_others(dir.path()) && !is_open_to_others(dir.path().parent().unwrap()));
    for name in ["", "written", "appended", "made", "locked", "new"] {
        let list = list(&dir.path().join(name));
        for other in [";WD)", ";AU)", ";BU)", ";BG)", ";AN)"] {
            assert!(!list.contains(other), "{name}: {list}");
        }
        assert!(list.contains("(A;") && list.contains(";SY)"), "{name}: {list}");
    }
}

#[test]
fn what_others_could_enter_is_closed_and_what_a_person_named_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("cache");
    let dir = PrivateDir::create(&path).unwrap();
    dir.write("secret", b"1").unwrap();
    for rights in ["FR", "FA"] {
        open_to_everybody(&path.join("secret"), rights);
        open_to_everybody(&path, rights);
        assert!(is_open_to_others(&path) && list(&path).contains(";WD)"), "{rights}: {}", list(&path));
        let refused = PrivateDir::create_named(&path).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
        assert!(refused.to_string().contains("its access list names WD"), "{refused}");
        let dir = PrivateDir::open(&path).unwrap();
        assert!(!is_open_to_others(&path), "{}", list(&path));
        assert_eq!(dir.read("secret", 10).unwrap(), b"1");
        assert!(!list(&path.join("secret")).contains(";WD)"), "{}", list(&path.join("secret")));
        PrivateDir::create_named(&path).unwrap();
    }
}

/// A report or a backup, in a folder that others may read, is private anyway.
#[test]
fn a_private_file_in_an_open_folder_is_private() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("open");
    std::fs::create_dir(&folder).unwrap();
    open_to_everybody(&folder, "FR");
    drop(pdpp::fs::new_report(&folder.join("report")).unwrap());
    let mut file = pdpp::fs::NewFile::begin(&folder.join("backup"), false).unwrap();
    std::io::Write::write_all(&mut file, b"all").unwrap();
    assert!(file.is_private());
    // It can be read while it is written, and the next run removes nothing that is being written.
    let other = pdpp::fs::NewFile::begin(&folder.join("backup"), false).unwrap();
    assert_eq!(std::io::read_to_string(file.reopen().unwrap()).unwrap(), "all");
    drop(other);
    file.commit().unwrap();
    assert_eq!(std::fs::read(folder.join("backup")).unwrap(), b"all");
    for name in ["report", "backup"] {
        assert!(!list(&folder.join(name)).contains(";WD)"), "{name}: {}", list(&folder.join(name)));
    }
}

/// Holds `path` open as `share` defines, for `time` from now on.
fn held(path: &Path, share: u32, time: Duration) -> std::thread::JoinHandle<Vec<u8>> {
    let (opened, is_open) = channel();
    let mut options = OpenOptions::new();
    options.read(true).share_mode(share);
    let path = path.to_owned();
    let holding = std::thread::spawn(move || {
        let mut file = options.open(path).unwrap();
        opened.send(()).unwrap();
        std::thread::sleep(time);
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        bytes
    });
    is_open.recv().unwrap();
    holding
}

const READ: u32 = 1;
const READ_WRITE_DELETE: u32 = 7;

#[test]
fn a_file_is_replaced_while_a_reader_has_it_open() {
    let root = tempfile::tempdir().unwrap();
    let dir = PrivateDir::create(&root.path().join("cache")).unwrap();
    let path = dir.path().join("index.json");
    // As this program opens it, and as others do that prevent writing.
    for share in [READ_WRITE_DELETE, READ] {
        dir.write("index.json", b"old").unwrap();
        let reader = held(&path, share, Duration::from_millis(400));
        dir.write("index.json", b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new", "{share}");
        assert_eq!(reader.join().unwrap(), b"old", "{share}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
}

/// A file that another program never releases stays unchanged, and that is reported in time.
#[test]
fn a_file_that_is_held_for_ever_stays_as_it_was() {
    let root = tempfile::tempdir().unwrap();
    let dir = PrivateDir::create(&root.path().join("cache")).unwrap();
    dir.write("index.json", b"old").unwrap();
    let reader = held(&dir.path().join("index.json"), READ, Duration::from_secs(6));
    let began = Instant::now();
    let refused = dir.write("index.json", b"new").unwrap_err();
    assert!([Some(5), Some(32)].contains(&refused.raw_os_error()), "{refused}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(dir.read("index.json", 10).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
    reader.join().unwrap();
}

/// The config of a host, at its path on Windows.
fn config(env: &TestEnv, text: &str) -> std::path::PathBuf {
    let file = env.home().join("AppData/Roaming/Claude/claude_desktop_config.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, text).unwrap();
    file
}

const SETUP: [&str; 3] = ["mcp", "setup", "claude-desktop"];

#[test]
fn a_config_that_another_program_has_locked_is_left_alone_and_said() {
    let env = TestEnv::new();
    let file = config(&env, "{\n  \"theme\": \"dark\"\n}\n");
    // It can neither be read nor replaced.
    for share in [0, READ] {
        let held = OpenOptions::new().read(true).share_mode(share).open(&file).unwrap();
        let ran = env.run(&SETUP);
        drop(held);
        assert_eq!(ran.code, Some(1), "{share}: {ran:?}");
        assert!(
            ran.stderr.contains("claude_desktop_config.json") && ran.stderr.contains("next: "),
            "{ran:?}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\n  \"theme\": \"dark\"\n}\n");
    }
    let ran = env.run(&SETUP);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_read_only_config_is_left_alone() {
    let env = TestEnv::new();
    let file = config(&env, "{}");
    let mut rights = std::fs::metadata(&file).unwrap().permissions();
    rights.set_readonly(true);
    std::fs::set_permissions(&file, rights.clone()).unwrap();
    let ran = env.run(&SETUP);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("read-only") && !ran.stderr.contains("chmod"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}");
    #[allow(clippy::permissions_set_readonly_false, reason = "on Windows alone")]
    rights.set_readonly(false);
    std::fs::set_permissions(&file, rights).unwrap();
}

/// Editors on Windows write both. `tests/setup` covers how each host treats the mark.
#[test]
fn line_ends_and_a_byte_order_mark_stay() {
    for mark in ["", "\u{feff}"] {
        let env = TestEnv::new();
        let text = format!("{mark}{{\r\n  \"theme\": \"dark\",\r\n  \"mcpServers\": {{\r\n  }}\r\n}}\r\n");
        let file = env.home().join(".cursor/mcp.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &text).unwrap();
        let ran = env.run(&["mcp", "setup", "cursor"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let set = std::fs::read_to_string(&file).unwrap();
        assert!(set.starts_with(mark) && set.contains("\"pdpp\""), "{set:?}");
        assert_eq!(set.matches('\n').count(), set.matches("\r\n").count(), "{set:?}");
        let ran = env.run(&["mcp", "setup", "cursor", "--remove"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }
}

/// A drive letter in lower case, with either slash, from the current directory, and in the system's own form.
#[test]
fn a_file_is_found_by_each_name_that_windows_has_for_it() {
    let env = TestEnv::new();
    let file = env.home().join("mine.csv");
    std::fs::write(&file, "\u{feff}id,date,text\r\n1,2026-01-01,one\r\n2,2026-01-02,two\r\n").unwrap();
    let plain = file.to_str().unwrap().to_owned();
    assert_eq!(&plain[1..3], ":\\", "{plain}");
    let names = [
        plain.clone(),
        format!("{}{}", plain[..1].to_ascii_lowercase(), &plain[1..]),
        plain.replace('\\', "/"),
        format!(r"\\?\{plain}"),
        r"home\mine.csv".to_owned(),
        r".\home\..\home\mine.csv".to_owned(),
    ];
    for name in names {
        let ran = env.run(&["import", &name, "--yes", "--json"]);
        assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let source = &found["sources"][0];
        assert_eq!((&source["format"], &source["read"]), (&"csv".into(), &2.into()), "{name}: {found}");
    }
    let ran = env.run(&["provider", "--json"]);
    assert!(
        ran.stdout.contains("\"records\":2") || ran.stdout.contains("\"records\": 2"),
        "each row once: {ran:?}"
    );
    // A share that does not exist.
    for name in [r"\\no-such-server\share\mine.csv", r"\\?\UNC\no-such-server\share\mine.csv", r"Q:\mine.csv"]
    {
        let ran = env.run(&["import", name, "--yes"]);
        assert!(ran.code == Some(2) || ran.code == Some(1), "{name}: {ran:?}");
        assert!(ran.stderr.contains("mine.csv") && ran.stderr.contains("next: "), "{name}: {ran:?}");
    }
}
