// What the model of the tests does, and how each agent's tools are called for it.
// Owns: the scenarios, in words that no agent owns, and the table of tools. Never speaks a protocol.

const text = (...pieces) => ({ pieces });
const calls = (...tools) => ({ tools });
const read = (file) => ({ read: file });
const edit = (file, before, after) => ({ edit: file, before, after });
const run = (command) => ({ run: command });

/** The lines of the long edit: 150 go and 150 come, so the diff has 300 that count. */
export const LONG = 150;
const long = (word) => Array.from({ length: LONG }, (_, at) => `${word} line ${at + 1} of many`).join('\n');

/** The long text with another line 10 and another line 140. */
function twoPlaces() {
  return long('old').replace('old line 10 of', 'new line 10 of').replace('old line 140 of', 'new line 140 of');
}

/**
 * Replies by the word behind `SCENARIO:` in the last prompt, one for each round of the turn: the first, then the one after
 * the results of its tools, and so on. Files are named below the folder that the prompt names with `in <folder>`.
 */
export const SCENARIOS = {
  plain: [text('Hello ', 'from ', 'the ', 'model.')],
  edit: [
    calls(read('hello.txt')),
    calls(edit('hello.txt', 'Hello, world', 'Hello, breadboard')),
    text('The greeting ', 'was changed.'),
  ],
  run: [calls(run('echo made >made.txt && echo it ran')), text('The command ', 'was run.')],
  // As an agent works: it edits, and tries what it edited.
  both: [
    calls(read('hello.txt')),
    calls(edit('hello.txt', 'Hello, world', 'Hello, breadboard')),
    calls(run('grep -c breadboard hello.txt >made.txt')),
    text('Both ', 'were done.'),
  ],
  long: [
    calls(read('long.txt')),
    calls(edit('long.txt', long('old'), long('new'))),
    text('All of it ', 'was changed.'),
  ],
  // Two places of one file, in one edit.
  hunks: [
    calls(read('long.txt')),
    calls(edit('long.txt', long('old'), twoPlaces())),
    text('It went ', 'on.'),
  ],
  // It says what its prompt told it beside the user's words.
  told: [{ tells: true }],
  // Where it stands in the file is not at its beginning.
  middle: [
    calls(read('long.txt')),
    calls(edit('long.txt', 'old line 100 of many', 'new line 100 of many')),
    text('One line ', 'was changed.'),
  ],
  two: [calls(read('hello.txt'), read('other.txt')), text('Both ', 'were read.')],
  // One word, then nothing until the gate opens; a client that gives up closes the stream.
  slow: [{ pieces: ['tick0 ', 'tick1 '], gate: true, rest: ['tick2'] }],
};

/** What a file has that the long edit finds. */
export const longFile = () => `${long('old')}\n`;

/** The tools of each agent, known by one that it alone offers, as `[name, arguments]`. */
const AGENTS = [
  {
    offers: 'bash', // opencode
    read: (path) => ['read', { filePath: path }],
    edit: (path, before, after) => ['edit', { filePath: path, oldString: before, newString: after }],
    run: (command) => ['bash', { command, description: 'Runs it' }],
  },
  {
    offers: 'Bash', // Claude
    read: (path) => ['Read', { file_path: path }],
    edit: (path, before, after) => ['Edit', { file_path: path, old_string: before, new_string: after }],
    run: (command) => ['Bash', { command, description: 'Runs it' }],
  },
  {
    offers: 'run_shell_command', // Qwen
    read: (path) => ['read_file', { file_path: path }],
    edit: (path, before, after) => ['edit', { file_path: path, old_string: before, new_string: after }],
    run: (command) => ['run_shell_command', { command, description: 'Runs it', is_background: false }],
  },
  {
    offers: 'exec_command', // Codex
    read: (path) => ['exec_command', { cmd: `cat ${path}` }],
    edit: (path, before, after) => ['exec_command', { cmd: `apply_patch <<'PATCH'\n${patch(path, before, after)}\nPATCH` }],
    // It says itself that a command needs more than its walls allow; the person is asked then.
    run: (command) => [
      'exec_command',
      { cmd: command, sandbox_permissions: 'require_escalated', justification: 'May this write a file?' },
    ],
  },
];

/** The reply of one round, with the tools of the agent that offers these; nothing more when the scenario is over. */
export function replyOf(name, round, cwd, offered) {
  const reply = SCENARIOS[name]?.[round] ?? text('There is nothing more to say.');
  if (!reply.tools) return reply;
  const agent = AGENTS.find(({ offers }) => offered.includes(offers));
  if (!agent) throw new Error(`nobody is known who offers ${offered.join(', ')}`);
  return { tools: reply.tools.map((tool) => called(agent, tool, cwd)) };
}

function called(agent, tool, cwd) {
  if (tool.read) return agent.read(`${cwd}/${tool.read}`);
  if (tool.edit) return agent.edit(`${cwd}/${tool.edit}`, tool.before, tool.after);
  return agent.run(tool.run);
}

/** An edit in Codex's own form of a patch. */
function patch(path, before, after) {
  const lines = (mark, words) => words.split('\n').map((line) => mark + line);
  return ['*** Begin Patch', `*** Update File: ${path}`, '@@', ...lines('-', before), ...lines('+', after), '*** End Patch'].join('\n');
}
