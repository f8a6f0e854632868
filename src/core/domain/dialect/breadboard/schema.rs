//! What a BreadBoard engine puts into each type of event: the fields that this server reads, as one table.
//!
//! Owns names and kinds of fields, measured on running engines. Our own list: it forbids nothing that an engine adds, and
//! every field may be null. Never reads an event: the readers beside it are lenient, and a payload that does not fit still
//! becomes an event. As JSON Schema: `protocol::breadboard_schema`.

/// What stands in a field.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    /// A string.
    Text,
    /// An integer.
    Count,
    /// Any number.
    Number,
    /// `true` or `false`.
    Flag,
    /// Words in any way that engines write them: a string, a list of parts, an object with `text` or `content`.
    Words,
    /// A string, or a list of strings.
    Command,
    /// A flag, or the text of an error.
    FlagOrText,
    /// An object with these fields among others.
    Fields(&'static [Field]),
    /// A list of objects with these fields among others.
    List(&'static [Field]),
    /// An object by names that the engine chooses.
    Map,
    /// Any JSON.
    Anything,
}

/// A field that this server reads.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What stands in it.
    pub holds: Holds,
    /// What it means.
    pub says: &'static str,
}

/// One type of event.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The type, as the engine spells it.
    pub kind: &'static str,
    /// What it tells.
    pub says: &'static str,
    /// One of these fields is there and not null; empty: none is needed.
    pub one_of: &'static [&'static str],
    /// The fields of its payload that this server reads.
    pub fields: &'static [Field],
    /// Who sends it.
    pub from: SentBy,
}

/// Who sends a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentBy {
    /// It is one of the 35 types of the engine.
    Engine,
    /// Another spelling or an older name that recordings and scripts have.
    Alias,
    /// Engines of the change that sends `stream.open` first.
    Newer,
}

const fn field(name: &'static str, holds: Holds, says: &'static str) -> Field {
    Field { name, holds, says }
}

const fn shape(
    kind: &'static str,
    says: &'static str,
    one_of: &'static [&'static str],
    fields: &'static [Field],
) -> Shape {
    Shape { kind, says, one_of, fields, from: SentBy::Engine }
}

const fn from(from: SentBy, shape: Shape) -> Shape {
    Shape { from, ..shape }
}

use Holds::{Anything, Command, Count, Fields, Flag, FlagOrText, List, Map, Number, Text, Words};

/// Around every payload.
pub const ENVELOPE: &[Field] = &[
    field("id", Text, "The engine's id of the event, the same at every replay."),
    field(
        "seq",
        Count,
        "Per session from 1, without holes. Null or missing: the event is in no log, and its id is no place to resume from.",
    ),
    field("session_id", Text, "The engine's id of the session."),
    field("turn", Count, "The step of the run. Not dense; it starts again with every input."),
    field("timestamp", Number, "Milliseconds since the Unix epoch."),
    field("timestamp_ms", Number, "The same."),
    field("protocol_version", Text, "Says `1.0` whatever the engine speaks."),
    field("classification", Text, "How the engine files the event."),
    field("family", Text, "How the engine groups the event."),
    field("actor", Map, "Who caused it."),
    field("visibility", Text, "Whom the engine means it for."),
    field("stable_cursor", Anything, "Newer engines: the cursor of an event that is in the log."),
    field("input_id", Text, "Newer engines: the input that the event belongs to."),
    field("turn_id", Text, "Newer engines: the turn that the event belongs to."),
];

const ITEM_ID: Field = field("item_id", Text, "The message that it belongs to.");
const MESSAGE_ID: Field = field("message_id", Text, "The same under its older name.");
const SPOKEN: &[Field] = &[
    field("id", Text, "The message's id."),
    field("role", Text, "Who speaks."),
    field("name", Text, "The tool that speaks."),
    field("tool_call_id", Text, "The call that it is about."),
    field("content", Words, "What is said."),
];
const MESSAGE: Field = field("message", Fields(SPOKEN), "The message as the model has it.");
const WHOLE: &[Field] = &[
    field("text", Words, "The whole text."),
    MESSAGE,
    ITEM_ID,
    MESSAGE_ID,
    field("source", Text, "Where a text comes from that the model may have said already."),
];
const MARK: &[Field] = &[ITEM_ID, MESSAGE_ID];
const PIECE: &[Field] = &[
    ITEM_ID,
    MESSAGE_ID,
    field("delta", Words, "The piece."),
    field("text", Words, "The piece, in older spellings."),
];
const PIECE_IN: &[&str] = &["delta", "text"];

