//! Which files a command that this server runs may see, and which it may change.
//!
//! Owns the lists: the system, the toolchains and caches that commands need, the workspace, and what none of them may bring along.
//! Never looks whether there is such a file, and enforces nothing: `process` does (decision 0032).

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// What a command may see and change. Everything else it can neither read nor write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The opened folders: read, written and run.
    pub roots: Vec<PathBuf>,
    /// Other places that are read, written and run: for temporary files, and caches.
    pub writes: Vec<PathBuf>,
    /// Devices: read and written, but none is made.
    pub devices: Vec<PathBuf>,
    /// Read and run.
    pub reads: Vec<PathBuf>,
    /// Not seen, wherever it lies: keys, tokens and what this server keeps. A folder inside it that was opened is.
    pub never: Vec<PathBuf>,
}

/// What the lists are made from.
pub struct CommandSurroundings<'a> {
    /// A variable of the command's environment; not an empty one.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
    /// The opened folders.
    pub roots: Vec<PathBuf>,
    /// What this server keeps.
    pub own: Vec<PathBuf>,
    /// What the user adds to what is read.
    pub reads: &'a [String],
    /// What the user adds to what is written.
    pub writes: &'a [String],
}

/// Programs, libraries and settings of the system. Places for data, and the homes of users, are not among them.
const SYSTEM: &[&str] = &[
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix", "/gnu", "/snap",
    "/proc", "/sys", "/run", "/System", "/Library",
];

/// Beneath those, what belongs to one user, or holds secrets of services.
const SYSTEM_NEVER: &[&str] = &["/run/user", "/run/secrets", "/run/credentials"];

const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// Toolchains and what programs are set up with: the variable that says where each is, and where in the home else.
const TOOLS: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GOPATH", "go"),
    ("GOROOT", ""),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("FNM_DIR", ".local/share/fnm"),
    ("BUN_INSTALL", ".bun"),
    ("DENO_INSTALL", ".deno"),
    ("PNPM_HOME", ".local/share/pnpm"),
    ("PYENV_ROOT", ".pyenv"),
    ("VIRTUAL_ENV", ""),
    ("CONDA_PREFIX", ""),
    ("RBENV_ROOT", ".rbenv"),
    ("GEM_HOME", ".gem"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("MISE_DATA_DIR", ".local/share/mise"),
    ("SDKMAN_DIR", ".sdkman"),
    ("JAVA_HOME", ""),
    ("ANDROID_HOME", ""),
    ("DOTNET_ROOT", ".dotnet"),
    ("GHCUP_INSTALL_BASE_PREFIX", ".ghcup"),
    ("OPAMROOT", ".opam"),
    ("ELAN_HOME", ".elan"),
    ("HOMEBREW_PREFIX", ""),
    ("GRADLE_USER_HOME", ".gradle"),
    ("", ".m2"),
    ("", ".yarn"),
    ("", ".bundle"),
    ("", ".composer"),
    ("", ".nuget"),
    ("", ".local/bin"),
    ("", ".local/lib"),
    ("", ".local/pipx"),
    ("", ".local/share/pipx"),
    ("", ".local/share/uv"),
    ("", ".local/share/virtualenvs"),
    ("", ".gitconfig"),
    ("", ".config/git"),
    ("", ".config/pip"),
    ("", ".tool-versions"),
];

