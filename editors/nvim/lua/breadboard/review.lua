--- An edit that waits, reviewed in the buffers of its files, where marks show it and keys decide. Owns what was chosen, one edit at
--- a time, and takes all of it back when it was answered, by whomever, or left. Writes nothing: the server does, once all of it
--- is decided and sent.

local choices = require('breadboard.review_choices')
local client = require('breadboard.client')
local code_window = require('breadboard.code_window')
local diff = require('breadboard.diff')
local hunk_place = require('breadboard.hunk_place')
local hunks = require('breadboard.hunks')
local keys = require('breadboard.review_keys')
local looks = require('breadboard.looks')
local marks = require('breadboard.review_marks')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')
local tall_change = require('breadboard.tall_change')
local waiting_edits = require('breadboard.waiting_edits')

local M = {}

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

---@param text string
local function say(text)
  vim.api.nvim_echo({ { text, 'WarningMsg' } }, false, {})
end

local function draw_all()
  for _, of in ipairs(review and review.files or {}) do
    marks.draw(review, of)
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

---@param id string
local function go_to(id)
  for _, of in ipairs(review.files) do
    for _, one in ipairs(of.placed) do
      if one.id == id then
        marks.show(of, one)
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
    go_to(review.all[(choices.number_of(review, one.id) - 1 + by) % #review.all + 1])
  end
end

--- On to the next change that is to be decided; where all are, what can be done now.
---@param id string
local function go_on(id)
  local from = choices.number_of(review, id)
  for step = 1, #review.all do
    local next_id = review.all[(from - 1 + step) % #review.all + 1]
    if review.choices[next_id] == nil then
      go_to(next_id)
      return
    end
  end
  say(('All is decided. gh<CR>: %s.'):format(choices.sending(review)))
end

--- A change that is taller than the window is decided where it is read to its end.
---@param one breadboard.Placed
local function read_tall(one)
  local of = assert(here())
  local title = ('%s, change %d of %d'):format(of.path, choices.number_of(review, one.id), #review.all)
  tall_change.read(title, of.file.hunks, one.id, function(accepted)
    if review then
      review.choices[one.id] = accepted
      draw_all()
      go_on(one.id)
    end
  end)
end

--- Whether a change may be accepted now; where not, why is said, or all of it shown.
---@param one breadboard.Placed
---@return boolean
local function may_accept(one)
  if not one.fits then
    say('The file has changed where this belongs; undo that, or reject the change.')
    return false
  elseif marks.height(one) > vim.api.nvim_win_get_height(0) - 1 then
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
      if choice and (not one.fits or marks.height(one) > vim.api.nvim_win_get_height(0) - 1) then
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
  local left = choices.counts(review)
  if left > 0 then
    for _, id in ipairs(review.all) do
      if review.choices[id] == nil then
        go_to(id)
        break
      end
    end
    say(('%s first.'):format(choices.sending(review)))
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
  ['gh?'] = keys.help,
}

---@param of breadboard.ReviewFile
local function map(of)
  local acts = {}
  for key, act in pairs(KEYS) do
    acts[key] = function()
      if review then
        act()
      end
    end
  end
  of.saved = keys.set(of.buffer, acts)
end

---@param of breadboard.ReviewFile
local function unmap(of)
  if not vim.api.nvim_buf_is_loaded(of.buffer) then
    return
  end
  marks.clear(of.buffer)
  keys.unset(of.buffer, KEYS, of.saved)
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

---@param session string
---@param permission table
---@param patch table
local function begin(session, permission, patch)
  M.close()
  looks.define()
  local root = client.root() or vim.fn.getcwd()
  review =
    { session = session, permission = permission, patch = patch, choices = {}, all = {}, files = {}, tabs = {}, due = false }
  code_window.enter()
  for _, file in ipairs(patch.files) do
    local path = root .. '/' .. hunk_place.reveal(file.filePath)
    local known = vim.fn.bufnr(vim.fn.fnameescape(path)) ~= -1
    local buffer = vim.fn.bufadd(path)
    vim.fn.bufload(buffer)
    vim.bo[buffer].buflisted = true
    local of = { file = file, path = path, buffer = buffer, made = not known, placed = {}, saved = {} }
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
  waiting_edits.choose(M.open)
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