const CALL_ID: Field = field("call_id", Text, "The call; null where the tools are not the provider's own.");
const TOOL: Field = field(
    "tool",
    Anything,
    "The tool's name, or an object with it and with its arguments, its status or its output.",
);
const TOOL_NAME: Field = field("tool_name", Text, "The tool's name.");
const EXEC_ID: Field = field("exec_id", Text, "The execution; a call may have several.");
const PRINTED: &[Field] = &[CALL_ID, EXEC_ID, TOOL, TOOL_NAME, field("delta", Words, "What was printed.")];
const ARTIFACT: Field = field(
    "artifact_ref",
    Fields(&[field("path", Text, "Path of the file, below the workspace.")]),
    "The file that has everything.",
);
const THINGS_TO_DO: &[Field] = &[
    field("op", Text, "What happened to the list."),
    field(
        "items",
        List(&[field("title", Text, "What is to be done."), field("status", Text, "How far it is.")]),
        "The list.",
    ),
    field("scope_key", Text, "Which list it is."),
];
const RESULT: &[Field] = &[
    CALL_ID,
    TOOL,
    TOOL_NAME,
    field("success", Flag, "Whether the tool did its work."),
    field("status", Text, "`ok` or `error`."),
    field("error", FlagOrText, "Whether it failed, or how."),
    field(
        "metadata",
        Fields(&[field("exit_code", Count, "The exit code of a command."), ARTIFACT]),
        "Facts about the run of the tool.",
    ),
    field("result", Anything, "What the tool gave back."),
    field("message", Fields(SPOKEN), "What the model reads about it."),
    field("todo", Fields(THINGS_TO_DO), "A todo list as it stands now."),
    ARTIFACT,
];
const RESULT_IN: &[&str] = &["todo", "tool", "message", "result", "success", "status", "error"];

const ASK: &[Field] = &[
    field("request_id", Text, "The engine's id of the ask; it starts again with every input."),
    field("id", Text, "The same."),
    field("items", List(ITEM), "Everything that one answer covers."),
    field("category", Text, "`shell`, `edit`, `webfetch`, `mcp` or `plugin`, of the first item."),
    field("pattern", Text, "The pattern of the first item."),
    field("metadata", Map, "The details of the first item."),
    field("tool", Text, "The tool that asks."),
    field("summary", Text, "One line."),
    field("rule_suggestion", Text, "The pattern that a rule would have."),
    field("default_scope", Text, "Where a rule would hold."),
    field("seq", Count, "A number of the engine's own, not that of the event."),
];
const ITEM: &[Field] = &[
    field("item_id", Text, "The item."),
    field("category", Text, "The kind of thing that would happen."),
    field("pattern", Text, "What a rule would have to match."),
    field("metadata", Map, "What would happen: `command`, `path`, `url`, `function`."),
];
const ANSWER: &[Field] = &[
    field("request_id", Text, "The engine's id of the ask."),
    field("id", Text, "The same."),
    field("responses", Map, "An answer for each item, or one for all under `default`."),
    field("response", Text, "The one answer, where all items have the same."),
    field("decision", Text, "The same."),
];

const COUNTS: Field = field("usage", Map, "What was used: tokens, cost, time.");
const COMPLETED: Field = field("completed", Flag, "Whether the engine takes the work for done.");
const REASON: Field = field("reason", Text, "Why it ended.");
const LOGGING: Field = field("logging_dir", Text, "Where the engine keeps its logs of the session.");
const SUMMARY: &[Field] = &[
    COMPLETED,
    REASON,
    field("exit_kind", Text, "`stopped` when the user stopped it."),
    field("steps_taken", Count, "Steps of the run."),
    field("max_steps", Count, "Steps that a run may have."),
    field(
        "error",
        Fields(&[field("type", Text, "The kind of failure."), field("message", Text, "What went wrong.")]),
        "A provider or the engine failed; no event of type `error` says so.",
    ),
];
const SAID: &[Field] =
    &[field("message", Words, "What is wrong."), field("error", Anything, "What is wrong.")];
