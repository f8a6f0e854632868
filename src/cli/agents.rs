//! `breadboard-ls agents`: the agents that can be named, and what each needs before it works.
//!
//! Owns how they are listed. Never starts one.

use serde_json::{Value, json};

use super::args::ReportArgs;
use super::ask::{folder, refuse};
use super::exit::Exit;
use super::knowledge::{Knowledge, KnownAgent};
use super::printed::print;
use super::terminal::visible_code;
use super::user_settings::stated;

/// Lists them.
pub(super) fn agents(args: &ReportArgs, knowledge: Knowledge) -> Exit {
    let env = |name: &str| std::env::var(name).ok();
    let here = match folder(&args.workspace) {
        Ok(here) => here,
        Err(sentence) => return refuse(&sentence, Exit::Usage),
    };
    let overrides = stated(&args.server, env);
    let known = (knowledge.agents)(&overrides, &env("PATH").unwrap_or_default(), &here);
    if let Some(Err(sentence)) = &known.chosen {
        return refuse(sentence, Exit::Usage);
    }
    let text = if args.json {
        format!("{}\n", Value::Array(known.all.iter().map(as_json).collect()))
    } else {
        known.all.iter().map(lines).collect()
    };
    print(text.as_bytes(), Exit::Done)
}

fn as_json(agent: &KnownAgent) -> Value {
    json!({
        "name": agent.name,
        "program": agent.program,
        "path": agent.at,
        "install": agent.install,
        "login": agent.login,
    })
}

/// One agent: its name and where its program lies, or what installs it; then how one logs in.
fn lines(agent: &KnownAgent) -> String {
    let program = visible_code(&agent.program);
    let found = match (&agent.at, agent.install) {
        (Some(at), _) => visible_code(&at.to_string_lossy()).into_owned(),
        (None, Some(install)) => format!("{program} is not on PATH; install it: {install}"),
        (None, None) => format!("{program} is not on PATH"),
    };
    let mut text = format!("{:<20}  {found}\n", visible_code(&agent.name));
    if let Some(login) = &agent.login {
        text.push_str(&format!("{:22}log in {login}\n", ""));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_told_with_its_program_or_its_installation_and_its_login() {
        let there = KnownAgent {
            name: "a".into(),
            program: "a".into(),
            at: Some("/bin/a".into()),
            install: Some("get a"),
            login: None,
        };
        let absent =
            KnownAgent { name: "b".into(), at: None, login: Some("with `b login`".into()), ..there.clone() };
        let unknown = KnownAgent { install: None, login: None, ..absent.clone() };
        let name = |name: &str| format!("{name:<20}  ");
        assert_eq!(lines(&there), format!("{}/bin/a\n", name("a")));
        assert_eq!(
            lines(&absent),
            format!("{}a is not on PATH; install it: get a\n{:22}log in with `b login`\n", name("b"), "")
        );
        assert_eq!(lines(&unknown), format!("{}a is not on PATH\n", name("b")));
    }
}
