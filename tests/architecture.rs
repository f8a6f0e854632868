//! The walls of the house, read from the source: who may import whom, what the pure rooms never touch, how long a file
//! may grow. Each complaint names file, line and rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A room, the rooms it may import, and, of another room, the only doors it may use (empty: all).
struct Room {
    name: &'static str,
    imports: &'static [(&'static str, &'static [&'static str])],
    /// Words that do not occur in it, tests aside.
    never: &'static [&'static str],
}

/// The ports of `app` and what it hears, and the names that it exports of the two.
const PORTS: &[&str] = &[
    "ports",
    "inbox",
    "ClientId",
    "DocumentEvent",
    "EditorEvent",
    "Event",
    "Inbox",
    "InboxFull",
    "Reply",
    "StartUp",
];
const ANY: &[&str] = &[];

const PURE: &[&str] = &[
    "tokio",
    "async fn",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "Instant::now",
    "SystemTime",
    "Mutex",
    "RwLock",
    "tower_lsp",
    "lsp_types",
    "reqwest",
    "rusqlite",
    "println!",
    "eprintln!",
];
const NOT_THE_EDITOR: &[&str] = &["tower_lsp", "lsp_types", "println!", "eprintln!"];

/// "Who may import whom": arrows point inward only, edges → app → protocol → domain. `engine` and `workspace` see
/// those types of the protocol that the ports of `app` expose.
const ROOMS: &[Room] = &[
    Room { name: "domain", imports: &[], never: PURE },
    Room { name: "protocol", imports: &[("domain", ANY)], never: PURE },
    // The schemas that the program carries. Made nowhere but in tests, which is what it imports for.
    Room { name: "contract", imports: &[("protocol", ANY)], never: PURE },
    Room {
        name: "app",
        imports: &[("domain", ANY), ("protocol", ANY)],
        never: &[
            "std::fs",
            "std::net",
            "std::process",
            // The loop owns its state: whoever needs a lock to reach it has a second owner.
            "Mutex",
            "RwLock",
            "reqwest",
            "rusqlite",
            "tower_lsp",
            "lsp_types",
            "println!",
            "eprintln!",
        ],
    },
    Room {
        name: "editor",
        imports: &[("app", PORTS), ("platform", ANY), ("protocol", ANY), ("domain", ANY)],
        never: &["rusqlite", "reqwest", "println!", "eprintln!"],
    },
    // Beside the editor's: other protocols over the same loop. Its search over HTTP is that of the embedded agent.
    Room {
        name: "front",
        imports: &[
            ("app", PORTS),
            ("contract", ANY),
            ("host", &["index", "ports", "retrieval"]),
            ("platform", ANY),
            ("protocol", ANY),
            ("domain", ANY),
        ],
        never: &["tower_lsp", "lsp_types", "rusqlite", "reqwest", "println!", "eprintln!"],
    },
    Room {
        name: "engine",
        imports: &[
            ("app", PORTS),
            ("host", ANY),
            ("http", ANY),
            ("platform", ANY),
            ("process", ANY),
            ("protocol", ANY),
            ("domain", ANY),
        ],
        never: NOT_THE_EDITOR,
    },
    // What each system does in its own way with files and processes; below all edges.
    Room { name: "platform", imports: &[("domain", ANY)], never: NOT_THE_EDITOR },
    // Reads what foreign endpoints send, for whoever asks them; knows none of its callers.
    Room { name: "http", imports: &[("domain", ANY)], never: NOT_THE_EDITOR },
    // Below all who read a workspace: opening files beneath a handle, and ignore files.
    Room { name: "confined", imports: &[("platform", ANY), ("domain", ANY)], never: NOT_THE_EDITOR },
    Room {
        name: "host",
        imports: &[("confined", ANY), ("http", ANY), ("platform", ANY), ("domain", ANY)],
        never: NOT_THE_EDITOR,
    },
    Room {
        name: "store",
        imports: &[("app", PORTS), ("host", &["ports"]), ("platform", ANY), ("domain", ANY)],
        never: NOT_THE_EDITOR,
    },
    Room {
        name: "workspace",
        imports: &[
            ("app", PORTS),
            ("confined", ANY),
            ("host", &["ports"]),
            ("platform", ANY),
            ("process", ANY),
            ("protocol", ANY),
            ("domain", ANY),
        ],
        never: NOT_THE_EDITOR,
    },
    // Servers of tools: connections to them, for the loop and for the turns of the embedded agent; knows neither.
    Room {
        name: "mcp",
        imports: &[
            ("app", PORTS),
            ("confined", ANY),
            ("host", &["ports"]),
            ("http", ANY),
            ("platform", ANY),
            ("process", ANY),
            ("protocol", ANY),
            ("domain", ANY),
        ],
        never: NOT_THE_EDITOR,
    },
    Room { name: "process", imports: &[("platform", ANY), ("domain", ANY)], never: NOT_THE_EDITOR },
    Room { name: "simulate", imports: &[("domain", &["dialect", "wire"])], never: NOT_THE_EDITOR },
    // They wire everything together.
    Room {
        name: "cli",
        imports: &[
            ("app", ANY),
            ("contract", ANY),
            ("domain", ANY),
            ("editor", ANY),
            ("engine", ANY),
            ("front", ANY),
            ("host", ANY),
            ("http", ANY),
            ("platform", ANY),
            ("process", ANY),
            ("protocol", ANY),
            ("simulate", ANY),
            ("store", ANY),
            ("workspace", ANY),
        ],
        never: &["tower_lsp", "lsp_types"],
    },
];

