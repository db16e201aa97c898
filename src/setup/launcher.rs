//! The path that will still start this program tomorrow: the one on `PATH`, and not the file it resolves to. A
//! package manager replaces that file with every version.

use std::path::{Path, PathBuf};

use super::paths::{Machine, is_program};
use crate::error::{Error, Result};

/// How hosts will start this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// An absolute path.
    pub path: PathBuf,
    /// What the person should know about it.
    pub notes: Vec<String>,
}

impl Launcher {
    /// The launcher of this process.
    ///
    /// # Errors
    /// `no_launcher`.
    pub fn of_process(machine: &Machine) -> Result<Self> {
        let exe = std::env::current_exe().map_err(|error| {
            Error::failed("no_launcher", "pdpp cannot find its own file")
                .because(error)
                .hint("Start it by its absolute path")
        })?;
        let typed = std::env::args_os().next().map(PathBuf::from);
        Ok(Self::find(machine, &exe, typed.as_deref()))
    }

    /// What the person should know about it, and about what a host will not find. `has_proxy` tells whether the
    /// entry has a proxy.
    pub fn notes_for(&self, has_proxy: bool) -> Vec<String> {
        let mut notes = self.notes.clone();
        let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
        let set =
            proxy.into_iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        if let Some(name) = set.filter(|_| !has_proxy) {
            notes.push(format!(
                "{name} is set here, but some hosts do not pass variables on: --proxy puts it into the entry"
            ));
        }
        notes
    }

    /// The launcher of the running program: `exe` is its own file, and `typed` how it was called.
    pub fn find(machine: &Machine, exe: &Path, typed: Option<&Path>) -> Self {
        let real = |path: &Path| dunce::canonicalize(path).ok();
        let this = real(exe);
        let is_this = |path: &Path| this.is_some() && real(path) == this;
        let mut notes = Vec::new();

        let on_path: Vec<_> = machine.programs("pdpp").collect();
        let ours = on_path.iter().find(|path| is_this(path));
        let of_npm = |path: &Path| real(path).is_some_and(|path| is_npms(&path));
        let is_other = |path: &Path| !is_this(path) && (!of_npm(path) || !of_npm(exe));
        if let Some(other) = on_path.first().filter(|first| is_other(first)) {
            let how = if ours.is_some() { "comes first on" } else { "is on" };
            notes.push(format!(
                "another program called pdpp {how} your PATH: {}; the entry starts this one, by its absolute path",
                other.display()
            ));
        }
        let typed = typed
            .filter(|typed| typed.components().count() > 1)
            .map(|typed| machine.cwd.join(typed))
            .filter(|typed| is_program(typed) && is_this(typed));
        let path = ours
            .cloned()
            .or_else(|| typed.map(|typed| without_dots(&typed)))
            .unwrap_or_else(|| exe.to_owned());
        if is_build(&path) {
            notes.push(format!(
                "{} is in a build directory; `cargo install --path .` gives you a permanent path",
                path.display()
            ));
        }
        if is_below(&path, "_npx") {
            notes.push(format!(
                "{} is in npx's cache, which npm empties; `npm install --global pdpp` gives you a permanent path",
                path.display()
            ));
        }
        Self { path, notes }
    }
}

/// The absolute path of an entry's `program`, if it leads to the file `own`.
pub fn resolve(machine: &Machine, program: &str, own: &Path) -> Option<String> {
    let named = Path::new(program);
    let path = if named.is_absolute() {
        named.to_owned()
    } else {
        // A path that is neither depends on where the host starts it.
        machine.program(program).filter(|_| named.components().count() == 1)?
    };
    let is_own = dunce::canonicalize(&path).ok()? == dunce::canonicalize(own).ok()?;
    path.into_os_string().into_string().ok().filter(|_| is_own)
}

/// `a/./b` becomes `a/b`; `..` stays, because it may cross a link.
fn without_dots(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Whether `path`, without links, is in an npm package. The package's `pdpp` on PATH is a script that starts
/// the program in the same package, so it is not another program.
pub fn is_npms(path: &Path) -> bool {
    is_below(path, "node_modules")
}

fn is_below(path: &Path, directory: &str) -> bool {
    path.components().any(|component| component.as_os_str() == directory)
}

fn is_build(path: &Path) -> bool {
    let names: Vec<_> = path.components().map(|component| component.as_os_str().to_string_lossy()).collect();
    names.windows(2).any(|pair| pair[0] == "target" && matches!(&*pair[1], "debug" | "release"))
}

#[cfg(test)]
#[cfg(unix)]
#[allow(clippy::disallowed_methods, reason = "a test's own files")]
mod tests {
    use super::*;
    use crate::setup::paths::tests::machine;
    use crate::setup::paths::{self, Platform};
    use std::os::unix::fs::symlink;

    fn program(path: &Path) -> PathBuf {
        paths::tests::program(path, "")
    }

    #[test]
    fn r8_2_the_link_on_path_is_written_and_not_the_versions_own_directory() {
        let dir = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(dir.path()).unwrap();
        let cellar = program(&root.join("Cellar/pdpp/1.0/bin/pdpp"));
        let bin = root.join("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(&cellar, bin.join("pdpp")).unwrap();
        let mut machine = machine(Platform::Linux, &root);
        machine.path = vec![root.join("missing"), bin.clone()];
        let found = Launcher::find(&machine, &cellar, Some(Path::new("pdpp")));
        assert_eq!(found, Launcher { path: bin.join("pdpp"), notes: Vec::new() });
    }

    #[test]
    fn another_program_of_that_name_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(dir.path()).unwrap();
        let other = program(&root.join("npm/pdpp"));
        let this = program(&root.join("bin/pdpp"));
        let mut machine = machine(Platform::Linux, &root);
        machine.path = vec![root.join("npm"), root.join("bin")];
        let found = Launcher::find(&machine, &this, None);
        assert_eq!(found.path, this);
        assert!(
            found.notes[0].contains(&format!("comes first on your PATH: {}", other.display())),
            "{found:?}"
        );
    }

    #[test]
    fn npms_own_script_is_no_other_program_and_npxs_cache_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(dir.path()).unwrap();
        let script = program(&root.join("lib/node_modules/pdpp/bin/pdpp.js"));
        let this = program(&root.join("lib/node_modules/pdpp/node_modules/pdpp-linux-x64/bin/pdpp"));
        std::fs::create_dir(root.join("bin")).unwrap();
        symlink(&script, root.join("bin/pdpp")).unwrap();
        let mut machine = machine(Platform::Linux, &root);
        machine.path = vec![root.join("bin")];
        let found = Launcher::find(&machine, &this, None);
        assert_eq!(found, Launcher { path: this, notes: Vec::new() });
        let cached = program(&root.join(".npm/_npx/0a/node_modules/pdpp-linux-x64/bin/pdpp"));
        machine.path.clear();
        let found = Launcher::find(&machine, &cached, None);
        assert!(found.notes[0].contains("npm install --global pdpp"), "{found:?}");
    }

    #[test]
    fn off_path_it_is_as_it_was_typed_and_a_build_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let root = dunce::canonicalize(dir.path()).unwrap();
        let built = program(&root.join("target/release/pdpp"));
        let mut machine = machine(Platform::Linux, &root);
        machine.cwd = root.clone();
        let found = Launcher::find(&machine, &built, Some(Path::new("./target/release/pdpp")));
        assert_eq!(found.path, built);
        assert!(found.notes[0].contains("cargo install --path ."), "{found:?}");
        assert_eq!(Launcher::find(&machine, &built, Some(Path::new("pdpp"))).path, built);
    }
}