/// Caches, which are written too: the variable that says where each is, what lies beneath it, and where in the home else.
const CACHES: &[(&str, &str, &str)] = &[
    ("XDG_CACHE_HOME", "", ".cache"),
    ("CARGO_HOME", "registry", ".cargo/registry"),
    ("CARGO_HOME", "git", ".cargo/git"),
    ("CARGO_HOME", ".package-cache", ".cargo/.package-cache"),
    ("CARGO_HOME", ".package-cache-mutate", ".cargo/.package-cache-mutate"),
    ("CARGO_HOME", ".global-cache", ".cargo/.global-cache"),
    ("CARGO_TARGET_DIR", "", ""),
    ("GOPATH", "pkg", "go/pkg"),
    ("GOCACHE", "", ""),
    ("GOMODCACHE", "", ""),
    ("NPM_CONFIG_CACHE", "", ".npm"),
    ("npm_config_cache", "", ".npm"),
    ("YARN_CACHE_FOLDER", "", ".yarn/berry"),
    ("PNPM_HOME", "store", ".local/share/pnpm/store"),
    ("BUN_INSTALL", "install/cache", ".bun/install/cache"),
    ("DENO_DIR", "", ""),
    ("PIP_CACHE_DIR", "", ""),
    ("UV_CACHE_DIR", "", ""),
    ("POETRY_CACHE_DIR", "", ""),
    ("CCACHE_DIR", "", ".ccache"),
    ("SCCACHE_DIR", "", ""),
    ("GRADLE_USER_HOME", "caches", ".gradle/caches"),
    ("GRADLE_USER_HOME", "daemon", ".gradle/daemon"),
    ("GRADLE_USER_HOME", "native", ".gradle/native"),
    ("GRADLE_USER_HOME", "wrapper", ".gradle/wrapper"),
    ("", "", ".m2/repository"),
    ("", "", ".nuget/packages"),
    ("", "", ".composer/cache"),
    ("TMPDIR", "", ""),
];

/// Keys, tokens and passwords, where they lie in a home.
const HOME_NEVER: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/gcloud",
    ".config/pip/pip.conf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".gem/credentials",
    ".bundle/config",
    ".composer/auth.json",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet",
    ".password-store",
    ".local/share/keyrings",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".terraform.d",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".thunderbird",
    ".claude",
    ".codex",
    ".local/share/opencode",
];

/// Tokens beside a toolchain that was put elsewhere.
const NEVER_BENEATH: &[(&str, &str)] = &[
    ("CARGO_HOME", "credentials"),
    ("CARGO_HOME", "credentials.toml"),
    ("GEM_HOME", "credentials"),
    ("GRADLE_USER_HOME", "gradle.properties"),
];

impl Confinement {
    /// What commands of this workspace may see and change.
    pub fn of(surroundings: &CommandSurroundings<'_>) -> Self {
        let CommandSurroundings { variable, roots, own, reads, writes } = surroundings;
        let home = variable("HOME").filter(|home| home.is_absolute() && home.parent().is_some());
        let in_home = |place: &str| home.as_ref().filter(|_| !place.is_empty()).map(|home| home.join(place));
        let named = |name: &str| Some(name).filter(|name| !name.is_empty()).and_then(variable);
        let added = |paths: &[String]| -> Vec<PathBuf> {
            let whole = |path: &String| match path.strip_prefix("~/") {
                Some(rest) => in_home(rest),
                None => Some(PathBuf::from(path)),
            };
            paths.iter().filter_map(whole).filter(|path| path.is_absolute()).collect()
        };
        let is_home = |path: &PathBuf| home.as_ref() == Some(path) || path.parent().is_none();
        let tools = TOOLS.iter().filter_map(|(name, place)| named(name).or_else(|| in_home(place)));
        let caches = CACHES.iter().filter_map(|(name, beneath, place)| match named(name) {
            Some(at) => Some(at.join(beneath)),
            None => in_home(place),
        });
        let temporary = TEMPORARY.iter().map(PathBuf::from);
        let on_path = on_path(variable("PATH").as_deref(), home.as_deref());
        let system = SYSTEM.iter().map(PathBuf::from);
        let never = SYSTEM_NEVER.iter().map(PathBuf::from);
        let secrets = HOME_NEVER.iter().filter_map(|place| in_home(place));
        let beside = NEVER_BENEATH.iter().filter_map(|(name, place)| Some(named(name)?.join(place)));
        // What a variable or PATH names is no reason to open the whole home.
        let kept = |path: &PathBuf| path.is_absolute() && !is_home(path);
        Self {
            roots: roots.clone(),
            writes: temporary.chain(caches).filter(kept).chain(added(writes)).collect(),
            devices: vec![PathBuf::from("/dev")],
            reads: system.chain(tools).chain(on_path).filter(kept).chain(added(reads)).collect(),
            never: never.chain(secrets).chain(beside).chain(own.iter().cloned()).collect(),
        }
    }
}

