//! Where the files are, whose they are, and who else may read them.

use std::path::{Path, PathBuf};

use super::super::{Platform, default_state_dir, open, open_slot};
use super::{events, journal};
use crate::app::ports::Journal;

fn environment(pairs: &'static [(&str, &str)]) -> impl Fn(&str) -> Option<String> {
    move |name| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
}

#[test]
fn each_platform_has_its_own_default() {
    let home = environment(&[("HOME", "/h")]);
    let xdg = environment(&[("HOME", "/h"), ("XDG_STATE_HOME", "/x")]);
    let relative = environment(&[("HOME", "/h"), ("XDG_STATE_HOME", "x")]);
    let empty = environment(&[("HOME", "/h"), ("XDG_STATE_HOME", "")]);
    let windows = environment(&[("HOME", "/h"), ("LOCALAPPDATA", "C:\\L"), ("USERPROFILE", "C:\\U")]);
    let profile = environment(&[("USERPROFILE", "C:\\U")]);
    let nothing = environment(&[]);
    let under = |base: &str| Some(Path::new(base).join("breadboard-ls"));
    assert_eq!(default_state_dir(Platform::Unix, &home), under("/h/.local/state"));
    assert_eq!(default_state_dir(Platform::Unix, &xdg), under("/x"));
    assert_eq!(default_state_dir(Platform::Unix, &relative), under("/h/.local/state"));
    assert_eq!(default_state_dir(Platform::Unix, &empty), under("/h/.local/state"));
    assert_eq!(default_state_dir(Platform::Unix, &nothing), None);
    assert_eq!(default_state_dir(Platform::MacOs, &xdg), under("/h/Library/Application Support"));
    assert_eq!(default_state_dir(Platform::Windows, &windows), under("C:\\L"));
    assert_eq!(
        default_state_dir(Platform::Windows, &profile),
        Some(PathBuf::from("C:\\U").join("AppData").join("Local").join("breadboard-ls"))
    );
    assert_eq!(default_state_dir(Platform::Windows, &nothing), None);
}

#[test]
fn two_windows_have_two_files_and_a_closed_one_is_taken_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut one = journal(directory.path());
    let mut two = journal(directory.path());
    assert_eq!(one.database(), Some(directory.path().join("slot-0.sqlite3").as_path()));
    assert_eq!(two.database(), Some(directory.path().join("slot-1.sqlite3").as_path()));
    assert_ne!(one.epoch(), two.epoch());
    one.commit(&events(1, 1)).unwrap();
    assert_eq!(two.head("s"), Ok(0));
    let epoch = one.epoch().to_owned();
    drop(one);

    let mut again = journal(directory.path());
    assert_eq!(again.epoch(), epoch);
    assert_eq!(again.head("s"), Ok(1));
}

#[test]
fn the_window_after_the_last_slot_keeps_nothing_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let held: Vec<_> = (0..64).map(|_| open_slot(directory.path()).unwrap()).collect();
    assert_eq!(held[63].number, 63);
    let mut journal = journal(directory.path());
    assert_eq!(journal.state_dir(), None);
    let warnings = journal.take_warnings();
    assert!(warnings[0].contains("will not be kept") && warnings[0].contains("every slot"), "{warnings:?}");
    journal.commit(&events(1, 1)).unwrap();
    assert_eq!(journal.head("s"), Ok(1));
}

#[cfg(unix)]
#[test]
fn the_directory_is_closed_to_others_even_when_it_was_open() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;

    let fresh = directory.path().join("a").join("b");
    let opened = journal(&fresh);
    assert_eq!(opened.state_dir(), Some(fresh.clone()));
    assert_eq!(mode(&fresh), 0o700);

    let wide = directory.path().join("wide");
    std::fs::create_dir(&wide).unwrap();
    std::fs::set_permissions(&wide, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert!(journal(&wide).state_dir().is_some());
    assert_eq!(mode(&wide), 0o700);
}

#[cfg(unix)]
#[test]
fn a_directory_that_users_share_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let shared = directory.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::set_permissions(&shared, std::fs::Permissions::from_mode(0o1777)).unwrap();
    let mut journal = journal(&shared);
    assert!(journal.take_warnings()[0].contains("shared with other users"));
    assert_eq!(std::fs::metadata(&shared).unwrap().permissions().mode() & 0o7777, 0o1777);
    assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0);
}

#[test]
fn where_nothing_can_be_kept_the_journal_works_in_memory_and_says_so_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a file");
    std::fs::write(&file, "in the way").unwrap();
    let mut journal = open(file.join("state").to_str());
    let warnings = journal.take_warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].starts_with("The sessions of this window will not be kept"), "{warnings:?}");
    assert!(warnings[0].contains("a file"), "{warnings:?}");
    assert_eq!(journal.take_warnings(), Vec::<String>::new());
    journal.commit(&events(1, 2)).unwrap();
    assert_eq!(journal.head("s"), Ok(2));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "in the way");
}

#[test]
fn a_directory_in_place_of_the_file_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("slot-0.sqlite3")).unwrap();
    let mut journal = journal(directory.path());
    assert!(journal.take_warnings()[0].contains("slot-0.sqlite3"));
    journal.commit(&events(1, 1)).unwrap();
    assert!(directory.path().join("slot-0.sqlite3").is_dir());
}
