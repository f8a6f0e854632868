--- A story with a simulated agent: the plugin as if just loaded, the real server, a workspace of its own, and a user who
--- answers as the test says.

local harness = require('harness')

local M = {}

local await, check = harness.await, harness.check
local home = vim.fs.normalize(assert(os.getenv('BB_HOME'), 'set BB_HOME to an empty directory'))
local binary = assert(os.getenv('BB_SERVER'), 'set BB_SERVER to the breadboard-ls binary')
local number = 0

---@class tests.Stage
---@field workspace string
---@field state string where the server keeps sessions
---@field pid_file string
---@field said string[] every vim.notify
---@field asked { prompt: string, shown: string[], floats: string[] }[] every vim.ui.select
---@field pick fun(items: any[], options: table): any what the user chooses
local Stage = {}
Stage.__index = Stage

function Stage:path(path)
  return self.workspace .. '/' .. path
end

function Stage:write(path, lines)
  vim.fn.mkdir(vim.fs.dirname(self:path(path)), 'p')
  vim.fn.writefile(lines, self:path(path))
end

function Stage:read(path)
  return vim.fn.readfile(self:path(path))
end

--- Opens a file, and gives its buffer.
function Stage:edit(path)
  vim.cmd('edit ' .. self:path(path))
  return vim.api.nvim_get_current_buf()
end

function Stage:lines(buffer)
  return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
end

--- What the chat of the session in front shows.
function Stage:shown()
  local store = require('breadboard.store')
  local chat = require('breadboard.chat')
  local lines = store.active and table.concat(self:lines(chat.of(store.active).buffer), '\n') or ''
  -- How long a turn took, and what it spent, is another number each time.
  return (lines:gsub(' %(%d[%d.]* s[^)\n]*%)', ''))
end

function Stage:sees(text)
  local ok, problem = pcall(await, ('`%s` in the chat'):format(text), function()
    return self:shown():find(text, 1, true)
  end)
  check(ok, tostring(problem) .. '; it shows:\n' .. self:shown():sub(-1500))
end

function Stage:status()
  local store = require('breadboard.store')
  local summary = store.active and store.summary(store.active)
  return summary and summary.status
end

function Stage:idle()
  await('the session to be idle', function()
    return self:status() == 'idle'
  end)
end

--- The approval that waits.
function Stage:ask()
  local store = require('breadboard.store')
  return await('an ask', function()
    return store.pending(store.active)[1]
  end)
end

function Stage:hears(text)
  await(('`%s` among the messages'):format(text), function()
    return table.concat(self.said, '\n'):find(text, 1, true)
  end)
end

--- How often it was said.
function Stage:times(text)
  local _, count = table.concat(self.said, '\n'):gsub(vim.pesc(text), '')
  return count
end

--- Puts the cursor of the chat on the first line that holds the text.
function Stage:go_to_line(text)
  local chat = require('breadboard.chat')
  vim.api.nvim_set_current_win((assert(chat.window(), 'no chat is shown')))
  for at, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local column = line:find(text, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { at, column - 1 })
      return
    end
  end
  error('no line with ' .. text .. ' in\n' .. self:shown())
end

function Stage:press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end

--- The process of the server, which wrote its own number.
function Stage:pid()
  return assert(tonumber(vim.fn.readfile(self.pid_file)[1]))
end

--- Initialization options of an engine that plays a script of `simulate acp`. `WORKSPACE` in it is the folder, and
--- `FOLDER` its name.
function Stage:agent(script)
  return {
    command = binary,
    args = { 'simulate', 'acp', '--sessions', self.state .. '-agent', '--script', self:filled(script) },
  }
end

function Stage:filled(script)
  return (script:gsub('WORKSPACE', self.workspace):gsub('FOLDER', vim.fs.basename(self.workspace)))
end

local function fresh_modules()
  for name in pairs(package.loaded) do
    if name == 'breadboard' or vim.startswith(name, 'breadboard.') then
      package.loaded[name] = nil
    end
  end
end

local function one_window()
  vim.cmd('silent! tabonly | silent! only')
  vim.cmd('enew')
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if buffer ~= vim.api.nvim_get_current_buf() then
      vim.api.nvim_buf_delete(buffer, { force = true })
    end
  end
end

--- Plays a story: `script` as text, since the first word of a step says what it is and a table has no first word.
---@param script string
---@param story fun(stage: tests.Stage)
---@param options? breadboard.Options
function M.play(script, story, options)
  number = number + 1
  local folder = ('%s/stage-%d'):format(home, number)
  local stage = setmetatable({
    workspace = folder .. '/workspace',
    state = folder .. '/state',
    pid_file = folder .. '/pid',
    said = {},
    asked = {},
  }, Stage)
  vim.fn.mkdir(stage.workspace .. '/.git', 'p')
  vim.fn.writefile(
    { '#!/bin/sh', ('echo $$ > %s'):format(stage.pid_file), ('exec %s "$@"'):format(binary) },
    folder .. '/serve'
  )
  vim.uv.fs_chmod(folder .. '/serve', 493)
  one_window()
  fresh_modules()
  local notify, select, input = vim.notify, vim.ui.select, vim.ui.input
  vim.notify = function(text)
    table.insert(stage.said, text)
  end
  vim.ui.select = function(items, given, on_choice)
    local shown, floats = {}, {}
    for _, item in ipairs(items) do
      table.insert(shown, given.format_item and given.format_item(item) or tostring(item))
    end
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= '' then
        vim.list_extend(floats, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false))
      end
    end
    table.insert(stage.asked, { prompt = given.prompt, shown = shown, floats = floats })
    on_choice(stage.pick(items, given))
  end
  vim.fn.chdir(stage.workspace)
  require('breadboard').setup(vim.tbl_extend('force', {
    cmd = { folder .. '/serve', '--stdio' },
    engine = vim.tbl_extend('force', { kind = 'acp' }, stage:agent(script)),
    state_dir = stage.state,
    root = stage.workspace,
    trusted = true,
  }, options or {}))
  local ok, problem = xpcall(story, debug.traceback, stage)
  local client = require('breadboard.client')
  client.stop()
  vim.wait(harness.PATIENCE, function()
    return not client.running()
  end, 2)
  vim.notify, vim.ui.select, vim.ui.input = notify, select, input
  vim.fn.chdir(home)
  if not ok then
    error(tostring(problem) .. '\nwas said: ' .. vim.inspect(stage.said), 0)
  end
end

return M
