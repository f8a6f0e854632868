//! Verdicts, and that nothing which is added to a command makes it less restricted.

use proptest::prelude::*;

use super::{ApprovalMode, PolicyVerdict, StandingAnswer, StandingPattern, StandingPolicy};
use crate::domain::policy::command_class::CommandClass;
use crate::domain::policy::judgement::tests::Table;
use crate::domain::policy::judgement::{ShellKind, judge_command, judge_edit};

use StandingAnswer::{Always, Never, Prompt};

fn policy(mode: ApprovalMode, patterns: &[(&str, StandingAnswer)]) -> StandingPolicy {
    let row = |(pattern, answer): &(&str, StandingAnswer)| StandingPattern {
        pattern: (*pattern).to_owned(),
        answer: *answer,
    };
    StandingPolicy { mode, patterns: patterns.iter().map(row).collect(), ..StandingPolicy::default() }
}

fn verdict(policy: &StandingPolicy, line: &str) -> PolicyVerdict {
    policy.verdict(&judge_command(line, "/w", ShellKind::Posix, &Table))
}

#[test]
fn r002_94_the_default_asks_for_everything_and_says_why() {
    for line in ["ls", "cargo test", "rm a", "cat .env", "$x"] {
        assert_eq!(verdict(&StandingPolicy::default(), line).answer, Prompt, "{line}");
    }
    let reason = verdict(&StandingPolicy::default(), "ls").reason;
    assert_eq!(reason, "Asked because your setting asks for everything; it only reads (`ls`).");
}

#[test]
fn r002_93_a_mode_allows_its_classes_within_the_workspace_and_nothing_else() {
    let reads = policy(ApprovalMode::Reads, &[]);
    let edits = policy(ApprovalMode::Edits, &[]);
    for (line, by_reads, by_edits) in [
        ("cat a", Always, Always),
        ("cat a > b", Prompt, Always),
        ("mkdir x", Prompt, Always),
        ("cargo test", Prompt, Prompt),
        ("rm a", Prompt, Prompt),
        ("cat .env", Prompt, Prompt),
        ("cat /etc/passwd", Prompt, Prompt),
        ("cat a > .git/x", Prompt, Prompt),
        ("cat $x", Prompt, Prompt),
        ("rg x", Prompt, Prompt),
    ] {
        assert_eq!(
            (verdict(&reads, line).answer, verdict(&edits, line).answer),
            (by_reads, by_edits),
            "{line}"
        );
    }
    assert_eq!(verdict(&reads, "cat a").reason, "Allowed by your setting: reads.");
    assert_eq!(
        verdict(&reads, "cat .env").reason,
        "Asked because it names `.env`, which may hold secrets or belongs to version control."
    );
    let edit =
        |policy: &StandingPolicy, path| policy.verdict(&judge_edit([("/w", path)], false, &Table)).answer;
    assert_eq!((edit(&reads, "a"), edit(&edits, "a"), edit(&edits, ".git/x")), (Prompt, Always, Prompt));
}

#[test]
fn r002_93_a_pattern_allows_its_words_and_denying_wins() {
    let listed = policy(
        ApprovalMode::Listed,
        &[
            ("cargo test *", Always),
            ("git status", Always),
            ("git push", Never),
            ("rg *", Always),
            ("npx *", Always),
            ("make *", Always),
            ("git commit *", Always),
            ("git *", Always),
            ("curl *", Always),
        ],
    );
    for (line, answer) in [
        ("cargo test", Always),
        ("cargo test --lib x", Always),
        ("cargo test && git status", Always),
        ("cargo test && ls", Prompt),
        ("cargo test --config x", Prompt),
        ("cargo testx", Prompt),
        ("git status -s", Always),
        ("LD_PRELOAD=x cargo test", Prompt),
        ("cargo test > a", Prompt),
        ("rg x", Always),
        ("rg --pre=x y", Prompt),
        ("rg x .env", Prompt),
        ("npx thing", Prompt),
        ("make all", Always),
        ("make CC=x", Prompt),
        ("git commit -m x", Always),
        ("git merge x", Prompt),
        ("git -c a=b commit", Prompt),
        ("curl https://x", Always),
        ("rm a", Prompt),
        ("git push", Never),
        ("cargo test && git push --force", Never),
        ("git -C src push", Never),
        ("sudo git push", Never),
        ("/usr/bin/git push", Never),
        ("A=b git push", Never),
        ("echo git push", Prompt),
    ] {
        assert_eq!(verdict(&listed, line).answer, answer, "{line}: {}", verdict(&listed, line).reason);
    }
    let everything = policy(ApprovalMode::Edits, &[("ls", Never)]);
    assert_eq!(verdict(&everything, "ls -la").answer, Never);
    assert_eq!(verdict(&everything, "ls -la").reason, "Denied by your list: `ls`.");
    // Without a mode that allows, a list allows nothing, and still denies.
    let asking = StandingPolicy { mode: ApprovalMode::Ask, ..listed };
    assert_eq!((verdict(&asking, "cargo test").answer, verdict(&asking, "git push").answer), (Prompt, Never));
}

