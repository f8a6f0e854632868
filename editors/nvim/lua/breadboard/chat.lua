--- The buffers that show a lane of a session: made when asked for, redrawn at most once in 16 ms, and only where a line
--- changed. Never asks the server; keys in the buffer call `command`.

local config = require('breadboard.config')
local files = require('breadboard.files')
local info = require('breadboard.info')
local lines = require('breadboard.lines')
local looks = require('breadboard.looks')
local notices_of = require('breadboard.notices')
local render = require('breadboard.render')
local store = require('breadboard.store')

local M = {}

--- Shortest time between two redraws of a buffer, in milliseconds: one frame at 60 Hz.
local FRAME = 16

--- Fewest columns of Neovim for a chat beside the code; in fewer it opens below, unless `size` says how wide it is.
local SIDE_BY_SIDE = 90

---@class breadboard.Chat
---@field buffer integer
---@field session string
---@field lane string
---@field shown string[]
---@field owners table<integer, breadboard.Block>
---@field beside table<integer, string>
---@field coloured table<integer, breadboard.Stretch[]>
---@field timer uv.uv_timer_t
---@field due boolean
---@field last number
---@field redraws integer how often lines were written, for tests and `:checkhealth`
---@field rewritten integer how many lines were written

---@type table<string, breadboard.Chat>
local chats = {}
local space = vim.api.nvim_create_namespace('breadboard')
local margin = vim.api.nvim_create_namespace('breadboard.beside')

---@param chat breadboard.Chat
local function followers(chat)
  local count = vim.api.nvim_buf_line_count(chat.buffer)
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_cursor(window)[1] == count
  end, vim.fn.win_findbuf(chat.buffer))
end

--- What stands beside lines: virtual, so that nobody copies it with the text.
---@param chat breadboard.Chat
---@param beside table<integer, string>
local function put_beside(chat, beside)
  chat.beside = beside
  vim.api.nvim_buf_clear_namespace(chat.buffer, margin, 0, -1)
  for at, text in pairs(beside) do
    vim.api.nvim_buf_set_extmark(chat.buffer, margin, at - 1, 0, {
      virt_text = { { text, 'BreadBoardHead' } },
      hl_mode = 'combine',
    })
  end
end

local draw

--- Draws once more when a second of a wait is over; what changes before is drawn before.
---@param chat breadboard.Chat
---@param waits? integer
local function tick(chat, waits)
  if waits and not chat.due then
    chat.timer:start(
      waits > 120 and 10000 or 1000,
      0,
      vim.schedule_wrap(function()
        draw(chat)
      end)
    )
  end
end

