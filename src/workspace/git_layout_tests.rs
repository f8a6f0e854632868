//! Which repositories are let in, and which point elsewhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::super::git::tests::{commit, git, repository};
use super::{Refused, top_of};

struct Places {
    _parent: tempfile::TempDir,
    /// A repository that nobody opened.
    private: PathBuf,
    /// The folder that is asked about.
    folder: PathBuf,
}

fn places() -> Places {
    let parent = tempfile::tempdir().unwrap();
    let real = parent.path().canonicalize().unwrap();
    let (private, folder) = (real.join("private"), real.join("folder"));
    fs::create_dir(&private).unwrap();
    fs::create_dir(&folder).unwrap();
    repository(&private, &[("a", b"private\n")]);
    Places { _parent: parent, private, folder }
}

fn refused(folder: &Path) -> Refused {
    top_of(folder).unwrap_err()
}

#[test]
fn a_repository_and_the_folders_in_it_are_let_in() {
    let places = places();
    assert_eq!(refused(&places.folder), Refused::None);
    repository(&places.folder, &[("d/a", b"x\n")]);
    assert_eq!(top_of(&places.folder), Ok(places.folder.clone()));
    assert_eq!(top_of(&places.folder.join("d")), Ok(places.folder.clone()));
    git(&places.folder, &["gc", "-q"]);
    git(&places.folder, &["branch", "some/branch"]);
    assert_eq!(top_of(&places.folder), Ok(places.folder.clone()));
    // The old form of a symbolic reference, and hooks that are kept elsewhere.
    fs::remove_file(places.folder.join(".git/HEAD")).unwrap();
    git(&places.folder, &["-c", "core.preferSymlinkRefs=true", "--git-dir=.git", "version"]);
    symlink("refs/heads/some/branch", places.folder.join(".git/HEAD")).unwrap();
    fs::remove_dir_all(places.folder.join(".git/hooks")).unwrap();
    symlink(&places.private, places.folder.join(".git/hooks")).unwrap();
    assert_eq!(top_of(&places.folder), Ok(places.folder.clone()));
}

