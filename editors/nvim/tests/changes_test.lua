--- The list of what a turn changed, as lines, and what taking back says; with a server that the test plays.

local changes = require('breadboard.changes')
local client = require('breadboard.client')
local harness = require('harness')
local store = require('breadboard.store')

local same, test = harness.same, harness.test

local function hunk(id, state, review)
  return {
    id = id,
    oldStart = 1,
    oldLines = 1,
    newStart = 1,
    newLines = 1,
    content = '-a\n+b\n',
    state = state or 'as_left',
    review = review or 'open',
  }
end

local function result()
  return {
    turn = 5,
    kind = 'turn',
    running = false,
    files = {
      {
        filePath = 'src/a',
        change = 'modify',
        added = 1,
        removed = 1,
        by = 'engine',
        state = 'partly',
        review = 'open',
        canRevert = true,
        hunks = { hunk('1'), hunk('2', 'reverted', 'reviewed') },
      },
      {
        filePath = 'b',
        root = 'web',
        oldPath = 'old',
        change = 'rename',
        added = 2,
        removed = 0,
        by = 'server',
        state = 'moved_on',
        review = 'kept',
        canRevert = false,
        message = 'It went on.',
        hunks = {},
      },
    },
    uncovered = { { reason = 'too_large', files = 3, message = 'Too large to keep.' } },
  }
end

--- Runs `act` with a server that answers by method, and gives what it was sent and what was said.
local function play(server, act)
  local sent, said = {}, {}
  local request, can, say = client.request, client.can, store.say
  client.request = function(method, params, callback)
    table.insert(sent, { method, params })
    local answer = server[method]
    callback(nil, type(answer) == 'function' and answer(params) or answer or {})
  end
  client.can = function()
    return true
  end
  store.say = function(_, _, text)
    table.insert(said, text)
  end
  local ok, problem = pcall(act)
  client.request, client.can, store.say = request, can, say
  harness.check(ok, tostring(problem))
  return sent, said
end

local function press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end

local HEAD = {
  'This turn changed 2 files +3 −1',
  '<CR> opens, = shows the changes, r read, K keep, u take back (U all of it), R reads anew, q closes',
  '',
}

test('a turn is listed by file: what it did, whoever wrote it, how it stands, and what was read', function()
  local lines = changes.lines({ result = result(), open = {} })
  same(
    lines,
    vim.list_extend(vim.deepcopy(HEAD), {
      '[ ] modify src/a +1 −1 (the agent itself; taken back in part)',
      '[k] rename old → web/b +2 −0 (allowed here; changed since)',
      '    It went on.',
      '',
      'Cannot be taken back:',
      '  3 files: Too large to keep.',
    })
  )
  lines = changes.lines({ result = result(), open = { ['src/a'] = true } })
  same(vim.list_slice(lines, 5, 10), {
    '  [ ] @@ -1,1 +1,1 @@',
    '  │ -a',
    '  │ +b',
    '  [r] @@ -1,1 +1,1 @@ taken back',
    '  │ -a',
    '  │ +b',
  })
end)

test('files and changes are marked by keys, and the list is read anew', function()
  local sent = play({ ['bb/turn/changes'] = result() }, function()
    changes.show('s', 5)
    press('r')
    press('=')
    press('jjjj')
    press('r')
    press('K')
    press('q')
  end)
  local marks = vim.tbl_map(
    function(one)
      return one[2]
    end,
    vim.tbl_filter(function(one)
      return one[1] == 'bb/turn/review'
    end, sent)
  )
  same(marks, {
    { sessionId = 's', turn = 5, filePath = 'src/a', mark = 'reviewed' },
    { sessionId = 's', turn = 5, filePath = 'src/a', hunks = { '2' }, mark = 'open' },
    { sessionId = 's', turn = 5, filePath = 'src/a', hunks = { '2' }, mark = 'kept' },
  })
  same(vim.fn.bufnr('breadboard://changes'), -1, 'no buffer is left')
end)

test('taking back shows what it does, asks, does it, and says how it is made again', function()
  local would = {
    turn = 5,
    preview = true,
    files = {
      { filePath = 'src/a', outcome = 'reverted', change = 'modify', added = 1, removed = 1, open = true, kept = 1, diff = '-b\n+a\n' },
      { filePath = 'b', outcome = 'unchanged', added = 0, removed = 0 },
      {
        filePath = 'c',
        outcome = 'conflict',
        added = 0,
        removed = 0,
        message = 'It went on.',
        conflicts = { { id = 'x', line = 3, yours = 'mine\n', theirs = 'old\n' } },
      },
    },
  }
  local shown
  local sent, said = play({
    ['bb/turn/revert'] = function(params)
      return params.preview and would or vim.tbl_extend('force', would, { preview = false, undo = 9 })
    end,
  }, function()
    changes.undo('s', '5')
    shown = vim.api.nvim_buf_get_lines(0, 0, -1, false)
    press('y')
  end)
  same(shown, {
    'modify src/a +1 −1, in the buffer, 1 change kept',
    '-b',
    '+a',
    '',
    'b: nothing to take back',
    '',
    'c is left as it is: It went on.',
    'line 3, yours:',
    '  mine',
    'what would stand there:',
    '  old',
    '',
    '[y] Take it back',
    '[q] Leave it',
  })
  same(sent, {
    { 'bb/turn/revert', { sessionId = 's', turn = 5, preview = true } },
    { 'bb/turn/revert', { sessionId = 's', turn = 5 } },
  })
  same(said, { 'c was left as it is: It went on.', '1 file taken back; :BreadBoard undo 9 makes it again.' })
end)

test('where nothing can be taken back nobody is asked, and left is left', function()
  local would = { turn = 5, preview = true, files = { { filePath = 'b', outcome = 'unchanged', added = 0, removed = 0 } } }
  local sent = play({ ['bb/turn/revert'] = would, ['bb/turn/changes'] = result() }, function()
    changes.undo('s')
    press('y')
    press('q')
    would.files[1].outcome = 'reverted'
    changes.undo('s')
    press('q')
  end)
  same(#vim.tbl_filter(function(one)
    return one[1] == 'bb/turn/revert' and not one[2].preview
  end, sent), 0)
end)