---@param chat breadboard.Chat
function draw(chat)
  chat.due = false
  chat.last = vim.uv.hrtime() / 1e6
  if not vim.api.nvim_buf_is_valid(chat.buffer) then
    return
  end
  local view = store.views[chat.session]
  if not view then
    return -- the server has ended and come back with other numbers; what is shown stays until it is read again
  end
  local drawing
  if chat.lane == 'chat' then
    local summary = store.summary(chat.session)
    local held = summary and summary.heldBy and notices_of.HELD or nil
    local seconds, microseconds = vim.uv.gettimeofday()
    local now = seconds * 1000 + math.floor(microseconds / 1000)
    drawing = render.lane(view.lanes.chat, store.notices[chat.session] or {}, held, now, summary and summary.branchedFrom)
  else
    drawing = render.lane(view.lanes[chat.lane], {})
  end
  local new = #drawing.lines > 0 and drawing.lines or { '' }
  chat.owners = drawing.owners
  tick(chat, drawing.waits)
  local hunks = lines.changes(chat.shown, new)
  if #hunks == 0 then
    if not vim.deep_equal(chat.beside, drawing.beside) then
      put_beside(chat, drawing.beside)
    end
    looks.paint(chat, drawing.coloured, new, hunks)
    return
  end
  local following = followers(chat)
  vim.bo[chat.buffer].modifiable = true
  for _, hunk in ipairs(hunks) do
    vim.api.nvim_buf_set_lines(chat.buffer, hunk.first, hunk.last, false, hunk.lines)
    vim.api.nvim_buf_clear_namespace(chat.buffer, space, hunk.first, hunk.first + #hunk.lines)
    for offset, line in ipairs(hunk.lines) do
      local group = render.highlight(line)
      local row = hunk.first + offset - 1
      if group then
        vim.api.nvim_buf_set_extmark(chat.buffer, space, row, 0, { end_col = #line, hl_group = group })
      end
      for _, place in ipairs(files.places(line)) do
        local marked = { end_col = place.last, hl_group = 'BreadBoardPlace', hl_mode = 'combine' }
        vim.api.nvim_buf_set_extmark(chat.buffer, space, row, place.first - 1, marked)
      end
    end
    chat.rewritten = chat.rewritten + #hunk.lines
  end
  vim.bo[chat.buffer].modifiable = false
  put_beside(chat, drawing.beside)
  looks.paint(chat, drawing.coloured, new, hunks)
  chat.shown = new
  chat.redraws = chat.redraws + 1
  for _, window in ipairs(following) do
    -- At its end: a paragraph is one line, and may be longer than the window.
    vim.api.nvim_win_set_cursor(window, { #new, #new[#new] })
  end
end

---@param chat breadboard.Chat
local function want(chat)
  if chat.due then
    return
  end
  chat.due = true
  local rest = chat.last + FRAME - vim.uv.hrtime() / 1e6
  chat.timer:start(
    math.max(0, math.ceil(rest)),
    0,
    vim.schedule_wrap(function()
      draw(chat)
    end)
  )
end

local function want_session(session)
  for _, chat in pairs(chats) do
    if chat.session == session then
      want(chat)
    end
  end
end

store.on('view', want_session)
store.on('notice', want_session)
store.on('state', function()
  for _, chat in pairs(chats) do
    want(chat)
  end
  if next(chats) then
    vim.cmd('silent! redrawstatus!') -- and the bars above the chats
  end
end)

---@param buffer integer
local function map_keys(buffer)
  local function map(key, command, what)
    vim.keymap.set('n', key, command, { buffer = buffer, desc = 'BreadBoard: ' .. what })
  end
  map('<CR>', function()
    require('breadboard.command').act()
  end, 'answer the approval, show the diff or go to the place under the cursor')
  map('K', function()
    require('breadboard.body').show()
  end, 'show the whole event behind the block')
  map('<2-LeftMouse>', function()
    require('breadboard.command').act()
  end, 'the same as <CR>')
  map('gf', function()
    require('breadboard.files').go()
  end, 'go to the file (and line) under the cursor')
  map('i', function()
    require('breadboard.prompt').open()
  end, 'write a prompt')
end

---@param session string
---@param lane string
---@return breadboard.Chat
local function make(session, lane)
  looks.define()
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, ('breadboard://%s/%s'):format(lane, session))
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = 'breadboard'
  -- The parser may not be installed; the old syntax file always is.
  if not pcall(vim.treesitter.start, buffer, 'markdown') then
    vim.bo[buffer].syntax = 'markdown'
  end
  map_keys(buffer)
  local chat = {
    buffer = buffer,
    session = session,
    lane = lane,
    shown = { '' },
    owners = {},
    beside = {},
    coloured = {},
    timer = assert(vim.uv.new_timer()),
    due = false,
    last = 0,
    redraws = 0,
    rewritten = 0,
  }
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buffer,
    once = true,
    callback = function()
      chats[lane .. '/' .. session] = nil
      chat.timer:stop()
      chat.timer:close()
    end,
  })
  return chat
end

--- The chat of a session, made if need be.
---@param session string
---@param lane? string `chat` when absent
---@return breadboard.Chat
function M.of(session, lane)
  lane = lane or 'chat'
  local key = lane .. '/' .. session
  local chat = chats[key]
  if not chat then
    chat = make(session, lane)
    chats[key] = chat
    want(chat)
  end
  return chat
end

--- The window on this tab page that shows a chat.
---@return integer?
function M.window()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.bo[vim.api.nvim_win_get_buf(window)].filetype == 'breadboard' then
      return window
    end
  end
end

---@param window integer
local function dress(window)
  local options = {
    wrap = true,
    linebreak = true,
    smoothscroll = true, -- a paragraph is one line, and may be longer than the window
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldmethod = 'expr',
    foldexpr = "v:lua.require'breadboard.render'.fold_level(getline(v:lnum))",
    foldtext = '',
    foldenable = true,
    foldlevel = config.current.folds == 'closed' and 0 or 1,
    conceallevel = 0,
    winbar = "%{v:lua.require'breadboard.chat'.bar()}",
  }
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
end

--- What stands above a chat: the session, its agent, and how it is.
---@return string
function M.bar()
  local chat = M.by_buffer(vim.api.nvim_get_current_buf())
  local summary = chat and store.summary(chat.session)
  if not chat or not summary then
    return ''
  end
  local parts = { summary.title or 'New session' }
  if summary.agent then
    local mode = info.mode(chat.session)
    table.insert(parts, summary.agent .. (mode and (' (%s)'):format(mode) or ''))
  end
  table.insert(parts, summary.heldBy and 'in another window' or summary.status or 'idle')
  if chat.lane ~= 'chat' then
    table.insert(parts, chat.lane)
  end
  return (table.concat(parts, ' · '):gsub('%c', ' '))
end

--- Shows a session, in the window that shows one already or in a new one. The cursor stays where it is.
---@param session string
---@param lane? string
---@return integer window
function M.show(session, lane)
  local chat = M.of(session, lane)
  local window = M.window()
  if window then
    vim.api.nvim_win_set_buf(window, chat.buffer)
  else
    local size = config.current.size
    local right = config.current.position == 'right' and (size ~= nil or vim.o.columns >= SIDE_BY_SIDE)
    window = vim.api.nvim_open_win(chat.buffer, false, {
      split = right and 'right' or 'below',
      win = -1,
      width = right and (size or math.floor(vim.o.columns * 0.45)) or nil,
      height = not right and (size or math.floor(vim.o.lines * 0.4)) or nil,
    })
  end
  dress(window)
  vim.api.nvim_win_set_cursor(window, { #chat.shown, #chat.shown[#chat.shown] })
  return window
end

--- The chat whose buffer this is.
---@param buffer integer
---@return breadboard.Chat?
function M.by_buffer(buffer)
  for _, chat in pairs(chats) do
    if chat.buffer == buffer then
      return chat
    end
  end
end

--- The block under the cursor of the current window, when it shows a chat.
---@return breadboard.Block?
---@return string? session
function M.block_at_cursor()
  local chat = M.by_buffer(vim.api.nvim_get_current_buf())
  if chat then
    return chat.owners[vim.api.nvim_win_get_cursor(0)[1]], chat.session
  end
end

--- Takes the buffers of a session away.
---@param session string
function M.close(session)
  for _, chat in pairs(vim.tbl_values(chats)) do
    if chat.session == session then
      vim.api.nvim_buf_delete(chat.buffer, { force = true })
    end
  end
end

return M
