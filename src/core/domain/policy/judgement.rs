//! What a command line or an edit would do: its class, and what stands against doing it without a person.
//!
//! Owns the way from words and paths to one judgement, the highest class of all parts. Never looks at a disk: where a path leads
//! is asked of `PathPlaces`. Never decides: that is `standing`.

use super::command_class::CommandClass;
use super::file_lists::FileUse;
use super::guarded_path::{guarded_part, hidden_part};
use super::program::{PathUse, ProgramReading, WildcardRoom, read_program};
use super::shell_line::{Joined, ShellCommand, UnreadLine, read};

/// Where a path leads, with every link followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathPlace {
    /// Into a folder of the workspace.
    Inside {
        /// Absolute, without links.
        real: String,
        /// Relative to its folder.
        path: String,
        /// What is there.
        kind: PlaceKind,
    },
    /// Out of the workspace.
    Outside,
    /// To where this server cannot look.
    Unseen,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// Nothing yet.
    Nothing,
}

/// Looks at where paths lead.
pub trait PathPlaces {
    /// Where a path leads, beginning at an absolute folder where it is relative.
    fn place(&self, folder: &str, path: &str) -> PathPlace;
}

/// How the shell reads a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellKind {
    /// As POSIX says.
    Posix,
    /// Otherwise: it is not read here.
    Other,
}

/// What is in the way of doing something without a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hindrance {
    /// Nothing is in the way.
    None,
    /// A mode does not cover it; a pattern of the user's may.
    Unclear(String),
    /// Neither a mode nor a pattern covers it.
    Outside(String),
    /// It touches a secret, a key, or what a version control system keeps: no mode, no pattern and no rule covers it.
    Guarded(String),
}

impl Hindrance {
    fn rank(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Unclear(_) => 1,
            Self::Outside(_) => 2,
            Self::Guarded(_) => 3,
        }
    }

    fn raise(&mut self, other: Self) {
        if other.rank() > self.rank() {
            *self = other;
        }
    }
}

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The highest class of its parts.
    pub class: CommandClass,
    /// Why, as the rest of a sentence that begins with "it".
    pub why: String,
    /// What stands against doing it unasked.
    pub hindrance: Hindrance,
    /// The commands of a line that was understood, each as its words.
    pub commands: Vec<JudgedCommand>,
    /// The files and folders that it was seen to touch, without links.
    pub touched: Vec<TouchedPath>,
    /// Of a line that was not understood what may be commands, as words: enough to forbid by, and never to allow by.
    pub guesses: Vec<Vec<String>>,
}

/// A file or folder that something touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TouchedPath {
    /// Relative to its folder of the workspace.
    pub path: String,
    /// What is done to it.
    pub how: FileUse,
    /// It is a folder, and what is done reaches whatever is in it.
    pub is_whole_folder: bool,
}

/// A command of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedCommand {
    /// Variables set before it that may change what it does, as they are written.
    pub variables: Vec<String>,
    /// Program and arguments.
    pub words: Vec<String>,
    /// Its own class.
    pub class: CommandClass,
    /// Its output goes to a file.
    pub writes: bool,
    /// How much of it a pattern that ends with `*` has to name.
    pub wildcard: WildcardRoom,
}

impl Judgement {
    fn unknown(why: String) -> Self {
        Self {
            class: CommandClass::Unknown,
            why,
            hindrance: Hindrance::None,
            commands: Vec::new(),
            touched: Vec::new(),
            guesses: Vec::new(),
        }
    }

    fn raise(&mut self, class: CommandClass, why: impl FnOnce() -> String) {
        if class > self.class || self.why.is_empty() {
            self.class = class;
            self.why = why();
        }
    }
}

/// Variables that may be set for a command: none of them names a program or a file.
const VARIABLES: [&str; 5] = ["RUST_BACKTRACE", "CI", "NO_COLOR", "FORCE_COLOR", "CARGO_TERM_COLOR"];

const OUTSIDE: &str = "runs outside of the workspace";
const UNSEEN: &str = "runs where this server cannot look";

/// Judges a command line that would run in an absolute folder.
pub fn judge_command(line: &str, folder: &str, shell: ShellKind, places: &dyn PathPlaces) -> Judgement {
    match shell {
        ShellKind::Other => Judgement::unknown("is for a shell that is not read here".to_owned()),
        ShellKind::Posix => match read(line) {
            Ok(commands) => match wrapped(&commands) {
                Some(inner) => {
                    let mut judgement = judge_line(inner, folder, places);
                    judgement.guesses.extend(commands.iter().map(|command| command.words.clone()));
                    judgement
                }
                None => judge_commands(&commands, folder, places),
            },
            Err(why) => not_read(line, why),
        },
    }
}

/// Judges a line that stands within another one.
fn judge_line(line: &str, folder: &str, places: &dyn PathPlaces) -> Judgement {
    match read(line) {
        Ok(commands) => judge_commands(&commands, folder, places),
        Err(why) => not_read(line, why),
    }
}

