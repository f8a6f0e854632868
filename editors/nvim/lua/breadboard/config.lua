--- The user's settings: defaults, what may be set, and what is said when something else is.
--- Never reads a file of the workspace: a repository must not configure the agent.

---@class breadboard.ModelSetting
---@field provider? string `openai` (and anything compatible), `anthropic`, `gemini` or `ollama`
---@field name string
---@field url? string base URL

---@class breadboard.Options
---@field cmd? string[] how the server is started
---@field engine? table `{ kind, url, ... }`, as in the server's initialization options
---@field token_file? string a file with the engine's token, as `breadboard-ls pair --token-file` writes it
---@field agents? table<string, table> agents by name, as in the server's initialization options
---@field mcp_servers? table<string, table> servers of tools by name, as in the server's initialization options
---@field model? string|breadboard.ModelSetting `provider/name`, or a table
---@field trusted? boolean|string[]|fun(root: string): boolean folders in which the agent may write and run
---@field root? string|fun(): string the workspace; default: by `root_markers` from the buffer, else the directory
---@field root_markers? string[]
---@field state_dir? string where the server keeps sessions
---@field approvals? table what is done without asking: `{ mode, classes, patterns, expireAfterSeconds }`, as in the server's options
---@field commands? table where commands run, and their bounds: `{ runner, timeoutSeconds, cpuSeconds, memoryMebibytes }`
---@field save_edits? boolean write a buffer that an allowed edit changed, when it had no unsaved changes before
---@field popup? boolean ask for each approval as it comes, instead of waiting for `:BreadBoard approve`
---@field folds? 'closed'|'open' how reasoning, tools and patches stand in the chat
---@field position? 'right'|'below' where the chat opens
---@field size? integer columns (right) or lines (below) of the chat

---@class breadboard.Config: breadboard.Options
---@field cmd string[]
---@field trusted boolean|string[]|fun(root: string): boolean
---@field root_markers string[]
---@field save_edits boolean
---@field popup boolean
---@field folds 'closed'|'open'
---@field position 'right'|'below'

local M = {}

---@type breadboard.Config
local DEFAULTS = {
  cmd = { 'breadboard-ls', '--stdio' },
  trusted = false,
  root_markers = { '.git' },
  save_edits = true,
  popup = false,
  folds = 'closed',
  position = 'right',
}

local TYPES = {
  cmd = { 'table' },
  engine = { 'table' },
  token_file = { 'string' },
  agents = { 'table' },
  mcp_servers = { 'table' },
  model = { 'string', 'table' },
  trusted = { 'boolean', 'table', 'function' },
  root = { 'string', 'function' },
  root_markers = { 'table' },
  state_dir = { 'string' },
  approvals = { 'table' },
  commands = { 'table' },
  save_edits = { 'boolean' },
  popup = { 'boolean' },
  folds = { 'string' },
  position = { 'string' },
  size = { 'number' },
}

---@type breadboard.Config
M.current = vim.deepcopy(DEFAULTS)

--- Replaces the settings. An unknown name or a wrong type is an error that names it.
---@param options? breadboard.Options
function M.set(options)
  for name, value in pairs(options or {}) do
    local types = TYPES[name]
    if not types then
      error(('breadboard: there is no setting `%s`; see :help breadboard-settings'):format(name), 0)
    end
    if not vim.tbl_contains(types, type(value)) then
      error(('breadboard: `%s` must be a %s, not a %s'):format(name, table.concat(types, ' or a '), type(value)), 0)
    end
  end
  M.current = vim.tbl_extend('force', vim.deepcopy(DEFAULTS), options or {})
end

--- `provider/name` as a model setting; a name without a slash leaves the provider to the server.
---@param text string
---@return breadboard.ModelSetting
function M.parse_model(text)
  local provider, name = text:match('^(%l+)/(.+)$')
  local known = { openai = true, anthropic = true, gemini = true, ollama = true }
  if provider and known[provider] then
    return { provider = provider, name = name }
  end
  return { name = text }
end

--- The model setting as a table, or nil.
---@return breadboard.ModelSetting?
function M.model()
  local model = M.current.model
  if type(model) == 'string' then
    return M.parse_model(model)
  end
  return model
end

--- The token of the engine from its file; nil without a file, and a problem where the file gives none.
---@return string? token
---@return string? problem
function M.token()
  local file = M.current.token_file
  if not file then
    return nil
  end
  local opened = io.open(vim.fn.expand(file), 'r')
  local token = opened and vim.trim(opened:read(4096) or '')
  if opened then
    opened:close()
  end
  if not token or token == '' then
    return nil, ('The token file %s gives no token; write one with `breadboard-ls pair --token-file`.'):format(file)
  end
  return token
end

--- The workspace folder, absolute.
---@return string
function M.root()
  local root = M.current.root
  if type(root) == 'function' then
    root = root()
  end
  if not root then
    local name = vim.api.nvim_buf_get_name(0)
    local from = vim.bo.buftype == '' and name ~= '' and vim.fs.dirname(name) or vim.fn.getcwd()
    root = vim.fs.root(from, M.current.root_markers) or vim.fn.getcwd()
  end
  return (vim.fs.normalize(vim.fn.fnamemodify(root, ':p')):gsub('(.)/$', '%1'))
end

--- Whether the settings trust this folder. A list names folders; each trusts itself and what is below it.
---@param root string
---@return boolean
function M.trusts(root)
  local trusted = M.current.trusted
  if type(trusted) == 'function' then
    return trusted(root) == true
  end
  if type(trusted) == 'boolean' then
    return trusted
  end
  local real = vim.uv.fs_realpath(root) or root
  for _, folder in ipairs(trusted) do
    local wide = vim.fs.normalize(folder)
    wide = (vim.uv.fs_realpath(wide) or wide):gsub('/$', '')
    if real == wide or vim.startswith(real, wide .. '/') then
      return true
    end
  end
  return false
end

return M
