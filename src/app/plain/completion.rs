//! Words in a chat document: commands of the engine and of tool servers behind `/`; files and definitions of the workspace, and resources
//! of tool servers, behind `@`; and the same files for a client that asks for them by a part of their path.
//!
//! Owns the list of paths that is kept between keystrokes. What a mention means to a prompt is not decided here.

use std::sync::Arc;

use crate::app::client::ClientId;
use crate::app::inbox::{Reply, StandardAnswer, WordKind, WordOffered};
use crate::app::ports::FileJob;
use crate::app::state::App;
use crate::domain::chat_document::{
    ChatText, Mention, Speaker, best_paths, is_chat, mention_at, symbol_typed,
};
use crate::domain::edits::overlay::{Position, char_at};
use crate::domain::policy::file_lists::FileLists;
use crate::protocol::request::{FindFilesParams, FindFilesResult};

/// Words that are offered at a time; more are found by typing on.
const MOST: usize = 60;

/// Definitions that are offered at a time.
pub(crate) const SYMBOLS: usize = 20;

/// Files that stand before them.
const FILES_FIRST: usize = 10;

/// Paths that are found where nobody says how many, and at most.
const FOUND: usize = 50;
const MOST_FOUND: usize = 200;

/// How long the list of paths is good, in microseconds: a file that was just made is offered within that time.
const PATHS_US: u64 = 3_000_000;

/// The paths of the workspace, as they were found last.
#[derive(Default)]
pub(in crate::app) struct KnownPaths {
    paths: Arc<Vec<String>>,
    found_us: Option<u64>,
    /// They are looked for at this moment.
    looking: bool,
}

/// What waits for the paths of the workspace.
#[derive(Debug)]
pub struct PathsWanted(Option<WaitsForPaths>);

#[derive(Debug)]
enum WaitsForPaths {
    /// A completion in a document.
    Words { typed: String, range: (Position, Position), reply: Reply<StandardAnswer> },
    /// `bb/findFiles`.
    Found { query: String, most: usize, reply: Reply<FindFilesResult> },
}

/// A completion that waits for the definitions that fit.
#[derive(Debug)]
pub struct SymbolsWanted {
    name: String,
    typed: String,
    range: (Position, Position),
    /// What is offered in any case.
    words: Vec<WordOffered>,
    /// Which files may be looked into.
    lists: Arc<FileLists>,
    reply: Reply<StandardAnswer>,
}

impl SymbolsWanted {
    /// What is typed of the name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Which files may be looked into.
    pub(crate) fn lists(&self) -> Arc<FileLists> {
        Arc::clone(&self.lists)
    }

    /// Whether nobody waits for them any more: the user typed on.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.reply.is_abandoned()
    }

    /// These fit, best first: the name behind that of its type, and a line about it.
    pub(crate) fn found(self, symbols: Vec<(String, String)>) {
        let Self { typed, range, mut words, reply, .. } = self;
        let offered = symbols.into_iter().take(SYMBOLS).map(|(name, detail)| WordOffered {
            word: format!("@symbol:{name}"),
            range,
            detail: Some(detail),
            kind: WordKind::Symbol,
            typed: format!("@{typed}"),
        });
        // The best files first, as they were before there were names; then names, which no file would leave room for.
        let files = words.split_off(words.len().min(FILES_FIRST));
        words.extend(offered);
        words.extend(files);
        words.truncate(MOST);
        reply.answer(StandardAnswer::Words(words));
    }
}

