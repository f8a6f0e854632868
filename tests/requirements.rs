//! Every line of the specifications has a test that names it: the server's here, the clients' among theirs; or it stands
//! in a list of what is not held yet, with the reason.
//!
//! Reads the names of tests, not what they assert: that each fails without its line is for whoever writes it. Numbers are
//! those of the requirements catalogue: `r003_47_…` names one, `r000_20_to_26_28_…` several; a client's test says `R003-47`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Lines that belong to the clients, webviews and the extension: seed, line, what it wants of them.
const CLIENTS: &[(u32, u32, &str)] = &[
    (0, 2, "no engine protocol in a webview bundle"),
    (0, 6, "a webview talks by postMessage only"),
    (0, 7, "a webview never holds a token"),
    (0, 57, "a webview shows that it reconnects"),
    (0, 58, "a webview shows the warning of a gap"),
    (0, 64, "the content policy of a webview"),
    (0, 65, "the resource roots of a webview"),
    (0, 67, "a webview renders in batches"),
    (0, 72, "the extension checks the version"),
    (0, 78, "no webview can reach a token"),
    (0, 79, "the sidebar runs in VS Code and in Cursor"),
    (1, 3, "a webview makes the id of a prompt"),
    (1, 5, "a webview puts chunks to their prompt by its id"),
    (1, 10, "a webview keeps the last index that it saw of each tab"),
    (1, 13, "a webview makes the id of a tab"),
    (1, 35, "a webview makes the id of a tab when the user opens one"),
    (1, 57, "a tab shows that its agent ended"),
    (1, 67, "a webview alone opens and closes tabs"),
    (2, 7, "the token lies in the secrets of VS Code"),
    (2, 87, "the user sees the command in the terminal"),
    (4, 1, "the types of the host"),
    (4, 2, "the types of the webview"),
    (4, 3, "both are one module"),
    (4, 4, "ready is sent when the view is mounted"),
    (4, 7, "submit is sent on a click, once all is valid"),
    (4, 13, "a save 600 ms after the last change"),
    (4, 15, "a close attempt on cancel, escape and dispose"),
    (4, 16, "an import is asked for once it is confirmed"),
    (4, 17, "text is not replaced before the user agrees"),
    (4, 18, "the picker of Markdown files"),
    (4, 19, "a picker that is cancelled says nothing"),
    (4, 24, "the button that attaches images"),
    (4, 25, "the picker of images"),
    (4, 26, "a picker that is cancelled says nothing"),
    (4, 34, "the submitting indicator ends"),
    (4, 35, "the panel closes after a success"),
    (4, 37, "the message that the user chose not to close"),
    (4, 38, "the host disposes the panel"),
    (4, 39, "the focus when the panel is shown again"),
    (4, 42, "the imported text stands in the field"),
    (4, 43, "the warning is shown"),
    (4, 44, "the error is shown, the field is unchanged"),
    (4, 45, "the view stops importing"),
    (4, 51, "images are appended"),
    (4, 52, "the message about the cap"),
    (4, 53, "the error is shown, the images are unchanged"),
    (4, 54, "no submit without text"),
    (4, 56, "no more than five images in the view"),
    (4, 61, "the picker of images shows images only"),
    (4, 62, "a picker that is cancelled does nothing"),
];

/// Lines that nothing holds yet, or not all the way to the user: seed, line, what is missing. No test may name one: who
/// builds it names it in a test and takes it off this list.
const NOT_HELD: &[(u32, u32, &str)] = &[];

/// Lines of each seed.
const SEEDS: &[(u32, u32)] = &[(0, 79), (1, 68), (2, 102), (3, 67), (4, 64)];

#[test]
fn every_line_of_the_seeds_that_is_the_servers_has_a_test_that_names_it() {
    let named = named_by_the_server();
    let nobody: Vec<String> = SEEDS
        .iter()
        .flat_map(|&(seed, lines)| (1..=lines).map(move |line| (seed, line)))
        .filter(|at| !listed(CLIENTS, *at) && !listed(NOT_HELD, *at) && !named.contains(at))
        .map(shown)
        .collect();
    assert_eq!(nobody, Vec::<String>::new(), "lines that no test names");
}

#[test]
fn every_line_that_is_the_clients_has_a_test_of_a_client_that_names_it() {
    let named = named_by_the_clients();
    let nobody: Vec<String> = CLIENTS
        .iter()
        .map(|&(seed, line, _)| (seed, line))
        .filter(|at| !named.contains(at))
        .map(shown)
        .collect();
    assert_eq!(nobody, Vec::<String>::new(), "lines that no test of a client names");
}

#[test]
fn what_is_not_held_yet_is_named_by_no_test() {
    println!("{} lines are not held yet:", NOT_HELD.len());
    for &(seed, line, why) in NOT_HELD {
        println!("  {}: {why}", shown((seed, line)));
        assert!(SEEDS.iter().any(|&(of, lines)| of == seed && (1..=lines).contains(&line)), "no such line");
        assert!(!listed(CLIENTS, (seed, line)), "{} stands in both lists", shown((seed, line)));
    }
    let named: BTreeSet<_> = named_by_the_server().union(&named_by_the_clients()).copied().collect();
    let claimed: Vec<String> = named.into_iter().filter(|at| listed(NOT_HELD, *at)).map(shown).collect();
    assert_eq!(claimed, Vec::<String>::new(), "a test names what is said not to be held");
}

