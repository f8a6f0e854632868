//! What the user's policy says of a permission request, and the answer that it gives by itself.
//!
//! Owns where paths of a session lead and when an automatic answer is given: in a trusted workspace, for a folder that is open,
//! and for nothing that a person was not told. Never judges a command itself: that is `domain::policy`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::on_request::Settling;
use super::ports::{EngineDecision, Files, Ruling, Settlement};
use super::record::Settler;
use super::state::App;
use crate::domain::approval::{
    Action, AskRoot, ChangeKind, Decision, PermissionAsk, PermissionOptionKind, PermissionStatus, Subject,
};
use crate::domain::coded_error::{CodedError, ErrorCode};
use crate::domain::policy::command_class::CommandClass;
use crate::domain::policy::file_lists::FileUse;
use crate::domain::policy::judgement::{
    Hindrance, Judgement, PathPlace, PathPlaces, PlaceKind, ShellKind, judge_command, judge_edit,
};
use crate::domain::policy::standing::{PolicyVerdict, StandingAnswer};
use crate::domain::shown::{Kind, show};
use crate::protocol::standing::{ApprovalsSetParams, ApprovalsState};

/// What the policy comes to for one request.
pub(super) struct StandingVerdict {
    /// What its card says.
    pub(super) told: PolicyVerdict,
    /// It touches what no rule may cover.
    pub(super) is_guarded: bool,
}

impl App {
    /// What the policy says of a request. `None` for a question, which only a person can answer.
    pub(super) fn standing_verdict(
        &self,
        session_id: &str,
        subject: &Subject,
        root: &AskRoot,
        root_name: Option<&str>,
    ) -> Option<StandingVerdict> {
        let places = WorkspacePlaces {
            roots: self.real_roots(),
            files: &*self.files,
            is_here: matches!(root, AskRoot::Folder(_)),
        };
        let judgement = match &subject.action {
            Action::Question { .. } => return None,
            Action::Tool { name, server, input } => {
                let base = self.base_of(session_id, root_name).unwrap_or_default();
                let files = input.as_ref().map_or_else(Vec::new, |input| named_files(input, &base, &places));
                let standing = &self.settings.standing;
                let whole = server.as_ref().map(|server| format!("{server}/{name}"));
                let told = standing
                    .verdict_on_files(&files)
                    .unwrap_or_else(|| standing.verdict_on_tool(whole.as_ref().unwrap_or(name)));
                return Some(StandingVerdict { told: self.shown_verdict(told), is_guarded: false });
            }
            Action::Command { command, cwd, env } => {
                let folder = self.base_of(session_id, root_name).map(|base| base.join(cwd));
                let folder = folder.unwrap_or_default().to_string_lossy().into_owned();
                let mut judgement = judge_command(command, &folder, shell_of_commands(), &places);
                if env.as_ref().is_some_and(|env| !env.is_empty()) {
                    hinder(&mut judgement, "is given variables of its own");
                }
                judgement
            }
            Action::Edit { files } => {
                let base = self.base_of(session_id, root_name).unwrap_or_default();
                let base = base.to_string_lossy().into_owned();
                let paths =
                    files.iter().flat_map(|file| [Some(file.file_path.as_str()), file.old_path.as_deref()]);
                let named: Vec<(String, String)> = paths
                    .flatten()
                    .map(|path| (self.folder_of_edit(session_id, path).unwrap_or_else(|| base.clone()), path))
                    .map(|(folder, path)| (folder, self.beneath_its_root(session_id, path)))
                    .collect();
                let removes = files.iter().any(|file| file.change == ChangeKind::Delete);
                let named = named.iter().map(|(folder, path)| (folder.as_str(), path.as_str()));
                judge_edit(named, removes, &places)
            }
        };
        let mut told = self.settings.standing.verdict(&judgement);
        let is_guarded = matches!(judgement.hindrance, Hindrance::Guarded(_))
            || self.settings.standing.reaches_past_lists(&judgement);
        if subject.unknown && told.answer == StandingAnswer::Always {
            told.answer = StandingAnswer::Prompt;
            told.reason = "Asked because the engine did not say what exactly it would do.".to_owned();
        }
        if told.answer == StandingAnswer::Always {
            self.limit(session_id, subject, root, &mut told);
        }
        Some(StandingVerdict { told: self.shown_verdict(told), is_guarded })
    }

    /// The verdict as it may be shown.
    fn shown_verdict(&self, told: PolicyVerdict) -> PolicyVerdict {
        let mut reason = show(&told.reason, Kind::Code).into_owned();
        self.redactor.scrub_text(&mut reason);
        PolicyVerdict { reason, ..told }
    }