/// A line that is not understood, which may name what is guarded.
fn not_read(line: &str, why: UnreadLine) -> Judgement {
    let mut judgement = Judgement::unknown(why.reason());
    judgement.guesses = guessed(line);
    // Whatever else it says, it names what is guarded.
    let parts = line.split(|c: char| c.is_whitespace() || "\"'`$(){}<>|&;=,:@*?[]!\\".contains(c));
    if let Some(word) = parts.into_iter().find(|word| guarded_part(word).is_some()) {
        judgement.hindrance = Hindrance::Guarded(names_guarded(word));
    }
    judgement
}

/// Judges the commands of a line that was understood.
fn judge_commands(commands: &[ShellCommand], folder: &str, places: &dyn PathPlaces) -> Judgement {
    let mut judge = Judge {
        folder: folder.to_owned(),
        places,
        judgement: Judgement {
            class: CommandClass::Read,
            why: String::new(),
            hindrance: Hindrance::None,
            commands: Vec::new(),
            touched: Vec::new(),
            guesses: Vec::new(),
        },
    };
    match judge.places.place(folder, ".") {
        PathPlace::Inside { path, kind, .. } => {
            judge.guard(&path);
            judge.touch(&path, PathUse::Name, kind);
        }
        PathPlace::Outside => judge.judgement.hindrance.raise(Hindrance::Outside(OUTSIDE.to_owned())),
        PathPlace::Unseen => judge.judgement.hindrance.raise(Hindrance::Outside(UNSEEN.to_owned())),
    }
    let lone_sequence = commands.iter().all(|command| matches!(command.joined, Joined::First | Joined::And));
    for command in commands {
        judge.command(command, lone_sequence);
    }
    judge.judgement
}

/// The line in `bash -lc '<line>'`, as agents write it around each of their commands.
fn wrapped(commands: &[ShellCommand]) -> Option<&str> {
    let [ShellCommand { variables, words, redirections, .. }] = commands else { return None };
    let [shell, option, line] = words.as_slice() else { return None };
    let name = ["/usr/bin/", "/bin/"].into_iter().find_map(|at| shell.strip_prefix(at)).unwrap_or(shell);
    let is_shell = matches!(name, "sh" | "bash" | "zsh") && matches!(option.as_str(), "-c" | "-lc");
    (is_shell && variables.is_empty() && redirections.is_empty()).then_some(line.as_str())
}

/// Judges an edit of files, named relative to a folder of the workspace, or absolute. Each comes with the folder it begins at.
pub fn judge_edit<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    removes: bool,
    places: &dyn PathPlaces,
) -> Judgement {
    let (class, why) = match removes {
        true => (CommandClass::Destructive, "removes a file"),
        false => (CommandClass::Edit, "changes files"),
    };
    let mut judge = Judge {
        folder: String::new(),
        places,
        judgement: Judgement {
            class,
            why: why.to_owned(),
            hindrance: Hindrance::None,
            commands: Vec::new(),
            touched: Vec::new(),
            guesses: Vec::new(),
        },
    };
    for (folder, path) in files {
        folder.clone_into(&mut judge.folder);
        judge.path(path, PathUse::Write);
    }
    judge.judgement
}

struct Judge<'a> {
    /// Where the next command runs.
    folder: String,
    places: &'a dyn PathPlaces,
    judgement: Judgement,
}

