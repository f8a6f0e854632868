--- Open files that an agent writes itself, with the real server and a simulated agent.

local harness = require('harness')
local stage = require('stage')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

-- Writes a file as agents do that ask nobody, tells of it as a tool call, and goes on until a file is there.
local WRITES = [[ {"prompts": [
  {"when": "write", "steps": [
    {"tool_call": {"toolCallId": "c1", "title": "Write a.txt", "kind": "edit", "status": "in_progress"}},
    {"write": "a.txt", "content": "one\n2\n"},
    {"tool_call_update": {"toolCallId": "c1", "status": "completed"}},
    {"say": "Written."},
    {"wait": {"file": "WORKSPACE/go"}}
  ]},
  {"when": "silently", "steps": [{"write": "a.txt", "content": "by the way\n"}, {"say": "Nothing to tell."}]}
]} ]]

test('D7: a file that the agent wrote is read anew in mid-turn, shown or hidden, and can be undone', function()
  stage.play(WRITES, function(s)
    s:write('a.txt', { 'one', 'two' })
    local buffer = s:edit('a.txt')
    s:write('other.txt', { 'other' })
    vim.o.hidden = true
    s:edit('other.txt')
    vim.cmd('BreadBoard ask write it')
    await('the new text', function()
      return vim.deep_equal(s:lines(buffer), { 'one', '2' })
    end)
    same(s:status(), 'running', 'the turn is not over')
    same(vim.bo[buffer].modified, false)
    vim.api.nvim_buf_call(buffer, function()
      vim.cmd('silent undo')
    end)
    same(s:lines(buffer), { 'one', 'two' }, 'undo takes it back')
    s:write('go', {})
    s:idle()
    same(s:times('changed on disk'), 0)
  end)
end)

test('D7: what a turn changed without a word about it is read anew at its end', function()
  stage.play(WRITES, function(s)
    s:write('a.txt', { 'one', 'two' })
    local buffer = s:edit('a.txt')
    vim.cmd('BreadBoard ask silently')
    await('the new text', function()
      return vim.deep_equal(s:lines(buffer), { 'by the way' })
    end)
  end)
end)

test('D7: unsaved changes are kept, which is said once however often the disk changes', function()
  stage.play(WRITES, function(s)
    s:write('a.txt', { 'one', 'two' })
    local buffer = s:edit('a.txt')
    vim.api.nvim_buf_set_lines(buffer, 0, 1, false, { 'mine' })
    vim.cmd('BreadBoard ask write it')
    s:sees('⚠ a.txt changed on disk; your unsaved changes are kept (:BreadBoard diff a.txt disk buffer shows both).')
    s:write('go', {})
    s:idle()
    vim.cmd('BreadBoard ask write it again')
    s:sees('write it again\n\n▸ ✓ Write a.txt\n\nWritten.')
    s:idle()
    same({ s:lines(buffer), s:read('a.txt') }, { { 'mine', 'two' }, { 'one', '2' } })
    same(s:times('changed on disk'), 1)
    s:sees('▸ ± 2 files')
    local shown = s:shown()
    check(shown:find('▸ ± 2 files', 1, true) < shown:find('write it again', 1, true), 'below its own turn: ' .. shown)
  end)
end)

test("D7: who switched 'autoread' off keeps the old text and hears of the new one", function()
  stage.play(WRITES, function(s)
    s:write('a.txt', { 'one', 'two' })
    local buffer = s:edit('a.txt')
    vim.bo[buffer].autoread = false
    local global = vim.go.autoread
    vim.cmd('BreadBoard ask write it')
    s:hears("a.txt changed on disk, and 'autoread' is off here; :edit reads it.")
    same({ s:lines(buffer), vim.bo[buffer].modified, vim.go.autoread }, { { 'one', 'two' }, false, global })
    local disk = require('breadboard.disk')
    check(disk.is_behind(buffer), 'the buffer is known to be behind')

    local place = { line = 0, character = 0 }
    local edit = {
      changes = {
        [vim.uri_from_bufnr(buffer)] = { { range = { start = place, ['end'] = place }, newText = 'zero\n' } },
      },
    }
    local context = { client_id = vim.lsp.get_clients({ name = 'breadboard-ls' })[1].id }
    require('breadboard.edits').apply(nil, { edit = edit }, context)
    same(
      { s:lines(buffer), s:read('a.txt') },
      { { 'zero', 'one', 'two' }, { 'one', '2' } },
      'nothing overwrites the disk'
    )
    vim.bo[buffer].modified = false
    vim.cmd('wincmd t | silent edit')
    check(not disk.is_behind(buffer), 'it was read')
  end)
end)

test('D7: a file that was opened before the agent made it is read, and a text of the user there is kept', function()
  stage.play(WRITES, function(s)
    local buffer = s:edit('a.txt')
    s:write('other.txt', { 'other' })
    local front = s:edit('other.txt')
    vim.cmd('BreadBoard ask write it')
    await('the new text', function()
      return vim.deep_equal(s:lines(buffer), { 'one', '2' })
    end)
    same({ vim.bo[buffer].modified, vim.api.nvim_get_current_buf() }, { false, front })
    s:write('go', {})
    s:idle()
  end)
  stage.play(WRITES, function(s)
    local buffer = s:edit('a.txt')
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { 'mine' })
    vim.cmd('BreadBoard ask write it')
    s:sees('⚠ a.txt was created on disk; your text is kept (:BreadBoard diff a.txt disk buffer shows both).')
    same({ s:lines(buffer), s:read('a.txt') }, { { 'mine' }, { 'one', '2' } })
    s:write('go', {})
    s:idle()
    same(s:times('created on disk'), 1)
  end)
end)