/// Where programs are looked for; of a folder `bin` what stands beside it too, such as its libraries, but in a home only where that
/// is hidden: documents are not.
fn on_path(path: Option<&Path>, home: Option<&Path>) -> Vec<PathBuf> {
    let path = path.and_then(Path::to_str).unwrap_or_default();
    let folders = path.split(':').map(Path::new).filter(|folder| folder.is_absolute());
    let is_tool = |beside: &Path| match home.and_then(|home| beside.strip_prefix(home).ok()) {
        Some(in_home) => in_home.to_str().is_some_and(|place| place.starts_with('.')),
        None => beside.components().count() > 3,
    };
    let with_libraries = |folder: &Path| match (folder.file_name(), folder.parent()) {
        (Some(name), Some(beside)) if name == "bin" && is_tool(beside) => beside.to_owned(),
        (_, _) => folder.to_owned(),
    };
    folders.map(with_libraries).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(variables: &[(&str, &str)]) -> Confinement {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        Confinement::of(&CommandSurroundings {
            variable: &variable,
            roots: vec!["/home/ann/work".into()],
            own: vec!["/home/ann/.local/state/ours".into()],
            reads: &["~/notes".to_owned(), "not/whole".to_owned()],
            writes: &["/data".to_owned()],
        })
    }

    fn has(list: &[PathBuf], path: &str) -> bool {
        list.iter().any(|known| known == Path::new(path))
    }

    #[test]
    #[cfg_attr(windows, ignore = "commands are confined on Linux alone")]
    fn r002_89_a_command_gets_the_workspace_toolchains_and_caches_and_no_home() {
        let made = made(&[
            ("HOME", "/home/ann"),
            ("PATH", "/usr/bin:/home/ann/.nvm/versions/node/v20/bin:/home/ann/bin:relative:/home/ann"),
            ("GOPATH", "/opt/go"),
            ("TMPDIR", "/scratch"),
        ]);
        for path in [
            "/usr",
            "/home/ann/.cargo",
            "/home/ann/.nvm/versions/node/v20",
            "/home/ann/bin",
            "/opt/go",
            "/home/ann/notes",
        ] {
            assert!(has(&made.reads, path), "{path} {:?}", made.reads);
        }
        for path in
            ["/tmp", "/scratch", "/home/ann/.cache", "/home/ann/.cargo/registry", "/opt/go/pkg", "/data"]
        {
            assert!(has(&made.writes, path), "{path} {:?}", made.writes);
        }
        for path in [
            "/home/ann/.ssh",
            "/home/ann/.cargo/credentials.toml",
            "/home/ann/.local/state/ours",
            "/run/user",
        ] {
            assert!(has(&made.never, path), "{path} {:?}", made.never);
        }
        let all = made.reads.iter().chain(&made.writes);
        let wide: Vec<_> = all.filter(|path| Path::new("/home/ann").starts_with(path)).collect();
        assert_eq!(wide, Vec::<&PathBuf>::new());
        assert!(!has(&made.writes, "/home/ann/.cargo"), "what is run from there is not written");
    }

    #[test]
    #[cfg_attr(windows, ignore = "commands are confined on Linux alone")]
    fn without_a_home_only_the_system_and_the_workspace_are_left() {
        for variables in [&[][..], &[("HOME", "/")], &[("HOME", "home"), ("CARGO_HOME", "/")]] {
            let made = made(variables);
            assert!(
                made.reads
                    .iter()
                    .chain(&made.writes)
                    .all(|path| path.parent().is_some() && path.is_absolute())
            );
            assert!(has(&made.reads, "/usr") && has(&made.writes, "/tmp"));
        }
    }
}
