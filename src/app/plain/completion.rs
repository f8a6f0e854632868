//! Words in a chat document: commands of the engine and of tool servers behind `/`, files of the workspace and resources of tool
//! servers behind `@`.
//!
//! Owns the list of paths that is kept between keystrokes. What a mention means to a prompt is not decided here.

use std::sync::Arc;

use crate::app::client::ClientId;
use crate::app::inbox::{Reply, StandardAnswer, WordKind, WordOffered};
use crate::app::ports::FileJob;
use crate::app::state::App;
use crate::domain::chat_document::{ChatText, Mention, Speaker, best_paths, is_chat, mention_at};
use crate::domain::edits::overlay::{Position, char_at};

/// Words that are offered at a time; more are found by typing on.
const MOST: usize = 60;

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

/// A completion that waits for the paths of the workspace.
#[derive(Debug)]
pub struct PathsWanted {
    typed: String,
    range: (Position, Position),
    /// `None`: they are only looked for again.
    reply: Option<Reply<StandardAnswer>>,
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

    fn paths_offered(&mut self, typed: String, range: (Position, Position), reply: Reply<StandardAnswer>) {
        let of_servers = self.resources_offered(&typed, range);
        let now = self.now_us();
        let known = &mut self.paths;
        let is_fresh = known.found_us.is_some_and(|found| now < found.saturating_add(PATHS_US));
        let reply = match known.found_us {
            Some(_) => {
                let words = words(&known.paths, &typed, range);
                reply.answer(StandardAnswer::Words(of_servers.into_iter().chain(words).collect()));
                None
            }
            None => Some(reply),
        };
        if is_fresh || (reply.is_none() && known.looking) {
            return;
        }
        known.looking = true;
        let wanted = Box::new(PathsWanted { typed, range, reply });
        self.files.submit(FileJob::Paths { wanted }, Arc::default());
    }

    /// The paths of the workspace were found.
    pub(in crate::app) fn paths_found(&mut self, wanted: PathsWanted, paths: Vec<String>) {
        let paths = Arc::new(paths);
        self.paths = KnownPaths { paths: paths.clone(), found_us: Some(self.now_us()), looking: false };
        if let Some(reply) = wanted.reply {
            let of_servers = self.resources_offered(&wanted.typed, wanted.range);
            let words = words(&paths, &wanted.typed, wanted.range);
            reply.answer(StandardAnswer::Words(of_servers.into_iter().chain(words).collect()));
        }
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
