--- What is in front of the user, for `bb/context/provide`, and what would go with the next prompt.
---
--- Owns the answer: the window used last that shows a file of the workspace, what is marked in it, the buffers that are listed,
--- and what `vim.diagnostic` has. Reads no file and runs nothing.

local client = require('breadboard.client')
local float = require('breadboard.float')
local store = require('breadboard.store')

local M = {}

--- Buffers that are told of, and problems.
local MOST_BUFFERS = 50
local MOST_PROBLEMS = 200

local SEVERITIES = { 'error', 'warning', 'information', 'hint' }

--- The window used last that shows a file: the current one may be the chat, or the one in which a prompt is written.
---@type integer?
local last

vim.api.nvim_create_autocmd({ 'WinLeave', 'WinEnter', 'BufEnter', 'CursorMoved' }, {
  group = vim.api.nvim_create_augroup('breadboard_context', { clear = true }),
  callback = function(event)
    if client.belongs(event.buf) then
      last = vim.api.nvim_get_current_win()
    end
  end,
})

---@return integer? window
local function front()
  local current = vim.api.nvim_get_current_win()
  for _, window in ipairs({ current, last }) do
    if vim.api.nvim_win_is_valid(window) and client.belongs(vim.api.nvim_win_get_buf(window)) then
      return window
    end
  end
end

---@param buffer integer
local function path_of(buffer)
  return vim.uri_from_bufnr(buffer)
end

--- Lines count from 1 and characters from 0; `mark` gives bytes, as lines of Neovim do.
---@param buffer integer
---@param line integer
---@param byte integer
local function place(buffer, line, byte)
  local text = vim.api.nvim_buf_get_lines(buffer, line - 1, line, false)[1] or ''
  byte = math.min(byte, #text)
  local ok, units = pcall(function()
    local _, utf16 = vim.str_utfindex(text, byte)
    return utf16
  end)
  return { line = line, character = ok and type(units) == 'number' and units or byte }
end

--- What is marked now, or the place of the cursor.
---@param window integer
local function selection(window)
  local buffer = vim.api.nvim_win_get_buf(window)
  local cursor = vim.api.nvim_win_get_cursor(window)
  local mode = vim.api.nvim_get_mode().mode
  if vim.api.nvim_get_current_win() == window and mode:match('^[vV\22]') then
    local other = vim.fn.getpos('v')
    local first, second = { other[2], other[3] - 1 }, { cursor[1], cursor[2] }
    if first[1] > second[1] or first[1] == second[1] and first[2] > second[2] then
      first, second = second, first
    end
    if mode:sub(1, 1) == 'V' then
      return { start = place(buffer, first[1], 0), ['end'] = { line = second[1] + 1, character = 0 } }
    end
    return { start = place(buffer, first[1], first[2]), ['end'] = place(buffer, second[1], second[2] + 1) }
  end
  local at = place(buffer, cursor[1], cursor[2])
  return { start = at, ['end'] = at }
end

local function active(window)
  local buffer = vim.api.nvim_win_get_buf(window)
  return {
    file_path = path_of(buffer),
    language = vim.bo[buffer].filetype,
    selection = selection(window),
    visible_range = {
      start = vim.fn.line('w0', window),
      ['end'] = vim.fn.line('w$', window),
    },
  }
end

local function buffers()
  local open = {}
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if #open < MOST_BUFFERS and vim.bo[buffer].buflisted and client.belongs(buffer) then
      table.insert(open, {
        file_path = path_of(buffer),
        is_dirty = vim.bo[buffer].modified,
        visible = #vim.fn.win_findbuf(buffer) > 0,
      })
    end
  end
  return open
end

local function problems()
  local found = {}
  for _, problem in ipairs(vim.diagnostic.get(nil)) do
    if #found < MOST_PROBLEMS and client.belongs(problem.bufnr) then
      table.insert(found, {
        file_path = path_of(problem.bufnr),
        severity = SEVERITIES[problem.severity] or 'error',
        message = problem.message,
        line = problem.lnum + 1,
        character = problem.col,
        source = problem.source,
      })
    end
  end
  return found
end

--- Answers `bb/context/provide`.
---@param params { wants: string[] }
function M.provide(_, params)
  local wanted = {}
  for _, name in ipairs(params.wants or {}) do
    wanted[name] = true
  end
  local answer = vim.empty_dict()
  local window = front()
  if wanted.active_editor and window then
    answer.active_editor = active(window)
  end
  if wanted.open_editors then
    answer.open_editors = buffers()
  end
  if wanted.diagnostics then
    answer.diagnostics = problems()
  end
  return answer
end

--- Shows what would go with a prompt of these words.
---@param text string
function M.show(text)
  local params = { sessionId = store.active, text = text }
  client.request('bb/context/preview', params, function(err, preview)
    if err then
      store.say(nil, 'error', err.message)
      return
    end
    local lines = {}
    for _, item in ipairs(preview.items) do
      local bytes = item.bytes > 0 and ('%d bytes'):format(item.bytes) or 'named only'
      table.insert(lines, ('%s  %s  (%s)'):format(item.kind:gsub('_', ' '), item.label, bytes))
    end
    vim.list_extend(lines, preview.notes)
    if #lines == 0 then
      lines = { 'Nothing goes with a prompt now; open a file, or name one with @.' }
    end
    float.open('Goes with the next prompt', lines, { enter = true })
  end)
end

client.serve('bb/context/provide', M.provide)

return M