impl Judge<'_> {
    fn command(&mut self, command: &ShellCommand, lone_sequence: bool) {
        let mut reading = read_program(&command.words);
        let name = command.words.first().map_or("", String::as_str);
        if name == "cd" {
            reading = self.change_folder(command, lone_sequence);
        }
        let odd = command.variables.iter().filter(|(name, _)| !VARIABLES.contains(&name.as_str()));
        let variables: Vec<String> = odd.map(|(name, value)| format!("{name}={value}")).collect();
        if let Some(variable) = variables.first() {
            reading.class = CommandClass::Unknown;
            reading.why = format!("sets a variable (`{variable}`)");
        }
        let ProgramReading { class, why, paths, wildcard } = reading;
        self.judgement.raise(class, || why);
        self.guard_words(&command.words);
        for (path, how) in paths {
            self.path(&path, how);
        }
        for redirection in &command.redirections {
            let how = if redirection.writes { PathUse::Write } else { PathUse::Content };
            if redirection.writes {
                self.judgement.raise(CommandClass::Edit, || format!("writes to `{}`", redirection.path));
            }
            self.path(&redirection.path, how);
        }
        let writes = command.redirections.iter().any(|redirection| redirection.writes);
        let words = command.words.clone();
        self.judgement.commands.push(JudgedCommand { variables, words, class, writes, wildcard });
    }

    /// `cd folder && …`: what follows runs there. Anywhere else the folder of what follows is not known.
    fn change_folder(&mut self, command: &ShellCommand, lone_sequence: bool) -> ProgramReading {
        let known = |class, why: &str| ProgramReading {
            class,
            why: why.to_owned(),
            paths: Vec::new(),
            wildcard: WildcardRoom::None,
        };
        let unknown = known(CommandClass::Unknown, "changes its folder in a way that is not judged");
        let [_, target] = command.words.as_slice() else { return unknown };
        let leads_up = target.split('/').any(|part| part == "..");
        if !lone_sequence || leads_up || target.starts_with('-') || !command.redirections.is_empty() {
            return unknown;
        }
        match self.places.place(&self.folder, target) {
            PathPlace::Inside { real, path, kind: PlaceKind::Folder } => {
                self.guard(&path);
                self.folder = real;
                known(CommandClass::Read, "changes its folder (`cd`)")
            }
            PathPlace::Inside { .. } => unknown,
            PathPlace::Outside | PathPlace::Unseen => {
                let why = format!("goes to `{target}`, outside of the workspace");
                self.judgement.hindrance.raise(Hindrance::Outside(why));
                unknown
            }
        }
    }

    /// Whatever a word is for: what is guarded is named by no command that is not asked about.
    fn guard_words(&mut self, words: &[String]) {
        for word in words {
            for candidate in candidates(word) {
                self.guard(candidate);
            }
        }
    }

    fn guard(&mut self, path: &str) {
        if guarded_part(path).is_some() {
            self.judgement.hindrance.raise(Hindrance::Guarded(names_guarded(path)));
        }
    }

    fn path(&mut self, word: &str, how: PathUse) {
        match how {
            PathUse::Word => {
                for candidate in candidates(word) {
                    // A word that is no path leads nowhere.
                    if candidate.contains('/') || candidate.starts_with('.') || candidate.starts_with('~') {
                        self.place(candidate, how);
                    }
                }
            }
            PathUse::Content if word == "-" => {}
            PathUse::Name | PathUse::Content | PathUse::Make | PathUse::Write => self.place(word, how),
        }
    }

    fn touch(&mut self, path: &str, how: PathUse, kind: PlaceKind) {
        // A word that leads to nothing is a word.
        if how == PathUse::Word && kind == PlaceKind::Nothing {
            return;
        }
        let (how, reaches_in) = match how {
            PathUse::Word | PathUse::Content => (FileUse::Read, true),
            PathUse::Name => (FileUse::Read, false),
            PathUse::Write => (FileUse::Change, true),
            PathUse::Make => (FileUse::Change, false),
        };
        let is_whole_folder = reaches_in && kind == PlaceKind::Folder;
        self.judgement.touched.push(TouchedPath { path: path.to_owned(), how, is_whole_folder });
    }

    fn place(&mut self, word: &str, how: PathUse) {
        self.guard(word);
        let hindrance = match self.places.place(&self.folder, word) {
            PathPlace::Outside => Hindrance::Outside(format!("names `{word}`, outside of the workspace")),
            PathPlace::Unseen => {
                Hindrance::Outside(format!("names `{word}`, and where that leads cannot be seen from here"))
            }
            PathPlace::Inside { path, kind, .. } => {
                self.guard(&path);
                self.touch(&path, how, kind);
                match (how, kind) {
                    (PathUse::Content, PlaceKind::Folder) => Hindrance::Unclear(format!(
                        "reads everything in `{word}`, in which there may be secrets"
                    )),
                    (PathUse::Write, PlaceKind::Folder) => {
                        Hindrance::Unclear(format!("writes to something in the folder `{word}`"))
                    }
                    (PathUse::Write | PathUse::Make, _) if hidden_part(&path).is_some() => {
                        let part = hidden_part(&path).unwrap_or_default();
                        Hindrance::Outside(format!("writes to `{part}`, where tools look for settings"))
                    }
                    (_, _) => Hindrance::None,
                }
            }
        };
        self.judgement.hindrance.raise(hindrance);
    }
}

/// What may be commands in a line that was not understood.
fn guessed(line: &str) -> Vec<Vec<String>> {
    let word = |word: &str| word.replace(['\'', '"', '\\'], "");
    let parts = line.split([';', '|', '&', '\n', '(', ')', '{', '}', '`', '<', '>']);
    parts.map(|part| part.split_whitespace().map(word).collect()).collect()
}

fn names_guarded(path: &str) -> String {
    format!("names `{path}`, which may hold secrets or belongs to version control")
}

/// What in a word may be a path: itself, what stands behind `=`, `:` or `@`, and what is stuck to an option.
fn candidates(word: &str) -> Vec<&str> {
    let mut found = vec![word];
    for (at, c) in word.char_indices() {
        if matches!(c, '=' | ':' | '@' | ',') {
            let rest = &word[at + c.len_utf8()..];
            // An address on the web is no path; `file:` is one.
            let is_web = c == ':' && rest.starts_with("//") && matches!(&word[..at], "http" | "https");
            found.extend(Some(rest).filter(|_| !is_web));
            found.push(&word[..at]);
        }
    }
    if let Some(rest) = word.strip_prefix('-') {
        let at = rest.find(['/', '.', '~']).unwrap_or(rest.len());
        found.push(&rest[at..]);
    }
    found.retain(|part| !part.is_empty());
    found
}

#[cfg(test)]
#[path = "judgement_tests.rs"]
pub(super) mod tests;
