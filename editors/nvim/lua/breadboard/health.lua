--- `:checkhealth breadboard`. Changes nothing and starts nothing but the server's own `--version` and `doctor`.

local client = require('breadboard.client')
local config = require('breadboard.config')
local store = require('breadboard.store')

local M = {}

--- How long a program may take before the report says so, in milliseconds.
local PATIENCE = 20000

---@param arguments string[]
---@return vim.SystemCompleted
local function run(arguments)
  local command = vim.list_extend({ config.current.cmd[1] }, arguments)
  return vim.system(command, { text = true, cwd = client.root() or vim.fn.getcwd() }):wait(PATIENCE)
end

--- The options under which `doctor` looks at what these settings would use.
---@return string[]
function M.doctor_options()
  local settings, options = config.current, { '--workspace', client.root() or config.root() }
  local function add(name, value)
    if value then
      vim.list_extend(options, { name, value })
    end
  end
  local engine, model = settings.engine or {}, config.model()
  local agent = engine.command and engine or (settings.agents or {})[engine.name or '']
  if agent then
    local line = vim.list_extend({ agent.command }, agent.args or {})
    add('--engine', 'acp:' .. table.concat(vim.tbl_map(vim.fn.shellescape, line), ' '))
  elseif engine.kind == 'acp' and engine.name then
    add('--agent', engine.name)
  else
    add('--engine', engine.kind)
  end
  add('--engine-url', engine.url)
  add('--config', engine.configPath)
  if model then
    add('--model', model.name)
    add('--model-provider', model.provider)
    add('--model-url', model.url)
  end
  add('--state-dir', settings.state_dir)
  if store.trusted or config.trusts(client.root() or config.root()) then
    table.insert(options, '--trust')
  end
  return options
end

local function check_program()
  local program = config.current.cmd[1]
  if vim.fn.executable(program) == 0 then
    vim.health.error(('`%s` is not a program'):format(program), {
      'Install it: cargo install --profile dist --path . in the checkout of breadboard-ls',
      "Or name it: require('breadboard').setup({ cmd = { '/path/to/breadboard-ls', '--stdio' } })",
    })
    return
  end
  local version = run({ '--version' })
  if version.code ~= 0 then
    vim.health.error(('`%s --version` failed: %s'):format(program, vim.trim(version.stderr or '')))
    return
  end
  vim.health.ok(vim.trim(version.stdout))
  local doctor = run(vim.list_extend({ 'doctor' }, M.doctor_options()))
  for line in vim.gsplit(vim.trim((doctor.stdout or '') .. (doctor.stderr or '')), '\n') do
    vim.health.info(line)
  end
  if doctor.code == 0 then
    vim.health.ok('`doctor` found nothing wrong')
  else
    vim.health.warn(('`doctor` ended with code %d'):format(doctor.code), 'Do what it says above')
  end
end

local function check_server()
  if not client.running() then
    vim.health.info('No server runs; it starts at the first :BreadBoard ask')
    return
  end
  local announced = client.announced()
  vim.health.ok(('A server runs for %s (wire version %s)'):format(client.root(), tostring(announced.v)))
  local engine = store.engine
  if engine then
    local text = ('Engine %s: %s%s'):format(engine.kind, engine.status, engine.model and (', ' .. engine.model) or '')
    if store.engine_problem then
      vim.health.error(text, store.engine_problem)
    else
      vim.health.ok(text)
    end
  end
  if store.trusted then
    vim.health.ok('The workspace is trusted')
  else
    vim.health.info('The workspace is not trusted, so the agent only reads; :BreadBoard trust changes that')
  end
end

function M.check()
  vim.health.start('breadboard: Neovim')
  if vim.fn.has('nvim-0.10') == 1 then
    vim.health.ok('Neovim ' .. tostring(vim.version()))
  else
    vim.health.error('Neovim 0.10 or newer is needed')
  end
  vim.health.start('breadboard: program')
  check_program()
  vim.health.start('breadboard: server')
  check_server()
end

return M