const LONGEST: usize = 600;

/// Files that may be longer, each with its reason.
const LONGER: &[(&str, usize, &str)] = &[];

/// Names that say nothing.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "manager", "misc"];

struct Source {
    /// Relative to the package.
    path: String,
    text: String,
    /// The text with comments and strings blanked out, line by line.
    code: Vec<String>,
    /// Which of its lines are tests.
    in_tests: Vec<bool>,
}

impl Source {
    fn room(&self) -> &str {
        self.in_rooms().split('/').next().unwrap_or_default()
    }

    /// Its path from where the rooms are: those of the core lie a folder deeper than the others.
    fn in_rooms(&self) -> &str {
        let path = self.path.strip_prefix("src/").unwrap_or(&self.path);
        path.strip_prefix("core/").unwrap_or(path)
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    collect(&root.join("src"), &mut paths);
    paths.sort();
    assert!(paths.len() > 50, "only {} source files were found", paths.len());
    let mut sources: Vec<Source> = paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
            source(path, text)
        })
        .collect();
    let tests: Vec<String> = sources.iter().flat_map(test_modules).collect();
    for source in &mut sources {
        if tests.iter().any(|place| {
            source.path == format!("{place}.rs") || source.path.starts_with(&format!("{place}/"))
        }) {
            source.in_tests.fill(true);
        }
    }
    sources
}

/// Where the modules lie that exist for tests only (`#[cfg(test)] mod x;`), without `.rs`.
fn test_modules(source: &Source) -> Vec<String> {
    let folder = match source.path.strip_suffix("/mod.rs").or_else(|| source.path.strip_suffix("/lib.rs")) {
        Some(folder) => folder,
        None => source.path.trim_end_matches(".rs"),
    };
    let beside = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let lines = source.text.lines().zip(&source.in_tests).filter(|(_, in_tests)| **in_tests);
    lines
        .filter_map(|(line, _)| {
            let line = line.trim();
            // A stated path is relative to the file; a name to the folder of the module.
            if let Some(path) = line.strip_prefix("#[path = \"") {
                return Some(format!("{beside}/{}", path.strip_suffix(".rs\"]")?));
            }
            let (_, rest) = line.split_once("mod ")?;
            Some(format!("{folder}/{}", rest.strip_suffix(';')?))
        })
        .collect()
}

