//! One simple command, read against what is known of its program.
//!
//! Owns which of its words are options, and which name files. Never looks at a path or a setting.

use super::command_class::CommandClass;
use super::program_table::{BY_NAME, KNOWN, KnownProgram, Operands, RUNNERS};

/// What a command does with a file that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathUse {
    /// Tells its name and size.
    Name,
    /// Reads what is in it.
    Content,
    /// Makes it, or leaves what is there as it is.
    Make,
    /// Makes or changes it.
    Write,
    /// It is a text, or a word whose use is not known: it may be a path.
    Word,
}

/// What a pattern that ends with `*` may leave open of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WildcardRoom {
    /// Nothing: what it does depends on every word.
    None,
    /// What stands behind so many words, which say what it does.
    Behind(usize),
}

/// What is known of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProgramReading {
    pub class: CommandClass,
    /// Why it is of that class, as the rest of a sentence that begins with "it".
    pub why: String,
    /// The words that may be paths.
    pub paths: Vec<(String, PathUse)>,
    /// How much of it a pattern that ends with `*` has to name.
    pub wildcard: WildcardRoom,
}

/// Reads the words of a command.
pub(super) fn read_program(words: &[String]) -> ProgramReading {
    let all = || words.iter().skip(1).map(|word| (word.clone(), PathUse::Word)).collect();
    let unknown =
        |why: String, wildcard| ProgramReading { class: CommandClass::Unknown, why, paths: all(), wildcard };
    let Some(name) = words.first() else { return unknown("is empty".to_owned(), WildcardRoom::None) };
    if name.contains(['/', '\\']) {
        let why = format!("runs `{name}` by its path, which is not judged");
        return unknown(why, WildcardRoom::None);
    }
    if name == "sed" && is_printing(words) {
        let paths = words.iter().skip(3).map(|word| (word.clone(), PathUse::Content)).collect();
        return known(CommandClass::Read, "sed", paths);
    }
    if let Some(row) = KNOWN.iter().find(|row| starts_with(words, row.words)) {
        let program = row.words.join(" ");
        return match operands(row, &words[row.words.len()..]) {
            Ok(paths) => known(row.class, &program, paths),
            Err(word) => {
                let why = format!("starts `{program}` with `{word}`, which is not judged");
                unknown(why, WildcardRoom::None)
            }
        };
    }
    if RUNNERS.contains(&name.as_str()) {
        let why = format!("starts `{name}`, which runs what its arguments or its input say");
        return unknown(why, WildcardRoom::None);
    }
    if let Some((row, class)) = BY_NAME.iter().find(|(row, _)| starts_with(words, row)) {
        return ProgramReading {
            class: *class,
            why: format!("{} (`{}`)", class.what(), row.join(" ")),
            paths: all(),
            wildcard: WildcardRoom::Behind(row.len()),
        };
    }
    let wildcard = match has_subcommands(name) {
        false => WildcardRoom::Behind(1),
        // What stands before the subcommand may change what it is.
        true => match words.get(1).is_some_and(|word| word.starts_with(char::is_alphabetic)) {
            true => WildcardRoom::Behind(2),
            false => WildcardRoom::None,
        },
    };
    unknown(format!("starts `{}`, which is not known here", words[..words.len().min(2)].join(" ")), wildcard)
}

fn has_subcommands(name: &str) -> bool {
    let rows = KNOWN.iter().map(|row| row.words).chain(BY_NAME.iter().map(|(row, _)| *row));
    rows.into_iter().any(|row| row.len() > 1 && row[0] == name)
}

/// Whether a word of a pattern that forbids may stand anywhere behind this program.
pub(super) fn runs_others(program: &str) -> bool {
    RUNNERS.contains(&program)
}

fn known(class: CommandClass, program: &str, paths: Vec<(String, PathUse)>) -> ProgramReading {
    let why = format!("{} (`{program}`)", class.what());
    ProgramReading { class, why, paths, wildcard: WildcardRoom::Behind(1) }
}

fn starts_with(words: &[String], row: &[&str]) -> bool {
    words.len() >= row.len() && row.iter().zip(words).all(|(wanted, word)| wanted == word)
}

/// `sed -n 5,10p file`: the one use of sed that only prints lines.
fn is_printing(words: &[String]) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let is_range = |text: &str| match text.strip_suffix('p') {
        Some(range) => match range.split_once(',') {
            Some((from, to)) => is_number(from) && (is_number(to) || to == "$"),
            None => is_number(range),
        },
        None => false,
    };
    words.len() > 3
        && words[1] == "-n"
        && is_range(&words[2])
        && words[3..].iter().all(|word| !word.starts_with('-'))
}