impl App {
    pub(super) fn words(&mut self, client: ClientId, uri: &str, at: Position, reply: Reply<StandardAnswer>) {
        let Some((line, begins)) = self.typed_before(client, uri, at) else {
            return reply.answer(StandardAnswer::Words(Vec::new()));
        };
        let units = |text: &str| {
            let encoding = self.clients.get(client).map(|client| client.encoding).unwrap_or_default();
            let count = match encoding {
                crate::domain::edits::overlay::PositionEncoding::Utf8 => text.len(),
                crate::domain::edits::overlay::PositionEncoding::Utf16 => text.encode_utf16().count(),
                crate::domain::edits::overlay::PositionEncoding::Utf32 => text.chars().count(),
            };
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        let from = |start: usize| (Position { line: at.line, character: units(&line[..start]) }, at);
        match mention_at(&line, begins) {
            Some(Mention::Command { start, typed }) => {
                let words = self.commands_offered(client, uri, typed, from(start));
                reply.answer(StandardAnswer::Words(words));
            }
            Some(Mention::Path { start, typed }) => self.paths_offered(typed.to_owned(), from(start), reply),
            None => reply.answer(StandardAnswer::Words(Vec::new())),
        }
    }

    /// The line up to the cursor, in what the user types, and whether nothing stands above it.
    fn typed_before(&self, client: ClientId, uri: &str, at: Position) -> Option<(String, bool)> {
        let editor = self.clients.get(client).filter(|_| is_chat(uri))?;
        let document = editor.overlay.get(uri)?;
        let to = char_at(&document.text, at, editor.encoding)?;
        let start = document.text.line_to_char(usize::try_from(at.line).ok()?);
        let line = document.text.get_slice(start..to)?.to_string();
        let start = document.text.char_to_byte(start);
        let text = document.text.to_string();
        let read = ChatText::read(&text);
        let begins = match read.sections.iter().rfind(|section| section.body.start <= start) {
            Some(section) if section.speaker == Speaker::Agent => return None,
            Some(section) => text.get(section.body.start..start)?.trim().is_empty(),
            None => true,
        };
        Some((line, begins))
    }

    /// The commands of the engine, as it told them last.
    fn commands_offered(
        &self,
        client: ClientId,
        uri: &str,
        typed: &str,
        range: (Position, Position),
    ) -> Vec<WordOffered> {
        let of_chat = self.chat(client, uri).and_then(|chat| chat.session_id.as_deref());
        let mut sessions: Vec<_> = self.sessions.values().collect();
        sessions.sort_by_key(|session| {
            (Some(session.record.session_id.as_str()) == of_chat, session.record.updated_at)
        });
        let told = sessions.into_iter().rev().find_map(|session| {
            let held = session
                .record
                .held
                .as_ref()
                .filter(|_| session.record.engine == self.settings.engine.kind)?;
            held.snapshot.as_ref()?.state.commands.as_ref()
        });
        let served = self.served_commands(of_chat.unwrap_or_default()).unwrap_or_default();
        let told = told.into_iter().flatten().chain(&served);
        let commands = told.filter(|command| command.name.starts_with(typed));
        let words = commands.take(MOST).map(|command| WordOffered {
            word: format!("/{}", command.name),
            range,
            detail: Some(command.description.clone()).filter(|description| !description.is_empty()),
            kind: WordKind::Command,
            typed: format!("/{typed}"),
        });
        words.collect()
    }

    /// Resources of tool servers, named as in a prompt.
    fn resources_offered(&self, typed: &str, range: (Position, Position)) -> Vec<WordOffered> {
        let servers = self.mcp.as_ref().map(|mcp| mcp.standing(None)).unwrap_or_default();
        let resources = servers.into_iter().flat_map(|server| server.resources);
        let fitting = resources.filter(|resource| resource.mention.starts_with(typed)).take(MOST);
        let offered = fitting.map(|resource| WordOffered {
            word: format!("@{}", resource.mention),
            range,
            detail: Some(resource.name),
            kind: WordKind::File,
            typed: format!("@{typed}"),
        });
        offered.collect()
    }

    /// Answers `bb/findFiles`.
    pub(in crate::app) fn find_files(&mut self, params: FindFilesParams, reply: Reply<FindFilesResult>) {
        let most =
            params.limit.map_or(FOUND, |limit| usize::try_from(limit).unwrap_or(FOUND)).min(MOST_FOUND);
        self.with_paths(WaitsForPaths::Found { query: params.query, most, reply });
    }

    fn paths_offered(&mut self, typed: String, range: (Position, Position), reply: Reply<StandardAnswer>) {
        self.with_paths(WaitsForPaths::Words { typed, range, reply });
    }

    /// Answers from the paths that are known, and has them looked for again where that was a while ago.
    fn with_paths(&mut self, waits: WaitsForPaths) {
        let now = self.now_us();
        let is_fresh = self.paths.found_us.is_some_and(|found| now < found.saturating_add(PATHS_US));
        let waits = match self.paths.found_us {
            Some(_) => {
                let paths = Arc::clone(&self.paths.paths);
                self.answer_from(&paths, waits);
                None
            }
            None => Some(waits),
        };
        let known = &mut self.paths;
        if is_fresh || (waits.is_none() && known.looking) {
            return;
        }
        known.looking = true;
        self.files.submit(FileJob::Paths { wanted: Box::new(PathsWanted(waits)) }, Arc::default());
    }

    /// The paths of the workspace were found.
    pub(in crate::app) fn paths_found(&mut self, wanted: PathsWanted, paths: Vec<String>) {
        let paths = Arc::new(paths);
        self.paths = KnownPaths { paths: paths.clone(), found_us: Some(self.now_us()), looking: false };
        if let Some(waits) = wanted.0 {
            self.answer_from(&paths, waits);
        }
    }

    fn answer_from(&mut self, paths: &[String], waits: WaitsForPaths) {
        match waits {
            WaitsForPaths::Words { typed, range, reply } => {
                let of_servers = self.resources_offered(&typed, range);
                let words = of_servers.into_iter().chain(words(paths, &typed, range)).collect();
                self.with_symbols(typed, range, words, reply);
            }
            WaitsForPaths::Found { query, most, reply } => {
                let best = best_paths(paths, query.trim(), most).into_iter().map(str::to_owned);
                reply.answer(FindFilesResult { paths: best.collect() });
            }
        }
    }

    /// Answers with these words, and the definitions that may be meant.
    fn with_symbols(
        &mut self,
        typed: String,
        range: (Position, Position),
        words: Vec<WordOffered>,
        reply: Reply<StandardAnswer>,
    ) {
        let Some(name) = symbol_typed(&typed).map(str::to_owned) else {
            return reply.answer(StandardAnswer::Words(words));
        };
        let lists = Arc::clone(&self.settings.standing.files);
        let wanted = Box::new(SymbolsWanted { name, typed, range, words, lists, reply });
        // What is open is looked through as it is.
        let buffers = self.clients.buffers(None);
        self.files.submit(FileJob::Symbols(wanted), buffers);
    }
}

fn words(paths: &[String], typed: &str, range: (Position, Position)) -> Vec<WordOffered> {
    let best = best_paths(paths, typed, MOST).into_iter().map(|path| WordOffered {
        word: format!("@{path}"),
        range,
        detail: None,
        kind: if path.ends_with('/') { WordKind::Folder } else { WordKind::File },
        typed: format!("@{typed}"),
    });
    best.collect()
}