fn source(path: String, text: String) -> Source {
    let code: Vec<String> = blanked(&text).lines().map(str::to_owned).collect();
    let in_tests = test_lines(&code);
    Source { path, text, code, in_tests }
}

/// Which lines belong to an item under `#[cfg(test)]`.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut lines = vec![false; code.len()];
    let mut at = 0;
    while at < code.len() {
        let attribute = code[at].trim();
        if !attribute.starts_with("#[cfg(test") && !attribute.starts_with("#[cfg(all(test") {
            at += 1;
            continue;
        }
        let mut depth = 0_i32;
        let mut ended = false;
        while at < code.len() && !ended {
            lines[at] = true;
            for c in code[at].chars() {
                match c {
                    '{' => depth += 1,
                    '}' => {
                        depth -= 1;
                        ended |= depth == 0;
                    }
                    ';' => ended |= depth == 0,
                    _ => {}
                }
            }
            at += 1;
        }
    }
    lines
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Comments and string contents become spaces; line breaks stay.
fn blanked(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    while at < chars.len() {
        let next = chars.get(at + 1).copied();
        match chars[at] {
            '/' if next == Some('/') => {
                while at < chars.len() && chars[at] != '\n' {
                    out.push(' ');
                    at += 1;
                }
            }
            '/' if next == Some('*') => {
                while at < chars.len() && !(chars[at] == '*' && chars.get(at + 1) == Some(&'/')) {
                    out.push(blank(chars[at]));
                    at += 1;
                }
                at += 2;
            }
            'r' if raw_string(&chars, at).is_some() && !follows_word(&chars, at) => {
                let hashes = raw_string(&chars, at).unwrap_or(0);
                at += hashes + 2;
                while at < chars.len() {
                    let closes = chars[at] == '"'
                        && chars[at + 1..].iter().take(hashes).filter(|c| **c == '#').count() == hashes;
                    out.push(blank(chars[at]));
                    at += 1;
                    if closes {
                        at += hashes;
                        break;
                    }
                }
            }
            '"' => {
                out.push('"');
                at += 1;
                while at < chars.len() && chars[at] != '"' {
                    if chars[at] == '\\' {
                        out.push(' ');
                        at += 1;
                    }
                    if at < chars.len() {
                        out.push(blank(chars[at]));
                        at += 1;
                    }
                }
                out.push('"');
                at += 1;
            }
            // A quote or backslash as a character would open a string that is none.
            '\'' if next == Some('"') && chars.get(at + 2) == Some(&'\'') => {
                out.push_str("' '");
                at += 3;
            }
            '\'' if next == Some('\\') && chars.get(at + 3) == Some(&'\'') => {
                out.push_str("'  '");
                at += 4;
            }
            c => {
                out.push(c);
                at += 1;
            }
        }
    }
    out
}

/// Number of `#` when a raw string starts here.
fn raw_string(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
    (chars.get(at + 1 + hashes) == Some(&'"')).then_some(hashes)
}

fn follows_word(chars: &[char], at: usize) -> bool {
    // `br"…"` is a raw string too.
    at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_') && chars[at - 1] != 'b'
}

/// The paths that start with `crate::`, as first and second segment, each with its line from 1. Groups are taken apart.
fn crate_paths(code: &[String]) -> Vec<(usize, String, Option<String>)> {
    let text = code.join("\n");
    let mut found = Vec::new();
    for (start, _) in text.match_indices("crate::") {
        if text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            continue;
        }
        let line = text[..start].matches('\n').count() + 1;
        for path in heads(&text[start + "crate::".len()..]) {
            let mut segments = path.split("::");
            let first = segments.next().unwrap_or_default().to_owned();
            found.push((line, first, segments.next().map(str::to_owned)));
        }
    }
    found
}

