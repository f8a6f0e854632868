//! The long help of the simulated engines: what their scripts and faults are called.

/// The long help of `simulate acp`.
pub(super) const ACP_HELP: &str = "\
It speaks on stdin and stdout and ends with stdin: breadboard-ls ask --engine acp:\"breadboard-ls simulate acp\" \"Hello\".

Script: {\"agent\":{…},\"on\":{\"session/new\":[…]},\"prompts\":[{\"when\":\"substring\",\"steps\":[…]}]}, or one list of steps
for every prompt. A step is an object, and its first word says what it is:
  {\"say\":\"some words\"}               an answer, word by word; also think, chunk, thought, tool_call, plan, update
  {\"ask\":{…},\"on\":{\"allow_once\":[…],\"else\":[…]}}   a permission request, and what follows the answer
  {\"request\":\"fs/read_text_file\",\"params\":{…},\"on\":{\"result\":[…],\"error\":[…]}}   any request; also notify
  {\"line\":\"junk\"}                    a line as it is; also half, bytes, mib, stderr
  {\"wait\":\"cancel\"}                  waits; also \"for_ever\", {\"file\":\"path\"}, and {\"sleep_ms\":200}
  {\"answer\":\"refusal\"}               answers; also error, twice, with another \"id\"
  {\"exit\":1}, {\"signal\":9}           the process ends; also close_stdout, spawn
docs/simulate.md has all of it.";

/// The long help of `simulate breadboard`.
pub(super) const BREADBOARD_HELP: &str = "\
The first line on stdout is `listening on http://127.0.0.1:PORT`. It runs until Ctrl-C or SIGTERM.
With BREADBOARD_API_TOKEN in the environment every path needs that token.

Script: {\"prompts\":[{\"when\":\"substring\",\"bare\":false,\"steps\":[…]}]}, or JSON lines. A prompt with `when` answers every
input that contains it; the others answer in order. When they are used up, the built-in conversation answers. Steps:
  {\"type\":\"warning\",\"payload\":{…}}     an event; also turn, delay_ms, pad_bytes, envelope, payload_text (raw JSON)
  {\"ask\":{…},\"on_allow\":[…],\"on_deny\":[…]}  a permission request, and what follows the answer
  {\"raw\":\"…\",\"log\":true}               a frame with this text as its data; $seq and $sid are filled in
  {\"error\":\"sentence\"}                 the session fails
  {\"end\":\"completed\"}                  the session ends
  {\"repeat\":3,\"steps\":[…]}             the steps again and again
  {\"ctree\":40}                         so many tree nodes of real size
  {\"write\":\"a.txt\",\"content\":\"…\"}    the agent writes a file of the workspace
  {\"delay_ms\":200}                     waits
An input that begins with `replay:` plays a file of such steps.

Faults, each a probability for one event: drop, dup, reorder, stall, cut, split, garbage, oversize, restart, gone409.
Also: budget=N faults a session (20), stall_ms=N (300), oversize_mib=N (20). docs/simulate.md has all of it.";

/// The long help of `simulate desktop`.
pub(super) const DESKTOP_HELP: &str = "\
The first line on stdout is `listening on http://127.0.0.1:PORT`. It runs until Ctrl-C or SIGTERM.
With BREADBOARD_API_TOKEN in the environment every path but /v1/health needs that token; in the words of the public source the
socket alone does.

Script: {\"prompts\":[{\"when\":\"substring\",\"bare\":false,\"steps\":[…]}]}. A prompt with `when` answers every input that
contains it; the others answer in order. When they are used up, the prompt is repeated. Steps:
  {\"say\":\"some words\"}                  an answer, piece by piece
  {\"send\":{\"type\":\"agent.plan\",…}}     a message as it is; also {\"raw\":\"text\"}
  {\"ask\":{…},\"on_allow\":[…],\"on_deny\":[…]}  a message that asks, and what follows the answer to its request_id
  {\"wait\":\"client.command_result\"}      waits for a message of this type
  {\"final\":\"text\"}                      the final message has this text, whatever was said
  {\"cut\":true}                          every socket of the session breaks
  {\"repeat\":3,\"steps\":[…]}, {\"delay_ms\":200}
Faults, each a probability for one message: cut, garbage. Also: budget=N faults a session (20). docs/simulate.md has all of it.";
