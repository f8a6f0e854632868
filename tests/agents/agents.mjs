// The agents that are tested: how each is started, and where it keeps its things.
// Owns: one home a run. Nothing of the user's configuration takes part.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A home with a workspace in it, and the environment that points an agent there. */
export async function home() {
  const place = await mkdtemp(join(tmpdir(), 'bb-agent-'));
  const workspace = join(place, 'workspace');
  await mkdir(workspace);
  await writeFile(join(workspace, 'hello.txt'), 'Hello, world\nsecond line\n');
  await writeFile(join(workspace, 'other.txt'), 'another file\n');
  return {
    place,
    workspace,
    state: join(place, 'bb-state'),
    /** What the environment of every process of the run holds. */
    mark: `BB_AGENT_RUN=${place}`,
    env: {
      BB_AGENT_RUN: place,
      HOME: place,
      XDG_DATA_HOME: join(place, 'data'),
      XDG_CONFIG_HOME: join(place, 'config'),
      XDG_STATE_HOME: join(place, 'state'),
      XDG_CACHE_HOME: join(place, 'cache'),
    },
    remove: () => rm(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  };
}

function program(variable) {
  const path = process.env[variable];
  if (!path) throw new Error(`Set ${variable}; run.sh does.`);
  return path;
}

/** The `engine` setting for elizacp, a small agent that needs no model. */
export function elizacp({ env }) {
  return { kind: 'acp', name: 'elizacp', command: program('BB_ELIZACP'), args: ['--deterministic', 'acp'], env };
}

/** How each agent with a model is told that its model is the one at `model`; their names are those of the presets. */
export const WITH_MODEL = {
  opencode,
  'codex-acp': codex,
  'claude-agent-acp': claude,
  'qwen-code': qwen,
};

/** The `engine` setting for opencode, which asks before it edits or runs because its configuration says so. */
export async function opencode({ place, env }, { url }) {
  const model = { name: 'Fake 1', tool_call: true, limit: { context: 100_000, output: 8_192 } };
  const config = {
    model: 'fake/fake-1',
    small_model: 'fake/fake-1',
    autoupdate: false,
    share: 'disabled',
    permission: { edit: 'ask', bash: 'ask' },
    provider: {
      fake: {
        npm: '@ai-sdk/openai-compatible',
        name: 'Fake',
        options: { baseURL: url, apiKey: 'none' },
        models: { 'fake-1': model },
      },
    },
  };
  const path = join(place, 'opencode.json');
  await writeFile(path, JSON.stringify(config));
  return {
    kind: 'acp',
    name: 'opencode',
    command: program('BB_OPENCODE'),
    args: ['acp', '--pure'],
    env: {
      ...env,
      OPENCODE_CONFIG: path,
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
    },
  };
}

async function codex({ place, env }, { url }) {
  const codexHome = join(place, '.codex');
  await mkdir(codexHome, { recursive: true });
  const config = [
    'model = "fake-1"',
    'model_provider = "fake"',
    'check_for_update_on_startup = false',
    '[model_providers.fake]',
    'name = "Fake"',
    `base_url = "${url}"`,
    'wire_api = "responses"',
  ];
  await writeFile(join(codexHome, 'config.toml'), `${config.join('\n')}\n`);
  return {
    kind: 'acp',
    name: 'codex-acp',
    command: program('BB_CODEX_ACP'),
    args: [],
    env: { ...withNode(env), CODEX_HOME: codexHome, NO_BROWSER: '1' },
  };
}

async function claude({ env }, { address }) {
  return {
    kind: 'acp',
    name: 'claude-agent-acp',
    command: program('BB_CLAUDE_AGENT_ACP'),
    args: [],
    env: {
      ...withNode(env),
      ANTHROPIC_BASE_URL: address,
      ANTHROPIC_API_KEY: 'none',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // Root may not use it otherwise.
      IS_SANDBOX: '1',
    },
  };
}

async function qwen({ place, env }, { url }) {
  await mkdir(join(place, '.qwen'), { recursive: true });
  const settings = { security: { auth: { selectedType: 'openai' } } };
  await writeFile(join(place, '.qwen', 'settings.json'), JSON.stringify(settings));
  return {
    kind: 'acp',
    name: 'qwen-code',
    command: program('BB_QWEN_CODE'),
    args: ['--acp'],
    env: { ...withNode(env), OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none', OPENAI_MODEL: 'fake-1' },
  };
}

/** Some agents want a newer Node than the tests do. */
function withNode(env) {
  return { ...env, PATH: `${program('BB_AGENT_NODE')}:${process.env.PATH}` };
}
