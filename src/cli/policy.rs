//! `breadboard-ls policy`: what would happen with a command line, and why.
//!
//! Owns the answer's text. Runs nothing and asks no server: it reads the line as the server does, with the same policy.

use std::path::PathBuf;

use serde_json::json;

use super::args::{PolicyArgs, overrides};
use super::ask::{folder, refuse};
use super::exit::Exit;
use super::printed::print;
use super::terminal::visible;
use crate::app::standing::place_in;
use crate::domain::policy::judgement::{Judgement, PathPlace, PathPlaces, ShellKind, judge_command};
use crate::domain::policy::standing::{PolicyVerdict, StandingAnswer};
use crate::protocol::settings::Settings;
use crate::workspace::real_place;

/// Explains a command line.
pub(super) fn policy(args: &PolicyArgs) -> Exit {
    let workspace = match folder(&args.workspace) {
        Ok(workspace) => workspace,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let overrides = overrides(&args.server, |name| std::env::var(name).ok());
    let standing = Settings::layered(Default::default(), &overrides).standing;
    let at = workspace.to_string_lossy().into_owned();
    let shell = if cfg!(windows) { ShellKind::Other } else { ShellKind::Posix };
    let judgement = judge_command(&args.command, &at, shell, &FolderPlaces(workspace));
    let verdict = standing.verdict(&judgement);
    let text = match args.json {
        true => as_json(&judgement, &verdict),
        false => as_text(&judgement, &verdict, standing.mode.as_str()),
    };
    print(text.as_bytes(), Exit::Done)
}

fn as_text(judgement: &Judgement, verdict: &PolicyVerdict, mode: &str) -> String {
    let answer = match verdict.answer {
        StandingAnswer::Always => "runs without a question, in a trusted workspace",
        StandingAnswer::Never => "is refused without a question",
        StandingAnswer::Prompt => "a person is asked",
    };
    let mut text = format!(
        "answer  {answer}\nwhy     {}\nclass   {}: it {}\nmode    {mode}\n",
        verdict.reason,
        verdict.class.as_str(),
        judgement.why
    );
    for command in &judgement.commands {
        text.push_str(&format!("  {:<12}{}\n", command.class.as_str(), command.words.join(" ")));
    }
    text.lines().map(|line| format!("{}\n", visible(line))).collect()
}

fn as_json(judgement: &Judgement, verdict: &PolicyVerdict) -> String {
    let commands: Vec<_> = judgement
        .commands
        .iter()
        .map(|command| json!({ "words": command.words, "class": command.class }))
        .collect();
    format!("{}\n", json!({ "policy": verdict, "commands": commands }))
}

/// One folder, which is the whole workspace.
struct FolderPlaces(PathBuf);

impl PathPlaces for FolderPlaces {
    fn place(&self, folder: &str, path: &str) -> PathPlace {
        place_in(std::slice::from_ref(&self.0), folder.as_ref(), path, real_place)
    }
}
