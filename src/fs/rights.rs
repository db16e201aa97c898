//! Who may use a file on Windows: its access list, instead of a mode.
//!
//! A list is read and written in its text form (SDDL), which is the same in every language of Windows.
//! Owner-only means here what it means in a person's profile: the person, the system itself, and the
//! administrators, who could access any file anyway.

/// In SDDL: the system, the administrators, and the owner or creator of the file.
const OURS: [&str; 8] = ["SY", "BA", "OW", "CO", "S-1-5-18", "S-1-5-32-544", "S-1-3-4", "S-1-3-0"];

/// Who has access according to the list in `sddl`, apart from `me` and [`OURS`], each named once. A file
/// without a list is open to everyone.
#[cfg_attr(not(windows), allow(dead_code, reason = "asked on Windows"))]
fn others(sddl: &str, me: &str) -> Vec<String> {
    let Some((_, list)) = sddl.split_once("D:") else { return vec!["everyone".to_owned()] };
    let list = list.split("S:").next().unwrap_or_default();
    if list.contains("NO_ACCESS_CONTROL") {
        return vec!["everyone".to_owned()];
    }
    let mut found = Vec::new();
    // Type, flags, rights, two identities of objects, and the account.
    for entry in list.split('(').skip(1) {
        let parts: Vec<_> = entry.trim_end().trim_end_matches(')').split(';').collect();
        let [kind, _, rights, _, _, whose, ..] = parts[..] else { continue };
        let is_other = whose != me && !OURS.contains(&whose);
        let lets_in = ["A", "OA", "XA", "ZA"].contains(&kind) && !["", "0x0"].contains(&rights);
        if lets_in && is_other && !found.iter().any(|name| name == whose) {
            found.push(whose.to_owned());
        }
    }
    found
}

/// The owner of the file, from its text form.
#[cfg_attr(not(windows), allow(dead_code, reason = "asked on Windows"))]
fn owner(sddl: &str) -> Option<&str> {
    let rest = sddl.strip_prefix("O:")?;
    let ends = ["G:", "D:", "S:"].iter().filter_map(|mark| rest.find(mark)).min();
    Some(&rest[..ends.unwrap_or(rest.len())])
}

#[cfg(windows)]
pub(super) use self::windows::{close, copy, is_ours, whom_it_lets_in};

#[cfg(windows)]
mod windows {
    use std::io;
    use std::path::Path;
    use std::sync::OnceLock;

    use windows_permissions::constants::SeObjectType::SE_FILE_OBJECT;
    use windows_permissions::constants::SecurityInformation;
    use windows_permissions::utilities::current_process_sid;
    use windows_permissions::wrappers::{
        ConvertSecurityDescriptorToStringSecurityDescriptor as text_of, GetNamedSecurityInfo,
        SetNamedSecurityInfo,
    };
    use windows_permissions::{LocalBox, SecurityDescriptor};

    use super::OURS;

