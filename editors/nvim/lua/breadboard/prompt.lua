--- The window in which a prompt is written: several lines, `@path` and `/command` completion, sent with <C-s>, in normal mode <CR>.

local chat = require('breadboard.chat')
local completion = require('breadboard.completion')
local sessions = require('breadboard.sessions')

local M = {}

---@type integer?
local buffer

--- The prompt that is changed here: sent, it begins a branch of its session before that one.
---@type { session: string, before: string, attachments?: string[] }?
local changed

--- Above the window: where a prompt goes that is changed.
---@return string
function M.bar()
  return changed and 'Begins a branch: the session stays as it is (empty the window to leave it)' or ''
end

--- Nobody changes a prompt in an empty window.
local function leave_when_empty()
  if changed and buffer and vim.trim(table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false))) == '' then
    changed = nil
    vim.cmd('silent! redrawstatus!')
  end
end

--- Sends what is written, and empties the window when the server took it.
function M.send()
  if not buffer then
    return
  end
  local sent = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  local text = vim.trim(table.concat(sent, '\n'))
  if text == '' then
    return
  end
  local from = changed
  if from then
    sessions.branch(from.session, { before = from.before }, function(session)
      changed = nil
      chat.show(session)
      M.deliver(text, sent, from.attachments)
    end)
  else
    M.deliver(text, sent)
  end
end

--- Sends in the session in front, and empties the window when the server took it.
---@param text string
---@param sent string[] the lines of the window
---@param attachments? string[]
function M.deliver(text, sent, attachments)
  sessions.send(text, function(disposition)
    local unchanged = vim.api.nvim_buf_is_valid(buffer)
      and vim.deep_equal(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), sent)
    if disposition and unchanged then
      vim.api.nvim_buf_set_lines(buffer, 0, -1, false, {})
    end
  end, attachments)
end

--- Opens the menu for what ends at the cursor, if the cursor is still there when the answer comes. Where another plugin shows
--- what is offered, it does.
local function offer()
  if completion.shown_elsewhere then
    return
  end
  local function here()
    local row, column = unpack(vim.api.nvim_win_get_cursor(0))
    return vim.api.nvim_get_current_line():sub(1, column), row
  end
  local before, row = here()
  completion.of(before, row, function(found)
    if found and here() == before and vim.fn.mode():match('^i') and #found.items > 0 then
      vim.fn.complete(found.column, found.items)
    end
  end)
end

--- A menu that puts nothing into the text before it is chosen. 'completeopt' has no value of its own for a buffer before
--- Neovim 0.11, so the user's is put back whenever the window is left.
---@type string?
local users_completeopt

local function menu_only()
  users_completeopt = users_completeopt or vim.o.completeopt
  vim.o.completeopt = 'menuone,noinsert,noselect'
end

local function menu_as_before()
  if users_completeopt then
    vim.o.completeopt = users_completeopt
    users_completeopt = nil
  end
end

local function make()
  buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, 'breadboard://prompt')
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].filetype = 'breadboard-prompt'
  vim.keymap.set({ 'n', 'i' }, '<C-s>', M.send, { buffer = buffer, desc = 'BreadBoard: send' })
  vim.keymap.set('n', '<CR>', M.send, { buffer = buffer, desc = 'BreadBoard: send' })
  vim.keymap.set('n', '<C-c>', function()
    sessions.stop()
  end, { buffer = buffer, desc = 'BreadBoard: stop' })
  vim.bo[buffer].omnifunc = "v:lua.require'breadboard.completion'.omnifunc"
  vim.api.nvim_create_autocmd('InsertEnter', { buffer = buffer, callback = menu_only })
  vim.api.nvim_create_autocmd(
    { 'InsertLeave', 'BufLeave', 'BufWipeout' },
    { buffer = buffer, callback = menu_as_before }
  )
  vim.api.nvim_create_autocmd('TextChangedI', { buffer = buffer, callback = offer })
  vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, { buffer = buffer, callback = leave_when_empty })
end

--- Opens the window below the chat and goes there.
---@param text? string what it begins with
---@param from? { session: string, before: string, attachments?: string[] } the prompt that is changed
function M.open(text, from)
  sessions.with_active(function(session)
    if not buffer or not vim.api.nvim_buf_is_valid(buffer) then
      make()
    end
    local above = chat.show(session)
    local window = vim.fn.bufwinid(buffer)
    if window == -1 then
      window = vim.api.nvim_open_win(buffer, true, { split = 'below', win = above, height = 5 })
      vim.wo[window].winfixheight = true
      vim.wo[window].wrap = true
      vim.wo[window].number = false
      vim.wo[window].foldenable = false
    end
    vim.api.nvim_set_current_win(window)
    if text then
      changed = from
      vim.wo[window].winbar = from and "%{v:lua.require'breadboard.prompt'.bar()}" or ''
      vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, '\n'))
      vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
    end
  end)
end

--- The buffer, for who wants to add keys.
---@return integer?
function M.buffer()
  return buffer
end

return M