/// First two segments of a path, or of each path in a group, as `a::b`.
fn heads(text: &str) -> Vec<String> {
    let text = text.trim_start();
    if let Some(group) = text.strip_prefix('{') {
        return members(group).into_iter().flat_map(|member| heads(&member)).collect();
    }
    let first = word(text);
    let rest = text[first.len()..].strip_prefix("::").map(str::trim_start);
    match rest {
        Some(rest) if rest.starts_with('{') => members(&rest[1..])
            .iter()
            .map(|member| format!("{first}::{}", word(member.trim_start())))
            .collect(),
        Some(rest) => vec![format!("{first}::{}", word(rest))],
        None => vec![first.to_owned()],
    }
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The comma-separated members of a group whose `{` was taken off.
fn members(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = found.last_mut() {
            last.push(c);
        }
    }
    found.retain(|member| !member.trim().is_empty());
    found
}

fn breaches_of_imports(source: &Source) -> Vec<String> {
    let Some(room) = ROOMS.iter().find(|room| room.name == source.room()) else { return Vec::new() };
    let mut breaches = Vec::new();
    for (line, first, second) in crate_paths(&source.code) {
        if first == room.name || !ROOMS.iter().any(|other| other.name == first) {
            continue;
        }
        let place = format!("{}:{line}", source.path);
        match room.imports.iter().find(|(name, _)| *name == first) {
            None => breaches.push(format!("{place}: `{}` may not import `{first}`", room.name)),
            Some((_, doors)) => {
                let through = second.unwrap_or_default();
                if !doors.is_empty() && !doors.contains(&through.as_str()) {
                    breaches.push(format!(
                        "{place}: `{}` may import of `{first}` only {doors:?}, not `{through}`",
                        room.name
                    ));
                }
            }
        }
    }
    breaches
}

fn breaches_of_words(source: &Source) -> Vec<String> {
    let Some(room) = ROOMS.iter().find(|room| room.name == source.room()) else { return Vec::new() };
    let mut breaches = Vec::new();
    for (at, line) in source.code.iter().enumerate().filter(|(at, _)| !source.in_tests[*at]) {
        for never in room.never {
            let standing = line.match_indices(never).any(|(start, _)| {
                let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
                boundary(line[..start].chars().next_back())
                    && boundary(line[start + never.len()..].chars().next())
            });
            // `cap_std::fs` is a confined directory, which is the point.
            if standing && !(*never == "std::fs" && line.contains("cap_std::fs")) {
                breaches.push(format!("{}:{}: `{}` never says `{never}`", source.path, at + 1, room.name));
            }
        }
    }
    breaches
}

/// Names by which the `ignore` crate opens files of its own accord: its walker, and the parts that take a path to read.
const READS_IGNORE_FILES: &[&str] = &[
    "WalkBuilder",
    "WalkParallel",
    "ignore::Walk",
    "Gitignore::new",
    "Gitignore::global",
    "build_global",
    "gitconfig_excludes_path",
    "builder.add(path",
    "add_ignore",
    "add_custom_ignore_filename",
];

#[test]
fn ignore_files_are_read_by_us_alone() {
    let mut breaches = Vec::new();
    for source in sources() {
        for (at, line) in source.code.iter().enumerate().filter(|(at, _)| !source.in_tests[*at]) {
            for name in READS_IGNORE_FILES.iter().filter(|name| line.contains(**name)) {
                breaches.push(format!("{}:{}: `{name}` opens files by name", source.path, at + 1));
            }
        }
    }
    assert_none(&breaches);
}

/// Types of engines that are words of everyday use too, or the words of something else.
const EVERYDAY: &[&str] = &["completion", "error", "notice", "plan", "usage", "warning"];

/// Files that may name a type of an engine outside of its dialect, each with its reason.
const NAME_ENGINE_WORDS: &[(&str, &str)] = &[
    ("src/core/domain/event.rs", "classes of our own vocabulary, some of which are spelled as a type is"),
    (
        "src/core/protocol/desktop/host_message.rs",
        "what a desktop host says itself: it is the engine of its clients",
    ),
    ("src/host/models/dialects/anthropic.rs", "a model provider's word for a part of a message"),
];

