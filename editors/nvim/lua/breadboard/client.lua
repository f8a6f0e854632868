--- The server process: start, hand over requests, hear notifications, say when it ends.
--- Never knows what a message means; who wants one says so with `listen`.

local config = require('breadboard.config')
local lsp = require('breadboard.lsp')

local M = {}

local NAME = 'breadboard-ls'
--- Version of the protocol that this plugin speaks.
local WIRE_VERSION = 1

---@type integer?
local client_id
---@type string?
local root
---@type table<string, fun(params: table)>
local listeners = {}
---@type table<string, fun(err?: table, params: table, context: table): any>
local servants = {}
---@type fun(code: integer, signal: integer, expected: boolean)[]
local at_exit = {}
---@type (fun(err?: string))[]
local waiting = {}
local stopping = false

--- The client while its server runs and has answered `initialize`.
---@return vim.lsp.Client?
local function ready()
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  return client and client.initialized and not lsp.is_stopped(client) and client or nil
end

--- Hears a notification of the server; one listener a method.
---@param method string
---@param take fun(params: table)
function M.listen(method, take)
  listeners[method] = take
end

--- Answers a request of the server; one servant a method, with what Neovim gives to a handler.
---@param method string
---@param serve fun(err?: table, params: table, context: table): any
function M.serve(method, serve)
  servants[method] = serve
end

--- Called when the server has ended. `expected` is true after `stop`.
---@param take fun(code: integer, signal: integer, expected: boolean)
function M.on_exit(take)
  table.insert(at_exit, take)
end

---@return boolean
function M.running()
  return ready() ~= nil
end

--- The workspace of the running server, or of the last one.
---@return string?
function M.root()
  return root
end

--- What the server announced: version, methods, notifications. Empty while none runs.
---@return { v?: integer, methods: string[], notifications: string[] }
function M.announced()
  local client = ready()
  local experimental = client and client.server_capabilities.experimental or {}
  return experimental.breadboard or { methods = {}, notifications = {} }
end

---@param method string
---@return boolean
function M.can(method)
  return vim.tbl_contains(M.announced().methods, method)
end

--- Whether a buffer is an open file of the workspace.
---@param buffer integer
---@return boolean
function M.belongs(buffer)
  if not vim.api.nvim_buf_is_loaded(buffer) or vim.bo[buffer].buftype ~= '' then
    return false
  end
  local name = vim.api.nvim_buf_get_name(buffer)
  return name ~= '' and root ~= nil and vim.startswith(vim.fs.normalize(name), root .. '/')
end

-- The server answers from open buffers first, so it must know them.
local function attach(buffer)
  if client_id and M.belongs(buffer) and not vim.lsp.buf_is_attached(buffer, client_id) then
    vim.lsp.buf_attach_client(buffer, client_id)
  end
end

local function handlers()
  local table_of = {}
  for method, take in pairs(listeners) do
    table_of[method] = function(_, params)
      take(params)
    end
  end
  for method, serve in pairs(servants) do
    table_of[method] = serve
  end
  return table_of
end

local function settle(problem)
  local callbacks = waiting
  waiting = {}
  for _, callback in ipairs(callbacks) do
    callback(problem)
  end
end

local function ended(code, signal)
  client_id = nil
  local expected = stopping
  stopping = false
  settle(('The server ended with code %d before it was ready; see :checkhealth breadboard.'):format(code))
  for _, take in ipairs(at_exit) do
    take(code, signal, expected)
  end
end

-- Within a version both sides only add, so a server of another release is fine; one of another version is not.
local function wire_problem(client)
  local program = client.config.cmd[1]
  local experimental = client.server_capabilities.experimental
  local said = type(experimental) == 'table' and experimental.breadboard
  if type(said) ~= 'table' then
    return ('`%s` does not speak the protocol of breadboard-ls; set `cmd` to a current breadboard-ls.'):format(program)
  end
  if said.v ~= WIRE_VERSION then
    local newer = type(said.v) == 'number' and said.v > WIRE_VERSION
    return ('`%s` speaks version %s of the protocol and this plugin version %d; update %s.'):format(
      program,
      tostring(said.v),
      WIRE_VERSION,
      newer and 'the plugin' or 'breadboard-ls'
    )
  end
