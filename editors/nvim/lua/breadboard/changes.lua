--- What a turn changed in the files, whoever wrote it: a list in a buffer of its own, marks of what was read, and taking it
--- back. Owns the list and that nothing is taken back before what that does was shown and said yes to. Writes nothing: the
--- server does, and leaves alone what somebody changed since.

local client = require('breadboard.client')
local float = require('breadboard.float')
local hunk_place = require('breadboard.hunk_place')
local looks = require('breadboard.looks')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

local STATE = {
  as_left = 'as it was left',
  moved_on = 'changed since',
  reverted = 'taken back',
  partly = 'taken back in part',
}
local BY = { engine = 'the agent itself', server = 'allowed here' }
local MARK = { open = '[ ]', reviewed = '[r]', kept = '[k]' }
local NEEDS = 'bb/turn/changes'

---@class breadboard.ChangesList
---@field session string
---@field buffer integer
---@field result table
---@field open table<string, boolean> files whose changes are shown
---@field owners table<integer, { file: table, hunk?: table }>
---@field told? table the block of the chat that this was read for

---@type table<integer, breadboard.ChangesList> by buffer
local lists = {}

---@param file table
---@return string
local function name_of(file)
  return file.root and (file.root .. '/' .. file.filePath) or file.filePath
end

---@param count integer
---@param noun string
---@return string
local function counted(count, noun)
  return ('%d %s%s'):format(count, noun, count == 1 and '' or 's')
end

