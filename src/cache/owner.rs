//! An owner's credential in the environment stops anything that serves a model (R1.3).

use std::ffi::{OsStr, OsString};

use crate::error::{Error, Kind, Result};

/// The beginnings of the names of owner and control-plane credentials.
const PREFIXES: [&str; 2] = ["PDPP_OWNER_", "PDPP_CONTROL_"];

/// Refuses to continue if this process was given an owner's credential. It looks only at names, and never reads
/// a value.
///
/// # Errors
/// [`Kind::Refused`], `owner_credential_in_environment`, naming the variable.
pub fn refuse_owner_credentials_in_environment() -> Result<()> {
    refuse(std::env::vars_os().map(|(name, _)| name))
}

fn refuse(names: impl Iterator<Item = OsString>) -> Result<()> {
    // The first by name, so that the same environment always gives the same message.
    let Some(name) = names.filter(|name| is_owner(name)).min() else { return Ok(()) };
    let name = name.to_string_lossy();
    Err(Error::new(
        Kind::Refused,
        "owner_credential_in_environment",
        format!("{name} is set, and an agent must never have an owner's credential within reach"),
    )
    .hint(if cfg!(windows) {
        format!("Start it without that variable. In PowerShell: Remove-Item Env:{name}")
    } else {
        format!("Start it without that variable: env -u {name} pdpp …")
    }))
}

fn is_owner(name: &OsStr) -> bool {
    is_owner_name(&name.to_string_lossy())
}

/// Whether a variable of this name holds an owner's or a control plane's credential.
pub fn is_owner_name(name: &str) -> bool {
    // Names on Windows are case-insensitive; no other variable begins like this in lower case.
    let name = name.to_ascii_uppercase();
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(names: &[&str]) -> Option<Error> {
        refuse(names.iter().map(OsString::from)).err()
    }

    #[test]
    fn r1_3_any_owner_or_control_variable_is_refused_by_name() {
        assert!(refused(&[]).is_none());
        assert!(refused(&["PATH", "PDPP_CACHE_DIR", "PDPP_OWNER", "MY_PDPP_OWNER_TOKEN"]).is_none());
        for name in ["PDPP_OWNER_TOKEN", "PDPP_OWNER_", "PDPP_CONTROL_PLANE_KEY", "pdpp_owner_token"] {
            let error = refused(&["PATH", name]).unwrap();
            assert_eq!(error.code(), "owner_credential_in_environment");
            assert_eq!(error.kind().exit_code(), 77);
            assert!(error.message().contains(name));
        }
    }
}