/// The types in the tables of the dialects.
fn engine_words(sources: &[Source]) -> Vec<String> {
    let mut words = Vec::new();
    for source in sources.iter().filter(|source| source.path.ends_with("/class.rs")) {
        for (line, _) in source.text.lines().zip(&source.in_tests).filter(|(_, in_tests)| !**in_tests) {
            let line = line.trim_start();
            let row = line.strip_prefix("row(\"").or_else(|| line.strip_prefix("(\""));
            // A row over several lines has its type alone on the second.
            let row = row.or_else(|| line.strip_suffix("\",").and_then(|line| line.strip_prefix('"')));
            let Some(word) = row.and_then(|row| row.split('"').next()) else { continue };
            if !word.is_empty() && !EVERYDAY.contains(&word) {
                words.push(word.to_owned());
            }
        }
    }
    words
}

/// Lines of a source that name a type of an engine.
fn breaches_of_dialect(source: &Source, words: &[String]) -> Vec<String> {
    let mut breaches = Vec::new();
    for (at, (line, code)) in source.text.lines().zip(&source.code).enumerate() {
        if source.in_tests[at] {
            continue;
        }
        for word in words {
            let quoted = format!("\"{word}\"");
            let Some(column) = line.find(&quoted) else { continue };
            // In a comment nothing stands at that place any more.
            if code.chars().nth(line[..column].chars().count()) == Some('"') {
                breaches.push(format!("{}:{}: {quoted} belongs to a dialect", source.path, at + 1));
            }
        }
    }
    breaches
}

#[test]
fn the_words_of_an_engine_stand_in_its_dialect_alone() {
    let sources = sources();
    let words = engine_words(&sources);
    assert!(words.len() > 80, "only {} types were found in the tables", words.len());
    let elsewhere = sources.iter().filter(|source| {
        let path = source.path.as_str();
        !path.starts_with("src/core/domain/dialect/")
            && !path.starts_with("src/simulate/")
            && NAME_ENGINE_WORDS.iter().all(|(allowed, _)| *allowed != path)
    });
    assert_none(&elsewhere.flat_map(|source| breaches_of_dialect(source, &words)).collect::<Vec<_>>());
    for (path, _) in NAME_ENGINE_WORDS {
        let source = sources.iter().find(|source| source.path == *path).unwrap();
        assert!(!breaches_of_dialect(source, &words).is_empty(), "{path} names none; take it off the list");
    }
}

/// Files that refuse params, which only whoever writes a client reads: they name the method and the param.
const SPEAK_TO_CLIENTS: &[&str] = &[
    "src/app/on_request/approvals.rs",
    "src/app/on_request/permissions.rs",
    "src/app/on_request/queue.rs",
    "src/cli/handshake.rs",
    "src/core/protocol/envelope.rs",
];

/// How a method of the wire, or the path of a setting, stands in a sentence. A person has a command or a flag for it.
const NOT_FOR_A_PERSON: &[&str] = &[
    "`bb/",
    " bb/",
    "`engine.",
    "`model.",
    "`agents.",
    "`agents`",
    "`delivery.",
    "`retention.",
    "`approvals.",
];

#[test]
fn no_sentence_for_a_person_names_a_method_of_the_wire_or_the_path_of_a_setting() {
    let mut breaches = Vec::new();
    for source in sources() {
        for (at, line) in source.text.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            if NOT_FOR_A_PERSON.iter().any(|word| line.contains(word))
                && !comment
                && !source.in_tests[at]
                && !SPEAK_TO_CLIENTS.contains(&source.path.as_str())
            {
                breaches.push(format!(
                    "{}:{}: says what to do in the words of the wire",
                    source.path,
                    at + 1
                ));
            }
        }
    }
    assert_none(&breaches);
}

