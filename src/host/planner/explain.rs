//! "explain X": the outline of a file, or a symbol with its signature and its doc lines.
//!
//! Owns what counts as the doc lines of a definition. Says only what the code says.

use std::sync::atomic::AtomicBool;

use serde_json::json;

use super::{list, places, refused};
use crate::domain::dialect::desktop::message::RetrieveStage;
use crate::host::counted;
use crate::host::proposal::ProposalRefusal;
use crate::host::retrieval::{self, ReadText, RetrievalError, Symbol, SymbolKind};
use crate::host::tools::{search, shown};
use crate::host::turn::args;
use crate::host::turn_output::TurnOutput;

/// Definitions of one name that are shown.
const DEFINITIONS: usize = 5;

/// Lines above a definition in which its doc comment is looked for.
const DOC_LINES: u64 = 40;

/// Lines of a definition that are shown.
const BODY_LINES: u64 = 12;

/// Bytes of one reading.
const READ_LIMIT: usize = 32 * 1024;

/// Explains a file or a symbol; falls back to a search for the question.
pub(super) async fn explain(voice: &mut TurnOutput<'_>, what: &str, question: &str) -> bool {
    if is_folder(voice, what).await {
        return list(voice, what.trim_end_matches('/')).await;
    }
    let view = voice.port().workspace();
    let name = what.to_owned();
    let file = search(move |cancel| {
        match retrieval::read_lines(&view, &name, 1, Some(DOC_LINES), READ_LIMIT, cancel) {
            Ok(head) => retrieval::outline(&view, &name, cancel).map(|symbols| Some((head, symbols))),
            Err(RetrievalError::NotFound(_) | RetrievalError::NotText(_)) => Ok(None),
            Err(other) => Err(other),
        }
    })
    .await;
    match file {
        Ok(Some((head, symbols))) => {
            let call = voice.tool_started("outline", args(&[("path", json!(head.path))])).await;
            voice
                .tool_ended(&call, Ok(json!({ "summary": counted(symbols.len() as u64, "definition") })))
                .await;
            outline(voice, &head, &symbols).await;
            true
        }
        Ok(None) => symbol(voice, what, question).await,
        Err(refusal) => {
            voice.lines(&format!("{}\n", refusal.message)).await;
            false
        }
    }
}

async fn outline(voice: &mut TurnOutput<'_>, head: &ReadText, symbols: &[Symbol]) {
    voice
        .lines(&format!(
            "`{}` has {} and {}.\n",
            head.path,
            counted(head.total_lines, "line"),
            counted(symbols.len() as u64, "definition")
        ))
        .await;
    let about = leading_comment(&head.text);
    if !about.is_empty() {
        voice.lines(&format!("\nIts first lines say:\n\n{}", places::fenced(&head.path, &about))).await;
    }
    for symbol in symbols {
        let indent = if symbol.container.is_some() { "  " } else { "" };
        voice
            .token(format!(
                "{}{indent}- `{}:{}` {} `{}`\n",
                if symbol == &symbols[0] { "\n" } else { "" },
                head.path,
                symbol.start_line,
                symbol.kind.as_str(),
                code(&symbol.signature)
            ))
            .await;
    }
    if symbols.is_empty() && about.is_empty() {
        voice
            .lines(&format!("\nIt begins:\n\n{}", places::fenced(&head.path, &first_lines(&head.text, 20))))
            .await;
    }
}

async fn symbol(voice: &mut TurnOutput<'_>, what: &str, question: &str) -> bool {
    let call = voice.tool_started("search_symbols", args(&[("name", json!(what))])).await;
    // `Type::method` and `module.function` are searched by their last part.
    let name = what.rsplit([':', '.']).next().unwrap_or(what).trim_end_matches("()").to_owned();
    let Definitions { count, shown } = match definitions(voice, what, &name).await {
        Ok(found) => found,
        Err(refusal) => return refused(voice, &call, refusal).await,
    };
    voice
        .retrieving(
            RetrieveStage::SymbolSearch,
            count as u64,
            format!("{} found.", counted(count as u64, "definition")),
        )
        .await;
    voice.tool_ended(&call, Ok(json!({ "summary": counted(count as u64, "definition") }))).await;
    if shown.is_empty() {
        voice.lines(&format!("No file and no definition is called `{}`.\n", code(what))).await;
        return places::find(voice, question).await;
    }
    if let [Definition { place, symbol: module, .. }] = shown.as_slice()
        && declares_only(module)
        && let Some((head, symbols)) = module_file(voice, place, &module.name).await
    {
        outline(voice, &head, &symbols).await;
        return true;
    }
    let exact = shown.iter().all(|one| one.symbol.name == name);
    let how =
        if exact { "is defined" } else { "is not defined as such; definitions with a name like it are" };
    let more =
        if count > shown.len() { format!(" (the first {} of {count})", shown.len()) } else { String::new() };
    voice.lines(&format!("`{}` {how} here{more}:\n", code(&name))).await;
    for one in &shown {
        voice.lines(&one.described()).await;
    }
    true
}

/// Definitions that a name fits, and how many there are.
struct Definitions {
    count: usize,
    shown: Vec<Definition>,
}