    /// What is in the way of an automatic answer beside the request itself.
    fn limit(&self, session_id: &str, subject: &Subject, root: &AskRoot, told: &mut PolicyVerdict) {
        let unsaved =
            matches!(subject.action, Action::Command { .. }) && !self.unsaved.of(session_id).is_empty();
        let why = if subject.kept {
            "it goes on running after the turn"
        } else if !self.turn_trusted(session_id) {
            "this workspace is not trusted"
        } else if !matches!(root, AskRoot::Folder(_)) {
            "the engine works where this server cannot look"
        } else if unsaved {
            "a file that this session changed is not saved"
        } else {
            return;
        };
        told.answer = StandingAnswer::Prompt;
        told.reason = format!("Asked because {why}.");
    }

    /// The folder that the paths of a session begin at.
    fn base_of(&self, session_id: &str, root_name: Option<&str>) -> Option<PathBuf> {
        let held = self.known(session_id).ok().and_then(|session| session.record.held.as_ref());
        match held {
            Some(held) => held.workspace.clone(),
            None => self.root_named(root_name).and_then(|folder| folder.path.clone()),
        }
    }

    /// The folder of an edit of our own agent, whose paths begin with its name where several are open.
    fn folder_of_edit(&self, session_id: &str, path: &str) -> Option<String> {
        let (first, _) = self.named_root(session_id, path)?;
        let folder = self.root_named(Some(&first))?;
        folder.path.as_ref().map(|path| path.to_string_lossy().into_owned())
    }

    fn beneath_its_root(&self, session_id: &str, path: &str) -> String {
        self.named_root(session_id, path).map_or_else(|| path.to_owned(), |(_, rest)| rest)
    }

    fn named_root(&self, session_id: &str, path: &str) -> Option<(String, String)> {
        let held = self.known(session_id).ok().is_some_and(|session| session.record.held.is_some());
        if held || self.workspace.folders.len() < 2 {
            return None;
        }
        let (first, rest) = path.split_once('/')?;
        let known = self.workspace.folders.iter().any(|folder| folder.name == first);
        known.then(|| (first.to_owned(), rest.to_owned()))
    }

    fn real_roots(&self) -> Vec<PathBuf> {
        let folders = self.workspace.folders.iter().filter_map(|folder| folder.path.as_deref());
        folders.filter_map(|path| self.files.identity(path)).map(|root| PathBuf::from(root.path)).collect()
    }

    /// Gives the answer of the policy to a request that has just been written down. `false`: a person is asked.
    pub(super) fn answer_by_policy(
        &mut self,
        session_id: &str,
        request_id: &str,
        told: &PolicyVerdict,
    ) -> bool {
        let decision = match told.answer {
            StandingAnswer::Prompt => return false,
            StandingAnswer::Always => Decision::AllowOnce,
            StandingAnswer::Never => Decision::Deny,
        };
        let ask = self.live_mut(session_id).and_then(|live| live.asks.get(request_id));
        let option = ask.and_then(|ask| PermissionAsk::choose(&ask.permission.options, None, decision));
        let (status, option_id) = match (decision, option) {
            (Decision::Deny, option) => {
                (PermissionStatus::Denied, option.map(|option| option.option_id).unwrap_or_default())
            }
            (_, Some(option)) if option.kind == PermissionOptionKind::AllowOnce => {
                (PermissionStatus::Allowed, option.option_id)
            }
            (_, _) => return false,
        };
        if self.traits_of(session_id).settlement == Settlement::Event {
            if let Some(ask) = self.live_mut(session_id).and_then(|live| live.asks.get_mut(request_id)) {
                ask.given_by = Some(Settler::Setting);
            }
            let ruling = if decision == Decision::Deny { Ruling::Deny } else { Ruling::AllowOnce };
            let option_id = Some(option_id).filter(|id| !id.is_empty());
            let decision = EngineDecision { ruling, option_id, content: None, part: None };
            self.send_decision(session_id, request_id, decision, status, None);
        } else {
            let settling = Settling { status, option_id, rule: None, content: None, by: Settler::Setting };
            self.settle_with(session_id, request_id, settling);
            self.flush(session_id);
        }
        true
    }

    /// Changes what is done without asking, on the user's word.
    ///
    /// # Errors
    /// A list of files that says nothing here; then nothing is changed.
    pub(super) fn approvals_set(
        &mut self,
        params: &ApprovalsSetParams,
    ) -> Result<ApprovalsState, CodedError> {
        if let Some(files) = &params.files {
            files.check().map_err(|bad| {
                let words = format!("The pattern `{}` {}.", bad.pattern, bad.why);
                CodedError::new(ErrorCode::InvalidParams, words)
            })?;
            self.settings.standing.files = Arc::new(files.clone());
            self.clients.scopes_changed = true;
            self.publish_scopes();
        }
        if let Some(mode) = params.mode {
            self.settings.standing.mode = mode;
        }
        if let Some(runner) = params.runner {
            self.settings.commands.runner = runner;
        }
        if let Some(classes) = &params.classes {
            self.settings.standing.classes.clone_from(classes);
        }
        if let Some(patterns) = &params.patterns {
            self.settings.standing.patterns.clone_from(patterns);
        }
        Ok(self.approvals_state())
    }

