--- How the chat draws: how often, which lines, and what the cursor and the folds see of it. Without a server.

local chat = require('breadboard.chat')
local harness = require('harness')
local store = require('breadboard.store')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

local SESSION = 'drawn'
local seq = 0

local function change(...)
  seq = seq + 1
  store.take_view({ sessionId = SESSION, epoch = 'e', fromSeq = seq, toSeq = seq, changes = { ... } })
end

local function put(id, kind, text)
  return { lane = 'chat', op = 'put', id = id, block = { id = id, kind = kind, seq = seq, text = text } }
end

local function append(id, text)
  return { lane = 'chat', op = 'append', id = id, text = text }
end

local function lines()
  return vim.api.nvim_buf_get_lines(chat.of(SESSION).buffer, 0, -1, false)
end

local function drawn(want)
  vim.wait(harness.PATIENCE, function()
    return vim.deep_equal(lines(), want)
  end, 2)
  same(lines(), want)
end

-- Every range of lines that Neovim was told to replace.
local function watch()
  local ranges = {}
  vim.api.nvim_buf_attach(chat.of(SESSION).buffer, false, {
    on_lines = function(_, _, _, first, last, new_last)
      table.insert(ranges, { first, last, new_last })
    end,
  })
  return ranges
end

test('the places of an answer are underlined where they stand', function()
  change(put('u', 'user', 'where?'), put('a', 'assistant', 'In `src/lib.rs:8-12` and at 10:30:45.'))
  drawn({ '## You', 'where?', '', 'In `src/lib.rs:8-12` and at 10:30:45.' })
  local space = vim.api.nvim_get_namespaces().breadboard
  local marks = vim.api.nvim_buf_get_extmarks(chat.of(SESSION).buffer, space, { 3, 0 }, { 3, -1 }, { details = true })
  local places = {}
  for _, mark in ipairs(marks) do
    if mark[4].hl_group == 'BreadBoardPlace' then
      table.insert(places, { mark[3], mark[4].end_col })
    end
  end
  same(places, { { 4, 19 } })
end)

test('pieces that come faster than frames are drawn at most once in 16 ms', function()
  change(put('u', 'user', 'count'), put('a', 'assistant', ''))
  drawn({ '## You', 'count', '', '' })
  local held = chat.of(SESSION)
  local redraws, begun = held.redraws, vim.uv.hrtime()
  for _ = 1, 300 do
    change(append('a', 'x'))
    vim.wait(1, function()
      return false
    end, 1)
  end
  drawn({ '## You', 'count', '', ('x'):rep(300) })
  local took = (vim.uv.hrtime() - begun) / 1e6
  redraws = held.redraws - redraws
  check(redraws <= took / 16 + 1, ('%d redraws in %d ms'):format(redraws, took))
  check(redraws >= 3, ('only %d redraws in %d ms: it does not stream'):format(redraws, took))
end)

