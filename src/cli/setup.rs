//! `breadboard-ls setup`: who is to answer, chosen in a terminal.
//!
//! Owns the conversation: what there is to choose from, that each is tried before it is kept, and what is said at the end. The file is
//! `user_settings`'. Keys are read from the environment by the server alone: none is asked for, shown or written.

mod trials;

use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use self::trials::{Trials, Tried};
use super::args::{ServerArgs, SetupArgs, overrides};
use super::ask::{folder, give_up, refuse};
use super::client::ClientError;
use super::exit::Exit;
use super::handshake::END;
use super::knowledge::{Knowledge, KnownAgent};
use super::terminal::{marked, visible_code};
use super::user_settings::{keep, settings_path};
use super::variables::ENV_MODEL_TOKEN;
use crate::protocol::request::ModelProvider;

/// Longest line that is read, in bytes.
const TYPED: u64 = 4 << 10;

/// Models that are listed; one that is not among them is typed.
const LISTED: usize = 20;

/// Asks who is to answer, tries it, and keeps it.
pub(super) fn setup(args: &SetupArgs, knowledge: Knowledge) -> Exit {
    let env = |name: &str| std::env::var(name).ok();
    let workspace = match folder(&args.workspace) {
        Ok(workspace) => workspace,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let Some(file) = settings_path(env) else {
        return refuse("Your home directory is not known, so nothing can be saved; set HOME.", Exit::Failed);
    };
    let mut trials = match Trials::begin(&workspace, knowledge) {
        Ok(trials) => trials,
        Err(exit) => return exit,
    };
    let known = (knowledge.agents)(
        &overrides(&ServerArgs::default(), |_| None),
        &env("PATH").unwrap_or_default(),
        &workspace,
    );
    let mut talk = SetupTalk { file, workspace };
    let talked = talk.choose(&mut trials, known.all);
    match talked {
        Ok(exit) => {
            trials.client.finish(END);
            exit
        }
        Err(SetupEnded::Left) => {
            trials.client.finish(END);
            say("\nNothing was changed.\n");
            Exit::Unanswered
        }
        Err(SetupEnded::Refused(sentence)) => {
            trials.client.finish(END);
            refuse(&sentence, Exit::Failed)
        }
        Err(SetupEnded::Client(error)) => give_up(trials.client, &error),
    }
}

/// Why there is no choice.
enum SetupEnded {
    /// Nobody types any more, or it is to stay as it is.
    Left,
    /// It could not be kept.
    Refused(String),
    /// The server does not answer.
    Client(ClientError),
}

impl From<ClientError> for SetupEnded {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

/// One thing to choose.
enum WhoAnswers {
    Agent(KnownAgent),
    /// A provider, and its models where those are known already.
    Provider(ModelProvider, Option<Vec<String>>),
    Address,
    Breadboard,
    Search,
}

struct SetupTalk {
    file: PathBuf,
    workspace: PathBuf,
}

impl SetupTalk {
    /// Until something works and is kept.
    fn choose(&mut self, trials: &mut Trials, agents: Vec<KnownAgent>) -> Result<Exit, SetupEnded> {
        let (choices, absent) = choices(trials, agents)?;
        say(&format!("Who should answer?\n\n{}", menu(&choices)));
        if !absent.is_empty() {
            say("\nAgents that are not installed here, and how to install them:\n");
            for KnownAgent { name, install, .. } in &absent {
                say(&format!("   {:<20} {}\n", visible_code(name), install.unwrap_or_default()));
            }
        }
        loop {
            let typed = ask("\nA number, or Enter to change nothing: ")?;
            if typed.is_empty() {
                return Err(SetupEnded::Left);
            }
            let chosen = typed.parse::<usize>().ok().and_then(|at| choices.get(at.checked_sub(1)?));
            let Some(chosen) = chosen else {
                say(&format!("Type a number from 1 to {}.\n", choices.len()));
                continue;
            };
            let kept = match chosen {
                WhoAnswers::Agent(agent) => self.agent(trials, agent)?,
                WhoAnswers::Provider(provider, models) => {
                    self.model(trials, provider, None, models.clone())?
                }
                WhoAnswers::Address => self.address(trials)?,
                WhoAnswers::Breadboard => self.breadboard(trials)?,
                WhoAnswers::Search => self.kept(Some(json!({ "kind": "embedded" })), None, "")?,
            };
            if kept {
                return Ok(Exit::Done);
            }
        }
    }

    fn agent(&self, trials: &Trials, agent: &KnownAgent) -> Result<bool, SetupEnded> {
        let name = visible_code(&agent.name);
        let question = format!(
            "{name} works in the folder in which it is started. Start it in {} to try it? [y/N] ",
            visible_code(&self.workspace.to_string_lossy())
        );
        if !matches!(ask(&question)?.to_lowercase().as_str(), "y" | "yes") {
            return Ok(false);
        }
        say(&format!("Trying {name} …\n"));
        let args = ServerArgs { agent: Some(agent.name.clone()), trust: true, ..ServerArgs::default() };
        match trials.engine(args) {
            Tried::Works => self.kept(Some(json!({ "kind": "acp", "name": agent.name })), None, "--trust "),
            Tried::Fails(why) => {
                let login =
                    agent.login.as_ref().map(|login| format!(" Where it asks for that, log in {login}."));
                told(&format!("{why}{}", login.unwrap_or_default()))
            }
        }
    }

    fn breadboard(&self, trials: &Trials) -> Result<bool, SetupEnded> {
        let url = ask("Address of the BreadBoard server, as in http://127.0.0.1:9099: ")?;
        if url.is_empty() {
            return Ok(false);
        }
        say("Trying it …\n");
        match trials.engine(ServerArgs { engine_url: Some(url.clone()), ..ServerArgs::default() }) {
            Tried::Works => self.kept(Some(json!({ "kind": "breadboard", "url": url })), None, "--trust "),
            Tried::Fails(why) => told(&format!("{why} Its token is read from BREADBOARD_API_TOKEN.")),
        }
    }

    fn address(&self, trials: &mut Trials) -> Result<bool, SetupEnded> {
        let url = ask("Base URL of an endpoint that is compatible with OpenAI, as in http://gpu:8000/v1: ")?;
        if url.is_empty() {
            return Ok(false);
        }
        let provider = ModelProvider {
            provider: "openai".to_owned(),
            label: visible_code(&url).into_owned(),
            needs_key: false,
            key_variable: Some(ENV_MODEL_TOKEN.to_owned()),
            key_is_set: false,
            default_url: None,
        };
        self.model(trials, &provider, Some(url), None)
    }

    /// Whose models, which one, and whether it answers.
    fn model(
        &self,
        trials: &mut Trials,
        provider: &ModelProvider,
        url: Option<String>,
        models: Option<Vec<String>>,
    ) -> Result<bool, SetupEnded> {
        let variable = provider.key_variable.as_deref().unwrap_or(ENV_MODEL_TOKEN);
        if provider.needs_key && !provider.key_is_set {
            return told(&format!(
                "{} needs a key. Set {variable} to yours where your shell starts, and run this again: no key is kept here.",
                provider.label
            ));
        }
        let models = match models {
            Some(models) => models,
            None => match trials.models(&provider.provider, url.as_deref())? {
                (_, Some(models)) => models,
                (Tried::Fails(why), None) => {
                    return told(&format!("{why} The key is read from {variable}."));
                }
                (Tried::Works, None) => Vec::new(),
            },
        };
        let Some(name) = chosen_model(&models)? else { return Ok(false) };
        match trials.model(&provider.provider, &name, url.as_deref())? {
            Tried::Fails(why) => told(&why),
            Tried::Works => {
                let mut model = json!({ "provider": provider.provider, "name": name });
                if let (Some(url), Some(model)) = (url, model.as_object_mut()) {
                    model.insert("url".to_owned(), Value::String(url));
                }
                self.kept(None, Some(model), "")
            }
        }
    }

    /// It works, so it is kept; says what to do next.
    fn kept(&self, engine: Option<Value>, model: Option<Value>, flag: &str) -> Result<bool, SetupEnded> {
        keep(&self.file, engine, model).map_err(SetupEnded::Refused)?;
        say(&format!(
            "Saved in {}. It applies to every editor and command that names nothing else.\n\nTry it:\n\n    breadboard-ls ask {flag}\"What does this project do?\"\n",
            self.file.display()
        ));
        Ok(true)
    }
}

/// What can be chosen here, in the order in which it is listed; and the agents that are known and not here.
fn choices(
    trials: &mut Trials,
    agents: Vec<KnownAgent>,
) -> Result<(Vec<WhoAnswers>, Vec<KnownAgent>), SetupEnded> {
    let (there, absent): (Vec<_>, Vec<_>) = agents.into_iter().partition(|agent| agent.at.is_some());
    let mut all: Vec<WhoAnswers> = there.into_iter().map(WhoAnswers::Agent).collect();
    let mut with_key = Vec::new();
    for provider in trials.providers()? {
        if provider.needs_key {
            with_key.push(WhoAnswers::Provider(provider, None));
            continue;
        }
        // What needs no key is on this machine or not.
        if let (_, Some(models)) = trials.models(&provider.provider, None)? {
            all.push(WhoAnswers::Provider(provider, Some(models)));
        }
    }
    all.extend(with_key);
    all.extend([WhoAnswers::Address, WhoAnswers::Breadboard, WhoAnswers::Search]);
    Ok((all, absent))
}

fn menu(choices: &[WhoAnswers]) -> String {
    let lines = choices.iter().enumerate().map(|(at, choice)| {
        let (name, about) = match choice {
            WhoAnswers::Agent(agent) => {
                let at = agent.at.as_deref().unwrap_or(Path::new(""));
                (
                    visible_code(&agent.name).into_owned(),
                    format!("an agent, {}", visible_code(&at.to_string_lossy())),
                )
            }
            WhoAnswers::Provider(provider, Some(models)) => {
                (provider.label.clone(), format!("on this machine, with {} models", models.len()))
            }
            WhoAnswers::Provider(provider, None) => {
                let variable = provider.key_variable.as_deref().unwrap_or(ENV_MODEL_TOKEN);
                let is = if provider.key_is_set { "is set" } else { "is not set" };
                (provider.label.clone(), format!("models, with a key ({variable} {is})"))
            }
            WhoAnswers::Address => {
                ("An address of yours".to_owned(), "any endpoint that is compatible with OpenAI".to_owned())
            }
            WhoAnswers::Breadboard => ("BreadBoard".to_owned(), "a BreadBoard server".to_owned()),
            WhoAnswers::Search => {
                ("Search only".to_owned(), "no model: answers are places in the code".to_owned())
            }
        };
        format!("  {:>2}  {name:<31} {about}\n", at + 1)
    });
    lines.collect()
}

/// Which of the models; `None`: none of them.
fn chosen_model(models: &[String]) -> Result<Option<String>, SetupEnded> {
    for (at, model) in models.iter().take(LISTED).enumerate() {
        say(&format!("  {:>2}  {}\n", at + 1, visible_code(model)));
    }
    if models.len() > LISTED {
        say(&format!("      … and {} more, by name\n", models.len() - LISTED));
    }
    let typed = ask("Which model, by number or name: ")?;
    let listed =
        typed.parse::<usize>().ok().and_then(|at| models.iter().take(LISTED).nth(at.checked_sub(1)?));
    Ok(listed.cloned().or((!typed.is_empty()).then_some(typed)))
}

/// That it does not work, and that something else can be chosen.
fn told(why: &str) -> Result<bool, SetupEnded> {
    say(&format!("{}\n", marked(why)));
    Ok(false)
}

/// A line of whoever sits there, without the blanks around it.
fn ask(question: &str) -> Result<String, SetupEnded> {
    say(question);
    let mut line = Vec::new();
    let read = std::io::stdin().lock().take(TYPED).read_until(b'\n', &mut line);
    match read {
        Ok(1..) => Ok(String::from_utf8_lossy(&line).trim().to_owned()),
        Ok(0) | Err(_) => Err(SetupEnded::Left),
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody may read it.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
