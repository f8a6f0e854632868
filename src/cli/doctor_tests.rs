//! How the checks judge, each by itself.

use url::Url;

use super::*;
use crate::cli::origin_check::token;
use crate::cli::state_check::StateDir;
use crate::cli::variables::ENV_API_TOKEN;
use crate::cli::variables::ENV_MODEL_TOKEN;
use crate::protocol::settings::ModelSetting;
use crate::protocol::settings::Overrides;

fn knowledge() -> Knowledge {
    Knowledge {
        state_dir: |given| given.map(PathBuf::from),
        model_base: |setting| {
            Url::parse(setting.url.as_deref().unwrap_or("https://api.openai.com/v1/"))
                .map_err(|error| error.to_string())
        },
        agents: |_, _, _| KnownAgents::default(),
    }
}

fn with_model(url: &str) -> Overrides {
    let model =
        ModelSetting { provider: None, name: "m".into(), url: Some(url.into()), ..ModelSetting::default() };
    Overrides { model: Some(model), ..Overrides::default() }
}

fn marks(checks: &[Check]) -> Vec<(&'static str, Mark)> {
    checks.iter().map(|check| (check.id, check.mark)).collect()
}

#[test]
fn a_model_endpoint_is_reached_or_not_and_its_token_is_never_shown() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1/", listener.local_addr().expect("has an address"));
    let env = |name: &str| (name == ENV_MODEL_TOKEN).then(|| "s3cret".to_owned());
    let up = model(&with_model(&url), &Proxies::read(|_| None), knowledge(), &env);
    assert_eq!(marks(&up), [("model", Mark::Ok), ("model-url", Mark::Ok), ("token", Mark::Ok)]);
    // A port that was given back may be another program's by now; nobody listens at this one.
    let nowhere = with_model("http://127.0.0.1:1/v1/");
    let down = model(&nowhere, &Proxies::read(|_| None), knowledge(), &env);
    assert_eq!(marks(&down), [("model", Mark::Ok), ("model-url", Mark::Fail), ("token", Mark::Ok)]);
    assert!(!format!("{up:?}{down:?}").contains("s3cret"));
}

#[test]
fn a_token_is_told_with_its_origin_and_refused_in_the_clear() {
    let told = |url: &str, name| token(&Url::parse(url).expect("is a URL"), name, "engine").mark;
    assert_eq!(told("https://e.example", Some("T")), Mark::Ok);
    assert_eq!(told("http://127.0.0.1:9", Some("T")), Mark::Ok);
    assert_eq!(told("http://e.example", Some("T")), Mark::Fail);
    assert_eq!(told("https://e.example", None), Mark::Warn);
    assert_eq!(told("http://localhost:9", None), Mark::Ok);
}

#[test]
fn a_token_of_two_lines_is_said_to_go_nowhere_and_a_line_end_behind_one_is_nothing() {
    let mark = |token: &'static str| {
        let env = move |name: &str| (name == ENV_MODEL_TOKEN).then(|| token.to_owned());
        let checks = model(&with_model("https://127.0.0.1:1"), &Proxies::read(|_| None), knowledge(), &env);
        checks.into_iter().find(|check| check.id == "token").expect("is checked")
    };
    assert_eq!(mark("s3cret\n").mark, Mark::Ok);
    let refused = mark("s3cret\nmore");
    let said = "BREADBOARD_MODEL_TOKEN has a line end or another control character in its middle, so it is never sent";
    assert_eq!((refused.mark, refused.found.as_str()), (Mark::Fail, said));
}

#[test]
fn no_model_is_a_warning_and_a_token_without_engine_too() {
    let none = |_: &str| None;
    let some = |name: &str| (name == ENV_API_TOKEN).then(|| "t".to_owned());
    let overrides = Overrides::default();
    assert_eq!(
        marks(&model(&overrides, &Proxies::read(|_| None), knowledge(), &none)),
        [("model", Mark::Warn)]
    );
    assert_eq!(marks(&engine_origin(&overrides, &Proxies::read(|_| None), &none)), []);
    assert_eq!(marks(&engine_origin(&overrides, &Proxies::read(|_| None), &some)), [("token", Mark::Warn)]);
}

#[test]
fn the_state_directory_is_judged_by_mode_window_and_what_was_set_aside() {
    let place = Path::new("/s");
    let free = StateDir {
        exists: true,
        mode: Some(0o700),
        writable: true,
        windows: vec![(0, true)],
        database_bytes: Some(0),
        undo_bytes: 0,
        set_aside: vec![],
    };
    let ours = StateDir { windows: vec![(0, true), (1, true)], ..free.clone() };
    assert_eq!(
        marks(&state(Some(place), &free, &ours, true)),
        [("state", Mark::Ok), ("window", Mark::Ok), ("database", Mark::Ok)]
    );
    assert_eq!(
        marks(&state(Some(place), &free, &free, true)),
        [("state", Mark::Ok), ("window", Mark::Warn), ("database", Mark::Ok)]
    );
    let odd = StateDir { mode: Some(0o755), set_aside: vec!["x".into()], ..ours.clone() };
    assert_eq!(
        marks(&state(Some(place), &free, &odd, true)),
        [("state", Mark::Warn), ("window", Mark::Ok), ("database", Mark::Ok), ("journal", Mark::Warn)]
    );
    let kept = StateDir { undo_bytes: 1_025, ..ours.clone() };
    assert_eq!(marks(&state(Some(place), &free, &kept, true))[3], ("undo", Mark::Ok));
    let shut = StateDir { writable: false, ..ours };
    assert_eq!(marks(&state(Some(place), &free, &shut, true))[0], ("state", Mark::Fail));
    assert_eq!(marks(&state(None, &free, &free, true)), [("state", Mark::Warn)]);
}

#[test]
fn only_warnings_of_the_server_are_listed() {
    let raw = |method: &str, level: u64| {
        json!({"method": method, "params": {"type": level, "message": "m"}}).to_string()
    };
    assert_eq!(warning(&raw("window/showMessage", 2)).as_deref(), Some("m"));
    assert_eq!(warning(&raw("window/logMessage", 1)).as_deref(), Some("m"));
    assert_eq!(warning(&raw("window/logMessage", 3)), None);
    assert_eq!(warning(&raw("bb/state", 1)), None);
}

#[test]
fn a_file_that_was_set_aside_right_now_is_told_once() {
    let (journal, other) = (Check::warn("journal", "f", "a"), Check::ok("window", "s"));
    let warnings = ["x was kept as /s/sessions.damaged-1.".to_owned()];
    let (now, before) = ("sessions.damaged-1".to_owned(), "sessions.damaged-0".to_owned());
    assert!(retold(&journal, std::slice::from_ref(&now), &warnings));
    assert!(!retold(&journal, &[now.clone(), before], &warnings) && !retold(&other, &[now], &warnings));
}