end

local group = vim.api.nvim_create_augroup('breadboard_client', { clear = true })

--- Gives the server the token of its engine. It goes over the connection alone: a command line or an environment can be read.
local function hand_over_token()
  local token, problem = config.token()
  if token then
    M.request('bb/setCredentials', { scope = 'engine', token = token }, function(err)
      if err then
        vim.notify('BreadBoard: ' .. err.message, vim.log.levels.WARN)
      end
    end)
  elseif problem then
    vim.notify('BreadBoard: ' .. problem, vim.log.levels.WARN)
  end
end

--- Starts the server unless it runs, and calls back when it is ready or could not be started.
---@param trusted boolean
---@param callback fun(err?: string)
function M.start(trusted, callback)
  if ready() then
    callback()
    return
  end
  table.insert(waiting, callback)
  if client_id then
    return
  end
  local settings = config.current
  if vim.fn.executable(settings.cmd[1]) == 0 then
    settle(('`%s` is not a program; install breadboard-ls or set `cmd`.'):format(settings.cmd[1]))
    return
  end
  root = root or config.root()
  local id
  id = lsp.start({
    name = NAME,
    cmd = settings.cmd,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = vim.fs.basename(root) } },
    capabilities = vim.tbl_extend('force', vim.lsp.protocol.make_client_capabilities(), {
      experimental = { breadboard = { documentSave = settings.save_edits, contextProvide = true } },
    }),
    flags = { debounce_text_changes = 0 },
    init_options = {
      engine = settings.engine,
      agents = settings.agents,
      mcpServers = settings.mcp_servers,
      model = config.model(),
      stateDir = settings.state_dir,
      approvals = settings.approvals,
      commands = settings.commands,
      workspaceTrusted = trusted,
    },
    handlers = handlers(),
    on_init = function(client)
      client_id = client.id
      vim.schedule(function()
        local problem = wire_problem(client)
        if problem then
          settle(problem)
          M.stop()
          return
        end
        for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
          attach(buffer)
        end
        hand_over_token()
        settle()
      end)
    end,
    on_exit = function(code, signal, of)
      vim.schedule(function()
        if of == client_id or of == id then
          ended(code, signal)
        end
      end)
    end,
  })
  client_id = id
  if not id then
    settle('The server could not be started; see :checkhealth breadboard.')
    return
  end
  vim.api.nvim_clear_autocmds({ group = group })
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost' }, {
    group = group,
    callback = function(event)
      attach(event.buf)
    end,
  })
end

--- Where the next server starts: the workspace of the current buffer, anew.
function M.forget_root()
  root = nil
end

--- Sends a request and calls back with its result, or with an error that has a `message` for people.
---@param method string
---@param params? table
---@param callback? fun(err?: { code: integer, message: string, data?: table }, result?: any)
---@return integer? id for `cancel`
function M.request(method, params, callback)
  callback = callback or function() end
  local client = ready()
  if not client then
    callback({ code = -32002, message = 'The server does not run; start it with :BreadBoard restart.' })
    return nil
  end
  local sent, id = lsp.request(client, method, params or vim.empty_dict(), callback)
  if not sent then
    callback({ code = -32002, message = 'The server has ended; start it again with :BreadBoard restart.' })
    return nil
  end
  return id
end

---@param method string
---@param params table
---@return boolean sent
function M.notify(method, params)
  local client = ready()
  return client ~= nil and lsp.notify(client, method, params)
end

--- Asks the server to end. `on_exit` is told when it has.
---@param force? boolean
function M.stop(force)
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  if client then
    stopping = true
    lsp.stop(client, force)
  end
end

return M