/// The words of a known program that may be paths; the word that is not judged, where there is one.
fn operands(row: &KnownProgram, words: &[String]) -> Result<Vec<(String, PathUse)>, String> {
    let (mut plain, mut values) = (Vec::new(), Vec::new());
    let mut rest = words.iter();
    let mut recursive = false;
    while let Some(word) = rest.next() {
        if word == "--" {
            // Behind it a test program has options of its own; of the others there are none.
            if row.operands != Operands::Targets {
                plain.extend(rest.by_ref().cloned());
                break;
            }
        } else if word == "-" || !word.starts_with('-') {
            plain.push(word.clone());
        } else if row.long.contains(&word.as_str()) {
            recursive |= word == "--recursive";
        } else if row.long_valued.contains(&word.as_str()) {
            values.extend(rest.next().cloned());
        } else if let Some((name, value)) = word.split_once('=') {
            if !row.long_valued.contains(&name) {
                return Err(word.clone());
            }
            values.push(value.to_owned());
        } else {
            let (letters, value) = cluster(row, word)?;
            recursive |= letters.contains(['r', 'R']);
            match value {
                ClusterValue::None => {}
                ClusterValue::Here(value) => values.push(value),
                ClusterValue::Next => values.extend(rest.next().cloned()),
            }
        }
    }
    let mut paths = named(row, plain, recursive)?;
    paths.extend(values.into_iter().map(|value| (value, PathUse::Word)));
    Ok(paths)
}

/// What the value of the last letter of a cluster is.
enum ClusterValue {
    None,
    Here(String),
    Next,
}

/// `-la`, `-n5`, `-n`: the letters, and where the value of the last is.
fn cluster(row: &KnownProgram, word: &str) -> Result<(String, ClusterValue), String> {
    let letters = word.trim_start_matches('-');
    if word.starts_with("--") || letters.is_empty() {
        return Err(word.to_owned());
    }
    // `head -5`
    if letters.chars().all(|c| c.is_ascii_digit()) && row.valued.contains('n') {
        return Ok((String::new(), ClusterValue::None));
    }
    for (at, letter) in letters.char_indices() {
        if row.valued.contains(letter) {
            let value = &letters[at + letter.len_utf8()..];
            let value =
                if value.is_empty() { ClusterValue::Next } else { ClusterValue::Here(value.to_owned()) };
            return Ok((letters[..at].to_owned(), value));
        }
        if !row.flags.contains(letter) {
            return Err(word.to_owned());
        }
    }
    Ok((letters.to_owned(), ClusterValue::None))
}

/// What the words that are no options are.
fn named(
    row: &KnownProgram,
    mut words: Vec<String>,
    recursive: bool,
) -> Result<Vec<(String, PathUse)>, String> {
    let all = |words: Vec<String>, how| words.into_iter().map(|word| (word, how)).collect();
    Ok(match row.operands {
        Operands::None => match words.first() {
            Some(word) => return Err(word.clone()),
            None => Vec::new(),
        },
        Operands::Texts => all(words, PathUse::Word),
        Operands::Names => all(words, PathUse::Name),
        Operands::Read => all(words, PathUse::Content),
        Operands::Make => all(words, PathUse::Make),
        Operands::Write => all(words, PathUse::Write),
        Operands::Targets => match words.iter().find(|word| word.contains(['=', '@'])) {
            Some(word) => return Err(word.clone()),
            None => all(words, PathUse::Word),
        },
        Operands::PatternThenRead => {
            let files = if words.is_empty() { Vec::new() } else { words.split_off(1) };
            // Without a file rg searches its folder, and so does a grep that goes down.
            let here = files.is_empty() && (recursive || row.words == ["rg"]);
            let mut paths: Vec<(String, PathUse)> = all(words, PathUse::Word);
            paths.extend(all(files, PathUse::Content));
            paths.extend(here.then(|| (".".to_owned(), PathUse::Content)));
            paths
        }
        Operands::ReadThenWrite => {
            let Some(last) = words.pop().filter(|_| !words.is_empty()) else {
                return Err(row.words.join(" "));
            };
            let mut paths: Vec<(String, PathUse)> = all(words, PathUse::Content);
            paths.push((last, PathUse::Write));
            paths
        }
    })
}
