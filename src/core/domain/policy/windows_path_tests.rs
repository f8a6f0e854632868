//! Paths by the rules of Windows, on every system.

use proptest::prelude::*;

use super::path::{PathRefused, WorkspacePath};
use super::path_rules::PathRules;

fn windows(text: &str) -> Result<String, PathRefused> {
    WorkspacePath::parse_by(PathRules::Windows, text).map(|path| path.as_str().to_owned())
}

#[test]
fn r000_36_windows_names_that_mean_another_file_are_refused() {
    for (given, why) in [
        ("nul", PathRefused::Device),
        ("src/NUL.txt", PathRefused::Device),
        ("con .tar.gz", PathRefused::Device),
        ("aux/x", PathRefused::Device),
        ("Com1", PathRefused::Device),
        ("lpt9.log", PathRefused::Device),
        ("COM²", PathRefused::Device),
        ("conout$", PathRefused::Device),
        ("a.txt.", PathRefused::DroppedEnd),
        ("a /b", PathRefused::DroppedEnd),
        (".git./config", PathRefused::DroppedEnd),
        ("a.txt:hidden", PathRefused::Stream),
        ("a.txt::$DATA", PathRefused::Stream),
        (".git::$INDEX_ALLOCATION/config", PathRefused::Stream),
        ("GIT~1/config", PathRefused::ShortName),
        ("docs/SECRET~2.TXT", PathRefused::ShortName),
        ("a?b", PathRefused::BadCharacter),
        ("a\u{1}b", PathRefused::BadCharacter),
        ("a\\b", PathRefused::BadCharacter),
        ("C:x", PathRefused::Absolute),
        (r"\\?\C:\x", PathRefused::Absolute),
        (r"\\.\pipe\x", PathRefused::Absolute),
        ("//server/share", PathRefused::Absolute),
        (".. /x", PathRefused::Parent),
    ] {
        assert_eq!(windows(given), Err(why), "{given:?}");
    }
}

#[test]
fn ordinary_names_are_taken_on_windows_and_devices_are_files_elsewhere() {
    for name in [
        "console.rs",
        "src/nullable.rs",
        "com10.c",
        "com",
        "auxiliary/x",
        "a~b.txt",
        "backup~1.rust",
        "HEAD~",
        "~1",
        "ü.md",
    ] {
        assert_eq!(windows(name), Ok(name.to_owned()), "{name}");
    }
    for name in ["aux.c", "ab:c", "x. ", "GIT~1"] {
        assert!(WorkspacePath::parse_by(PathRules::Posix, name).is_ok(), "{name}");
    }
}

/// Two hundred ways out of a folder, of the Windows kind: each beginning before each rest, in any case and depth.
#[test]
fn r000_36_two_hundred_generated_escapes_of_the_windows_kind_are_refused() {
    let ways = [
        r"..\",
        r"..\..\",
        "../",
        "a/../../",
        r"a\..\..\",
        ".. /",
        ".../",
        r"..\ ",
        "C:",
        "c:/",
        r"C:\",
        r"\\server\share\",
        "//server/share/",
        r"\\?\C:\",
        r"\\?\UNC\server\share\",
        r"\\.\",
        "//?/C:/",
        "file:///c%3A/",
        "FILE:C:/",
        r"\",
        "/",
        "nul/",
        "a/CON/",
        "com1:",
        "x:s/",
        "GIT~1/",
        "PROGRA~1/",
        ".git./",
        ".git /",
        ".git::$INDEX_ALLOCATION/",
    ];
    let rests =
        ["secret", "Windows/win.ini", ".ssh/id_rsa", "x.txt", "d/e/f", "hooks/pre-commit", "%USERPROFILE%"];
    let mut tried = 0;
    for way in ways {
        for rest in rests {
            let path = format!("{way}{rest}");
            for path in [path.to_uppercase(), format!("src/{path}"), path] {
                // What begins with a slash leads nowhere else behind `src/`.
                if !path.starts_with("src//") {
                    assert!(windows(&path).is_err(), "{path}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried >= 200, "{tried}");
}

proptest! {
    #[test]
    fn r000_36_what_windows_takes_has_one_reading(text in r"([./\\a :~1C]|nul|\.\./|é){0,10}") {
        if let Ok(path) = WorkspacePath::parse_by(PathRules::Windows, &text) {
            prop_assert!(!path.as_str().contains(['\\', ':']));
            for part in path.components() {
                prop_assert_eq!(PathRules::Windows.refuses(part), None, "{}", part);
            }
            // What one system takes on Windows is taken everywhere, and read the same.
            prop_assert_eq!(WorkspacePath::parse_by(PathRules::Posix, &text), Ok(path));
        }
    }
}
