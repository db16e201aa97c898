//! Where hosts keep their configs: one table for each platform, based on facts about a machine that a test can
//! make up.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::clients::{HOSTS, Host};
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
    /// The platform whose conventions apply.
    pub platform: Platform,
    /// The user's home directory.
    pub home: PathBuf,
    /// The directory where pdpp was started: projects' configs are looked for here.
    pub cwd: PathBuf,
    /// The absolute directories of `PATH`.
    pub path: Vec<PathBuf>,
    /// `XDG_CONFIG_HOME`, if it is an absolute path.
    pub xdg_config: Option<PathBuf>,
    /// `%APPDATA%`.
    pub app_data: Option<PathBuf>,
    /// `%LOCALAPPDATA%`.
    pub local_app_data: Option<PathBuf>,
    /// The variables that move a host's file and are absolute paths.
    pub moved: BTreeMap<&'static str, PathBuf>,
    /// The variables that are relative paths, and so name another place in each directory where the host is
    /// started.
    pub relative: Vec<&'static str>,
    /// Where an administrator's files for all users are; each host has its own directory there.
    pub managed: PathBuf,
    /// `%ProgramData%`, where some hosts look for those files on Windows.
    pub program_data: PathBuf,
}

impl Machine {
    /// The machine that this process runs on.
    ///
    /// # Errors
    /// `no_home` if there is no home directory; `no_directory` if the current directory is gone.
    pub fn from_process() -> Result<Self> {
        // The way the hosts themselves find it: `HOME`, or `USERPROFILE` on Windows, before the system's own
        // record.
        let home = std::env::home_dir().filter(|home| home.is_absolute()).ok_or_else(|| {
            Error::failed("no_home", "There is no home directory, so there is no host's config either")
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
        let moving = HOSTS.iter().flat_map(|host| host.moved_by).copied();
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
            moved: moving.clone().filter_map(|name| Some((name, dir(name)?))).collect(),
            relative: moving.filter(is_relative).collect(),
            managed: match platform {
                Platform::Linux => "/etc".into(),
                Platform::MacOs => "/Library/Application Support".into(),
                Platform::Windows => dir("ProgramFiles").unwrap_or_else(|| "C:\\Program Files".into()),
            },
            program_data: dir("ProgramData").unwrap_or_else(|| "C:\\ProgramData".into()),
        })
    }

    /// The value of a variable that moves a host's file, if it is set and usable.
    pub fn moved(&self, variable: &str) -> Option<&Path> {
        self.moved.get(variable).map(PathBuf::as_path)
    }

    /// The same, or otherwise `own`.
    pub fn moved_or(&self, variable: &str, own: PathBuf) -> PathBuf {
        self.moved(variable).map_or(own, Path::to_owned)
    }