#[test]
fn a_worktree_and_a_submodule_are_proved_by_what_their_repository_says() {
    let places = places();
    let worktree = places.folder.join("worktree");
    git(&places.private, &["worktree", "add", "-q", "--detach", worktree.to_str().unwrap()]);
    assert_eq!(top_of(&worktree), Ok(worktree.clone()));
    // Another folder that claims to be that worktree.
    let thief = places.folder.join("thief");
    fs::create_dir(&thief).unwrap();
    fs::copy(worktree.join(".git"), thief.join(".git")).unwrap();
    assert_eq!(refused(&thief), Refused::Elsewhere(".git"));

    let outer = places.folder.join("outer");
    fs::create_dir(&outer).unwrap();
    repository(&outer, &[("o", b"o\n")]);
    let from = places.private.to_str().unwrap();
    git(&outer, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", from, "inner"]);
    commit(&outer, &[], "submodule");
    assert_eq!(top_of(&outer.join("inner")), Ok(outer.join("inner")));
    fs::copy(outer.join("inner/.git"), thief.join(".git")).unwrap();
    fs::write(thief.join(".git"), format!("gitdir: {}\n", outer.join(".git/modules/inner").display()))
        .unwrap();
    assert_eq!(refused(&thief), Refused::Elsewhere(".git"));
}

#[test]
fn no_indirection_leads_to_another_repository() {
    let private_git = |places: &Places| places.private.join(".git");
    type Trap = fn(&Places, &Path);
    let traps: [(&str, Trap, Refused); 12] = [
        (
            ".git is a link",
            |p, private| symlink(private, p.folder.join(".git")).unwrap(),
            Refused::Elsewhere(".git"),
        ),
        (
            ".git names another",
            |p, private| {
                fs::write(p.folder.join(".git"), format!("gitdir: {}\n", private.display())).unwrap()
            },
            Refused::Elsewhere(".git"),
        ),
        (
            ".git names a directory here, which names another",
            |p, private| {
                fs::create_dir_all(p.folder.join("evil")).unwrap();
                fs::write(p.folder.join(".git"), "gitdir: evil\n").unwrap();
                fs::write(p.folder.join("evil/commondir"), private.display().to_string()).unwrap();
                fs::write(p.folder.join("evil/gitdir"), p.folder.join(".git").display().to_string()).unwrap();
            },
            Refused::Elsewhere(".git"),
        ),
        (
            "a worktree in form only",
            |p, private| {
                fs::create_dir_all(p.folder.join("evil/worktrees/x")).unwrap();
                fs::write(p.folder.join(".git"), "gitdir: evil/worktrees/x\n").unwrap();
                fs::write(p.folder.join("evil/worktrees/x/commondir"), "../..").unwrap();
                fs::write(
                    p.folder.join("evil/worktrees/x/gitdir"),
                    p.folder.join(".git").display().to_string(),
                )
                .unwrap();
                symlink(private.join("objects"), p.folder.join("evil/objects")).unwrap();
            },
            Refused::Elsewhere("objects"),
        ),
        (
            "commondir",
            |p, private| {
                git(&p.folder, &["init", "-q"]);
                fs::write(p.folder.join(".git/commondir"), private.display().to_string()).unwrap();
            },
            Refused::Elsewhere("commondir"),
        ),
        (
            "alternates",
            |p, private| {
                git(&p.folder, &["init", "-q"]);
                let line = format!("{}\n", private.join("objects").display());
                fs::write(p.folder.join(".git/objects/info/alternates"), line).unwrap();
            },
            Refused::Elsewhere("objects/info/alternates"),
        ),
        (
            "relative alternates",
            |p, _| {
                git(&p.folder, &["init", "-q"]);
                let line = "# here\n../../../private/.git/objects\n";
                fs::write(p.folder.join(".git/objects/info/alternates"), line).unwrap();
            },
            Refused::Elsewhere("objects/info/alternates"),
        ),
        (
            "objects is a link",
            |p, private| {
                git(&p.folder, &["init", "-q"]);
                fs::remove_dir_all(p.folder.join(".git/objects")).unwrap();
                symlink(private.join("objects"), p.folder.join(".git/objects")).unwrap();
            },
            Refused::Elsewhere("objects"),
        ),
        (
            "a directory of objects is a link",
            |p, private| {
                git(&p.folder, &["init", "-q"]);
                fs::remove_dir_all(p.folder.join(".git/objects/pack")).unwrap();
                symlink(private.join("objects/pack"), p.folder.join(".git/objects/pack")).unwrap();
            },
            Refused::Elsewhere("a file in `.git`"),
        ),
        (
            "HEAD is a link",
            |p, private| {
                git(&p.folder, &["init", "-q"]);
                fs::remove_file(p.folder.join(".git/HEAD")).unwrap();
                symlink(private.join("HEAD"), p.folder.join(".git/HEAD")).unwrap();
            },
            Refused::Elsewhere("HEAD"),
        ),
        (
            "HEAD is a pipe",
            |p, _| {
                git(&p.folder, &["init", "-q"]);
                fs::remove_file(p.folder.join(".git/HEAD")).unwrap();
                pipe(&p.folder.join(".git/HEAD"));
            },
            Refused::Unreadable("HEAD"),
        ),
        (
            "the settings include a pipe",
            |p, _| {
                git(&p.folder, &["init", "-q"]);
                pipe(&p.folder.join("pipe"));
                git(&p.folder, &["config", "-f", ".git/config", "include.path", "../pipe"]);
            },
            Refused::Unreadable("config"),
        ),
    ];
    for (name, trap, then) in traps {
        let places = places();
        trap(&places, &private_git(&places));
        assert_eq!(top_of(&places.folder), Err(then), "{name}");
    }
}

fn pipe(at: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}