const WHY: &[Field] = &[field("reason", Text, "Why.")];
const OVER: &[Field] = &[
    field("message", Text, "What happened."),
    field("error", Anything, "What went wrong."),
    field("reason", Text, "Why."),
];
const NONE: &[&str] = &[];

/// Every type of event that has a class: the 35 of the engine in its own order, then other spellings, then newer ones.
pub const SHAPES: &[Shape] = &[
    shape("turn_start", "A step of a run begins.", NONE, &[]),
    shape(
        "user_message",
        "The echo of an input after the engine rewrote it; with the number of a step, the engine's word to its model.",
        &["text", "message"],
        &[field("text", Words, "The prompt."), MESSAGE],
    ),
    shape(
        "assistant_message",
        "A message, whole. It mostly repeats the pieces that came before.",
        &["text", "message"],
        WHOLE,
    ),
    shape("assistant.message.start", "A message begins.", NONE, MARK),
    shape("assistant.message.delta", "A piece of a message.", PIECE_IN, PIECE),
    shape("assistant.message.end", "A message has no more pieces.", NONE, MARK),
    shape("assistant.reasoning.delta", "A piece of reasoning.", PIECE_IN, PIECE),
    shape("assistant.thought_summary.delta", "A piece of a summary of the reasoning.", PIECE_IN, PIECE),
    shape("assistant_delta", "A piece of a message, in its older spelling.", PIECE_IN, PIECE),
    shape(
        "tool_call",
        "The agent calls a tool.",
        &["call", "tool", "tool_name"],
        &[
            field(
                "call",
                Fields(&[
                    field("id", Text, "The call."),
                    field(
                        "function",
                        Fields(&[
                            field("name", Text, "The tool's name."),
                            field("arguments", Anything, "The arguments, as JSON text."),
                        ]),
                        "What is called.",
                    ),
                ]),
                "The call as the model made it.",
            ),
            CALL_ID,
            TOOL,
            TOOL_NAME,
            field("diff_preview", Words, "What it would change."),
        ],
    ),
    shape(
        "tool.exec.start",
        "A tool begins to run.",
        NONE,
        &[CALL_ID, EXEC_ID, TOOL, TOOL_NAME, field("command", Command, "What runs.")],
    ),
    shape("tool.exec.stdout.delta", "A tool prints.", &["delta"], PRINTED),
    shape("tool.exec.stderr.delta", "A tool prints on its second stream.", &["delta"], PRINTED),
    shape(
        "tool.exec.end",
        "A tool has run.",
        NONE,
        &[CALL_ID, EXEC_ID, TOOL, TOOL_NAME, field("exit_code", Count, "Its exit code.")],
    ),
    shape(
        "tool_result",
        "One of up to three results of a call: a todo list, how the tool ended, what the model reads of it. What the second says of the end is the truth.",
        RESULT_IN,
        RESULT,
    ),
    shape("tool.result", "The same in its other spelling.", RESULT_IN, RESULT),
    shape(
        "permission_request",
        "The agent may not do something until it is answered.",
        &["request_id", "id"],
        ASK,
    ),
    shape("permission_response", "The engine took an answer.", &["request_id", "id"], ANSWER),
    shape(
        "checkpoint_list",
        "All checkpoints, in no dependable order.",
        &["checkpoints"],
        &[field(
            "checkpoints",
            List(&[
                field("checkpoint_id", Text, "`ckpt-` and its number."),
                field("preview", Text, "One line."),
                field("tracked_files", Number, "Files that it holds."),
                field("additions", Number, "Lines that came since the one before."),
                field("deletions", Number, "Lines that went since the one before."),
            ]),
            "The checkpoints.",
        )],
    ),
    shape(
        "checkpoint_restored",
        "The workspace went back to a checkpoint.",
        &["checkpoint_id"],
        &[
            field("checkpoint_id", Text, "The checkpoint."),
            field("mode", Text, "`code`, `conversation` or `both`."),
            field("prune", Flag, "Whether later checkpoints are gone."),
        ],
    ),
    shape(
        "skills_catalog",
        "The skills that there are.",
        NONE,
        &[field(
            "catalog",
            Fields(&[
                field("skills", Anything, "All of them."),
                field("prompt_skills", Anything, "Those that are prompts."),
                field("graph_skills", Anything, "Those that are graphs."),
            ]),
            "The skills.",
        )],
    ),
    shape(
        "skills_selection",
        "The skills that are chosen.",
        NONE,
        &[field(
            "selection",
            Fields(&[
                field("allowlist", Anything, "Only these."),
                field("blocklist", Anything, "All but these."),
            ]),
            "The choice.",
        )],
    ),
    shape("ctree_node", "A node of the conversation tree. Most of every stream.", NONE, &[]),
    shape(
        "ctree_snapshot",
        "The conversation tree at the end of a run.",
        NONE,
        &[field("snapshot", Fields(&[field("node_count", Count, "How many nodes it has.")]), "Its counts.")],
    ),
    shape(
        "task_event",
        "News of a task, or an ask inside one, or that a stop was asked for.",
        &["kind", "task_id"],
        &[
            field("kind", Text, "What happened."),
            field("task_id", Anything, "The task, by a text or a number."),
            field("parent_task_id", Anything, "The task that it belongs to."),
            field("status", Text, "How it stands."),
            field("description", Text, "What it does."),
            field("child_session_label", Text, "What it is called."),
            field("subagent_type", Text, "Who does it."),
            field("payload", Map, "The ask or the answer inside."),
        ],
    ),
    shape(
        "limits_update",
        "What a provider still allows.",
        NONE,
        &[
            field("provider", Text, "The provider."),
            field(
                "buckets",
                List(&[
                    field("name", Text, "What is limited."),
                    field("remaining", Number, "What is left."),
                    field("limit", Number, "Of how much."),
                ]),
                "The limits.",
            ),
            field("retry_after_ms", Number, "When to try again."),
        ],
    ),
    shape("warning", "Something that the user should know.", NONE, &[field("message", Words, "What.")]),
    shape("conversation.compaction.start", "The conversation is being made shorter.", NONE, WHY),
    shape("conversation.compaction.end", "The conversation was made shorter.", NONE, WHY),
    shape(
        "stream.gap",
        "Events are missing.",
        NONE,
        &[field("reason", Text, "Why."), field("message", Text, "What.")],
    ),
    shape(
        "reward_update",
        "How good the work is, where the engine measures it.",
        NONE,
        &[field("summary", Anything, "The measures.")],
    ),
    shape(
        "completion",
        "What a run came to. `run_finished` follows.",
        &["summary"],
        &[
            field("summary", Fields(SUMMARY), "What it came to."),
            field("mode", Text, "The agent's mode."),
            COUNTS,
            LOGGING,
        ],
    ),
    shape(
        "log_link",
        "Where the engine's log of the run is.",
        &["url"],
        &[field("url", Text, "Mostly no valid URL: a relative path stands where a host belongs.")],
    ),
    shape("error", "The session failed, and its stream ends.", &["message", "error"], SAID),
    shape(
        "run_finished",
        "The end of one input. The session goes on.",
        NONE,
        &[COMPLETED, REASON, field("steps", Count, "Steps of the run."), LOGGING, COUNTS],
    ),
    from(
        SentBy::Alias,
        shape(
            "todo_event",
            "A todo list as it stands now.",
            NONE,
            &[field("todo", Fields(THINGS_TO_DO), "The list.")],
        ),
    ),
    from(SentBy::Alias, shape("usage", "What was used.", NONE, &[COUNTS])),
    from(SentBy::Alias, shape("usage.update", "What was used.", NONE, &[COUNTS])),
    from(
        SentBy::Newer,
        shape("stream.open", "A stream begins; the first on every one, and in no log.", NONE, &[]),
    ),
    from(SentBy::Newer, shape("turn_completed", "An input is done.", NONE, &[])),
    from(SentBy::Newer, shape("turn_failed", "An input failed.", NONE, OVER)),
    from(SentBy::Newer, shape("turn_cancelled", "An input was cancelled.", NONE, OVER)),
];