    /// The user that this process acts as, in the text form. It never changes.
    fn me() -> io::Result<&'static str> {
        static ME: OnceLock<String> = OnceLock::new();
        if let Some(me) = ME.get() {
            return Ok(me);
        }
        // Some users have a two-letter name there.
        let owned: LocalBox<SecurityDescriptor> = format!("O:{}", *current_process_sid()?).parse()?;
        let text = text_of(&owned, SecurityInformation::Owner)?.to_string_lossy().into_owned();
        let name = super::owner(&text).unwrap_or_default().to_owned();
        Ok(ME.get_or_init(|| name))
    }

    fn text(path: &Path) -> io::Result<String> {
        let what = SecurityInformation::Owner | SecurityInformation::Dacl;
        let found = GetNamedSecurityInfo(path.as_os_str(), SE_FILE_OBJECT, what)?;
        Ok(text_of(&found, what)?.to_string_lossy().into_owned())
    }

    /// Who can access `path` apart from the owner's user and the administrators.
    ///
    /// # Errors
    /// Any error of the system.
    pub(in crate::fs) fn whom_it_lets_in(path: &Path) -> io::Result<Vec<String>> {
        Ok(super::others(&text(path)?, me()?))
    }

    /// Whether `path` belongs to this user. What an administrator makes may belong to the administrators.
    ///
    /// # Errors
    /// Any error of the system.
    pub(in crate::fs) fn is_ours(path: &Path) -> io::Result<bool> {
        let text = text(path)?;
        let owner = super::owner(&text).unwrap_or_default();
        Ok(owner == me()? || OURS.contains(&owner))
    }

    /// Closes it to everyone except this user and the administrators. Files made in a closed directory are
    /// closed in the same way.
    ///
    /// # Errors
    /// Any error of the system: some disks have no rights.
    pub(in crate::fs) fn close(path: &Path) -> io::Result<()> {
        let inherited = if path.is_dir() { "OICI" } else { "" };
        let me = me()?;
        let list = format!("D:P(A;{inherited};FA;;;{me})(A;{inherited};FA;;;SY)(A;{inherited};FA;;;BA)");
        let list: LocalBox<SecurityDescriptor> = list.parse()?;
        set(path, &list, SecurityInformation::ProtectedDacl)
    }

    /// Gives `to` the rights of `from`, if they differ. Inherited rights come from its own folder.
    ///
    /// # Errors
    /// Any error of the system.
    pub(in crate::fs) fn copy(from: &Path, to: &Path) -> io::Result<()> {
        let list = |path: &Path| {
            let found = GetNamedSecurityInfo(path.as_os_str(), SE_FILE_OBJECT, SecurityInformation::Dacl)?;
            let text = text_of(&found, SecurityInformation::Dacl)?.to_string_lossy().into_owned();
            io::Result::Ok((found, text))
        };
        let ((wanted, wanted_text), (_, text)) = (list(from)?, list(to)?);
        if wanted_text == text {
            return Ok(());
        }
        let flags = wanted_text.strip_prefix("D:").unwrap_or_default().split('(').next().unwrap_or_default();
        let protected = if flags.contains('P') {
            SecurityInformation::ProtectedDacl
        } else {
            SecurityInformation::UnprotectedDacl
        };
        set(to, &wanted, protected)
    }

    fn set(path: &Path, list: &SecurityDescriptor, protected: SecurityInformation) -> io::Result<()> {
        let what = SecurityInformation::Dacl | protected;
        SetNamedSecurityInfo(path.as_os_str(), SE_FILE_OBJECT, what, None, None, list.dacl(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: &str = "S-1-5-21-1-2-3-1001";

    #[test]
    fn whoever_is_let_in_is_named() {
        for (list, expected) in [
            // A profile's list, and that of files made in it.
            ("(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;S-1-5-21-1-2-3-1001)", &[][..]),
            ("AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;FA;;;S-1-5-21-1-2-3-1001)", &[]),
            // The root of a disk.
            (
                "PAI(A;OICI;FA;;;BA)(A;OICI;FA;;;SY)(A;;0x1301bf;;;AU)(A;OICIIO;SDGXGWGR;;;AU)(A;OICI;0x1200a9;;;BU)",
                &["AU", "BU"],
            ),
            ("(A;;FR;;;WD)(D;;FA;;;BG)", &["WD"]),
            ("(XA;;FX;;;S-1-1-0;(@User.Title==\"PM\"))", &["S-1-1-0"]),
            ("(A;;0x0;;;WD)(A;;;;;BU)", &[]),
            ("", &[]),
            ("NO_ACCESS_CONTROL", &["everyone"]),
        ] {
            let sddl = format!("O:{ME}G:BAD:{list}");
            assert_eq!(others(&sddl, ME), expected, "{list}");
        }
        assert_eq!(others(&format!("O:{ME}"), ME), ["everyone"]);
        assert_eq!(others("D:(A;;FA;;;LA)S:(AU;SAFA;FA;;;WD)", "LA"), Vec::<String>::new());
    }

    #[test]
    fn whose_it_is_is_told() {
        for (sddl, expected) in [
            ("O:S-1-5-21-1-2-3-1001G:S-1-5-21-1-2-3-513D:PAI(A;;FA;;;SY)", Some(ME)),
            ("O:BAG:SYD:", Some("BA")),
            ("O:LA", Some("LA")),
            ("D:(A;;FA;;;SY)", None),
        ] {
            assert_eq!(owner(sddl), expected, "{sddl}");
        }
    }
}