#[test]
fn numbers_are_read_from_names_of_a_clients_tests() {
    let read = |line: &str| client_numbers(line).into_iter().collect::<Vec<_>>();
    assert_eq!(read(r#"it("R001-05, R003-47: a thing", () => {"#), [(1, 5), (3, 47)]);
    assert_eq!(read(r#"test("R001-05: a thing", () => {"#), [(1, 5)]);
    assert_eq!(read(r#"export const proves = ["R000-78"];"#), [(0, 78)]);
    assert_eq!(read("it('R001-05: in another quote'"), []);
    assert_eq!(read("// R001-05 is a comment"), []);
    assert_eq!(read(r#"expect("R001-05")"#), []);
    assert_eq!(read(r#"it("R001-5 R01-05 XR001-05 R001-055")"#), []);
}

fn listed(list: &[(u32, u32, &str)], at: (u32, u32)) -> bool {
    list.iter().any(|&(seed, line, _)| (seed, line) == at)
}

fn shown((seed, line): (u32, u32)) -> String {
    format!("R{seed:03}-{line:02}")
}

fn named_by_the_server() -> BTreeSet<(u32, u32)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    for folder in ["src", "tests"] {
        read(&root.join(folder), &mut named);
    }
    named
}

/// What the tests of the TypeScript packages name, and the chapters of the story in VS Code.
fn named_by_the_clients() -> BTreeSet<(u32, u32)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = BTreeSet::new();
    for folder in ["client-ts/sdk/test", "client-ts/vscode/test", "client-ts/vscode/e2e/chapters"] {
        read_client(&root.join(folder), &mut named);
    }
    named
}

fn read_client(folder: &Path, named: &mut BTreeSet<(u32, u32)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_client(&path, named);
        } else if path.extension().is_some_and(|kind| kind == "ts" || kind == "tsx" || kind == "mjs") {
            let text = fs::read_to_string(&path).unwrap();
            text.lines().for_each(|line| named.extend(client_numbers(line)));
        }
    }
}

/// The lines that a client's test names at its head, or that a chapter of the story says it proves.
fn client_numbers(line: &str) -> BTreeSet<(u32, u32)> {
    let line = line.trim_start();
    let heads = ["it(\"", "test(\"", "export const proves = ["];
    let Some(name) = heads.iter().find_map(|head| line.strip_prefix(head)) else { return BTreeSet::new() };
    let number = |word: &str| {
        let (seed, at) = word.strip_prefix('R')?.split_once('-')?;
        let digits = |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
        (digits(seed, 3) && digits(at, 2)).then(|| (seed.parse().unwrap(), at.parse().unwrap()))
    };
    name.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter_map(number).collect()
}

#[test]
fn numbers_are_read_from_names() {
    let read = |name: &str| numbers(name).into_iter().collect::<Vec<_>>();
    assert_eq!(read("fn r003_07_names"), [(3, 7)]);
    assert_eq!(read("r000_20_to_22_28_and_31_schema"), [(0, 20), (0, 21), (0, 22), (0, 28), (0, 31)]);
    assert_eq!(read("r003_58_r003_59_a_gap_of_12_events"), [(3, 58), (3, 59)]);
    assert_eq!(read("r002_99_100_context"), [(2, 99), (2, 100)]);
    assert_eq!(read("error_003_12 and for_003_1"), []);
}

fn read(folder: &Path, named: &mut BTreeSet<(u32, u32)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, named);
        } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("requirements.rs") {
            let text = fs::read_to_string(&path).unwrap();
            // A name stands at the head of a test or of a row that makes one; a comment names nothing.
            for line in text.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
                named.extend(numbers(line));
            }
        }
    }
}

/// The lines that the names in a text stand for.
fn numbers(text: &str) -> BTreeSet<(u32, u32)> {
    let mut found = BTreeSet::new();
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        let parts = word.split('_');
        let (mut seed, mut last, mut through) = (None, None, false);
        for part in parts {
            let digits = part.strip_prefix('r').unwrap_or(part);
            let number = digits.parse::<u32>().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
            match (number, seed) {
                (Some(number), _) if part.starts_with('r') && digits.len() == 3 => {
                    (seed, last, through) = (Some(number), None, false);
                }
                (Some(number), Some(of)) if matches!(part.len(), 2 | 3) && !part.starts_with('r') => {
                    let from = if through { last.unwrap_or(number) } else { number };
                    found.extend((from..=number).map(|line| (of, line)));
                    (last, through) = (Some(number), false);
                }
                (None, Some(_)) if part == "to" && last.is_some() => through = true,
                (None, Some(_)) if part == "and" => {}
                // The words of the name begin: what is a number in them is none of ours.
                _ => seed = None,
            }
        }
    }
    found
}
