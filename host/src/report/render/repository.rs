//! Paths of source files as code hosts know them: relative to the repository's root.

use std::path::Path;

/// The folder in the repository that relative paths of reports are relative to; empty if it is the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder(String);

impl Folder {
    /// The folder `here` in the repository whose root is `root`; the root if it is elsewhere.
    pub fn of(here: &Path, root: &Path) -> Folder {
        let parts = here.strip_prefix(root).map(|path| path.components()).into_iter().flatten();
        Folder(parts.map(|part| format!("{}/", part.as_os_str().to_string_lossy())).collect())
    }

    /// The path of a file of a report, relative to the root unless it is absolute.
    pub fn path(&self, file: &str) -> String {
        match Path::new(file).is_absolute() {
            true => file.to_owned(),
            false => format!("{}{file}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_of_a_workspace_is_a_folder_of_its_repository() {
        let root = Path::new("/work/repository");
        let path = |here: &str, file| Folder::of(Path::new(here), root).path(file);
        assert_eq!(path("/work/repository/crates/queue", "src/lib.rs"), "crates/queue/src/lib.rs");
        assert_eq!(path("/work/repository", "src/lib.rs"), "src/lib.rs");
        assert_eq!(path("/work/repository/crates", "/rust/std.rs"), "/rust/std.rs");
        assert_eq!(path("/elsewhere", "src/lib.rs"), "src/lib.rs");
        assert_eq!(Folder::default().path("a.c"), "a.c");
    }
}
