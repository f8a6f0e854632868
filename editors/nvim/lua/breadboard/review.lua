--- An edit that waits, reviewed in the buffers of its files: what goes is marked where it stands, what comes stands below it
--- as virtual lines, and keys decide. Owns these marks and keys, one edit at a time, and takes all of them back when it was
--- answered, by whomever, or left. Writes nothing: the server does, once all of it is decided and sent.

local client = require('breadboard.client')
local diff = require('breadboard.diff')
local float = require('breadboard.float')
local hunk_place = require('breadboard.hunk_place')
local hunks = require('breadboard.hunks')
local looks = require('breadboard.looks')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

local space = vim.api.nvim_create_namespace('breadboard.review')
local group = vim.api.nvim_create_augroup('breadboard_review', { clear = true })

---@class breadboard.ReviewFile
---@field file table as the server has it
---@field path string
---@field buffer integer
---@field made boolean the buffer was made for this review
---@field placed breadboard.Placed[]
---@field saved table[] what the keys did before

---@class breadboard.Review
---@field session string
---@field permission table
---@field patch table
---@field choices table<string, boolean>
---@field all string[] the changes in their order
---@field files breadboard.ReviewFile[]
---@field tabs integer[] tab pages with comparisons
---@field due boolean

---@type breadboard.Review?
local review

local HELP = {
  { ']h', 'the next change' },
  { '[h', 'the change before' },
  { 'ghy', 'accept this change' },
  { 'ghn', 'reject it' },
  { 'ghu', 'decide anew on it' },
  { 'gha', 'accept all further changes of the file' },
  { 'ghd', 'reject all further changes of the file' },
  { 'ghv', 'view the file side by side, in a tab of its own' },
  { 'gh<CR>', 'send what was decided; the files are changed then' },
  { 'ghq', 'leave the edit waiting' },
  { 'gh?', 'show this list' },
}

---@param text string
local function say(text)
  vim.api.nvim_echo({ { text, 'WarningMsg' } }, false, {})
end

---@return integer left, integer accepted
local function counts()
  local left, accepted = 0, 0
  for _, id in ipairs(review.all) do
    left = left + (review.choices[id] == nil and 1 or 0)
    accepted = accepted + (review.choices[id] and 1 or 0)
  end
  return left, accepted
end

--- What sending does, in words.
---@return string
local function sending()
  local left, accepted = counts()
  local all = #review.all
  if left > 0 then
    return ('%d of %d changes to decide'):format(left, all)
  elseif accepted == 0 then
    return all == 1 and 'reject the change' or ('reject all %d changes'):format(all)
  elseif accepted == all then
    return all == 1 and 'accept the change' or ('accept all %d changes'):format(all)
  end
  return ('accept %d of %d changes'):format(accepted, all)
end

---@param id string
---@return integer
local function number_of(id)
  for number, one in ipairs(review.all) do
    if one == id then
      return number
    end
  end
  return 0
end

