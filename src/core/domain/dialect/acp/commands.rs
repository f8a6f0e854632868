//! The commands that a user can give an agent, as the wire names them.
//!
//! Owns their names and what they take. Never gives one to an agent.

/// One command.
pub struct UserCommand {
    /// Its name in `bb/command`.
    pub name: &'static str,
    /// Its `args`: names, each with what it is.
    pub args: &'static [(&'static str, &'static str)],
    /// What it does.
    pub summary: &'static str,
}

/// All of them.
pub const COMMANDS: [UserCommand; 5] = [
    UserCommand {
        name: "set_mode",
        args: &[("modeId", "id of one of its modes")],
        summary: "Changes the mode of the session.",
    },
    UserCommand {
        name: "set_model",
        args: &[("model", "a value of its option of the category `model`")],
        summary: "Chooses the model of the session.",
    },
    UserCommand {
        name: "set_config_option",
        args: &[("configId", "id of one of its options"), ("value", "one of its values, or true or false")],
        summary: "Sets one of the agent's options for the session.",
    },
    UserCommand {
        name: "authenticate",
        args: &[("methodId", "id of one of its ways to log in")],
        summary: "Logs in at the agent; it counts for all of its sessions.",
    },
    UserCommand { name: "logout", args: &[], summary: "Logs out at the agent, for all of its sessions." },
];
