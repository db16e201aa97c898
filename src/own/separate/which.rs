//! Which set-up the person who runs this has.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::place;
use crate::cache::Cache;
use crate::own;

/// A set-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetUp {
    /// There is no own data on this computer.
    None,
    /// The store in this directory belongs to the person.
    Simple(PathBuf),
    /// The store belongs to a system user.
    Separate {
        /// Its directory.
        dir: PathBuf,
        /// Whether its service is running.
        runs: bool,
        /// Another store that belongs to the person, and that their programs can read.
        beside: Option<PathBuf>,
    },
}

/// The name of a set-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// No own data.
    None,
    /// The person's own store.
    Simple,
    /// The store of a system user.
    Separate,
}

impl SetUp {
    /// The set-up of the person who runs this. Touches nothing.
    pub fn here(cache: &Cache) -> Self {
        let simple = own::dir(None, cache).ok().filter(|dir| own::is_there(dir));
        #[cfg(target_os = "linux")]
        {
            let uid = rustix::process::geteuid().as_raw();
            let runs = place::socket_path(uid).symlink_metadata().is_ok();
            Self::of(simple, uid, runs, Path::new(place::UNITS))
        }
        #[cfg(not(target_os = "linux"))]
        simple.map_or(Self::None, Self::Simple)
    }

    /// The set-up of the user `uid`, from what was found.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "the separate set-up exists only on Linux")
    )]
    fn of(simple: Option<PathBuf>, uid: u32, runs: bool, units: &Path) -> Self {
        if runs || Installed::among(uid, units).is_some() {
            return Self::Separate { dir: place::data_dir(uid), runs, beside: simple };
        }
        simple.map_or(Self::None, Self::Simple)
    }

    /// The name of the set-up.
    pub const fn name(&self) -> Name {
        match self {
            Self::None => Name::None,
            Self::Simple(_) => Name::Simple,
            Self::Separate { .. } => Name::Separate,
        }
    }
}

/// The unit of a person's service, running or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Its name.
    pub unit: String,
    /// Where it serves.
    pub url: Option<String>,
}

impl Installed {
    /// The unit of the person with the user id `uid`.
    pub fn of(uid: u32) -> Option<Self> {
        Self::among(uid, Path::new(place::UNITS))
    }

    fn among(uid: u32, units: &Path) -> Option<Self> {
        let wanted = format!(" --owner-uid {uid}");
        let entries = std::fs::read_dir(units).into_iter().flatten().flatten();
        entries.into_iter().find_map(|entry| {
            let unit = entry.file_name().to_string_lossy().into_owned();
            let text = place::is_unit(&unit).then(|| std::fs::read_to_string(entry.path()).ok())??;
            let mut lines = text.lines();
            let line = lines.find(|line| line.starts_with("ExecStart=") && line.ends_with(&wanted))?;
            let listen = line.split(' ').skip_while(|word| *word != "--listen").nth(1);
            Some(Self { unit, url: listen.map(|listen| format!("http://{listen}")) })
        })
    }
}

/// The command that stops or starts the service of the person with the user id `uid`; root types it.
pub fn systemctl(verb: &str, uid: u32) -> String {
    let unit = Installed::of(uid).map_or_else(|| place::unit_name("NAME"), |found| found.unit);
    format!("sudo systemctl {verb} {}", unit.strip_suffix(".service").unwrap_or(&unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the file belongs to a test")]
    fn o9_1_each_set_up_is_told_from_the_others() {
        let units = tempfile::tempdir().unwrap();
        let own = PathBuf::from("/home/ana/own");
        let of = |simple: Option<&PathBuf>, runs| SetUp::of(simple.cloned(), 1000, runs, units.path());
        assert_eq!(of(None, false).name(), Name::None);
        assert_eq!(of(Some(&own), false), SetUp::Simple(own.clone()));
        let separate = |runs, beside: Option<&PathBuf>| SetUp::Separate {
            dir: PathBuf::from("/var/lib/pdpp/1000"),
            runs,
            beside: beside.cloned(),
        };
        assert_eq!(of(Some(&own), true), separate(true, Some(&own)));
        let unit = |name: &str, uid: &str| {
            let text =
                format!("[Service]\nExecStart=/x provider serve --listen 127.0.0.1:7400 --owner-uid {uid}\n");
            std::fs::write(units.path().join(name), text).unwrap();
        };
        unit("pdpp-provider-ben.service", "11000");
        unit("other.service", "1000");
        assert_eq!(of(None, false), SetUp::None, "another person's, and none of this one");
        unit("pdpp-provider-ana.service", "1000");
        assert_eq!(of(None, false), separate(false, None));
        let found = Installed::among(1000, units.path()).unwrap();
        assert_eq!(found.unit, "pdpp-provider-ana.service");
        assert_eq!(found.url.as_deref(), Some("http://127.0.0.1:7400"));
    }
}