    /// The variable that moves the file of `host` to another place in each directory.
    pub fn relative_of(&self, host: &Host) -> Option<&'static str> {
        host.moved_by.iter().copied().find(|variable| self.relative.contains(variable))
    }

    /// An administrator's directory for a host, by its name on Linux and its name on other platforms.
    pub fn managed_dir(&self, linux: &str, elsewhere: &str) -> PathBuf {
        self.managed.join(if self.platform == Platform::Linux { linux } else { elsewhere })
    }

    /// The same for a host that looks in `%ProgramData%` on Windows, under its name on Linux.
    pub fn shared_dir(&self, name: &str, on_macos: &str) -> PathBuf {
        match self.platform {
            Platform::Windows => self.program_data.join(name),
            Platform::Linux | Platform::MacOs => self.managed_dir(name, on_macos),
        }
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

/// Whether `path` is an executable file.
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

    /// An empty machine.
    pub(crate) fn machine(platform: Platform, home: &Path) -> Machine {
        Machine {
            platform,
            home: home.to_owned(),
            cwd: home.join("project"),
            path: Vec::new(),
            xdg_config: None,
            app_data: None,
            local_app_data: None,
            moved: BTreeMap::new(),
            relative: Vec::new(),
            managed: home.join("etc"),
            program_data: home.join("ProgramData"),
        }
    }

    /// A program at `path` with the text `script`.
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
        cline ~/.cline/data/settings/cline_mcp_settings.json
        kiro ~/.kiro/settings/mcp.json
        amp ~/.config/amp/settings.json
        qwen ~/.qwen/settings.json
        antigravity ~/.gemini/config/mcp_config.json
        junie ~/.junie/mcp/mcp.json
        warp ~/.warp/.mcp.json
        crush ~/.config/crush/crush.json
        amazon-q ~/.aws/amazonq/mcp.json
        continue ~/.continue/mcpServers/pdpp.json
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
        cline ~/.cline/data/settings/cline_mcp_settings.json
        kiro ~/.kiro/settings/mcp.json
        amp ~/.config/amp/settings.json
        qwen ~/.qwen/settings.json
        antigravity ~/.gemini/config/mcp_config.json
        junie ~/.junie/mcp/mcp.json
        warp ~/.warp/.mcp.json
        crush ~/.config/crush/crush.json
        amazon-q ~/.aws/amazonq/mcp.json
        continue ~/.continue/mcpServers/pdpp.json
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
        cline ~/.cline/data/settings/cline_mcp_settings.json
        kiro ~/.kiro/settings/mcp.json
        amp ~/.config/amp/settings.json
        qwen ~/.qwen/settings.json
        antigravity ~/.gemini/config/mcp_config.json
        junie ~/.junie/mcp/mcp.json
        warp ~/.warp/.mcp.json
        crush ~/.config/crush/crush.json
        amazon-q ~/.aws/amazonq/mcp.json
        continue ~/.continue/mcpServers/pdpp.json
        ");
    }

    #[test]
    fn a_hosts_own_variable_moves_its_file() {
        let mut machine = machine(Platform::Linux, Path::new("/h"));
        machine.xdg_config = Some("/x".into());
        for (variable, value) in [
            ("CLAUDE_CONFIG_DIR", "/cc"),
            ("CODEX_HOME", "/co"),
            ("GEMINI_CLI_HOME", "/g"),
            ("QWEN_HOME", "/q"),
            ("CRUSH_GLOBAL_CONFIG", "/cr"),
            ("CONTINUE_GLOBAL_DIR", "/con"),
        ] {
            machine.moved.insert(variable, value.into());
        }
        let file = |id: &str| (crate::setup::clients::host(id).unwrap().user_file)(&machine);
        assert_eq!(file("claude"), Path::new("/cc/.claude.json"));
        assert_eq!(file("codex"), Path::new("/co/config.toml"));
        assert_eq!(file("gemini"), Path::new("/g/.gemini/settings.json"));
        assert_eq!(file("zed"), Path::new("/x/zed/settings.json"));
        assert_eq!(file("opencode"), Path::new("/x/opencode/opencode.json"));
        assert_eq!(file("amp"), Path::new("/x/amp/settings.json"));
        assert_eq!(file("qwen"), Path::new("/q/settings.json"));
        assert_eq!(file("crush"), Path::new("/cr/crush.json"));
        assert_eq!(file("continue"), Path::new("/con/mcpServers/pdpp.json"));
        // Cline has three variables; the one closest to the file counts.
        for (variable, value, expected) in [
            ("CLINE_DIR", "/cl", "/cl/data/settings/cline_mcp_settings.json"),
            ("CLINE_DATA_DIR", "/cd", "/cd/settings/cline_mcp_settings.json"),
            ("CLINE_MCP_SETTINGS_PATH", "/c.json", "/c.json"),
        ] {
            machine.moved.insert(variable, value.into());
            let file = (crate::setup::clients::host("cline").unwrap().user_file)(&machine);
            assert_eq!(file, Path::new(expected));
        }
    }

    /// An older version or another edition of a host has a separate file.
    #[test]
    fn a_file_that_is_there_is_the_one_and_an_older_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let machine = machine(Platform::Linux, dir.path());
        let host = |id: &str| crate::setup::clients::host(id).unwrap();
        let make = |path: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "{}").unwrap();
            path
        };
        for id in ["cline", "antigravity"] {
            assert_eq!((host(id).other_files)(&machine), Vec::<PathBuf>::new(), "{id}");
        }
        let older = make(".gemini/antigravity/mcp_config.json");
        assert_eq!((host("antigravity").other_files)(&machine), [older]);
        let settings = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json";
        let editions = ["Code", "Cursor"].map(|edition| make(&format!(".config/{edition}/User/{settings}")));
        assert_eq!((host("cline").other_files)(&machine), editions);
        // Amp reads either name, and prefers the one without comments.
        let with_comments = make(".config/amp/settings.jsonc");
        assert_eq!((host("amp").user_file)(&machine), with_comments);
        let plain = make(".config/amp/settings.json");
        assert_eq!((host("amp").user_file)(&machine), plain);
    }

    #[test]
    fn macos_has_places_that_are_neither_linux_nor_the_library() {
        let mut machine = machine(Platform::MacOs, Path::new("/h"));
        machine.xdg_config = Some("/x".into());
        let host = |id: &str| crate::setup::clients::host(id).unwrap();
        let file = |id: &str| (host(id).user_file)(&machine);
        assert_eq!(file("goose"), Path::new("/x/goose/config.yaml"));
        assert_eq!(file("opencode"), Path::new("/x/opencode/opencode.json"));
        assert_eq!(file("zed"), Path::new("/h/.config/zed/settings.json"));
        // An administrator's rules.
        let rules = |id: &str| -> Vec<PathBuf> {
            host(id).policies.iter().flat_map(|policy| (policy.files)(&machine)).collect()
        };
        assert_eq!(rules("codex"), [Path::new("/etc/codex/requirements.toml")]);
        for (id, rule) in [
            ("claude", "/h/etc/ClaudeCode/managed-settings.json"),
            ("claude", "/h/etc/ClaudeCode/managed-mcp.json"),
            ("gemini", "/h/etc/GeminiCli/settings.json"),
        ] {
            assert!(rules(id).contains(&PathBuf::from(rule)), "{rule}: {:?}", rules(id));
        }
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
        // If there are several packages, the one whose file exists counts.
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
