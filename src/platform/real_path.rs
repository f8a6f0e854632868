//! Where a path leads, without links, in the spelling that people and other programs use.
//!
//! Owns one call. Everything that is compared with its answer comes from here as well.

use std::io;
use std::path::{Path, PathBuf};

use crate::domain::policy::path_names::PathNames;

/// The path without links, `.` and `..`, of what is there. Windows begins such a path with `\\?\`, which no person types and no URI
/// has; that is taken away where it says nothing else.
///
/// # Errors
/// What the system says: there is nothing, or a folder on the way may not be looked into.
pub(crate) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    let plain = real.to_str().and_then(|text| PathNames::here().plain(text)).map(PathBuf::from);
    Ok(plain.unwrap_or(real))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_path_leads_to_is_spelled_as_a_person_would() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("d")).unwrap();
        let real = real_path(&place.path().join("d").join("..").join("d")).unwrap();
        assert!(real.ends_with("d") && real.is_absolute());
        assert!(!real.to_string_lossy().starts_with(r"\\?\"), "{}", real.display());
        assert_eq!(real_path(&real).unwrap(), real);
        assert!(real_path(&place.path().join("none")).is_err());
    }

    /// Wine makes no junctions and resolves none; this runs on Windows itself.
    #[cfg(windows)]
    #[test]
    #[ignore = "makes a junction by cmd.exe, which Wine does not do"]
    fn a_junction_is_followed_to_where_it_leads() {
        let place = tempfile::tempdir().unwrap();
        let (there, link) = (place.path().join("there"), place.path().join("link"));
        std::fs::create_dir(&there).unwrap();
        let made = std::process::Command::new("cmd")
            .args(["/c", "mklink", "/J"])
            .arg(&link)
            .arg(&there)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        assert_eq!(real_path(&link).unwrap(), real_path(&there).unwrap());
    }
}
