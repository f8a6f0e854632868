--- Edits that are reviewed in the buffers of their files, with the real server and a simulated agent, by keys alone.

local harness = require('harness')
local stage = require('stage')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

local function lines(from, to)
  local made = {}
  for line = from, to do
    made[#made + 1] = tostring(line)
  end
  return made
end

local BEFORE = lines(1, 40)
local AFTER = vim.deepcopy(BEFORE)
AFTER[3], AFTER[20], AFTER[38] = 'three', 'twenty', 'thirty-eight'
table.insert(AFTER, 21, 'and a half')

local function text(of, ending)
  return vim.json.encode(table.concat(of, ending) .. ending)
end

--- An agent that asks for an edit of `a.txt` and of a file that is to be made, and says how it was answered.
local function script(ending)
  return ([[ {"prompts": [
  {"when": "alter", "steps": [
    {"ask": {"toolCall": {"toolCallId": "c", "title": "Write", "kind": "edit", "content": [
      {"type": "diff", "path": "WORKSPACE/a.txt", "oldText": OLD, "newText": NEW},
      {"type": "diff", "path": "WORKSPACE/new.txt", "newText": "made\n"}]},
      "options": [{"optionId": "once", "kind": "allow_once", "name": "Yes"},
                  {"optionId": "no", "kind": "reject_once", "name": "No"}]},
     "on": {"no": [{"say": "Refused."}], "once": [{"say": "Allowed."}], "else": [{"say": "Cancelled."}]}}]},
  {"steps": [{"say": "${prompt}"}]}
  ]} ]]):gsub('OLD', function()
    return text(BEFORE, ending)
  end):gsub('NEW', function()
    return text(AFTER, ending)
  end)
end

local function review()
  return require('breadboard.review')
end

--- Marks of the review in a buffer.
local function marks(buffer)
  local space = vim.api.nvim_get_namespaces()['breadboard.review']
  return space and vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true }) or {}
end

--- What is seen of the review: virtual lines by the line that they stand at, without what fills them up, and lines that go.
local function seen(buffer)
  local shown = { virtual = {}, goes = {} }
  for _, mark in ipairs(marks(buffer)) do
    local row, details = mark[2], mark[4]
    if details.line_hl_group then
      table.insert(shown.goes, { row, details.line_hl_group })
    end
    for _, line in ipairs(details.virt_lines or {}) do
      local told = ''
      for _, chunk in ipairs(line) do
        told = told .. chunk[1]
      end
      table.insert(shown.virtual, { row, (told:gsub('%s+$', '')), line[1][2] })
    end
  end
  return shown
end

local function open(s)
  vim.cmd('BreadBoard ask alter it')
  s:ask()
  vim.cmd('BreadBoard review')
  await('the review', function()
    return review().current()
  end)
end

--- What a buffer maps by itself.
local function own_keys(buffer)
  return vim.tbl_map(function(map)
    return map.lhs
  end, vim.api.nvim_buf_get_keymap(buffer, 'n'))
end

