//! Which file a name stands for on Windows, where programs have an ending that nobody types.
//!
//! Owns the order of the endings. Never starts the file, and looks at a disk only through what it is given.

use std::path::{Path, PathBuf};

/// What can be started, programs before scripts of `cmd.exe`. Packages of npm put three files side by side: a script for a Unix shell
/// without an ending, which does not run here, one of `cmd.exe` and one of PowerShell.
const ENDINGS: [&str; 4] = ["exe", "com", "cmd", "bat"];

/// The file: a path is looked at from `folder`, a name is looked for in the directories that are absolute. Never in the folder
/// itself, as `cmd.exe` does: it belongs to a repository.
pub(super) fn program_file(
    program: &str,
    directories: &[PathBuf],
    folder: &Path,
    is_file: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let ending = Path::new(program).extension().and_then(|ending| ending.to_str());
    let is_whole = ending.is_some_and(|ending| ENDINGS.iter().any(|one| one.eq_ignore_ascii_case(ending)));
    let names: Vec<String> = match is_whole {
        true => vec![program.to_owned()],
        false => ENDINGS.iter().map(|ending| format!("{program}.{ending}")).collect(),
    };
    let within = |directory: &Path| names.iter().map(|name| directory.join(name)).find(|file| is_file(file));
    if program.contains(['/', '\\', ':']) {
        return within(folder);
    }
    directories.iter().filter(|directory| directory.is_absolute()).find_map(|directory| within(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_with_each_ending_and_never_in_the_folder_of_a_repository() {
        let there = [
            "/npm/opencode",
            "/npm/opencode.cmd",
            "/bin/node.exe",
            "/bin/node.cmd",
            "/ws/evil.exe",
            "/ws/t/run.cmd",
        ];
        // What begins with a slash is absolute on Windows only behind a drive.
        let at =
            |path: &str| PathBuf::from(if cfg!(windows) { format!("C:{path}") } else { path.to_owned() });
        let directories = ["relative".into(), PathBuf::new(), at("/npm"), at("/bin")];
        let found = |program: &str| {
            let is_file = |path: &Path| there.iter().any(|file| at(file) == path);
            program_file(program, &directories, &at("/ws"), &is_file)
        };
        for (program, file) in [
            ("opencode", Some("/npm/opencode.cmd")),
            ("node", Some("/bin/node.exe")),
            ("node.cmd", Some("/bin/node.cmd")),
            ("NODE.EXE", None),
            ("evil", None),
            ("./evil", Some("/ws/./evil.exe")),
            ("t/run", Some("/ws/t/run.cmd")),
            ("/bin/node", Some("/bin/node.exe")),
            ("nobody", None),
        ] {
            assert_eq!(found(program), file.map(at), "{program}");
        }
    }
}
