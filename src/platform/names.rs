//! Paths of this system, compared by its rules of names.
//!
//! Owns nothing but the way from paths to texts: what is no Unicode is compared byte by byte.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::domain::policy::path_names::PathNames;

/// The name of an entry of a folder, as a person would type it; `None` when it is no Unicode.
pub(crate) fn typed_name(name: OsString) -> Option<String> {
    name.into_string().ok().map(|name| PathNames::here().typed(name))
}

/// Whether both name the same file here.
pub(crate) fn same_path(one: &Path, other: &Path) -> bool {
    match (one.to_str(), other.to_str()) {
        _ if one == other => true,
        (Some(one), Some(other)) => PathNames::here().same(one, other),
        _ => false,
    }
}

/// What of a path lies below a folder, in the path's own spelling.
pub(crate) fn strip_base(path: &Path, folder: &Path) -> Option<PathBuf> {
    if let Ok(rest) = path.strip_prefix(folder) {
        return Some(rest.to_owned());
    }
    PathNames::here().below(folder.to_str()?, path.to_str()?).map(PathBuf::from)
}
