//! The Zed extension: finds `breadboard-ls` and says how Zed starts it.
//!
//! Never reads Zed's settings: they include `.zed/settings.json` of the project, and a repository must not choose the
//! engine, the model, the program or its trust. Never downloads anything.

use zed_extension_api as zed;

/// Name of the program, and of the server in `extension.toml`.
const SERVER: &str = "breadboard-ls";

/// Variable of the user's shell with further arguments of the server, parted by white space.
const ARGUMENTS: &str = "BREADBOARD_LS_ARGS";

struct BreadBoard;

impl zed::Extension for BreadBoard {
    fn new() -> Self {
        Self
    }

    fn language_server_command(
        &mut self,
        _server: &zed::LanguageServerId,
        worktree: &zed::Worktree,
    ) -> zed::Result<zed::Command> {
        command(worktree.which(SERVER), worktree.shell_env())
    }
}

/// The command that starts the server.
///
/// # Errors
///
/// When the program is not on the `PATH`: one sentence with what to do.
fn command(program: Option<String>, env: Vec<(String, String)>) -> zed::Result<zed::Command> {
    let command = program.ok_or_else(|| {
        format!("`{SERVER}` is not on the PATH; install it with `cargo install --profile dist --path .` and reopen the project.")
    })?;
    let further = env.iter().find(|(name, _)| name == ARGUMENTS).map_or("", |(_, value)| value.as_str());
    let args = std::iter::once("--stdio").chain(further.split_whitespace()).map(str::to_owned).collect();
    Ok(zed::Command { command, args, env })
}

zed::register_extension!(BreadBoard);

#[cfg(test)]
mod tests {
    use super::command;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn the_server_is_started_with_the_arguments_and_the_environment_of_the_users_shell() {
        let env = vec![pair("PATH", "/bin"), pair("BREADBOARD_LS_ARGS", " --model qwen3\t--trust ")];
        let found = command(Some("/bin/breadboard-ls".to_owned()), env.clone()).unwrap();
        assert_eq!(found.command, "/bin/breadboard-ls");
        assert_eq!(found.args, ["--stdio", "--model", "qwen3", "--trust"]);
        assert_eq!(found.env, env);
    }

    #[test]
    fn without_the_variable_there_is_one_argument() {
        assert_eq!(command(Some("x".to_owned()), Vec::new()).unwrap().args, ["--stdio"]);
    }

    #[test]
    fn a_program_that_is_not_installed_is_said_with_what_to_do() {
        let problem = command(None, Vec::new()).unwrap_err();
        assert!(problem.contains("not on the PATH") && problem.contains("cargo install"), "{problem}");
    }
}