test('only the lines that changed are written', function()
  change(put('t', 'reasoning', 'hm'), put('b', 'assistant', 'below'))
  await('the block', function()
    return lines()[#lines()] == 'below'
  end)
  local before = #lines()
  local ranges = watch()
  change(append('b', ' and more'))
  await('the text', function()
    return lines()[#lines()] == 'below and more'
  end)
  same(ranges, { { before - 1, before, before } })
end)

test('a cursor on the last line follows, and any other stays', function()
  store.active = SESSION
  local window = chat.show(SESSION)
  change(append('b', '\nlast'))
  await('the line', function()
    return lines()[#lines()] == 'last'
  end)
  same(vim.api.nvim_win_get_cursor(window)[1], #lines())
  vim.api.nvim_win_set_cursor(window, { 2, 0 })
  change(append('b', '\nlater'))
  await('the line', function()
    return lines()[#lines()] == 'later'
  end)
  same(vim.api.nvim_win_get_cursor(window)[1], 2)
end)

--- What is painted, as the words and the group of each mark.
local function painted()
  local buffer = chat.of(SESSION).buffer
  local space = vim.api.nvim_get_namespaces()['breadboard.colours']
  local found = {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
    local words = vim.api.nvim_buf_get_text(buffer, mark[2], mark[3], mark[4].end_row, mark[4].end_col, {})[1]
    table.insert(found, words .. ' ' .. mark[4].hl_group)
  end
  return found
end

local function result(preview)
  local block = { id = 't', kind = 'tool', name = 'run', status = 'ok', seq = seq, preview = preview }
  return { lane = 'chat', op = 'put', id = 't', block = block }
end

local function sees_painted(want)
  vim.wait(harness.PATIENCE, function()
    return vim.deep_equal(painted(), want)
  end, 2)
  same(painted(), want)
end

test('what a program printed has its colours, which follow the words and change with them', function()
  for _, gone in ipairs({ 'u', 'a', 't', 'b' }) do
    change({ lane = 'chat', op = 'remove', id = gone })
  end
  change(result('\27[31mbad\27[0m and \27[1;32mgood\27[0m'))
  sees_painted({ 'bad BreadBoardRed', 'good BreadBoardGreen', 'good BreadBoardBold' })
  same(vim.api.nvim_get_hl(0, { name = 'BreadBoardRed' }).ctermfg, 1)
  -- The same words in another colour.
  change(result('\27[33mbad\27[0m and good'))
  sees_painted({ 'bad BreadBoardYellow' })
  -- What comes behind leaves it; what comes before moves it.
  change(put('z', 'assistant', 'behind'))
  change(result('before\n\27[33mbad\27[0m and good'))
  sees_painted({ 'bad BreadBoardYellow' })
  -- The same colours at the same place of other words.
  change(result('before\n\27[33mill\27[0m and good'))
  sees_painted({ 'ill BreadBoardYellow' })
  vim.cmd('silent! highlight clear BreadBoardRed')
  vim.api.nvim_exec_autocmds('ColorScheme', {})
  same(vim.api.nvim_get_hl(0, { name = 'BreadBoardRed' }).ctermfg, 1)
end)

test('a wait counts down beside its line, by itself, and goes when it is over', function()
  for _, gone in ipairs({ 't', 'z' }) do
    change({ lane = 'chat', op = 'remove', id = gone })
  end
  local seconds, microseconds = vim.uv.gettimeofday()
  local now = seconds * 1000 + math.floor(microseconds / 1000)
  local retry = { taken = 'no', when = 'later', afterMs = 2700 }
  local function block(id, kind, more)
    local made = vim.tbl_extend('error', { id = id, kind = kind, seq = seq }, more)
    return { lane = 'chat', op = 'put', id = id, block = made }
  end
  change(
    put('u', 'user', 'go'),
    block('s', 'turn-start', { startedAt = now - 100 }),
    block('n', 'notice', { level = 'error', text = 'Busy.', retry = retry }),
    block('e', 'turn-end', { outcome = 'failed', durationMs = 100 })
  )
  local space = vim.api.nvim_get_namespaces()['breadboard.beside']
  local seen = {}
  local function beside()
    local buffer = chat.of(SESSION).buffer
    local texts = {}
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })) do
      local line = vim.api.nvim_buf_get_lines(buffer, mark[2], mark[2] + 1, false)[1]
      if line == '  It asks to wait 3 s; :BreadBoard retry sends it again.' then
        table.insert(texts, mark[4].virt_text[1][1])
      end
    end
    return texts[1]
  end
  await('the wait to be over', function()
    local text = beside()
    if text and seen[#seen] ~= text then
      table.insert(seen, text)
    end
    return #seen > 0 and not text
  end)
  -- A busy machine may sleep over one of them.
  local falling = vim.fn.reverse(vim.fn.sort(vim.deepcopy(seen)))
  check(#seen >= 2 and vim.deep_equal(seen, falling), vim.inspect(seen))
end)

test('the buffer cannot be written in, and is gone with its session', function()
  local buffer = chat.of(SESSION).buffer
  same(vim.bo[buffer].modifiable, false)
  chat.close(SESSION)
  store.drop(SESSION)
  same({ vim.api.nvim_buf_is_valid(buffer), store.active, chat.window() }, { false })
end)
