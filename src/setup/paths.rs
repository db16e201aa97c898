//! Where hosts keep their configs: one table, for each platform, over facts about a machine that a test
//! can make up.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A family of path conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Platform {
    /// XDG directories.
    Linux,
    /// `~/Library`.
    MacOs,
    /// `%APPDATA%`.
    Windows,
}

/// What setup knows about the machine that it runs on.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Whose conventions.
    pub platform: Platform,
    /// The user's home directory.
    pub home: PathBuf,
    /// Where it was started: projects' configs are looked for here.
    pub cwd: PathBuf,
    /// The directories of `PATH`, the absolute ones.
    pub path: Vec<PathBuf>,
    /// `XDG_CONFIG_HOME`, where it is an absolute path.
    pub xdg_config: Option<PathBuf>,
    /// `%APPDATA%`.
    pub app_data: Option<PathBuf>,
    /// `%LOCALAPPDATA%`.
    pub local_app_data: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`: Claude Code's own.
    pub claude_config: Option<PathBuf>,
    /// `CODEX_HOME`.
    pub codex_home: Option<PathBuf>,
    /// `GEMINI_CLI_HOME`: what Gemini CLI takes for the home directory.
    pub gemini_home: Option<PathBuf>,
    /// Where an administrator's files for all users are, each host's in a directory of its own.
    pub managed: PathBuf,
    /// The variables of those above that name another directory in each place where a host is started.
    pub relative: Vec<&'static str>,
}

impl Machine {
    /// This one.
    ///
    /// # Errors
    /// `no_home`; `no_directory` if the current directory is gone.
    pub fn from_process() -> Result<Self> {
        // As the hosts themselves find it: `HOME`, or `USERPROFILE` on Windows, before what the system knows.
        let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
            Error::failed("no_home", "There is no home directory, so no host's config either")
                .hint(if cfg!(windows) { "Set USERPROFILE" } else { "Set HOME" })
        })?;
        let cwd = std::env::current_dir().map_err(|error| {
            Error::failed("no_directory", "The current directory cannot be used")
                .because(error)
                .hint("cd somewhere else and run it again")
        })?;
        let dir = |name| absolute(std::env::var_os(name));
        let platform = if cfg!(windows) {
            Platform::Windows
        } else if cfg!(target_os = "macos") {
            Platform::MacOs
        } else {
            Platform::Linux
        };
        let is_relative = |name: &&str| {
            std::env::var_os(name).is_some_and(|value| !value.is_empty() && !Path::new(&value).is_absolute())
        };
        Ok(Self {
            platform,
            home,
            cwd,
            path: std::env::var_os("PATH").map_or_else(Vec::new, |path| {
                std::env::split_paths(&path).filter(|dir| dir.is_absolute()).collect()
            }),
            xdg_config: dir("XDG_CONFIG_HOME"),
            app_data: dir("APPDATA"),
            local_app_data: dir("LOCALAPPDATA"),
            claude_config: dir("CLAUDE_CONFIG_DIR"),
            codex_home: dir("CODEX_HOME"),
            gemini_home: dir("GEMINI_CLI_HOME"),
            managed: match platform {
                Platform::Linux => "/etc".into(),
                Platform::MacOs => "/Library/Application Support".into(),
                Platform::Windows => dir("ProgramFiles").unwrap_or_else(|| "C:\\Program Files".into()),
            },
            relative: ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"]
                .into_iter()
                .filter(is_relative)
                .collect(),
        })
    }

    /// An administrator's directory for a host, by its name on Linux and its name elsewhere.
    pub fn managed_dir(&self, linux: &str, elsewhere: &str) -> PathBuf {
        self.managed.join(if self.platform == Platform::Linux { linux } else { elsewhere })
    }

    /// `$XDG_CONFIG_HOME` or `~/.config`, which some hosts use on every platform.
    pub fn dot_config(&self) -> PathBuf {
        self.xdg_config.clone().unwrap_or_else(|| self.home.join(".config"))
    }

    /// `%APPDATA%`.
    pub fn roaming(&self) -> PathBuf {
        self.app_data.clone().unwrap_or_else(|| self.home.join("AppData").join("Roaming"))
    }

    /// Where desktop programs keep their data: `~/.config`, `~/Library/Application Support`, `%APPDATA%`.
    pub fn app_support(&self) -> PathBuf {
        match self.platform {
            Platform::Linux => self.dot_config(),
            Platform::MacOs => self.home.join("Library").join("Application Support"),
            Platform::Windows => self.roaming(),
        }
    }

    /// The first program called `name` on `PATH`.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.programs(name).next()
    }

    /// Every program called `name` on `PATH`, in order.
    pub fn programs<'a>(&'a self, name: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        let endings: &[&str] =
            if self.platform == Platform::Windows { &[".exe", ".cmd", ".bat"] } else { &[""] };
        self.path
            .iter()
            .flat_map(move |dir| endings.iter().map(move |ending| dir.join(format!("{name}{ending}"))))
            .filter(|path| is_program(path))
    }
}

fn absolute(value: Option<OsString>) -> Option<PathBuf> {
    value.map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Whether `path` is a file that can be started.
pub fn is_program(path: &Path) -> bool {
    let Ok(found) = path.metadata() else { return false };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        found.is_file() && found.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    found.is_file()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a test's own files")]
pub(crate) mod tests {
    use super::*;
    use crate::setup::clients::HOSTS;

    /// A machine with nothing on it.
    pub(crate) fn machine(platform: Platform, home: &Path) -> Machine {
        Machine {
            platform,
            home: home.to_owned(),
            cwd: home.join("project"),
            path: Vec::new(),
            xdg_config: None,
            app_data: None,
            local_app_data: None,
            claude_config: None,
            codex_home: None,
            gemini_home: None,
            managed: home.join("etc"),
            relative: Vec::new(),
        }
    }

    /// A program at `path`, which is `script`.
    #[cfg(unix)]
    pub(crate) fn program(path: &Path, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, script).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_owned()
    }

    fn table(machine: &Machine) -> String {
        let line = |host: &&crate::setup::clients::Host| {
            format!("{} {}\n", host.id, (host.user_file)(machine).display().to_string().replace('\\', "/"))
        };
        HOSTS.iter().map(line).collect()
    }

    #[test]
    fn every_host_has_its_place_on_every_platform() {
        insta::assert_snapshot!(table(&machine(Platform::Linux, Path::new("~"))), @"
        claude ~/.claude.json
        claude-desktop ~/.config/Claude/claude_desktop_config.json
        codex ~/.codex/config.toml
        cursor ~/.cursor/mcp.json
        vscode ~/.config/Code/User/mcp.json
        windsurf ~/.codeium/windsurf/mcp_config.json
        zed ~/.config/zed/settings.json
        gemini ~/.gemini/settings.json
        opencode ~/.config/opencode/opencode.json
        copilot ~/.copilot/mcp-config.json
        goose ~/.config/goose/config.yaml
        lmstudio ~/.lmstudio/mcp.json
        ");
        insta::assert_snapshot!(table(&machine(Platform::MacOs, Path::new("~"))), @"
        claude ~/.claude.json
        claude-desktop ~/Library/Application Support/Claude/claude_desktop_config.json
        codex ~/.codex/config.toml
        cursor ~/.cursor/mcp.json
        vscode ~/Library/Application Support/Code/User/mcp.json
        windsurf ~/.codeium/windsurf/mcp_config.json
        zed ~/.config/zed/settings.json
        gemini ~/.gemini/settings.json
        opencode ~/.config/opencode/opencode.json
        copilot ~/.copilot/mcp-config.json
        goose ~/.config/goose/config.yaml
        lmstudio ~/.lmstudio/mcp.json
        ");
        insta::assert_snapshot!(table(&machine(Platform::Windows, Path::new("~"))), @"
        claude ~/.claude.json
        claude-desktop ~/AppData/Roaming/Claude/claude_desktop_config.json
        codex ~/.codex/config.toml
        cursor ~/.cursor/mcp.json
        vscode ~/AppData/Roaming/Code/User/mcp.json
        windsurf ~/.codeium/windsurf/mcp_config.json
        zed ~/AppData/Roaming/Zed/settings.json
        gemini ~/.gemini/settings.json
        opencode ~/.config/opencode/opencode.json
        copilot ~/.copilot/mcp-config.json
        goose ~/AppData/Roaming/Block/goose/config/config.yaml
        lmstudio ~/.lmstudio/mcp.json
        ");
    }

    #[test]
    fn a_hosts_own_variable_moves_its_file() {
        let mut machine = machine(Platform::Linux, Path::new("/h"));
        machine.xdg_config = Some("/x".into());
        machine.claude_config = Some("/cc".into());
        machine.codex_home = Some("/co".into());
        machine.gemini_home = Some("/g".into());
        let file = |id: &str| (crate::setup::clients::host(id).unwrap().user_file)(&machine);
        assert_eq!(file("claude"), Path::new("/cc/.claude.json"));
        assert_eq!(file("codex"), Path::new("/co/config.toml"));
        assert_eq!(file("gemini"), Path::new("/g/.gemini/settings.json"));
        assert_eq!(file("zed"), Path::new("/x/zed/settings.json"));
        assert_eq!(file("opencode"), Path::new("/x/opencode/opencode.json"));
    }

    #[test]
    fn the_packaged_claude_desktop_reads_its_own_copy() {
        let dir = tempfile::tempdir().unwrap();
        let mut machine = machine(Platform::Windows, dir.path());
        machine.local_app_data = Some(dir.path().join("Local"));
        let packaged = dir.path().join("Local/Packages/Claude_pzs8sxrjxfjjc");
        std::fs::create_dir_all(&packaged).unwrap();
        let file = (crate::setup::clients::host("claude-desktop").unwrap().user_file)(&machine);
        let name = "LocalCache/Roaming/Claude/claude_desktop_config.json";
        assert_eq!(file, packaged.join(name));
        let host = crate::setup::clients::host("claude-desktop").unwrap();
        let plain = machine.roaming().join("Claude/claude_desktop_config.json");
        assert_eq!((host.other_files)(&machine), std::slice::from_ref(&plain));
        // Of several packages the one whose file is there.
        let second = dir.path().join("Local/Packages/Claude_zz").join(name);
        std::fs::create_dir_all(second.parent().unwrap()).unwrap();
        std::fs::write(&second, "{}").unwrap();
        assert_eq!((host.user_file)(&machine), second);
        assert_eq!((host.other_files)(&machine), [packaged.join(name), plain]);
        // Without a package there is nothing else.
        machine.local_app_data = Some(dir.path().join("None"));
        assert_eq!((host.other_files)(&machine), Vec::<PathBuf>::new());
    }
}