struct Definition {
    place: String,
    symbol: Symbol,
    text: String,
}

impl Definition {
    fn described(&self) -> String {
        let Self { place, symbol, text } = self;
        let within = match &symbol.container {
            Some(container) => format!(" in `{}`", code(container)),
            None => String::new(),
        };
        format!(
            "\n`{place}:{}` — {} `{}`{within}, lines {}-{}\n\n{}",
            symbol.start_line,
            symbol.kind.as_str(),
            code(&symbol.name),
            symbol.start_line,
            symbol.end_line,
            places::fenced(place, text)
        )
    }
}

/// Definitions of exactly this name where there are any, else of names like it.
async fn definitions(voice: &TurnOutput<'_>, what: &str, name: &str) -> Result<Definitions, ProposalRefusal> {
    let view = voice.port().workspace();
    let (whole, wanted) = (what.trim_end_matches("()").to_owned(), name.to_owned());
    search(move |cancel| {
        let mut found = retrieval::search_symbols(&view, &whole, 50, cancel)?;
        if found.is_empty() && whole != wanted {
            found = retrieval::search_symbols(&view, &wanted, 50, cancel)?;
        }
        let exact = found.iter().any(|(_, _, symbol)| symbol.name == wanted);
        found.retain(|(_, _, symbol)| !exact || symbol.name == wanted);
        // `mod name;` says only that there is something.
        if found.iter().any(|(_, _, symbol)| !declares_only(symbol)) {
            found.retain(|(_, _, symbol)| !declares_only(symbol));
        }
        let count = found.len();
        found.truncate(DEFINITIONS);
        let mut shown_ones = Vec::new();
        for (root, path, symbol) in found {
            let place = shown(root.as_deref(), &path);
            let text = definition(&view, &place, &symbol, cancel)?;
            shown_ones.push(Definition { place, symbol, text });
        }
        Ok(Definitions { count, shown: shown_ones })
    })
    .await
}

async fn is_folder(voice: &TurnOutput<'_>, what: &str) -> bool {
    let (view, path) = (voice.port().workspace(), what.to_owned());
    search(move |cancel| Ok(retrieval::list_dir(&view, &path, 1, cancel).is_ok())).await.unwrap_or(false)
}

/// A module that lies in a file of its own.
fn declares_only(symbol: &Symbol) -> bool {
    symbol.kind == SymbolKind::Module
        && symbol.start_line == symbol.end_line
        && symbol.signature.ends_with(';')
}

/// Head and outline of the file of a module that is declared in `place`.
async fn module_file(voice: &TurnOutput<'_>, place: &str, name: &str) -> Option<(ReadText, Vec<Symbol>)> {
    let (folder, file) = place.rsplit_once('/').unwrap_or(("", place));
    let stem = file.strip_suffix(".rs")?;
    let folder = match (folder, stem) {
        ("", "mod" | "lib" | "main") => String::new(),
        (folder, "mod" | "lib" | "main") => format!("{folder}/"),
        ("", stem) => format!("{stem}/"),
        (folder, stem) => format!("{folder}/{stem}/"),
    };
    let (view, files) =
        (voice.port().workspace(), [format!("{folder}{name}.rs"), format!("{folder}{name}/mod.rs")]);
    let found = search(move |cancel| {
        for file in files {
            if let Ok(head) = retrieval::read_lines(&view, &file, 1, Some(DOC_LINES), READ_LIMIT, cancel) {
                return Ok(Some((head, retrieval::outline(&view, &file, cancel)?)));
            }
        }
        Ok(None)
    });
    found.await.ok().flatten()
}

/// Doc lines above a definition and its first lines.
fn definition(
    view: &crate::host::ports::WorkspaceView,
    place: &str,
    symbol: &Symbol,
    cancel: &AtomicBool,
) -> Result<String, RetrievalError> {
    let last = symbol.end_line.min(symbol.start_line + BODY_LINES - 1);
    let body = retrieval::read_lines(view, place, symbol.start_line, Some(last), READ_LIMIT, cancel)?.text;
    if symbol.start_line <= 1 {
        return Ok(body);
    }
    let from = symbol.start_line.saturating_sub(DOC_LINES).max(1);
    let above =
        retrieval::read_lines(view, place, from, Some(symbol.start_line - 1), READ_LIMIT, cancel)?.text;
    let doc: Vec<&str> = above.lines().rev().take_while(|line| is_comment(line)).collect();
    let doc: String = doc.into_iter().rev().map(|line| format!("{line}\n")).collect();
    Ok(doc + &body)
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "/*", "*", "@"].iter().any(|mark| line.starts_with(mark))
}

/// The comment at the beginning of a file.
fn leading_comment(text: &str) -> String {
    if let Some(rest) = text.strip_prefix("\"\"\"")
        && let Some(end) = rest.find("\"\"\"")
    {
        return format!("{}\n", &text[..end + 6]);
    }
    text.lines()
        .take_while(|line| is_comment(line) && !line.starts_with("#[") && !line.starts_with('@'))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn first_lines(text: &str, count: usize) -> String {
    text.split_inclusive('\n').take(count).collect()
}

/// Text inside backticks must not hold any.
fn code(text: &str) -> String {
    text.trim().replace('`', "'")
}
