//! `--allow`, `--deny` and `--run-commands`: what needs no question, and where commands run.
//!
//! Owns how their words are read. What they mean is `domain::policy`'s.

use clap::Args;

use crate::domain::policy::standing::{ApprovalMode, StandingAnswer, StandingPattern};
use crate::protocol::standing::{CommandConfinement, CommandRunner, StandingOverrides};

/// Environment variable with the mode of approvals.
pub(crate) const ENV_APPROVALS: &str = "BREADBOARD_APPROVALS";

/// Heading of the options that say what may be done.
pub(super) const PERMISSIONS: &str = "Permissions";

/// What is done, or refused, without asking.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct StandingArgs {
    /// Do this without asking, in a trusted workspace: `reads` (commands that only read), `edits` (those, and edits in the
    /// workspace), or commands that match a pattern, as in --allow "cargo test *". Repeatable [default: nothing].
    #[arg(long, value_name = "WHAT", value_parser = not_empty, help_heading = PERMISSIONS)]
    pub allow: Vec<String>,
    /// Refuse commands that match a pattern without asking, as in --deny "git push"; overrides --allow. Repeatable.
    #[arg(long, value_name = "PATTERN", value_parser = not_empty, help_heading = PERMISSIONS)]
    pub deny: Vec<String>,
    /// Where commands run: local_terminal (the editor's terminal, if it has one) or server_runner (processes of the server, with
    /// limits) [default: local_terminal].
    #[arg(long, value_name = "WHERE", value_parser = RunnerArg::read, help_heading = PERMISSIONS, hide_short_help = true)]
    pub run_commands: Option<CommandRunner>,
    /// Which files commands run by the server can reach: workspace (the folder, temporary files, caches and toolchains; on Linux) or
    /// off (all your files) [default: workspace].
    #[arg(long, value_name = "WHICH", value_parser = ConfinementArg::read, help_heading = PERMISSIONS, hide_short_help = true)]
    pub confine_commands: Option<CommandConfinement>,
}

struct ConfinementArg;

impl ConfinementArg {
    fn read(text: &str) -> Result<CommandConfinement, String> {
        match text {
            "workspace" => Ok(CommandConfinement::Workspace),
            "off" => Ok(CommandConfinement::Off),
            _ => Err("there are workspace and off".to_owned()),
        }
    }
}

struct RunnerArg;

impl RunnerArg {
    fn read(text: &str) -> Result<CommandRunner, String> {
        match text {
            "local_terminal" => Ok(CommandRunner::LocalTerminal),
            "server_runner" => Ok(CommandRunner::ServerRunner),
            _ => Err("there are local_terminal and server_runner".to_owned()),
        }
    }
}

fn not_empty(text: &str) -> Result<String, String> {
    match text.trim() {
        "" | "*" => Err("name what is meant, as in \"cargo test *\"".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

fn mode_of(word: &str) -> Option<ApprovalMode> {
    let modes = [ApprovalMode::Ask, ApprovalMode::Reads, ApprovalMode::Edits, ApprovalMode::Listed];
    modes.into_iter().find(|mode| mode.as_str() == word.trim())
}

impl StandingArgs {
    /// The layer that they and the environment make.
    pub(crate) fn overrides(&self, env: impl Fn(&str) -> Option<String>) -> StandingOverrides {
        let row = |pattern: &String, answer| StandingPattern { pattern: pattern.clone(), answer };
        let allowed: Vec<&String> = self.allow.iter().filter(|word| mode_of(word).is_none()).collect();
        let said = self.allow.iter().filter_map(|word| mode_of(word)).next_back();
        let listed = (!allowed.is_empty()).then_some(ApprovalMode::Listed);
        let from_env = env(ENV_APPROVALS).and_then(|word| mode_of(&word));
        let always = allowed.into_iter().map(|pattern| row(pattern, StandingAnswer::Always));
        let never = self.deny.iter().map(|pattern| row(pattern, StandingAnswer::Never));
        StandingOverrides {
            mode: said.or(listed).or(from_env),
            patterns: always.chain(never).collect(),
            runner: self.run_commands,
            confinement: self.confine_commands,
        }
    }

    /// The flags that make a child server run with them.
    pub(crate) fn forwarded(&self) -> Vec<String> {
        let allow = self.allow.iter().map(|word| format!("--allow={word}"));
        let deny = self.deny.iter().map(|word| format!("--deny={word}"));
        let runner = self.run_commands.map(|runner| match runner {
            CommandRunner::LocalTerminal => "--run-commands=local_terminal".to_owned(),
            CommandRunner::ServerRunner => "--run-commands=server_runner".to_owned(),
        });
        let confinement = self.confine_commands.map(|confinement| match confinement {
            CommandConfinement::Workspace => "--confine-commands=workspace".to_owned(),
            CommandConfinement::Off => "--confine-commands=off".to_owned(),
        });
        allow.chain(deny).chain(runner).chain(confinement).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_modes_and_the_rest_are_patterns_and_flags_win_over_the_environment() {
        let args = |allow: &[&str], deny: &[&str]| StandingArgs {
            allow: allow.iter().map(|word| (*word).to_owned()).collect(),
            deny: deny.iter().map(|word| (*word).to_owned()).collect(),
            run_commands: None,
            confine_commands: None,
        };
        let row = |pattern: &str, answer| StandingPattern { pattern: pattern.to_owned(), answer };
        let edits = |_: &str| Some("edits".to_owned());
        assert_eq!(args(&[], &[]).overrides(|_| None), StandingOverrides::default());
        assert_eq!(args(&[], &[]).overrides(edits).mode, Some(ApprovalMode::Edits));
        assert_eq!(args(&["ask"], &[]).overrides(edits).mode, Some(ApprovalMode::Ask));
        assert_eq!(args(&[], &[]).overrides(|_| Some("all".to_owned())).mode, None);
        assert_eq!(
            args(&["cargo test *"], &["git push"]).overrides(|_| None),
            StandingOverrides {
                mode: Some(ApprovalMode::Listed),
                patterns: vec![
                    row("cargo test *", StandingAnswer::Always),
                    row("git push", StandingAnswer::Never)
                ],
                runner: None,
                confinement: None,
            }
        );
        assert_eq!(args(&["make", "reads"], &[]).overrides(|_| None).mode, Some(ApprovalMode::Reads));
        assert_eq!(args(&["a *"], &["b"]).forwarded(), ["--allow=a *", "--deny=b"]);
    }
}