#[test]
fn what_the_loop_sends_of_its_own_accord_stands_in_the_table() {
    let mut breaches = Vec::new();
    for source in sources().iter().filter(|source| source.path.starts_with("src/app/")) {
        for (at, line) in source.text.lines().enumerate().filter(|(at, _)| !source.in_tests[*at]) {
            if line.contains("notification(\"bb/") || line.contains("\"method\":\"bb/") {
                breaches.push(format!("{}:{}: sends a message by its name", source.path, at + 1));
            }
        }
    }
    assert_none(&breaches);
}

fn assert_none(breaches: &[String]) {
    assert!(breaches.is_empty(), "{} breaches:\n{}", breaches.len(), breaches.join("\n"));
}

#[test]
fn rooms_import_inward_only() {
    let sources = sources();
    for source in &sources {
        let top = !source.in_rooms().contains('/');
        assert!(
            top || ROOMS.iter().any(|room| room.name == source.room()),
            "{}: `{}` is no room; add it to the table with what it may import",
            source.path,
            source.room()
        );
    }
    assert_none(&sources.iter().flat_map(breaches_of_imports).collect::<Vec<_>>());
}

/// Files that name the package of the pure rooms; everybody else says `crate::domain` and `crate::protocol`.
const NAME_THE_CORE: &[&str] = &["src/lib.rs", "src/testing.rs"];

#[test]
fn the_core_is_taken_in_at_one_place() {
    let sources = sources();
    let elsewhere = sources.iter().filter(|source| {
        !NAME_THE_CORE.contains(&source.path.as_str())
            && source.code.iter().any(|line| line.contains("breadboard_core"))
    });
    assert_none(
        &elsewhere.map(|source| format!("{}: names `breadboard_core`", source.path)).collect::<Vec<_>>(),
    );
}

/// The compiler sees what nothing uses inside of one package only.
#[test]
fn what_the_core_offers_is_used_by_somebody() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["tests", "benches", "fuzz/entries"] {
        collect(&root.join(folder), &mut paths);
    }
    let (core, server): (Vec<Source>, Vec<Source>) =
        sources().into_iter().partition(|source| source.path.starts_with("src/core/"));
    let mut texts: Vec<String> = server.into_iter().map(|source| source.text).collect();
    texts.extend(paths.iter().map(|path| fs::read_to_string(path).unwrap()));
    let named: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|word| !word.is_empty())
        .collect();
    let offered: Vec<(String, &str)> = core.iter().flat_map(offered).collect();
    assert!(offered.len() > 200, "only {} were found", offered.len());
    let unused = offered.iter().filter(|(_, name)| !named.contains(name));
    let unused =
        unused.map(|(place, name)| format!("{place}: `{name}` is `pub` and named by nobody outside"));
    assert_none(&unused.collect::<Vec<_>>());
}

/// Functions and constants that are `pub`, each with its place.
fn offered(source: &Source) -> Vec<(String, &str)> {
    let mut found = Vec::new();
    for (at, line) in source.code.iter().enumerate().filter(|(at, _)| !source.in_tests[*at]) {
        let Some(declared) = line.trim_start().strip_prefix("pub ") else { continue };
        let name =
            ["const fn ", "fn ", "const "].iter().find_map(|kind| declared.strip_prefix(*kind)).map(word);
        found.extend(name.map(|name| (format!("{}:{}", source.path, at + 1), name)));
    }
    found
}

#[test]
fn no_room_says_what_belongs_to_another() {
    assert_none(&sources().iter().flat_map(breaches_of_words).collect::<Vec<_>>());
}

