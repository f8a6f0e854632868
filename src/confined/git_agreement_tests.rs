//! What git ignores is what we ignore: generated trees, asked of both.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::IgnoreRules;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end as u64).unwrap()
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const NAMES: &[&str] =
    &["a", "b", "ab", "abc", "a.log", "b.log", "a b", "x ", "!a", "#a", "[a]", "{a,b}", "A", "a-b", "tab\t"];

const PIECES: &[&str] = &[
    "a",
    "b",
    "c",
    "*",
    "**",
    "?",
    "/",
    "/",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[]a]",
    "[!]]",
    "[a",
    "\\*",
    "\\",
    "\\[",
    "{a,b}",
    ".log",
    "*.log",
    "[[:alpha:]]",
    "-",
    " ",
    "x\\ ",
    "!",
    "#",
    "\t",
    "**/",
    "/**",
    "A",
];

fn git(at: &Path, words: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new("git")
        .current_dir(at)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let done = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    // `check-ignore` ends with 1 when nothing is ignored.
    assert!(done.status.code().is_some_and(|code| code <= 1), "{}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

/// Everything below a directory that is no repository's own, as paths and whether they are directories.
fn entries(root: &Path, below: &Path, found: &mut Vec<(PathBuf, bool)>) {
    for entry in std::fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        if entry.file_name() == ".git" {
            continue;
        }
        let path = below.join(entry.file_name());
        let is_directory = entry.file_type().unwrap().is_dir();
        found.push((path.clone(), is_directory));
        if is_directory {
            entries(root, &path, found);
        }
    }
}

fn left_out_by_git(root: &Path, all: &[(PathBuf, bool)]) -> BTreeSet<PathBuf> {
    let input: Vec<u8> =
        all.iter().flat_map(|(path, _)| [path.to_str().unwrap().as_bytes(), b"\0"].concat()).collect();
    let output = git(root, &["check-ignore", "--no-index", "--stdin", "-z"], &input);
    let paths = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(std::str::from_utf8(path).unwrap())).collect()
}

fn left_out_by_us(folder: &Path, all: &[(PathBuf, bool)]) -> BTreeSet<PathBuf> {
    let dir = Dir::open_ambient_dir(folder, ambient_authority()).unwrap();
    let never = || false;
    let mut rules = IgnoreRules::of_folder(&dir, folder, &never);
    let mut found = BTreeSet::new();
    for (path, is_directory) in all {
        rules.enter(path.parent().unwrap().to_str().unwrap());
        if rules.leaves_out(path.to_str().unwrap(), *is_directory) {
            found.insert(path.clone());
        }
    }
    found
}

fn assert_agreement(root: &Path, about: &str) {
    let mut all = Vec::new();
    entries(root, Path::new(""), &mut all);
    let (git, us) = (left_out_by_git(root, &all), left_out_by_us(root, &all));
    let more: Vec<_> = us.difference(&git).collect();
    let fewer: Vec<_> = git.difference(&us).collect();
    assert!(more.is_empty() && fewer.is_empty(), "{about}\nwe alone: {more:?}\ngit alone: {fewer:?}");
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn generated_ignore_files_mean_to_us_what_they_mean_to_git() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let root = tempfile::tempdir().unwrap();
        git(root.path(), &["init", "-q"], b"");
        let mut directories = vec![String::new()];
        for _ in 0..12 {
            let parent = directories[random.below(directories.len())].clone();
            let name = random.of(NAMES);
            let path = if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") };
            if root.path().join(&path).exists() || path.matches('/').count() > 3 {
                continue;
            }
            if random.below(2) == 0 {
                std::fs::create_dir(root.path().join(&path)).unwrap();
                directories.push(path);
            } else {
                write(root.path(), &path, "");
            }
        }
        for directory in directories.clone() {
            for name in NAMES {
                let path = root.path().join(&directory).join(name);
                if random.below(2) == 0 && !path.exists() {
                    std::fs::write(path, "").unwrap();
                }
            }
        }
        let mut about = format!("seed {seed}");
        for count in 0..=random.below(4) {
            let directory = directories[random.below(directories.len())].clone();
            let place = match count {
                0 => ".gitignore".to_owned(),
                1 => ".git/info/exclude".to_owned(),
                _ if directory.is_empty() => continue,
                _ => format!("{directory}/.gitignore"),
            };
            let mut text = String::new();
            for _ in 0..=random.below(8) {
                let negated = if random.below(4) == 0 { "!" } else { "" };
                let pieces: String = (0..=random.below(4)).map(|_| random.of(PIECES)).collect();
                let end = ["", "", "", "/", "  ", "\r"][random.below(6)];
                writeln!(text, "{negated}{pieces}{end}").unwrap();
            }
            write!(about, "\n{place}: {text:?}").unwrap();
            write(root.path(), &place, &text);
        }
        assert_agreement(root.path(), &about);
    }
}

