//! The user's own excludes: `core.excludesFile` of git's settings, or git's default place for them.
//!
//! Owns where they are looked for: in the user's and the system's settings, never in a repository's. They are the user's, so
//! links are followed, as dotfiles often are; but only regular files are read, within bounds.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use super::open::{is_pseudo, read_bounded};

/// Bytes of git's settings that are read.
const MAX_SETTINGS: u64 = 1 << 20;

/// The file of excludes, opened, with its path. `variable` gives the environment.
pub(super) fn open(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<(File, PathBuf)> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("HOME").or_else(|| absolute("USERPROFILE"));
    let config = absolute("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let settings = [
        absolute("GIT_CONFIG_GLOBAL"),
        home.as_ref().map(|home| home.join(".gitconfig")),
        config.as_ref().map(|config| config.join("git/config")),
        absolute("GIT_CONFIG_SYSTEM").or_else(|| Some(PathBuf::from("/etc/gitconfig"))),
    ];
    let named = settings.into_iter().flatten().find_map(|path| {
        let bytes = read_bounded(regular(&path)?, MAX_SETTINGS, &|| false).ok()?;
        excludes_file(&String::from_utf8_lossy(&bytes))
    });
    let path = match named {
        Some(named) => expanded(&named, home.as_deref())?,
        None => config?.join("git/ignore"),
    };
    Some((regular(&path)?, path))
}

/// A relative name would be looked for where the server was started, which may be a repository.
fn expanded(named: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = match named.strip_prefix("~/") {
        Some(rest) => home?.join(rest),
        None => PathBuf::from(named),
    };
    path.is_absolute().then_some(path)
}

/// The value of `excludesFile` in the section `core`; the last one counts.
fn excludes_file(settings: &str) -> Option<String> {
    let mut in_core = false;
    let mut found = None;
    for line in settings.lines() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.split(']').next().is_some_and(|name| name.trim().eq_ignore_ascii_case("core"));
        } else if in_core
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case("excludesfile")
        {
            found = Some(value.trim().trim_matches('"').to_owned()).filter(|value| !value.is_empty());
        }
    }
    found
}

fn regular(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    // Looked at before it is opened, because opening a device can already do something.
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    let file = options.open(path).ok()?;
    (file.metadata().ok()?.is_file() && !is_pseudo(&file)).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Read;
    use std::path::Path;

    use super::{excludes_file, open};

    fn text(variables: &[(&str, &Path)]) -> Option<String> {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, path)| OsString::from(path))
        };
        let mut text = String::new();
        open(&variable)?.0.read_to_string(&mut text).unwrap();
        Some(text)
    }

    #[test]
    fn the_users_excludes_are_found_where_git_finds_them() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        std::fs::create_dir_all(at(".config/git")).unwrap();
        let found = || text(&[("HOME", home.path()), ("GIT_CONFIG_SYSTEM", Path::new("/none"))]);
        assert_eq!(found(), None);
        std::fs::write(at(".config/git/ignore"), "default").unwrap();
        assert_eq!(found().as_deref(), Some("default"));
        std::fs::write(at("mine"), "mine").unwrap();
        std::fs::write(at(".config/git/config"), "[core]\n\texcludesFile = ~/mine\n").unwrap();
        assert_eq!(found().as_deref(), Some("mine"));
        std::fs::write(at(".gitconfig"), format!("[Core]\nExcludesfile=\"{}\"\n", at("mine").display()))
            .unwrap();
        assert_eq!(found().as_deref(), Some("mine"));
        std::fs::write(at(".gitconfig"), "[core]\nexcludesFile = mine\n").unwrap();
        assert_eq!(found(), None, "a relative name could be a repository's");
    }

    #[test]
    fn only_the_section_core_counts_and_its_last_value() {
        assert_eq!(excludes_file("[user]\nexcludesfile = a\n"), None);
        assert_eq!(excludes_file("[core]\nexcludesfile=a\n[core]\nexcludesFile = b\n"), Some("b".into()));
        assert_eq!(excludes_file("[core \"x\"]\nexcludesfile = a\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_no_regular_file_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        for target in ["/dev/zero", "/proc/self/environ"] {
            std::fs::write(home.path().join(".gitconfig"), format!("[core]\nexcludesFile = {target}\n"))
                .unwrap();
            assert_eq!(text(&[("HOME", home.path())]), None, "{target}");
        }
    }
}