#[test]
fn files_stay_short_have_a_header_and_a_name() {
    let mut breaches = Vec::new();
    for source in sources() {
        let lines = source.text.lines().count();
        let limit =
            LONGER.iter().find(|(path, ..)| *path == source.path).map_or(LONGEST, |(_, limit, _)| *limit);
        if lines > limit {
            breaches.push(format!("{}: {lines} lines, at most {limit}", source.path));
        }
        if lines > 3 && !source.text.starts_with("//!") {
            breaches.push(format!("{}:1: no `//!` header that says what the file owns", source.path));
        }
        let name = source.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if EMPTY_NAMES.contains(&name) {
            breaches
                .push(format!("{}: `{name}` says nothing; name the file after what it owns", source.path));
        }
    }
    assert_none(&breaches);
}

/// Names of types that stand in several files. One that another system needs in another way is the same type.
const SAME_ELSEWHERE: [&str; 7] =
    ["AgentProcess", "AgentStdin", "AgentStdout", "Contained", "Oversight", "Prepared", "Terminals"];

/// Types of one name in several files: whoever looks for one finds the others.
const SHARED_NAMES: usize = 43;

#[test]
fn few_names_of_types_mean_more_than_one_thing() {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in sources() {
        for (line, _) in source.code.iter().zip(&source.in_tests).filter(|(_, in_tests)| !**in_tests) {
            // What stands further in is the type of a trait's implementation.
            let Some(declared) = declared_type(line) else { continue };
            homes.entry(declared.to_owned()).or_default().insert(source.path.clone());
        }
    }
    homes.retain(|name, files| files.len() > 1 && !SAME_ELSEWHERE.contains(&name.as_str()));
    assert!(
        homes.len() <= SHARED_NAMES,
        "{} names of types have several homes, at most {SHARED_NAMES} may; give a new one its own name: {homes:#?}",
        homes.len()
    );
}

/// The type that a line declares at the level of its module.
fn declared_type(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix("pub") {
        Some(rest) => match rest.strip_prefix('(') {
            Some(rest) => rest.split_once(") ")?.1,
            None => rest.strip_prefix(' ')?,
        },
        None => line,
    };
    let (keyword, rest) = rest.split_once(' ')?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    matches!(keyword, "struct" | "enum" | "trait" | "type").then_some(name).filter(|name| !name.is_empty())
}

#[test]
fn nothing_is_left_for_later_and_nothing_panics_on_purpose() {
    let mut breaches = Vec::new();
    for source in sources() {
        for (at, line) in source.text.lines().enumerate() {
            if ["TODO", "FIXME", "XXX"].iter().any(|mark| line.contains(mark)) {
                breaches.push(format!("{}:{}: left for later", source.path, at + 1));
            }
        }
        for (at, line) in source.code.iter().enumerate().filter(|(at, _)| !source.in_tests[*at]) {
            for word in [".unwrap()", ".expect(", "panic!(", "todo!(", "unimplemented!(", "unreachable!("] {
                if line.contains(word) {
                    breaches.push(format!("{}:{}: `{word}` outside tests", source.path, at + 1));
                }
            }
        }
    }
    assert_none(&breaches);
}