#[test]
fn each_rule_of_gits_manual_holds() {
    let root = tempfile::tempdir().unwrap();
    git(root.path(), &["init", "-q"], b"");
    for path in [
        "keep.log",
        "drop.log",
        "build/x",
        "sub/build/y",
        "sub/keep.log",
        "sub/only-here",
        "sub/deep/only-here",
        "doc/frotz/f",
        "a/doc/frotz/f",
        "foo",
        "dir/foo/f",
        "a/b",
        "a/x/b",
        "a/x/y/b",
        "abc/inside/f",
        "trailing ",
        "trailing",
        "#hash",
        "!bang",
        "back\\slash",
        "vendored/lib/x",
        "vendored/lib/keep",
    ] {
        write(root.path(), path, "");
    }
    write(
        root.path(),
        ".gitignore",
        "*.log\n!keep.log\n/build/\ndoc/frotz\nfoo/\na/**/b\nabc/**\ntrailing\\ \n\\#hash\n\\!bang\nback\\\\slash\n\
         vendored/lib/*\n!vendored/lib/keep\n",
    );
    write(root.path(), "sub/.gitignore", "!build/\n/only-here\nkeep.log\n");
    write(root.path(), ".git/info/exclude", "y\n");
    assert_agreement(root.path(), "the manual's rules");
}

#[test]
fn a_repository_within_another_has_its_own_rules() {
    let root = tempfile::tempdir().unwrap();
    git(root.path(), &["init", "-q"], b"");
    write(root.path(), ".gitignore", "*.log\n");
    write(root.path(), "inner/a.log", "");
    write(root.path(), "inner/b.tmp", "");
    write(root.path(), "inner/.gitignore", "*.tmp\n");
    git(&root.path().join("inner"), &["init", "-q"], b"");
    let us = left_out_by_us(root.path(), &[("inner/a.log".into(), false), ("inner/b.tmp".into(), false)]);
    assert_eq!(us, BTreeSet::from(["inner/b.tmp".into()]));
    assert_agreement(&root.path().join("inner"), "the inner one");
}

#[test]
fn a_folder_within_a_repository_obeys_the_files_above_it() {
    let root = tempfile::tempdir().unwrap();
    git(root.path(), &["init", "-q"], b"");
    write(root.path(), ".gitignore", "*.log\n/pkg/out/\n!above\n");
    write(root.path(), "pkg/.gitignore", "*.tmp\n");
    write(root.path(), ".git/info/exclude", "excluded\n");
    for path in ["pkg/a.log", "pkg/b.tmp", "pkg/out/x", "pkg/excluded", "pkg/kept", "pkg/src/c.log"] {
        write(root.path(), path, "");
    }
    assert_agreement(&root.path().join("pkg"), "a folder within");
}

#[test]
fn an_ignore_file_that_is_a_link_says_nothing_and_dot_ignore_wins() {
    let root = tempfile::tempdir().unwrap();
    git(root.path(), &["init", "-q"], b"");
    write(root.path(), "rules", "a\n");
    write(root.path(), "a", "");
    std::os::unix::fs::symlink("rules", root.path().join(".gitignore")).unwrap();
    assert_agreement(root.path(), "a link");
    std::fs::remove_file(root.path().join(".gitignore")).unwrap();
    write(root.path(), ".gitignore", "a\nb\n");
    write(root.path(), ".ignore", "!a\nc\n");
    let all = ["a", "b", "c"].map(|name| (PathBuf::from(name), false));
    assert_eq!(left_out_by_us(root.path(), &all), BTreeSet::from(["b".into(), "c".into()]));
}
