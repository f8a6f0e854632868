//! Where the files are, whose they are, and who else may read them.

use std::path::{Path, PathBuf};

use super::super::state_dir::{Platform, default_state_dir};
use super::super::window::open_window;
use super::{events, journal};
use crate::app::ports::{Commit, Journal};

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
fn the_window_after_the_last_number_keeps_nothing_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let held: Vec<_> = (0..64).map(|_| open_window(directory.path()).unwrap()).collect();
    assert_eq!(held[63].number, 63);
    let mut journal = journal(directory.path());
    assert_eq!(journal.state_dir(), None);
    let warnings = journal.take_warnings();
    assert!(
        warnings[0].contains("will not be kept") && warnings[0].contains("too many windows"),
        "{warnings:?}"
    );
    journal.commit(&events(1, 1)).unwrap();
    assert_eq!(journal.head("s"), Ok(1));
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_made_is_closed_to_others_and_one_that_is_there_keeps_its_mode() {
    let directory = tempfile::tempdir().unwrap();
    let fresh = directory.path().join("a").join("b");
    let opened = journal(&fresh);
    assert_eq!(opened.state_dir(), Some(fresh.clone()));
    assert_eq!(mode(&fresh), 0o700);

    for (own, warns) in [(0o755, false), (0o750, false), (0o775, true)] {
        let wide = directory.path().join(format!("{own:o}"));
        std::fs::create_dir(&wide).unwrap();
        set_mode(&wide, own);
        let mut journal = journal(&wide);
        assert_eq!((journal.state_dir(), mode(&wide)), (Some(wide.clone()), own));
        let warnings = journal.take_warnings();
        assert_eq!(warnings.iter().any(|warning| warning.contains("chmod 700")), warns, "{warnings:?}");
        assert_eq!(warnings.len(), usize::from(warns), "{warnings:?}");
    }
    let open = directory.path().join("open");
    std::fs::create_dir(&open).unwrap();
    set_mode(&open, 0o777);
    let mut journal = journal(&open);
    assert_eq!((journal.state_dir(), mode(&open)), (None, 0o777));
    assert!(journal.take_warnings()[0].contains("shared with other users"));
}

#[cfg(unix)]
#[test]
fn every_file_is_for_its_user_alone_also_one_that_was_open_to_others() {
    let directory = tempfile::tempdir().unwrap();
    let files = || {
        let all = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
        all.collect::<Vec<PathBuf>>()
    };
    for round in 0..2 {
        let mut journal = journal(directory.path());
        journal.commit(&events(round + 1, round + 1)).unwrap();
        let view = Some((1, vec![1]));
        journal.commit(&Commit { session_id: "s".into(), view, ..Commit::default() }).unwrap();
        let all = files();
        assert!(all.len() >= 5, "{all:?}");
        for file in &all {
            assert_eq!(mode(file), 0o600, "{}", file.display());
        }
        drop(journal);
        files().iter().for_each(|file| set_mode(file, 0o666));
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_of_the_user_is_refused_as_state_and_left_alone() {
    type Make = fn(&Path);
    let kinds: [(&str, Make); 4] = [
        ("link", |path| std::os::unix::fs::symlink("/nonexistent/elsewhere", path).unwrap()),
        ("pipe", |path| {
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
            rustix::fs::mknodat(rustix::fs::CWD, path, kind, mode, 0).unwrap();
        }),
        ("socket", |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap())),
        ("directory", |path| std::fs::create_dir(path).unwrap()),
    ];
    let names = [
        "window-0.lock",
        "sessions.sqlite3",
        "sessions.sqlite3-wal",
        "sessions.sqlite3-shm",
        "window-0.front",
    ];
    for named in names {
        for (kind, make) in kinds {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join(named);
            make(&path);
            let before = std::fs::symlink_metadata(&path).unwrap().file_type();
            let mut journal = journal(directory.path());
            let warnings = journal.take_warnings();
            assert!(
                warnings.len() == 1
                    && warnings[0].contains(named)
                    && warnings[0].contains("not a regular file"),
                "{kind} {named}: {warnings:?}"
            );
            journal.commit(&events(1, 1)).unwrap();
            assert_eq!(journal.head("s"), Ok(1), "{kind} {named}");
            assert_eq!(std::fs::symlink_metadata(&path).unwrap().file_type(), before, "{kind} {named}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_deleted_or_replaced_underneath_is_said_once() {
    for replace in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("state");
        let mut journal = journal(&place);
        let view = |seq| Commit { session_id: "s".into(), view: Some((seq, vec![1])), ..Commit::default() };
        journal.commit(&view(1)).unwrap();
        assert_eq!(journal.take_warnings(), Vec::<String>::new());
        std::fs::rename(&place, directory.path().join("elsewhere")).unwrap();
        if replace {
            std::fs::create_dir(&place).unwrap();
        }
        journal.commit(&events(1, 1)).unwrap();
        journal.commit(&view(1)).unwrap();
        let warnings = journal.take_warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("deleted or replaced"), "{warnings:?}");
        journal.commit(&view(1)).unwrap();
        assert_eq!((journal.take_warnings(), journal.head("s")), (Vec::new(), Ok(1)));
    }
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
    let mut journal = journal(&file.join("state"));
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
    std::fs::create_dir(directory.path().join("sessions.sqlite3")).unwrap();
    let mut journal = journal(directory.path());
    assert!(journal.take_warnings()[0].contains("sessions.sqlite3"));
    journal.commit(&events(1, 1)).unwrap();
    assert!(directory.path().join("sessions.sqlite3").is_dir());
}