--- The list as lines, and what each line is about.
---@param list { result: table, open: table<string, boolean> }
---@return string[] lines
---@return table<integer, { file: table, hunk?: table }> owners
function M.lines(list)
  local result, lines, owners = list.result, {}, {}
  local added, removed = 0, 0
  for _, file in ipairs(result.files) do
    added, removed = added + file.added, removed + file.removed
  end
  local what = result.kind == 'revert' and 'Taking back changed' or 'This turn changed'
  lines[1] = ('%s %s +%d −%d%s'):format(
    what,
    counted(#result.files, 'file'),
    added,
    removed,
    result.running and ' so far; it still runs' or ''
  )
  lines[2] = '<CR> opens, = shows the changes, r read, K keep, u take back (U all of it), R reads anew, q closes'
  lines[3] = ''
  for _, file in ipairs(result.files) do
    local from = file.oldPath and (file.oldPath .. ' → ') or ''
    lines[#lines + 1] = ('%s %s %s%s +%d −%d (%s; %s)'):format(
      MARK[file.review] or '[ ]',
      file.change,
      from,
      name_of(file),
      file.added,
      file.removed,
      BY[file.by] or file.by,
      STATE[file.state] or file.state
    )
    owners[#lines] = { file = file }
    if file.message then
      lines[#lines + 1] = '    ' .. file.message
      owners[#lines] = { file = file }
    end
    for _, hunk in ipairs(list.open[name_of(file)] and file.hunks or {}) do
      local head = ('  %s @@ -%d,%d +%d,%d @@ %s'):format(
        MARK[hunk.review] or '[ ]',
        hunk.oldStart,
        hunk.oldLines,
        hunk.newStart,
        hunk.newLines,
        hunk.state == 'as_left' and '' or STATE[hunk.state] or hunk.state
      )
      lines[#lines + 1] = (head:gsub('%s+$', ''))
      owners[#lines] = { file = file, hunk = hunk }
      for _, line in ipairs(vim.split((hunk.content:gsub('\n$', '')), '\n', { plain = true })) do
        lines[#lines + 1] = '  │ ' .. line
        owners[#lines] = { file = file, hunk = hunk }
      end
    end
  end
  if #result.uncovered > 0 then
    vim.list_extend(lines, { '', 'Cannot be taken back:' })
    for _, one in ipairs(result.uncovered) do
      local which = one.filePath and name_of(one) or counted(one.files or 1, 'file')
      lines[#lines + 1] = ('  %s: %s'):format(which, one.message)
    end
  end
  for at, line in ipairs(lines) do
    lines[at] = line:gsub('\n', ' ')
  end
  return lines, owners
end

---@param list breadboard.ChangesList
local function draw(list)
  if not vim.api.nvim_buf_is_valid(list.buffer) then
    return
  end
  local lines, owners = M.lines(list)
  list.owners = owners
  vim.bo[list.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(list.buffer, 0, -1, false, lines)
  vim.bo[list.buffer].modifiable = false
  vim.bo[list.buffer].modified = false
  local space = vim.api.nvim_create_namespace('breadboard.changes')
  vim.api.nvim_buf_clear_namespace(list.buffer, space, 0, -1)
  local group_of = { ['+'] = 'BreadBoardAdded', ['-'] = 'BreadBoardRemoved', [' '] = 'BreadBoardBody' }
  for at, line in ipairs(lines) do
    local sign = line:match('^  │ (.)')
    local group = at <= 2 and 'BreadBoardHead' or sign and group_of[sign] or line:find('^  %[.%] @@') and 'BreadBoardHead'
    if group then
      vim.api.nvim_buf_set_extmark(list.buffer, space, at - 1, 0, { end_col = #line, hl_group = group })
    end
  end
end

---@param session string
---@param turn? integer
---@param callback fun(result: table)
local function read(session, turn, callback)
  client.request('bb/turn/changes', { sessionId = session, turn = turn }, function(err, result)
    if err then
      sessions.refuse(err, session)
    else
      callback(result)
    end
  end)
end

---@param list breadboard.ChangesList
---@param callback? fun()
local function read_again(list, callback)
  read(list.session, list.result.turn, function(result)
    if not lists[list.buffer] then
      return
    end
    list.result = result
    local row = vim.fn.bufwinid(list.buffer)
    local at = row ~= -1 and vim.api.nvim_win_get_cursor(row) or nil
    draw(list)
    if at then
      local last = vim.api.nvim_buf_line_count(list.buffer)
      vim.api.nvim_win_set_cursor(row, { math.min(at[1], last), at[2] })
    end
    if callback then
      callback()
    end
  end)
end

---@param of { file?: table, hunk?: table }
---@return table
local function meant(session, turn, of)
  local hunks = of.hunk and { of.hunk.id } or nil
  local file = of.file or {}
  return { sessionId = session, turn = turn, filePath = file.filePath, root = file.root, hunks = hunks }
end

--- What taking back would do, or did.
---@param result table
---@return string[]
function M.preview(result)
  local lines = {}
  for _, file in ipairs(result.files) do
    if #lines > 0 then
      table.insert(lines, '')
    end
    local kept = file.kept and file.kept > 0 and (', %s kept'):format(counted(file.kept, 'change')) or ''
    local open = file.open and ', in the buffer' or ''
    if file.outcome == 'reverted' then
      local to = file.oldPath and (' → ' .. file.oldPath) or ''
      table.insert(
        lines,
        ('%s %s%s +%d −%d%s%s'):format(file.change or 'modify', name_of(file), to, file.added, file.removed, open, kept)
      )
    elseif file.outcome == 'unchanged' then
      table.insert(lines, ('%s: nothing to take back%s'):format(name_of(file), kept))
    else
      table.insert(lines, ('%s is left as it is: %s'):format(name_of(file), file.message or 'it changed since'))
    end
    vim.list_extend(lines, file.diff and vim.split((file.diff:gsub('\n$', '')), '\n', { plain = true }) or {})
    for _, conflict in ipairs(file.conflicts or {}) do
      table.insert(lines, ('line %d, yours:'):format(conflict.line))
      for _, line in ipairs(vim.split((conflict.yours:gsub('\n$', '')), '\n', { plain = true })) do
        table.insert(lines, '  ' .. line)
      end
      table.insert(lines, 'what would stand there:')
      for _, line in ipairs(vim.split((conflict.theirs:gsub('\n$', '')), '\n', { plain = true })) do
        table.insert(lines, '  ' .. line)
      end
    end
  end
  return lines
end

---@param session string
---@param result table
local function tell(session, result)
  local back, left = 0, {}
  for _, file in ipairs(result.files) do
    back = back + (file.outcome == 'reverted' and 1 or 0)
    if file.outcome == 'conflict' then
      table.insert(left, ('%s was left as it is: %s'):format(name_of(file), file.message or ''))
    end
  end
  for _, text in ipairs(left) do
    store.say(session, 'warning', text)
  end
  if back > 0 then
    local undo = result.undo and ('; :BreadBoard undo %d makes it again'):format(result.undo) or ''
    store.say(session, 'info', ('%s taken back%s.'):format(counted(back, 'file'), undo))
  elseif #left == 0 then
    store.say(session, 'info', 'There was nothing to take back.')
  end
end

--- Takes back a turn, a file or a change of it: shows what that does, asks, and says what came of it.
---@param session string
---@param turn integer
---@param of { file?: table, hunk?: table }
---@param callback? fun()
local function take_back(session, turn, of, callback)
  local params = meant(session, turn, of)
  client.request('bb/turn/revert', vim.tbl_extend('force', params, { preview = true }), function(err, preview)
    if err then
      sessions.refuse(err, session)
      return
    end
    local lines = M.preview(preview)
    local content = #lines
    local does = false
    for _, file in ipairs(preview.files) do
      does = does or file.outcome == 'reverted'
    end
    vim.list_extend(lines, does and { '', '[y] Take it back', '[q] Leave it' } or { '', 'Nothing can be taken back.', '[q] Close' })
    local shown = float.open('Taking back does this', lines, {
      filetype = 'diff',
      enter = true,
      enter_tall = 'Taking back does this: read to the end, then answer',
    })
    if not does then
      return
    end
    vim.keymap.set('n', 'y', function()
      if vim.fn.line('w$', shown.window) < content then
        vim.api.nvim_echo({ { 'Read it to the end first (G).', 'WarningMsg' } }, false, {})
        return
      end
      shown.close()
      client.request('bb/turn/revert', params, function(refused, result)
        if refused then
          sessions.refuse(refused, session)
        else
          tell(session, result)
        end
        if callback then
          callback()
        end
      end)
    end, { buffer = shown.buffer, nowait = true, desc = 'BreadBoard: take it back' })
  end)
end

---@return breadboard.ChangesList?
---@return { file: table, hunk?: table }?
local function here()
  local list = lists[vim.api.nvim_get_current_buf()]
  return list, list and list.owners[vim.api.nvim_win_get_cursor(0)[1]]
end

--- Marks the file or the change at the cursor, or takes the mark off again.
---@param mark 'reviewed'|'kept'
local function toggle(mark)
  local list, of = here()
  if not list or not of then
    return
  end
  local now = (of.hunk or of.file).review
  local params = meant(list.session, list.result.turn, of)
  params.mark = now == mark and 'open' or mark
  client.request('bb/turn/review', params, function(err)
    if err then
      sessions.refuse(err, list.session)
    else
      read_again(list)
    end
  end)
end

--- Opens the file at the cursor at its change, in a window for code.
local function open_file()
  local list, of = here()
  if not list or not of or of.file.change == 'delete' then
    return
  end
  local hunk = of.hunk or of.file.hunks[1] or {}
  local line = hunk.at and hunk.at.startLine or hunk.newStart or 1
  vim.cmd('wincmd p')
  if vim.bo.buftype ~= '' then
    vim.cmd('topleft new')
  end
  vim.cmd('edit ' .. vim.fn.fnameescape((client.root() or '.') .. '/' .. hunk_place.reveal(of.file.filePath)))
  vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(line, vim.api.nvim_buf_line_count(0))), 0 })
  vim.cmd('normal! zz')
end

---@param list breadboard.ChangesList
local function map(list)
  local function on(key, act, what)
    vim.keymap.set('n', key, act, { buffer = list.buffer, nowait = true, desc = 'BreadBoard: ' .. what })
  end
  on('<CR>', open_file, 'open the file')
  on('=', function()
    local one, of = here()
    if one and of then
      local name = name_of(of.file)
      one.open[name] = not one.open[name] or nil
      draw(one)
    end
  end, 'show the changes of the file, or fold them')
  on('r', function()
    toggle('reviewed')
  end, 'mark as read')
  on('K', function()
    toggle('kept')
  end, 'keep: it is not taken back')
  on('u', function()
    local one, of = here()
    if one and of then
      take_back(one.session, one.result.turn, of, function()
        read_again(one)
      end)
    end
  end, 'take the file, or the change, back')
  on('U', function()
    take_back(list.session, list.result.turn, {}, function()
      read_again(list)
    end)
  end, 'take the turn back')
  on('R', function()
    read_again(list)
  end, 'read anew')
  on('q', '<Cmd>bwipeout<CR>', 'close')
end

---@param session string
---@param result table
local function show(session, result)
  looks.define()
  for buffer, list in pairs(lists) do
    if list.session == session and list.result.turn == result.turn then
      list.result = result
      draw(list)
      local window = vim.fn.bufwinid(buffer)
      if window ~= -1 then
        vim.api.nvim_set_current_win(window)
        return
      end
    end
  end
  vim.cmd('botright 12new')
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_name(buffer, ('breadboard://changes/%s/%d'):format(session, result.turn))
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].swapfile = false
  vim.wo.wrap = false
  local list = { session = session, buffer = buffer, result = result, open = {}, owners = {} }
  lists[buffer] = list
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = buffer,
    once = true,
    callback = function()
      lists[buffer] = nil
    end,
  })
  map(list)
  draw(list)
  for line = 1, vim.api.nvim_buf_line_count(buffer) do
    if list.owners[line] then
      vim.api.nvim_win_set_cursor(0, { line, 0 })
      break
    end
  end
end

---@param turn? string what the user typed
---@return integer?
local function number(turn)
  local given = turn and tonumber(turn)
  return given and math.floor(given) or nil
end

---@return boolean
local function is_offered()
  if client.can(NEEDS) then
    return true
  end
  store.say(nil, 'info', 'This server does not tell what a turn changed; update it.')
  return false
end

--- Lists what a turn changed: the one that is named, else the newest that changed something.
---@param session string
---@param turn? string|integer
function M.show(session, turn)
  if is_offered() then
    read(session, number(turn and tostring(turn)), function(result)
      show(session, result)
    end)
  end
end

--- Takes a turn back, or what taking one back did.
---@param session string
---@param turn? string|integer
function M.undo(session, turn)
  if not is_offered() then
    return
  end
  local named = number(turn and tostring(turn))
  if named then
    take_back(session, named, {})
    return
  end
  read(session, nil, function(result)
    take_back(session, result.turn, {})
  end)
end

-- What the server tells of the changes of a turn, after its end and after each revert and mark.
store.on('view', function(session)
  for _, list in pairs(lists) do
    if list.session == session then
      local held = store.views[session]
      for _, block in ipairs(held and held.lanes.chat.blocks or {}) do
        if block.kind == 'changes' and block.promptSeq == list.result.turn and block ~= list.told then
          local is_first = list.told == nil
          list.told = block
          if not is_first then
            read_again(list)
          end
        end
      end
    end
  end
end)

return M