    /// Why the lists of the user keep a file from an engine that has us read or change it.
    pub(super) fn kept_by_lists(&self, path: &Path, how: FileUse) -> Option<CodedError> {
        let lists = &self.settings.standing.files;
        if lists.is_open() {
            return None;
        }
        let real = self.files.real_place(path)?;
        let roots = self.real_roots();
        let inside = roots.iter().find_map(|root| real.path.strip_prefix(root).ok())?;
        let named = inside.to_string_lossy();
        let why = lists.forbids(&named, how)?;
        Some(CodedError::new(
            ErrorCode::PathOutsideWorkspace,
            format!("`{named}` {why}; your lists of files say so."),
        ))
    }

    /// Where a file of a root is, by the name of the root.
    pub(super) fn real_file_of(&self, root: Option<&str>, path: &str) -> Option<PathBuf> {
        Some(self.root_named(root)?.path.as_ref()?.join(path))
    }

    pub(super) fn approvals_state(&self) -> ApprovalsState {
        let standing = &self.settings.standing;
        ApprovalsState {
            mode: standing.mode,
            classes: standing.classes.clone(),
            patterns: standing.patterns.clone(),
            runner: self.settings.commands.runner,
            files: (*standing.files).clone(),
        }
    }
}

/// Files of one tool call that are looked at, and bytes of the name of one.
const NAMED: usize = 64;
const NAME: usize = 4_096;

/// The files that the arguments of a tool name, as far as they are in the workspace: whatever stands behind a word for a path, and
/// whatever else leads to something that is there.
fn named_files(input: &Value, base: &Path, places: &WorkspacePlaces<'_>) -> Vec<(String, FileUse)> {
    let mut found = Vec::new();
    let mut waiting = vec![("", input)];
    let base = base.to_string_lossy();
    while let Some((name, value)) = waiting.pop() {
        match value {
            Value::Object(fields) => {
                waiting.extend(fields.iter().map(|(name, value)| (name.as_str(), value)))
            }
            Value::Array(items) => waiting.extend(items.iter().map(|item| (name, item))),
            Value::String(text) if text.len() <= NAME && !text.contains('\n') => {
                let text = text.strip_prefix("file://").unwrap_or(text);
                let name = name.to_lowercase();
                let is_named =
                    ["path", "file", "uri", "dir", "folder"].iter().any(|word| name.contains(word));
                if let PathPlace::Inside { path, kind, .. } = places.place(&base, text)
                    && (is_named || kind != PlaceKind::Nothing)
                    && kind != PlaceKind::Folder
                {
                    found.push((path, FileUse::Read));
                }
            }
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        if found.len() >= NAMED {
            break;
        }
    }
    found
}

fn hinder(judgement: &mut Judgement, why: &str) {
    judgement.class = CommandClass::Unknown;
    why.clone_into(&mut judgement.why);
    if !matches!(judgement.hindrance, Hindrance::Guarded(_)) {
        judgement.hindrance = Hindrance::Outside(why.to_owned());
    }
}

/// Commands run in `sh` where there is one; other shells are not read.
fn shell_of_commands() -> ShellKind {
    if cfg!(windows) { ShellKind::Other } else { ShellKind::Posix }
}

/// The folders of the workspace, as the policy asks for them.
struct WorkspacePlaces<'a> {
    /// Without links.
    roots: Vec<PathBuf>,
    files: &'a dyn Files,
    /// Whether the engine works on this machine.
    is_here: bool,
}

impl PathPlaces for WorkspacePlaces<'_> {
    fn place(&self, folder: &str, path: &str) -> PathPlace {
        if !self.is_here || folder.is_empty() {
            return PathPlace::Unseen;
        }
        place_in(&self.roots, Path::new(folder), path, |path| self.files.real_place(path))
    }
}

/// Where a path leads, by a look at the disk.
pub(crate) fn place_in(
    roots: &[PathBuf],
    folder: &Path,
    path: &str,
    look: impl Fn(&Path) -> Option<super::ports::RealPlace>,
) -> PathPlace {
    // A shell makes something else of it.
    if path.starts_with('~') {
        return PathPlace::Outside;
    }
    let Some(real) = look(&folder.join(path)) else { return PathPlace::Outside };
    let inside = roots.iter().find_map(|root| real.path.strip_prefix(root).ok());
    match inside {
        Some(inside) => PathPlace::Inside {
            real: real.path.to_string_lossy().into_owned(),
            path: inside.to_string_lossy().into_owned(),
            kind: real.kind,
        },
        None => PathPlace::Outside,
    }
}
