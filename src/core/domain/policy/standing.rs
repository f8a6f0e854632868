//! What the user lets be done, or never be done, without being asked each time.
//!
//! Owns the modes, the patterns and the verdict on a judgement. It comes from the user's own settings or word and never from a
//! repository. Never judges a command: that is `judgement`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command_class::CommandClass;
use super::file_lists::{FileLists, FileUse};
use super::judgement::{Hindrance, JudgedCommand, Judgement};
use super::program::{WildcardRoom, runs_others};

/// What is done without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalMode {
    /// Nothing, whatever the list says; the default.
    #[default]
    Ask,
    /// Commands that only read, within the workspace.
    Reads,
    /// These, and changes of files in the workspace, but for hidden ones.
    Edits,
    /// What the list of patterns and classes allows, and nothing else.
    Listed,
}

impl ApprovalMode {
    /// The word of the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Reads => "reads",
            Self::Edits => "edits",
            Self::Listed => "listed",
        }
    }

    /// What is allowed, for a card.
    fn allowed_by(self) -> &'static str {
        match self {
            Self::Ask | Self::Listed => "your list",
            Self::Reads => "reads",
            Self::Edits => "edits in the workspace",
        }
    }
}

/// What is to happen with a class or a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StandingAnswer {
    /// It is done without asking, where nothing else stands against it.
    Always,
    /// It is refused without asking.
    Never,
    /// It is asked about.
    Prompt,
}

/// A pattern and what is to happen with what it covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StandingPattern {
    /// The words of a command, as `cargo test`; a last word `*` stands for any further words. `tool:<name>` names a tool.
    pub pattern: String,
    /// What is to happen. `never` also covers a command that has these words in this order among its own.
    pub answer: StandingAnswer,
}

/// What the user decided once for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandingPolicy {
    /// The mode.
    pub mode: ApprovalMode,
    /// Answers by class. `always` counts for reading, editing and building only.
    pub classes: BTreeMap<CommandClass, StandingAnswer>,
    /// Answers by pattern.
    pub patterns: Vec<StandingPattern>,
    /// What files may be touched.
    pub files: Arc<FileLists>,
}

/// What the policy says of a request, as its card shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyVerdict {
    /// What would be done.
    pub class: CommandClass,
    /// `always`: it was allowed by a setting; `never`: it was denied by one; `prompt`: a person is asked.
    pub answer: StandingAnswer,
    /// Why, in one sentence for a person.
    pub reason: String,
}

impl StandingPolicy {
    /// What is to happen with a command or an edit that was judged. Denying wins over everything.
    pub fn verdict(&self, judgement: &Judgement) -> PolicyVerdict {
        let verdict = |answer, reason: String| PolicyVerdict { class: judgement.class, answer, reason };
        if let Some(pattern) = self.forbids(judgement) {
            return verdict(StandingAnswer::Never, format!("Denied by your list: `{pattern}`."));
        }
        if let Some(class) = self.forbidden_class(judgement) {
            let reason = format!("Denied by your setting: never {}.", class.as_str());
            return verdict(StandingAnswer::Never, reason);
        }
        if let Some(reason) = self.keeps(judgement) {
            return verdict(StandingAnswer::Never, reason);
        }
        let asked = |why: &str| verdict(StandingAnswer::Prompt, format!("Asked because it {why}."));
        if let Hindrance::Guarded(why) | Hindrance::Outside(why) = &judgement.hindrance {
            return asked(why);
        }
        if self.reaches_past_lists(judgement) {
            return asked("touches everything in a folder, and your lists of files keep some files from it");
        }
        if self.mode == ApprovalMode::Ask {
            let why = match judgement.class {
                CommandClass::Unknown => format!("Asked because it {}.", judgement.why),
                CommandClass::Read
                | CommandClass::Edit
                | CommandClass::Build
                | CommandClass::Network
                | CommandClass::Destructive => {
                    format!("Asked because your setting asks for everything; it {}.", judgement.why)
                }
            };
            return verdict(StandingAnswer::Prompt, why);
        }
        if let Some(pattern) = self.lists(judgement) {
            return verdict(StandingAnswer::Always, format!("Allowed by your list: `{pattern}`."));
        }
        if let Hindrance::Unclear(why) = &judgement.hindrance {
            return asked(why);
        }
        match self.allows(judgement.class) {
            true => {
                let reason = format!("Allowed by your setting: {}.", self.named(judgement.class));
                verdict(StandingAnswer::Always, reason)
            }
            false => asked(&judgement.why),
        }
    }