#[test]
fn the_check_itself_sees_breaches() {
    let source = |path: &str, text: &str| source(path.to_owned(), text.to_owned());
    let imports = |path: &str, text: &str| breaches_of_imports(&source(path, text)).len();
    assert_eq!(imports("src/core/domain/a.rs", "use crate::app::ports::X;\n"), 1);
    assert_eq!(imports("src/core/domain/a.rs", "fn f() { crate::editor::g() }\n"), 1);
    assert_eq!(imports("src/host/a.rs", "use crate::{domain::event::E, engine, app::{ports}};\n"), 2);
    assert_eq!(imports("src/store/a.rs", "use crate::app::{\n    inbox::A,\n    state::{B, C},\n};\n"), 1);
    assert_eq!(imports("src/editor/a.rs", "use crate::app::inbox::A;\nuse crate::domain::x;\n"), 0);
    assert_eq!(
        imports(
            "src/core/domain/a.rs",
            "// crate::app::x\nlet s = \"crate::app::x\"; let r = r#\"crate::app \" \"#;\n"
        ),
        0
    );

    let words = |path: &str, text: &str| breaches_of_words(&source(path, text)).len();
    assert_eq!(words("src/core/domain/a.rs", "let now = std::time::Instant::now();\n"), 1);
    assert_eq!(words("src/core/domain/a.rs", "use std::fs;\nuse std::env::var;\n"), 2);
    assert_eq!(
        words(
            "src/core/domain/a.rs",
            "struct SystemTimes;\n#[cfg(test)]\nmod tests {\nuse std::fs;\n}\nuse std::fs;\n"
        ),
        1
    );
    assert_eq!(words("src/workspace/a.rs", "use cap_std::fs::Dir;\nuse tower_lsp::X;\n"), 1);
    let named =
        |text: &str| breaches_of_dialect(&source("src/app/a.rs", text), &["tool_call".to_owned()]).len();
    assert_eq!(named("// \"tool_call\"\nif kind == \"tool_call\" {}\n"), 1);
    assert_eq!(named("let s = \"a tool_call\"; let t = \"tool_calls\";\n"), 0);
    let quote = "let q = '\"'; use crate::app::x; let p = '\\\\';\n";
    assert_eq!(imports("src/core/domain/a.rs", quote), 1);
}

/// Lines from the `fn` of a function to the brace that closes it.
const LONG_FUNCTION: usize = 60;

/// Functions that may be longer: tables, and matches that say what becomes of each of many things.
const LONG_FUNCTIONS: usize = 15;

#[test]
fn few_functions_are_long() {
    let sources = sources();
    let long: Vec<String> = sources.iter().flat_map(long_functions).collect();
    assert!(
        long.len() <= LONG_FUNCTIONS,
        "{} functions have more than {LONG_FUNCTION} lines, at most {LONG_FUNCTIONS} may:\n{}",
        long.len(),
        long.join("\n")
    );
}

fn long_functions(source: &Source) -> Vec<String> {
    let mut long = Vec::new();
    for (at, line) in source.code.iter().enumerate().filter(|(at, _)| !source.in_tests[*at]) {
        let indent = &line[..line.len() - line.trim_start().len()];
        if !is_function(line.trim_start()) {
            continue;
        }
        let ends = |line: &String| {
            line.strip_prefix(indent).is_some_and(|rest| {
                rest.trim_end() == "}" || (!rest.starts_with(' ') && rest.trim_end().ends_with([';', '}']))
            })
        };
        let lines = 1 + source.code[at..].iter().position(ends).unwrap_or_default();
        if lines > LONG_FUNCTION {
            long.push(format!("{}:{}: {lines} lines", source.path, at + 1));
        }
    }
    long
}

fn is_function(line: &str) -> bool {
    let Some((before, _)) = line.split_once("fn ") else { return false };
    let stands_before_one = |word: &str| {
        word.starts_with("pub") || word.ends_with(')') || matches!(word, "const" | "async" | "unsafe")
    };
    (before.is_empty() || before.ends_with(' '))
        && before.split(' ').filter(|word| !word.is_empty()).all(stands_before_one)
}

#[test]
fn the_state_of_the_loop_and_of_a_session_stays_small() {
    for (path, head, fields, flags) in [
        ("src/app/state.rs", "pub struct App {", 28, 4),
        ("src/app/live.rs", "pub(super) struct Live {", 24, 4),
    ] {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let body = text.split_once(head).and_then(|(_, rest)| rest.split_once("\n}")).unwrap().0;
        let declared: Vec<&str> = body
            .lines()
            .map(str::trim)
            .filter(|line| line.ends_with(',') && !line.starts_with("//"))
            .collect();
        assert!(declared.len() > 10, "{path}: only {} fields were found", declared.len());
        let are_flags = declared.iter().filter(|field| field.ends_with(": bool,")).count();
        assert!(
            declared.len() <= fields && are_flags <= flags,
            "{path}: {} fields and {are_flags} flags, at most {fields} and {flags}; group what belongs together",
            declared.len()
        );
    }
}