test('R002-45: what goes and what comes stands in the file itself, and what was accepted by keys is made', function()
  for _, ending in ipairs({ '\n', '\r\n' }) do
    stage.play(script(ending), function(s)
      -- Given a file with text that is not saved, above what is proposed, and a key of the user's own
      vim.fn.writefile(vim.split(table.concat(BEFORE, ending) .. ending, '\n'), s:path('a.txt'), 'b')
      local buffer = s:edit('a.txt')
      same(vim.bo[buffer].fileformat, ending == '\n' and 'unix' or 'dos')
      vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { 'mine' })
      local pressed = 0
      vim.keymap.set('n', 'ghy', function()
        pressed = pressed + 1
      end, { buffer = buffer })
      -- When it is reviewed
      open(s)
      -- Then every change stands in its place
      local keys = ' (]h next, gh? all keys)'
      same(seen(buffer), {
        goes = { { 3, 'DiffDelete' }, { 20, 'DiffDelete' }, { 38, 'DiffDelete' } },
        virtual = {
          { 2, '── change 1 of 4: ghy accepts, ghn rejects' .. keys, 'BreadBoardHead' },
          { 3, '+ three', 'DiffAdd' },
          { 19, '── change 2 of 4: ghy accepts, ghn rejects' .. keys, 'BreadBoardHead' },
          { 20, '+ twenty', 'DiffAdd' },
          { 20, '+ and a half', 'DiffAdd' },
          { 37, '── change 3 of 4: ghy accepts, ghn rejects' .. keys, 'BreadBoardHead' },
          { 38, '+ thirty-eight', 'DiffAdd' },
        },
      })
      same(vim.api.nvim_win_get_cursor(0), { 4, 0 })
      -- When the first and the third are accepted, the second rejected, and the file not made
      s:press('ghy')
      same(vim.api.nvim_win_get_cursor(0), { 21, 0 })
      s:press('ghn')
      same(seen(buffer).goes, { { 3, 'BreadBoardSettled' }, { 20, 'DiffDelete' }, { 38, 'DiffDelete' } })
      s:press('gh<CR>')
      same({ pressed, s:read('a.txt')[1] }, { 0, '1' }, 'nothing is sent before all is decided')
      s:press('ghy')
      local new = vim.api.nvim_get_current_buf()
      same(vim.fs.basename(vim.api.nvim_buf_get_name(new)), 'new.txt')
      same(#seen(new).virtual, 2)
      -- A change of mind
      s:press('ghy')
      s:press('ghu')
      s:press('ghn')
      s:press('gh<CR>')
      s:sees('Refused.')
      s:idle()
      -- Then the buffer has what was accepted beside what was typed, and nothing of it is saved by itself
      local made = vim.deepcopy(BEFORE)
      made[3], made[38] = 'three', 'thirty-eight'
      table.insert(made, 1, 'mine')
      same(s:lines(buffer), made)
      same({ vim.bo[buffer].modified, vim.fn.filereadable(s:path('new.txt')) }, { true, 0 })
      -- And no mark, key or buffer of the review is left, and the user's own key is back
      await('the end of the review', function()
        return not review().current()
      end)
      same({ marks(buffer), own_keys(buffer), vim.api.nvim_buf_is_valid(new) }, { {}, { 'ghy' }, false })
      vim.api.nvim_set_current_buf(buffer)
      s:press('ghy')
      same(pressed, 1)
      -- And the agent is told
      vim.cmd('BreadBoard ask and now')
      s:sees('2 of its 3 changes')
      vim.cmd('silent write')
      same(vim.bo[buffer].fileformat, ending == '\n' and 'unix' or 'dos')
    end)
  end
end)