    /// Why a file that it touches is kept from it by the user's lists.
    fn keeps(&self, judgement: &Judgement) -> Option<String> {
        if self.files.is_open() {
            return None;
        }
        let seen = judgement.touched.iter().find_map(|touched| {
            let why = match touched.is_whole_folder || touched.how == FileUse::Read && touched.path.is_empty()
            {
                // A folder is no file that could be allowed; what is in it is asked about.
                true => {
                    let pattern = self.files.never_touches(&touched.path)?;
                    format!("is never touched (`{pattern}`)")
                }
                false => self.files.forbids(&touched.path, touched.how)?,
            };
            Some(format!("Denied by your lists of files: `{}` {why}.", touched.path))
        });
        // What is written anywhere in the line, also where the line was not understood.
        let words = judgement.commands.iter().flat_map(|command| &command.words);
        let mut words = words.chain(judgement.guesses.iter().flatten());
        seen.or_else(|| {
            words.find_map(|word| {
                let parts = word.split(['=', ':', ',', '@', '"', '\'', '`', '$', '(', ')']);
                let kept = |part: &str| Some((part.to_owned(), self.files.never_touches(part)?));
                let (part, pattern) = parts.chain([word.as_str()]).find_map(kept)?;
                Some(format!("Denied by your lists of files: `{part}` is never touched (`{pattern}`)."))
            })
        })
    }

    /// Whether it touches everything in a folder in which the lists may keep something.
    pub fn reaches_past_lists(&self, judgement: &Judgement) -> bool {
        !self.files.is_open() && judgement.touched.iter().any(|touched| touched.is_whole_folder)
    }

    /// What is to happen with a tool that names these files, each relative to its folder and without links, and what it does to them.
    pub fn verdict_on_files(&self, files: &[(String, FileUse)]) -> Option<PolicyVerdict> {
        let kept = files.iter().find_map(|(path, how)| Some((path, self.files.forbids(path, *how)?)));
        kept.map(|(path, why)| PolicyVerdict {
            class: CommandClass::Unknown,
            answer: StandingAnswer::Never,
            reason: format!("Denied by your lists of files: `{path}` {why}."),
        })
    }

    /// What is to happen with a tool that is neither a command nor an edit.
    pub fn verdict_on_tool(&self, name: &str) -> PolicyVerdict {
        let wanted = format!("tool:{name}");
        let answer =
            |answer| self.patterns.iter().any(|row| row.answer == answer && row.pattern.trim() == wanted);
        let (answer, reason) = if answer(StandingAnswer::Never) {
            (StandingAnswer::Never, format!("Denied by your list: `{wanted}`."))
        } else if self.mode != ApprovalMode::Ask && answer(StandingAnswer::Always) {
            (StandingAnswer::Always, format!("Allowed by your list: `{wanted}`."))
        } else {
            (StandingAnswer::Prompt, "Asked because what this tool does is not known here.".to_owned())
        };
        PolicyVerdict { class: CommandClass::Unknown, answer, reason }
    }

    /// The pattern that forbids one of the commands.
    fn forbids(&self, judgement: &Judgement) -> Option<&str> {
        let never = self.patterns.iter().filter(|row| row.answer == StandingAnswer::Never);
        let covers = |pattern: &&str| {
            let of_command = |command: &JudgedCommand| forbids_or_asks(pattern, command);
            let of_guess = |words: &Vec<String>| (0..words.len()).any(|at| is_named(pattern, &words[at..]));
            judgement.commands.iter().any(of_command) || judgement.guesses.iter().any(of_guess)
        };
        never.map(|row| row.pattern.as_str()).find(covers)
    }

    fn forbidden_class(&self, judgement: &Judgement) -> Option<CommandClass> {
        let of_parts = judgement.commands.iter().map(|command| command.class);
        of_parts
            .chain([judgement.class])
            .find(|class| self.classes.get(class) == Some(&StandingAnswer::Never))
    }

