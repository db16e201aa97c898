//! Files that root makes for others: a program, a unit, a folder that another user gets. Each is made in a
//! folder that belongs to root, so that nobody can replace it meanwhile.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
};
use std::path::{Path, PathBuf};

/// A user as file permissions see one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reach {
    /// The user's id.
    pub uid: u32,
    /// The ids of all groups that the user belongs to.
    pub groups: Vec<u32>,
}

/// Why a path is not root's alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weak {
    /// The file or folder, with links resolved.
    pub path: PathBuf,
    /// The reason: "belongs to user 1000", "can be written by everyone".
    pub why: String,
}

/// The first of `path` and the folders above it that someone other than root can change: `who`, or everyone. If
/// the path does not exist yet, its existing part is checked. In a sticky folder nobody can remove what belongs
/// to root.
pub fn changeable(path: &Path, who: &Reach) -> Option<Weak> {
    let there = path.ancestors().find_map(|path| dunce::canonicalize(path).ok())?;
    there.ancestors().find_map(|path| {
        let found = fs::metadata(path).ok()?;
        let mode = found.mode();
        let is_sticky = found.is_dir() && mode & 0o1000 != 0;
        let why = if found.uid() != 0 {
            format!("belongs to user {}", found.uid())
        } else if is_sticky {
            return None;
        } else if mode & 0o002 != 0 {
            format!("can be written by everyone (mode {:03o})", mode & 0o777)
        } else if mode & 0o020 != 0 && who.groups.contains(&found.gid()) {
            format!("can be written by group {} (mode {:03o})", found.gid(), mode & 0o777)
        } else {
            return None;
        };
        Some(Weak { path: path.to_owned(), why })
    })
}

/// Makes the folder `path`, and those above it with mode 0755, and gives it to `owner`. Returns false if it
/// already exists; it is then left unchanged.
///
/// # Errors
/// If something other than a folder is there; any error of the disk.
pub fn make_dir(path: &Path, mode: u32, owner: Option<(u32, u32)>) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => return Ok(false),
        Ok(_) => {
            let why = format!("{} is not a folder", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.exists()) {
        make_dir(parent, 0o755, None)?;
    }
    DirBuilder::new().mode(0o700).create(path)?;
    // Uses the folder that was made, and not its name.
    let dir = open_dir(path)?;
    let given = owner.map_or(Ok(()), |(user, group)| fchown(&dir, Some(user), Some(group)));
    // Sets the mode whatever the umask removed.
    let given = given.and_then(|()| dir.set_permissions(Permissions::from_mode(mode)));
    if let Err(error) = given {
        let _ = fs::remove_dir(path);
        return Err(error);
    }
    Ok(true)
}

/// The owner and the mode of the folder `path`, which must not be a link; `None` if nothing is there.
///
/// # Errors
/// If something else is there; any error of the disk.
pub fn dir_owner(path: &Path) -> io::Result<Option<(u32, u32)>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(Some((found.uid(), found.mode() & 0o7777))),
        Ok(_) => {
            let why = format!("{} is not a folder", path.display());
            Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file of `bytes` at `path`, whole, replacing any file of that name.
///
/// # Errors
/// Any error of the disk; the old file then still exists.
pub fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    place(path, bytes, mode, None)
}

/// The same for a new file, which is given to `owner`.
///
/// # Errors
/// Same as [`replace`].
pub fn place(path: &Path, bytes: &[u8], mode: u32, owner: Option<(u32, u32)>) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new().prefix(".pdpp-tmp-").tempfile_in(dir)?;
    file.write_all(bytes)?;
    if let Some((user, group)) = owner {
        fchown(file.as_file(), Some(user), Some(group))?;
    }
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    open_dir(dir)?.sync_all()
}

/// A copy of everything in `from`, in the new file `path`, for `owner` alone.
///
/// # Errors
/// Any error of the disk; the file then does not exist.
pub fn copy_for(path: &Path, from: &mut dyn io::Read, owner: (u32, u32)) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new().prefix(".pdpp-tmp-").tempfile_in(dir)?;
    io::copy(from, &mut file)?;
    fchown(file.as_file(), Some(owner.0), Some(owner.1))?;
    file.as_file().set_permissions(Permissions::from_mode(0o400))?;
    file.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

/// The file at a path, kept under a second name until it is known whether its replacement stays.
#[derive(Debug)]
pub struct Aside {
    path: PathBuf,
    aside: PathBuf,
}