#[test]
fn r002_93_classes_have_answers_and_some_are_never_automatic() {
    let mut policy = policy(ApprovalMode::Listed, &[]);
    for class in
        [CommandClass::Build, CommandClass::Network, CommandClass::Destructive, CommandClass::Unknown]
    {
        policy.classes.insert(class, Always);
    }
    assert_eq!(verdict(&policy, "cargo test").answer, Always);
    assert_eq!(verdict(&policy, "cargo test").reason, "Allowed by your setting: always build.");
    for line in ["curl https://x", "rm a", "frobnicate"] {
        assert_eq!(verdict(&policy, line).answer, Prompt, "{line}");
    }
    policy.classes.insert(CommandClass::Network, Never);
    assert_eq!(verdict(&policy, "cargo test && curl https://x").answer, Never);
}

#[test]
fn tools_are_allowed_by_name_only() {
    let policy = policy(ApprovalMode::Listed, &[("tool:Fetch", Always), ("tool:Delete", Never)]);
    let answers = ["Fetch", "fetch", "Delete"].map(|name| policy.verdict_on_tool(name).answer);
    assert_eq!(answers, [Always, Prompt, Never]);
}

/// How much an answer restricts.
fn restriction(answer: StandingAnswer) -> u8 {
    match answer {
        Always => 0,
        Prompt => 1,
        Never => 2,
    }
}

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "ls",
        "cat",
        "a",
        "src",
        "-la",
        "--",
        "|",
        "&&",
        "||",
        ";",
        ">",
        "<",
        ">>",
        "rm",
        ".env",
        "../x",
        "/etc/passwd",
        "cargo",
        "test",
        "--config",
        "git",
        "status",
        "push",
        "$x",
        "$(rm a)",
        "`id`",
        "*",
        "'a b'",
        "\"c\"",
        "'",
        "\"",
        "\\",
        "#",
        "&",
        "\n",
        "~",
        "{a,b}",
        "sudo",
        "2>&1",
        "mkdir",
        "LD_PRELOAD=x",
        "-exec",
        "find",
        "echo",
        "tee",
        "cd",
        "head",
        "-5",
        "grep",
        "sed",
        "-n",
        "1,2p",
        "out",
        "to-env",
        ".git/x",
        "é",
        "\u{202e}",
        "!",
        "[",
        "(",
        ")",
    ])
    .prop_map(str::to_owned)
}

fn line() -> impl Strategy<Value = String> {
    prop::collection::vec(words(), 1..6).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever is added behind a command that is known, or before or behind it as another one, it is no less restricted.
    #[test]
    fn r002_93_nothing_that_is_added_to_a_command_makes_it_less_restricted(
        first in line(), second in line(), joint in prop::sample::select(vec![" ", " && ", "; ", " | ", "\n", " || "]),
    ) {
        let policies = [
            policy(ApprovalMode::Reads, &[("git push", Never), ("rm", Never)]),
            policy(ApprovalMode::Edits, &[("ls *", Never)]),
            policy(ApprovalMode::Listed, &[("cargo test *", Always), ("ls *", Always), ("echo *", Always), ("sudo", Never)]),
        ];
        let whole = format!("{first}{joint}{second}");
        let judged = |line: &str| judge_command(line, "/w", ShellKind::Posix, &Table);
        for policy in &policies {
            let (of_first, of_whole) = (policy.verdict(&judged(&first)), policy.verdict(&judged(&whole)));
            // What is not read, or not known, may become something else by what is added; what was allowed or denied may not.
            let is_known = judged(&first).class != CommandClass::Unknown;
            if is_known {
                prop_assert!(
                    restriction(of_whole.answer) >= restriction(of_first.answer),
                    "{first:?} {:?}, {whole:?} {:?}", of_first, of_whole
                );
            }
            // No part that would be asked about alone hides in a line that is not.
            if joint != " " && is_known && of_whole.answer == Always {
                prop_assert_eq!(of_first.answer, Always, "{:?} in {:?}", first, whole);
                let is_nothing = second.trim().is_empty();
                let is_allowed = is_nothing || policy.verdict(&judged(&second)).answer == Always;
                // Alone it is not read, since no command stands before it; behind one it is a write, and judged as such.
                let redirects = second.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
                let is_redirection = redirects.starts_with(['>', '<']);
                prop_assert!(is_allowed || is_redirection || first.contains("cd "), "{:?}", whole);
            }
        }
    }
}