    /// The pattern that allows, where every command of the line is allowed by one, or by its class.
    fn lists(&self, judgement: &Judgement) -> Option<&str> {
        let is_clear = judgement.hindrance == Hindrance::None;
        let mut first = None;
        for command in &judgement.commands {
            let asks = |row: &StandingPattern| {
                row.answer == StandingAnswer::Prompt && forbids_or_asks(&row.pattern, command)
            };
            if self.patterns.iter().any(asks) || (command.writes && !self.allows(CommandClass::Edit)) {
                return None;
            }
            let always = |row: &&StandingPattern| row.answer == StandingAnswer::Always;
            match self.patterns.iter().filter(always).find(|row| covers(&row.pattern, command)) {
                Some(row) => first = first.or(Some(row.pattern.as_str())),
                None if is_clear && self.allows(command.class) => {}
                None => return None,
            }
        }
        first
    }

    /// Whether the mode, or the answer to the class, allows it.
    fn allows(&self, class: CommandClass) -> bool {
        let by_mode = match self.mode {
            ApprovalMode::Ask => return false,
            ApprovalMode::Reads => class == CommandClass::Read,
            ApprovalMode::Edits => class <= CommandClass::Edit,
            ApprovalMode::Listed => false,
        };
        match (self.classes.get(&class), class) {
            (Some(StandingAnswer::Always), CommandClass::Read | CommandClass::Edit | CommandClass::Build) => {
                true
            }
            (Some(StandingAnswer::Never | StandingAnswer::Prompt), _) => false,
            (Some(StandingAnswer::Always) | None, _) => by_mode,
        }
    }

    fn named(&self, class: CommandClass) -> String {
        match self.classes.get(&class) {
            Some(StandingAnswer::Always) => format!("always {}", class.as_str()),
            _ => self.mode.allowed_by().to_owned(),
        }
    }
}

fn words_of(pattern: &str) -> Vec<&str> {
    pattern.split_whitespace().collect()
}

/// Whether a pattern that allows covers a command: the same words, or, with a last `*`, more of them where more does not change
/// what the command is.
fn covers(pattern: &str, command: &JudgedCommand) -> bool {
    let wanted = words_of(pattern);
    match wanted.strip_suffix(&["*"]) {
        Some(start) if !start.is_empty() => {
            matches!(command.wildcard, WildcardRoom::Behind(named) if start.len() >= named)
                && command.variables.is_empty()
                && command.words.len() >= start.len()
                && start.iter().zip(&command.words).all(|(wanted, word)| wanted == word)
        }
        Some(_) => false,
        None => !wanted.is_empty() && wanted.iter().eq(command.variables.iter().chain(&command.words)),
    }
}

/// Whether a pattern that forbids or asks covers a command, which it does generously.
fn forbids_or_asks(pattern: &str, command: &JudgedCommand) -> bool {
    is_named(pattern, &command.words)
}

fn is_named(pattern: &str, words: &[String]) -> bool {
    let wanted = words_of(pattern);
    let wanted = wanted.strip_suffix(&["*"]).unwrap_or(&wanted);
    !wanted.is_empty() && is_among(wanted, words)
}

/// Whether a command starts a program that a pattern names, and has its other words in their order; behind a program that runs
/// others, anywhere.
fn is_among(wanted: &[&str], words: &[String]) -> bool {
    let name_of = |word: &str| word.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let Some((program, rest)) = wanted.split_first() else { return false };
    let Some(first) = words.first() else { return false };
    let starts = |at: usize| name_of(&words[at]) == name_of(program);
    let from: Vec<usize> = match runs_others(&name_of(first)) {
        true => (0..words.len()).filter(|at| starts(*at)).collect(),
        false => Some(0).filter(|at| starts(*at)).into_iter().collect(),
    };
    from.into_iter().any(|at| {
        let mut left = words[at + 1..].iter();
        rest.iter().all(|wanted| left.any(|word| word.eq_ignore_ascii_case(wanted)))
    })
}

#[cfg(test)]
#[path = "standing_tests.rs"]
mod tests;
