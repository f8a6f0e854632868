//! What a command line means, and what is refused.
//!
//! Owns the tests of `args`.

use super::*;
use clap::CommandFactory;

fn parsed(words: &[&str]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(std::iter::once("breadboard-ls").chain(words.iter().copied()))
}

fn engine(kind: EngineKind, url: Option<&str>) -> Option<EngineSetting> {
    Some(EngineSetting {
        kind,
        url: url.map(str::to_owned),
        command: None,
        args: None,
        env: None,
        config_path: None,
        ca_file: None,
        name: None,
    })
}

#[test]
fn the_definition_of_the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn a_guardian_takes_the_words_of_its_agent_as_they_are_and_is_in_no_help() {
    let words = ["guard", "--inner", "--", "agent", "--inner", "-c", "--", "x"];
    let Some(Command::Guard(args)) = parsed(&words).expect("parses").command else { panic!() };
    let given: Vec<_> = args.args.iter().filter_map(|word| word.to_str()).collect();
    assert_eq!((args.inner, args.program.to_str()), (true, Some("agent")));
    assert_eq!(given, ["--inner", "-c", "--", "x"]);
    assert!(!Cli::command().render_long_help().to_string().contains("guard"));
}

#[test]
fn flags_win_over_environment_and_the_rest_is_not_stated() {
    use EngineKind::{Acp, Breadboard, Desktop, Embedded};
    type Row<'a> = (&'a [&'a str], Option<&'a str>, Option<EngineSetting>);
    let rows: &[Row] = &[
        (&[], None, None),
        (&[], Some(""), None),
        (&[], Some("  "), None),
        (&[], Some("http://e"), engine(Breadboard, Some("http://e"))),
        (&["--engine", "breadboard"], Some("http://e"), engine(Breadboard, Some("http://e"))),
        (&["--engine", "breadboard"], None, engine(Breadboard, None)),
        (&["--engine", "embedded"], Some("http://e"), engine(Embedded, None)),
        (&["--engine", "desktop"], Some("http://e"), engine(Desktop, None)),
        (&["--engine", "desktop:https://h:3199"], None, engine(Desktop, Some("https://h:3199"))),
        (&["--engine", "acp"], Some("http://e"), engine(Acp, None)),
        (&["--engine-url", "http://f"], Some("http://e"), engine(Breadboard, Some("http://f"))),
        (&["--engine-url", "http://f"], None, engine(Breadboard, Some("http://f"))),
        (
            &["--engine", "desktop", "--engine-url", "http://f"],
            Some("http://e"),
            engine(Desktop, Some("http://f")),
        ),
    ];
    for (words, url, wanted) in rows {
        let cli = parsed(words).expect("words of the table parse");
        let got = overrides(&cli.server, |name| (name == ENV_API_URL).then(|| url.map(str::to_owned))?);
        assert_eq!(got, Overrides { engine: wanted.clone(), ..Overrides::default() }, "{words:?} {url:?}");
    }
}

#[test]
fn a_configuration_belongs_to_a_breadboard_engine() {
    let of = |words: &[&str]| {
        let cli = parsed(words).expect("parses");
        let engine = overrides(&cli.server, |_| None).engine.expect("an engine");
        (engine.kind, engine.config_path, forwarded(&cli.server))
    };
    let path = Some("agents/mini.yaml".to_owned());
    let flag = "--config=agents/mini.yaml".to_owned();
    assert_eq!(of(&["--config", "agents/mini.yaml"]), (EngineKind::Breadboard, path, vec![flag.clone()]));
    let other = of(&["--engine=acp", "--config", "agents/mini.yaml"]);
    assert_eq!(other, (EngineKind::Acp, None, vec!["--engine=acp".to_owned(), flag]));
}

#[test]
fn model_trust_and_state_come_from_flags_alone() {
    let words = ["--model=m", "--model-provider=ollama", "--model-url=http://m", "--trust", "--state-dir=/s"];
    let cli = parsed(&words).expect("parses");
    let wanted = Overrides {
        engine: None,
        model: Some(ModelSetting {
            provider: Some("ollama".into()),
            name: "m".into(),
            url: Some("http://m".into()),
            ..ModelSetting::default()
        }),
        workspace_trusted: Some(true),
        state_dir: Some("/s".into()),
        ..Overrides::default()
    };
    assert_eq!(overrides(&cli.server, |_| Some("yes".into())).model, wanted.model);
    assert_eq!(overrides(&cli.server, |_| None), wanted);
}

#[test]
fn editors_habits_are_accepted_and_mistakes_are_not() {
    assert!(parsed(&["--stdio"]).is_ok());
    assert_eq!(parsed(&["--stdio", "--clientProcessId=77"]).expect("parses").client_process_id, Some(77));
    for wrong in [
        &["--sdtio"][..],
        &["--model-url=http://m"],
        &["--model-provider=x"],
        &["--engine=other"],
        &["ask"],
        &["--engine=acp", "ask", "q"],
        &["--token=x"],
        &["--config="],
        &["ask", "q", "--config", " "],
    ] {
        assert_eq!(parsed(wrong).expect_err("is refused").exit_code(), 2, "{wrong:?}");
    }
}

#[test]
fn an_agent_is_named_or_given_by_its_command_line() {
    let setting = |words: &[&str]| {
        let cli = parsed(words).expect("parses");
        let again = forwarded(&cli.server);
        let again: Vec<&str> = again.iter().map(String::as_str).collect();
        assert_eq!(
            overrides(&parsed(&again).expect("parses").server, |_| None),
            overrides(&cli.server, |_| None)
        );
        let engine = overrides(&cli.server, |_| Some("http://e".to_owned())).engine.expect("an engine");
        assert_eq!(engine.kind, EngineKind::Acp, "{words:?}");
        (engine.name, engine.command, engine.args)
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(setting(&["--agent", "goose"]), (text("goose"), None, None));
    assert_eq!(setting(&["--engine", "acp", "--agent=goose"]), (text("goose"), None, None));
    let args = Some(vec!["acp".to_owned(), "--mode=a b".to_owned()]);
    assert_eq!(setting(&["--engine", "acp:opencode acp \"--mode=a b\""]), (None, text("opencode"), args));
    assert!(parsed(&["--engine", "acp:"]).is_err());
    assert!(parsed(&["--engine", "acp:\"open"]).is_err());
}

#[test]
fn a_child_gets_the_same_settings_but_trust() {
    let words = ["ask", "q", "--engine", "desktop", "--engine-url=http://f", "--model=-m", "--trust"];
    let Some(Command::Ask(ask)) = parsed(&words).expect("parses").command else { panic!("is `ask`") };
    assert_eq!(
        forwarded(&ask.server),
        ["--engine=desktop", "--engine-url=http://f", "--model=-m"].map(str::to_owned)
    );
    let again = parsed(&["--engine=desktop", "--engine-url=http://f", "--model=-m"]).expect("parses");
    let none = |_: &str| None;
    let mut wanted = overrides(&ask.server, none);
    wanted.workspace_trusted = None;
    assert_eq!(overrides(&again.server, none), wanted);
}