--- The line above a change.
---@param one breadboard.Placed
---@return table[] chunks
local function head(one)
  local choice = review.choices[one.id]
  local state = choice == nil and 'ghy accepts, ghn rejects' or (choice and 'accepted' or 'rejected') .. ', ghu decides anew'
  if choice == nil and not one.fits then
    state = 'the file has changed here, so it does not fit; ghn rejects'
  end
  return {
    { ('── change %d of %d: '):format(number_of(one.id), #review.all), 'BreadBoardHead' },
    { state, one.fits and 'BreadBoardHead' or 'BreadBoardAsk' },
    { ' (]h next, gh? all keys)', 'BreadBoardHead' },
  }
end

---@param sign string
---@param text string
---@param highlight string
---@return table[] chunks
local function virtual(sign, text, highlight)
  -- Filled up, so that its colour reaches as far as that of a line of the buffer.
  local width = math.max(0, vim.o.columns - vim.api.nvim_strwidth(text) - 2)
  return { { sign .. ' ' .. text .. (' '):rep(width), highlight } }
end

---@param buffer integer
---@param row integer before which it stands; one behind the last line means below it
---@param lines table[]
local function put(buffer, row, lines)
  local last = vim.api.nvim_buf_line_count(buffer)
  local above = row == 0
  vim.api.nvim_buf_set_extmark(buffer, space, above and 0 or math.min(row, last) - 1, 0, {
    virt_lines = lines,
    virt_lines_above = above,
    -- Of two at one place, what goes is told before what comes.
    priority = 100,
  })
end

---@param of breadboard.ReviewFile
local function draw(of)
  if not vim.api.nvim_buf_is_loaded(of.buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(of.buffer, space, 0, -1)
  of.placed = hunk_place.place(vim.api.nvim_buf_get_lines(of.buffer, 0, -1, false), of.file.hunks)
  for _, one in ipairs(of.placed) do
    local choice = review.choices[one.id]
    local goes = choice == true and 'BreadBoardSettled' or 'DiffDelete'
    local comes = choice == false and 'BreadBoardSettled' or 'DiffAdd'
    if not one.fits then
      local lines = { head(one) }
      for _, text in ipairs(one.old) do
        table.insert(lines, virtual('-', text, goes))
      end
      for _, text in ipairs(one.new) do
        table.insert(lines, virtual('+', text, comes))
      end
      put(of.buffer, one.first, lines)
    else
      local begins = { [one.first] = { head(one) } }
      for row, texts in pairs(one.added) do
        begins[row] = begins[row] or {}
        for _, text in ipairs(texts) do
          table.insert(begins[row], virtual('+', text, comes))
        end
      end
      for _, row in ipairs(one.removed) do
        vim.api.nvim_buf_set_extmark(of.buffer, space, row, 0, {
          line_hl_group = goes,
          sign_text = '-',
          sign_hl_group = 'DiffDelete',
          priority = 100,
        })
      end
      for row, lines in pairs(begins) do
        put(of.buffer, row, lines)
      end
    end
  end
end

local function draw_all()
  for _, of in ipairs(review and review.files or {}) do
    draw(of)
  end
end

--- Draws once more when what was typed is done.
local function draw_soon()
  if review and not review.due then
    review.due = true
    vim.schedule(function()
      if review then
        review.due = false
        draw_all()
      end
    end)
  end
end

--- The file of the current buffer.
---@return breadboard.ReviewFile?
local function here()
  local buffer = vim.api.nvim_get_current_buf()
  for _, of in ipairs(review and review.files or {}) do
    if of.buffer == buffer then
      return of
    end
  end
end

--- The change at the cursor: the one that is not over before it, else the last.
---@param of breadboard.ReviewFile
---@return breadboard.Placed?
local function at_cursor(of)
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for _, one in ipairs(of.placed) do
    if row < math.max(one.last, one.first + 1) then
      return one
    end
  end
  return of.placed[#of.placed]
end

---@param one breadboard.Placed
---@return integer
local function height(one)
  return 1 + #one.old + #one.new
end

--- Puts a change on the screen, its head at the top where all of it is much.
---@param of breadboard.ReviewFile
---@param one breadboard.Placed
local function show(of, one)
  if vim.api.nvim_get_current_buf() ~= of.buffer then
    vim.api.nvim_win_set_buf(0, of.buffer)
  end
  local count = vim.api.nvim_buf_line_count(of.buffer)
  local row = math.max(1, math.min(one.first + 1, count))
  vim.api.nvim_win_set_cursor(0, { row, 0 })
  vim.cmd('normal! zv')
  local room = vim.api.nvim_win_get_height(0)
  local top = math.max(1, row - math.max(0, math.floor((room - height(one)) / 2)))
  -- What stands above a line is part of the screen only when it is asked for.
  vim.fn.winrestview({ topline = top, topfill = top == row and 1 + (one.removed[1] == one.first and 0 or #one.new) or 0 })
end

---@param id string
local function go_to(id)
  for _, of in ipairs(review.files) do
    for _, one in ipairs(of.placed) do
      if one.id == id then
        show(of, one)
        return
      end
    end
  end
end

---@param by integer
local function move(by)
  local of = here()
  local one = of and at_cursor(of)
  if one then
    go_to(review.all[(number_of(one.id) - 1 + by) % #review.all + 1])
  end
end

--- On to the next change that is to be decided; where all are, what can be done now.
---@param id string
local function go_on(id)
  local from = number_of(id)
  for step = 1, #review.all do
    local next_id = review.all[(from - 1 + step) % #review.all + 1]
    if review.choices[next_id] == nil then
      go_to(next_id)
      return
    end
  end
  say(('All is decided. gh<CR>: %s.'):format(sending()))
end

--- A change that is taller than the window is read to its end in one of its own, and accepted there.
---@param one breadboard.Placed
local function read_tall(one)
  local of = assert(here())
  local lines = { ('%s, change %d of %d'):format(of.path, number_of(one.id), #review.all) }
  for _, hunk in ipairs(of.file.hunks) do
    if hunk.id == one.id then
      vim.list_extend(lines, vim.split((hunk.content:gsub('\n$', '')), '\n', { plain = true }))
    end
  end
  local content = #lines
  vim.list_extend(lines, { '', '[y] Accept', '[n] Reject', '[q] Leave it undecided' })
  local shown = float.open('A tall change', lines, {
    filetype = 'diff',
    enter = true,
    enter_tall = 'A tall change: read to the end, then answer',
  })
  local function on(key, accepted)
    vim.keymap.set('n', key, function()
      if accepted and vim.fn.line('w$', shown.window) < content then
        say('Read it to the end first (G).')
        return
      end
      shown.close()
      if review then
        review.choices[one.id] = accepted
        draw_all()
        go_on(one.id)
      end
    end, { buffer = shown.buffer, nowait = true, desc = 'BreadBoard: decide on this change' })
  end
  on('y', true)
  on('n', false)
end

--- Whether a change may be accepted now; where not, why is said, or all of it shown.
---@param one breadboard.Placed
---@return boolean
local function may_accept(one)
  if not one.fits then
    say('The file has changed where this belongs; undo that, or reject the change.')
    return false
  elseif height(one) > vim.api.nvim_win_get_height(0) - 1 then
    read_tall(one)
    return false
  end
  local count = vim.api.nvim_buf_line_count(0)
  if vim.fn.line('w0') > one.first + 1 or vim.fn.line('w$') < math.min(one.last + 1, count) then
    go_to(one.id)
    say('Look at all of the change first, then accept it.')
    return false
  end
  return true
end

---@param choice boolean?
local function decide(choice)
  local of = here()
  local one = of and at_cursor(of)
  if not one or (choice and not may_accept(one)) then
    return
  end
  review.choices[one.id] = choice
  draw_all()
  if choice ~= nil then
    go_on(one.id)
  end
end

--- Decides on every change of the file from the cursor on that has no answer.
---@param choice boolean
local function decide_rest(choice)
  local of = here()
  local from = of and at_cursor(of)
  if not of or not from then
    return
  end
  local begun = false
  for _, one in ipairs(of.placed) do
    begun = begun or one.id == from.id
    if begun and review.choices[one.id] == nil then
      if choice and (not one.fits or height(one) > vim.api.nvim_win_get_height(0) - 1) then
        go_to(one.id)
        may_accept(one)
        return
      end
      review.choices[one.id] = choice
    end
  end
  draw_all()
  go_on(of.placed[#of.placed].id)
end

local function send()
  local left = counts()
  if left > 0 then
    for _, id in ipairs(review.all) do
      if review.choices[id] == nil then
        go_to(id)
        break
      end
    end
    say(('%s first.'):format(sending()))
    return
  end
  local of = review
  local decided = vim.tbl_map(function(id)
    return { id = id, accepted = of.choices[id] }
  end, of.all)
  hunks.send(of.session, of.patch, decided, function()
    M.close()
  end)
end

local function view()
  local of = here()
  if of then
    local mine = review
    diff.show(review.session, of.file.filePath, 'buffer', 'patch:' .. review.patch.patchId, function()
      table.insert(mine.tabs, vim.api.nvim_get_current_tabpage())
    end)
  end
end

local function help()
  local lines = vim.tbl_map(function(key)
    return ('%-7s %s'):format(key[1], key[2])
  end, HELP)
  float.open('Review', lines, { enter = true })
end

local KEYS = {
  [']h'] = function()
    move(1)
  end,
  ['[h'] = function()
    move(-1)
  end,
  ghy = function()
    decide(true)
  end,
  ghn = function()
    decide(false)
  end,
  ghu = function()
    decide(nil)
  end,
  gha = function()
    decide_rest(true)
  end,
  ghd = function()
    decide_rest(false)
  end,
  ghv = view,
  ['gh<CR>'] = send,
  ghq = function()
    M.close()
  end,
  ['gh?'] = help,
}

---@param of breadboard.ReviewFile
local function map(of)
  vim.api.nvim_buf_call(of.buffer, function()
    for key, act in pairs(KEYS) do
      local before = vim.fn.maparg(key, 'n', false, true)
      if before.buffer == 1 then
        table.insert(of.saved, before)
      end
      vim.keymap.set('n', key, function()
        if review then
          act()
        end
      end, { buffer = of.buffer, desc = 'BreadBoard: review of a proposed edit' })
    end
  end)
end

---@param of breadboard.ReviewFile
local function unmap(of)
  if not vim.api.nvim_buf_is_loaded(of.buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(of.buffer, space, 0, -1)
  for key in pairs(KEYS) do
    pcall(vim.keymap.del, 'n', key, { buffer = of.buffer })
  end
  vim.api.nvim_buf_call(of.buffer, function()
    for _, before in ipairs(of.saved) do
      vim.fn.mapset('n', false, before)
    end
  end)
  -- One that was made for a file which was not made after all.
  local is_empty = not vim.bo[of.buffer].modified and not vim.uv.fs_stat(of.path)
  if of.made and is_empty and vim.api.nvim_buf_line_count(of.buffer) == 1 then
    vim.api.nvim_buf_delete(of.buffer, { force = true })
  end
end

--- Takes every mark, key, window and buffer of the review back. What was chosen is forgotten, and the edit waits on.
function M.close()
  local of = review
  if not of then
    return
  end
  review = nil
  vim.api.nvim_clear_autocmds({ group = group })
  vim.tbl_map(unmap, of.files)
  for _, tab in ipairs(of.tabs) do
    if vim.api.nvim_tabpage_is_valid(tab) and #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd(('silent! tabclose %d'):format(vim.api.nvim_tabpage_get_number(tab)))
    end
  end
end

--- The edit that is reviewed, for tests and the status line.
---@return breadboard.Review?
function M.current()
  return review
end

--- A window for code: the last one, or one beside the chat.
local function leave_chat()
  if vim.api.nvim_win_get_config(0).relative ~= '' then
    vim.cmd('wincmd p')
  end
  local function is_ours()
    local filetype = vim.bo.filetype
    return filetype == 'breadboard' or filetype == 'breadboard-prompt' or vim.bo.buftype ~= ''
  end
  if is_ours() then
    vim.cmd('wincmd p')
  end
  if is_ours() then
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      vim.api.nvim_set_current_win(window)
      if not is_ours() and vim.api.nvim_win_get_config(window).relative == '' then
        return
      end
    end
    vim.cmd('topleft vertical new')
  end
end

---@param session string
---@param permission table
---@param patch table
local function begin(session, permission, patch)
  M.close()
  looks.define()
  local root = client.root() or vim.fn.getcwd()
  review =
    { session = session, permission = permission, patch = patch, choices = {}, all = {}, files = {}, tabs = {}, due = false }
  leave_chat()
  for _, file in ipairs(patch.files) do
    local path = root .. '/' .. hunk_place.reveal(file.filePath)
    local known = vim.fn.bufnr(vim.fn.fnameescape(path)) ~= -1
    local buffer = vim.fn.bufadd(path)
    vim.fn.bufload(buffer)
    vim.bo[buffer].buflisted = true
    local of = { file = file, path = file.filePath, buffer = buffer, made = not known, placed = {}, saved = {} }
    of.path = path
    table.insert(review.files, of)
    for _, hunk in ipairs(file.hunks) do
      table.insert(review.all, hunk.id)
      if hunk.state == 'accepted' or hunk.state == 'rejected' then
        review.choices[hunk.id] = hunk.state == 'accepted'
      end
    end
    map(of)
    vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'BufReadPost' }, {
      group = group,
      buffer = buffer,
      callback = draw_soon,
    })
    vim.api.nvim_create_autocmd({ 'BufUnload' }, {
      group = group,
      buffer = buffer,
      callback = function()
        -- Without its buffer nobody sees what he decides on.
        vim.schedule(M.close)
      end,
    })
  end
  draw_all()
  go_on(review.all[#review.all])
end

--- Reviews an edit in the buffers of its files.
---@param session string
---@param permission table
---@param callback? fun()
function M.open(session, permission, callback)
  if not vim.api.nvim_buf_set_extmark or vim.fn.has('nvim-0.10') == 0 then
    store.say(session, 'info', 'This Neovim is too old to review in the file; decide change by change instead.')
    return
  end
  client.request('bb/patch/get', { sessionId = session, patchId = permission.patchId }, function(err, result)
    if err then
      sessions.refuse(err, session)
    elseif result.patch.digest ~= permission.digest then
      store.say(session, 'warning', 'This edit is another one by now; look at it again.')
    elseif result.patch.status ~= 'pending' then
      store.say(session, 'info', 'This edit waits for no answer any more.')
    else
      begin(session, permission, result.patch)
      if callback then
        callback()
      end
    end
  end)
end

--- Reviews the edit that waits, or the one that is picked.
function M.choose()
  local waiting = vim.tbl_filter(function(one)
    return hunks.count(one.block.permission) > 0
  end, store.all_pending())
  local function open(one)
    if one then
      M.open(one.session, one.block.permission)
    end
  end
  if #waiting == 0 then
    store.say(nil, 'info', 'No proposed edit waits that can be decided change by change.')
  elseif #waiting == 1 then
    open(waiting[1])
  else
    vim.ui.select(waiting, {
      prompt = 'Which one?',
      format_item = function(one)
        return vim.split(one.block.permission.title, '\n')[1]
      end,
    }, open)
  end
end

--- Ends the review of what waits no more.
local function look()
  if not review then
    return
  end
  for _, block in ipairs(store.pending(review.session)) do
    if block.permission.requestId == review.permission.requestId then
      return
    end
  end
  vim.schedule(M.close)
end

store.on('view', function(session)
  if review and session == review.session then
    look()
  end
end)
store.on('state', look)
client.on_exit(function()
  M.close()
end)

return M
