//! A hermetic place to run the real binary in: its own HOME, a cleared environment, a fixed width.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pdpp::mcp::protocol::client::{ServerCommand, Surroundings};

/// A separate HOME; deleted when dropped.
pub struct TestEnv {
    root: tempfile::TempDir,
    more: Vec<(&'static str, Option<String>)>,
}

impl TestEnv {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("home")).unwrap();
        Self { root, more: Vec::new() }
    }

    /// Sets a variable for every `pdpp` from now on, or removes it.
    pub fn set(&mut self, name: &'static str, value: Option<String>) {
        self.more.push((name, value));
    }

    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// Where this HOME's credentials are by default, on Linux and on Windows.
    pub fn cache_dir(&self) -> PathBuf {
        self.home().join(if cfg!(windows) { "AppData/Local/pdpp/data" } else { ".local/share/pdpp" })
    }

    /// `pdpp` with these arguments, in this environment and without the caller's.
    pub fn pdpp(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pdpp"));
        command
            .args(arguments)
            .env_clear()
            .envs(home(&self.home()))
            .env("PATH", PATH)
            .env("COLUMNS", "100")
            .env("LANG", "C.UTF-8")
            .env("NO_COLOR", "1")
            // `connect` takes this for a browser; it does nothing.
            .env("BROWSER", "/bin/true")
            // Not the keyring of the person who runs the tests: without this, the usual socket would be found.
            .env(
                "DBUS_SESSION_BUS_ADDRESS",
                format!("unix:path={}", self.root.path().join("no-bus").display()),
            )
            .current_dir(self.root.path())
            .stdin(std::process::Stdio::null());
        for (name, value) in &self.more {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    /// `pdpp mcp serve` with these options, as a host starts it: with almost no environment.
    pub fn server(&self, options: &[&str]) -> ServerCommand {
        let words = [&["mcp", "serve"], options].concat();
        ServerCommand {
            program: env!("CARGO_BIN_EXE_pdpp").into(),
            arguments: words.into_iter().map(Into::into).collect(),
            surroundings: Some(Surroundings {
                directory: self.root.path().to_owned(),
                environment: home(&self.home())
                    .into_iter()
                    .map(|(name, value)| (name.into(), value))
                    .collect(),
            }),
        }
    }

    /// Runs `pdpp` to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.pdpp(arguments).output().unwrap())
    }

    /// Every file below HOME, by its relative path: what a command left behind.
    pub fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(&self.home(), &self.home(), &mut found);
        found.sort();
        found
    }
}

fn walk(root: &Path, dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            walk(root, &path, found);
        } else {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            found.push(if cfg!(windows) { name.replace('\\', "/") } else { name });
        }
    }
}

/// The directories of the programs that each machine has.
pub const PATH: &str = if cfg!(windows) { r"C:\windows\system32;C:\windows" } else { "/usr/bin:/bin" };

/// Variables that make `home` the user's home directory, and on Windows those that every program needs to start.
pub fn home(home: &Path) -> Vec<(&'static str, std::ffi::OsString)> {
    if !cfg!(windows) {
        return vec![("HOME", home.into())];
    }
    let given = ["SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "TEMP", "TMP"];
    let given = given.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    given
        .chain([
            ("USERPROFILE", home.into()),
            ("APPDATA", home.join("AppData").join("Roaming").into()),
            ("LOCALAPPDATA", home.join("AppData").join("Local").into()),
        ])
        .collect()
}

/// The program, by the path at which it finds itself.
pub fn program() -> String {
    std::path::absolute(env!("CARGO_BIN_EXE_pdpp")).unwrap().into_os_string().into_string().unwrap()
}

/// Lets [`stop`] stop the process that `command` starts: on Windows it needs a separate console, because every
/// process that shares one would receive the event.
pub fn stoppable(command: &mut Command) -> &mut Command {
    #[cfg(windows)]
    {
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;
        std::os::windows::process::CommandExt::creation_flags(command, CREATE_NO_WINDOW);
    }
    command
}

/// Asks a process to exit: SIGTERM, or Ctrl-C on its console.
pub fn stop(child: &std::process::Child) {
    #[cfg(unix)]
    signal(child, rustix::process::Signal::TERM);
    #[cfg(windows)]
    crate::windows::ctrl_c(child.id());
}

/// Ctrl-C.
pub fn interrupt(child: &std::process::Child) {
    #[cfg(unix)]
    signal(child, rustix::process::Signal::INT);
    #[cfg(windows)]
    crate::windows::ctrl_c(child.id());
}

#[cfg(unix)]
fn signal(child: &std::process::Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        }
    }
}

#[test]
fn the_environment_is_empty_but_for_ours() {
    let env = TestEnv::new();
    let ran = env.run(&["--version"]);
    assert_eq!(ran.code, Some(0));
    assert_eq!(ran.stdout, format!("pdpp {}\n", env!("CARGO_PKG_VERSION")));
    assert!(env.files().is_empty(), "a version is not worth a file");
}