impl Aside {
    /// The value that [`Aside::set`] returned for `path`.
    pub fn of(path: &Path) -> Self {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".before");
        Self { path: path.to_owned(), aside: path.with_file_name(name) }
    }

    /// Gives the file at `path` a second name; `None` if there is no such file.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn set(path: &Path) -> io::Result<Option<Self>> {
        let aside = Self::of(path);
        remove(&aside.aside)?;
        match fs::hard_link(path, &aside.aside) {
            Ok(()) => Ok(Some(aside)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Restores the file.
    ///
    /// # Errors
    /// Any error of the disk.
    pub fn put_back(&self) -> io::Result<()> {
        fs::rename(&self.aside, &self.path)
    }

    /// Deletes the kept file.
    pub fn let_go(&self) {
        let _ = remove(&self.aside);
    }
}

/// Renames the folder `from` to `to`, which must not exist.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`]; any error of the disk.
pub fn rename_dir(from: &Path, to: &Path) -> io::Result<()> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    fs::rename(from, to)
}

/// Removes the file `path`; it is not an error if it does not exist.
///
/// # Errors
/// Any error of the disk.
pub fn remove(path: &Path) -> io::Result<()> {
    absent_is_fine(fs::remove_file(path))
}

/// Removes the folder `path` if it is empty. Returns whether it is gone.
pub fn remove_empty(path: &Path) -> bool {
    absent_is_fine(fs::remove_dir(path)).is_ok()
}

/// Removes the folder `path` and everything in it, including what other users own. Follows no link in it.
///
/// # Errors
/// Any error of the disk.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    absent_is_fine(fs::remove_dir_all(path))
}

fn absent_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn open_dir(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::DIRECTORY;
    OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0)).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn folders_and_files_have_the_modes_that_were_asked_for() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a/b");
        assert!(make_dir(&dir, 0o700, None).unwrap());
        assert!(!make_dir(&dir, 0o755, None).unwrap(), "an existing folder is left unchanged");
        assert_eq!((mode(&dir), mode(&root.path().join("a"))), (0o700, 0o755));
        let file = dir.join("program");
        replace(&file, b"one", 0o755).unwrap();
        replace(&file, b"two", 0o644).unwrap();
        assert_eq!((fs::read(&file).unwrap(), mode(&file)), (b"two".to_vec(), 0o644));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "no temporary file is left");
        std::os::unix::fs::symlink(&dir, root.path().join("link")).unwrap();
        assert!(make_dir(&root.path().join("link"), 0o700, None).is_err());
        assert!(dir_owner(&root.path().join("link")).is_err());
        assert_eq!(dir_owner(&dir).unwrap().unwrap().1, 0o700);
        assert_eq!(dir_owner(&root.path().join("not")).unwrap(), None);
    }

    #[test]
    fn what_was_replaced_can_come_back() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("unit");
        assert!(Aside::set(&file).unwrap().is_none());
        replace(&file, b"one", 0o644).unwrap();
        let aside = Aside::set(&file).unwrap().unwrap();
        replace(&file, b"two", 0o644).unwrap();
        aside.put_back().unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"one");
        let aside = Aside::set(&file).unwrap().unwrap();
        aside.let_go();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_tree_goes_and_what_its_links_lead_to_stays() {
        let root = tempfile::tempdir().unwrap();
        let (tree, kept) = (root.path().join("tree"), root.path().join("kept"));
        make_dir(&tree.join("a/b"), 0o700, None).unwrap();
        make_dir(&kept, 0o700, None).unwrap();
        replace(&kept.join("x"), b"x", 0o600).unwrap();
        std::os::unix::fs::symlink(&kept, tree.join("a/link")).unwrap();
        assert!(!remove_empty(&tree));
        remove_tree(&tree).unwrap();
        remove_tree(&tree).unwrap();
        assert!(!tree.exists() && kept.join("x").exists());
        assert!(remove_empty(&root.path().join("nothing")));
    }

    #[test]
    fn o9_1_what_the_person_could_change_is_found() {
        let nobody = Reach { uid: 1000, groups: vec![1000] };
        assert_eq!(changeable(Path::new("/usr/bin"), &nobody), None);
        // For anyone except root, the files they make are theirs; for root, they are given to another user.
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("dir");
        make_dir(&dir, 0o755, None).unwrap();
        let real = dunce::canonicalize(&dir).unwrap();
        if fs::metadata(&dir).unwrap().uid() == 0 {
            assert_eq!(changeable(&dir, &nobody), None, "the folder for temporary files is sticky");
            for (mode, groups, is_found) in [
                (0o755, vec![0], false),
                (0o775, vec![1000], false),
                (0o775, vec![1000, 0], true),
                (0o757, vec![], true),
                (0o1777, vec![], false),
            ] {
                fs::set_permissions(&dir, Permissions::from_mode(mode)).unwrap();
                let found = changeable(&dir.join("not/there"), &Reach { uid: 1000, groups });
                assert_eq!(found.map(|weak| weak.path), is_found.then(|| real.clone()), "{mode:o}");
            }
            fs::set_permissions(&dir, Permissions::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(&dir, Some(54_321), None).unwrap();
        }
        let weak = changeable(&dir.join("not/there"), &nobody).unwrap();
        assert_eq!(weak.path, real);
        assert!(weak.why.starts_with("belongs to user "), "{weak:?}");
    }
}