test('a change whose place was typed over fits nowhere, both sides are shown, and what was typed stays', function()
  stage.play(script('\n'), function(s)
    s:write('a.txt', BEFORE)
    local buffer = s:edit('a.txt')
    open(s)
    same(#seen(buffer).goes, 3)
    -- When its line is another one by now
    vim.api.nvim_buf_set_lines(buffer, 2, 3, false, { 'my three' })
    vim.api.nvim_exec_autocmds('TextChanged', { buffer = buffer })
    await('the conflict', function()
      return #seen(buffer).goes == 2
    end)
    local told = vim.list_slice(seen(buffer).virtual, 1, 3)
    same(told, {
      {
        0,
        '── change 1 of 4: the file has changed here, so it does not fit; ghn rejects (]h next, gh? all keys)',
        'BreadBoardHead',
      },
      { 0, '- 3', 'DiffDelete' },
      { 0, '+ three', 'DiffAdd' },
    })
    -- Then it cannot be accepted, and the others can
    vim.api.nvim_win_set_cursor(0, { 1, 0 })
    s:press('ghy')
    same(review().current().choices, {})
    s:press('ghn')
    s:press('gha')
    s:press('ghn')
    s:press('gh<CR>')
    s:sees('Refused.')
    local made = vim.deepcopy(AFTER)
    made[3] = 'my three'
    await('the edit', function()
      return vim.deep_equal(s:lines(buffer), made)
    end)
  end)
end)

test('a review that is left, answered elsewhere, or whose buffer goes leaves nothing behind, and the edit waits on', function()
  stage.play(script('\n'), function(s)
    s:write('a.txt', BEFORE)
    local buffer = s:edit('a.txt')
    local windows, tabs = #vim.api.nvim_list_wins(), #vim.api.nvim_list_tabpages()
    local function gone()
      return not review().current()
        and #marks(buffer) == 0
        and #own_keys(buffer) == 0
        and vim.fn.bufnr(s:path('new.txt')) == -1
    end
    open(s)
    -- Left by its key, with a comparison open
    s:press('ghv')
    await('the comparison', function()
      return #vim.api.nvim_list_tabpages() == tabs + 1 and #review().current().tabs == 1
    end)
    vim.cmd('tabprevious')
    s:press('ghq')
    check(gone(), 'nothing is left')
    same({ #vim.api.nvim_list_tabpages(), s:ask().permission.requestId ~= nil }, { tabs, true })
    -- Its buffer goes
    vim.cmd('BreadBoard review')
    await('the review', function()
      return review().current()
    end)
    vim.cmd('bwipeout! ' .. vim.fn.bufnr(s:path('new.txt')))
    await('the end', gone)
    -- Answered elsewhere
    vim.cmd('BreadBoard review')
    await('the review', function()
      return review().current()
    end)
    s.pick = function(items)
      for _, item in ipairs(items) do
        if item.kind == 'deny' then
          return item
        end
      end
    end
    require('breadboard.approvals').ask(require('breadboard.store').active, s:ask())
    s:sees('Refused.')
    await('the end', gone)
    check(#vim.api.nvim_list_wins() <= windows + 2, 'no window but the chat and the prompt')
    same(s:lines(buffer), BEFORE)
    vim.cmd('BreadBoard review')
    s:sees('No proposed edit waits that can be decided change by change.')
  end)
end)

test('a change that is taller than the window is read to its end before it is accepted', function()
  local long = lines(1, 300)
  local of = ([[ {"prompts": [{"steps": [
    {"ask": {"toolCall": {"toolCallId": "c", "title": "Write", "kind": "edit", "content": [
      {"type": "diff", "path": "WORKSPACE/long.txt", "oldText": "a\n", "newText": NEW}]},
      "options": [{"optionId": "once", "kind": "allow_once", "name": "Yes"}, {"optionId": "no", "kind": "reject_once", "name": "No"}]},
     "on": {"once": [{"say": "Allowed."}], "else": [{"say": "Refused."}]}}]}]} ]]):gsub('NEW', function()
    return text(vim.list_extend({ 'a' }, long), '\n')
  end)
  stage.play(of, function(s)
    s:write('long.txt', { 'a' })
    s:edit('long.txt')
    open(s)
    s:press('ghy')
    same(review().current().choices, {})
    same(vim.api.nvim_win_get_config(0).relative, 'editor', 'it is shown whole')
    s:press('y')
    same(review().current().choices, {})
    s:press('G')
    s:press('y')
    same(vim.tbl_count(review().current().choices), 1)
    s:press('gh<CR>')
    s:sees('Allowed.')
  end)
end)

test('changes are found by their lines, and those that fit nowhere or twice are told', function()
  local place = require('breadboard.hunk_place')
  local function placed(now, ...)
    return vim.tbl_map(function(one)
      return { one.id, one.fits, one.first, one.removed, one.added }
    end, place.place(now, { ... }))
  end
  local hunk = { id = 'h', oldStart = 1, content = ' 1\n-2\n+two\n 3\n' }
  same(placed({ '1', '2', '3' }, hunk), { { 'h', true, 1, { 1 }, { [2] = { 'two' } } } })
  same(placed({ '0', '1', '2', '3' }, hunk), { { 'h', true, 2, { 2 }, { [3] = { 'two' } } } })
  same(placed({ '0', '1', '2', '3', '1', '2', '3' }, hunk)[1][2], false)
  same(placed({ '1', 'two', '3' }, hunk)[1][2], false)
  same(placed({ '' }, { id = 'n', oldStart = 0, content = '+a\n+b\n' }), { { 'n', true, 0, {}, { [0] = { 'a', 'b' } } } })
  -- What cannot be seen is found by what it is
  local hidden = { id = 'x', oldStart = 1, content = '-a⟨U+202E⟩b⟨2×U+200B⟩␍\n+c␍\n' }
  same(placed({ 'a\226\128\174b\226\128\139\226\128\139' }, hidden)[1][2], true)
  same(place.lines(hidden.content)[1].text, 'a⟨U+202E⟩b⟨2×U+200B⟩')
  same(place.lines('-a␍\n+a\n')[1].text, 'a␍')
  same(place.reveal('⟨3 spaces⟩⟨no mark⟩'), '   ⟨no mark⟩')
end)
