--- The plugin with the real server and a model that says what the story tells it to. The tests build on each other.

local harness = require('harness')
local model = require('model')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

local home = vim.fs.normalize(assert(os.getenv('BB_HOME'), 'set BB_HOME to an empty directory'))
local binary = assert(os.getenv('BB_SERVER'), 'set BB_SERVER to the breadboard-ls binary')
local workspace = home .. '/workspace'
local pid_file = home .. '/pid'

local llm = model.start()

local said = {} -- every vim.notify
vim.notify = function(text)
  table.insert(said, text)
end

local asked = {} -- every vim.ui.select; `pick` answers it
local pick ---@type fun(items: any[], options: table): any
vim.ui.select = function(items, options, on_choice)
  local shown = {}
  for _, item in ipairs(items) do
    table.insert(shown, options.format_item and options.format_item(item) or tostring(item))
  end
  local floats = {}
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      vim.list_extend(floats, vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false))
    end
  end
  floats = harness.without_answers(floats)
  table.insert(asked, { shown = shown, prompt = options.prompt, floats = floats })
  on_choice(pick(items, options))
end

local function forget()
  asked, said = {}, {}
end

local function of_kind(kind)
  return function(items)
    for _, item in ipairs(items) do
      if item.kind == kind then
        return item
      end
    end
  end
end

local chat = require('breadboard.chat')
local client = require('breadboard.client')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

-- What the server is sent, seen at the one door through which everything goes.
local sent = {}
local request = client.request
client.request = function(method, params, callback)
  table.insert(sent, { method = method, params = params })
  return request(method, params, callback)
end

local function last_sent(method)
  for at = #sent, 1, -1 do
    if sent[at].method == method then
      return sent[at].params
    end
  end
end

local function shown()
  local window = chat.window()
  local lines = not window and ''
    or table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n')
  -- How long a turn took, and what it spent, is another number each time.
  return (lines:gsub(' %(%d[%d.]* s[^)\n]*%)', ''))
end

local function sees(text)
  local ok, problem = pcall(await, ('`%s` in the chat'):format(text), function()
    return shown():find(text, 1, true)
  end)
  check(ok, tostring(problem) .. '; it shows:\n' .. shown():sub(-400))
end

local function status_is(status)
  await('the session to be ' .. status, function()
    local summary = store.active and store.summary(store.active)
    return summary and summary.status == status
  end)
end

local function go_to_line(text)
  local window = assert(chat.window())
  vim.api.nvim_set_current_win(window)
  for at, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    if line:find(text, 1, true) then
      vim.api.nvim_win_set_cursor(window, { at, 0 })
      return
    end
  end
  error('no line with ' .. text)
end

local function press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'xt', false)
end

-- Opens the approval that waits, and its list of answers.
local function approve()
  vim.cmd('BreadBoard approve')
  press('<CR>')
end

local function read(path)
  return table.concat(vim.fn.readfile(workspace .. '/' .. path), '\n')
end

test('R000-62: setup starts nothing, and a program that is missing is said', function()
  require('breadboard').setup({ cmd = { home .. '/no-such-program' } })
  same(require('breadboard').statusline(), '')
  vim.cmd('BreadBoard ask hello')
  await('the sentence', function()
    return said[1]
  end)
  check(said[1]:find('is not a program', 1, true), said[1])
  check(not client.running(), 'nothing runs')
end)

test('an answer streams into the chat, line by line', function()
  vim.fn.mkdir(workspace .. '/src', 'p')
  vim.fn.mkdir(workspace .. '/.git', 'p')
  vim.fn.writefile({ 'one', 'two', 'three' }, workspace .. '/src/a.txt')
  vim.fn.writefile({ 'other' }, workspace .. '/src/b.txt')
  vim.fn.writefile(
    { '#!/bin/sh', ('echo $$ > %s'):format(pid_file), ('exec %s "$@"'):format(binary) },
    home .. '/serve'
  )
  vim.uv.fs_chmod(home .. '/serve', 493)
  require('breadboard').setup({
    cmd = { home .. '/serve', '--stdio' },
    -- It reads all of this story, so that no test meets a summary.
    model = { provider = 'openai', name = 'story', url = llm.url, contextWindow = 400000 },
    state_dir = home .. '/state',
    size = 70,
  })
  forget()
  vim.cmd('edit ' .. workspace .. '/src/a.txt')
  local gate = model.gate()
  llm:says({ reason = 'Let me see.\nIt is a list.' }, 'Numbers, ', 'in words', gate, ': see src/a.txt:2.\nThat is all.')
  vim.cmd('BreadBoard ask what is in the file?')
  sees('Numbers, in words')
  check(not shown():find('That is all', 1, true), 'the rest is still at the model')
  same(vim.api.nvim_buf_get_name(0), workspace .. '/src/a.txt', 'the cursor stays in the file')
  gate.open()
  sees('Numbers, in words: see src/a.txt:2.\nThat is all.')
  sees('## You\nwhat is in the file?')
  sees('▸ Thinking: Let me see.\n  │ Let me see.\n  │ It is a list.')
  status_is('idle')
  same(require('breadboard').statusline(), 'BB idle openai/story untrusted')
end)

test('what is not the answer is folded', function()
  go_to_line('▸ Thinking')
  same(vim.fn.foldclosed('.') > 0, true, 'the head is in a closed fold')
  vim.cmd('normal! zo')
  same(vim.fn.foldclosed('.'), -1)
  go_to_line('That is all')
  same(vim.fn.foldlevel('.'), 0)
end)

test('a long answer arrives whole, however it is cut', function()
  local pieces, want = {}, {}
  for at = 1, 2000 do
    local piece = ('w%d%s'):format(at, at % 20 == 0 and '\n' or ' ')
    table.insert(pieces, piece)
    table.insert(want, piece)
  end
  table.insert(pieces, 'the end of the flood')
  llm:says(unpack(pieces))
  vim.cmd('BreadBoard ask flood me')
  sees('the end of the flood')
  check(shown():find(table.concat(want) .. 'the end of the flood', 1, true), 'a piece is missing')
  status_is('idle')
end)

test('R000-63: without trust the agent is offered nothing that writes; :BreadBoard trust changes that', function()
  local function tools()
    return vim.json.encode(llm.asked[#llm.asked].body.tools)
  end
  check(not tools():find('propose_patch', 1, true), 'offered before trust')
  vim.cmd('BreadBoard trust')
  sees(workspace .. ' is trusted.')
  same(require('breadboard').statusline(), 'BB idle openai/story')
end)

test('R000-28: an edit is shown exactly, allowed with its digest, and made', function()
  forget()
  llm:says({
    call = 'propose_patch',
    with = {
      file_path = 'src/a.txt',
      rationale = 'digits are shorter',
      edits = { { old_text = 'two', new_text = '2' } },
    },
  })
  llm:says('Done.')
  vim.cmd('BreadBoard ask make it shorter')
  sees('? Write src/a.txt\n  change src/a.txt +1 −1\n  — waits for you')
  status_is('waiting')
  same(require('breadboard').statusline(), 'BB waiting ?1 openai/story')
  check(table.concat(said):find('Write src/a.txt', 1, true), 'it is said that the agent asks')
  same(#asked, 0, 'nothing pops up by itself')
  same(read('src/a.txt'), 'one\ntwo\nthree', 'nothing is written before it is allowed')

  pick = of_kind('allow_once')
  go_to_line('? Write src/a.txt')
  local permission = store.pending(store.active)[1].permission
  press('<CR>')
  press('<CR>')
  await('the answer', function()
    return last_sent('bb/approvePermission')
  end)
  same(last_sent('bb/approvePermission'), {
    sessionId = store.active,
    requestId = permission.requestId,
    decision = 'allow_once',
    optionId = permission.options[1].optionId,
    digest = permission.digest,
  })
  same(asked[1].floats, {
    'Write src/a.txt',
    'why: digits are shorter',
    '',
    'change src/a.txt +1 −1',
    '@@ -1,3 +1,3 @@',
    ' one',
    '-two',
    '+2',
    ' three',
  })
  same(asked[1].shown, {
    'Allow once',
    'Allow for this session (write: src/a.txt)',
    'Always allow in this workspace (write: src/a.txt)',
    'Deny',
  })
  sees('Done.')
  sees('? Write src/a.txt\n  — allowed')
  await('the file to be written', function()
    return read('src/a.txt') == 'one\n2\nthree'
  end)
  local buffer = vim.fn.bufnr(workspace .. '/src/a.txt')
  same(
    { vim.api.nvim_buf_get_lines(buffer, 0, -1, false), vim.bo[buffer].modified },
    { { 'one', '2', 'three' }, false }
  )
end)

test('an edit of a buffer with unsaved changes keeps them, unsaved', function()
  vim.fn.writefile({ 'x = 1', 'y = 2' }, workspace .. '/src/c.txt')
  vim.cmd('wincmd p | edit ' .. workspace .. '/src/c.txt')
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, 1, false, { 'x = 10' })
  llm:says({
    call = 'propose_patch',
    with = {
      file_path = 'src/c.txt',
      rationale = 'r',
      edits = { { old_text = 'y = 2', new_text = 'y = 20' } },
    },
  })
  llm:says('Both.')
  vim.cmd('BreadBoard ask twenty')
  await('the ask', function()
    return store.pending(store.active)[1]
  end)
  pick = of_kind('allow_once')
  approve()
  sees('Both.')
  sees('ℹ src/c.txt had unsaved changes, so the edit stands in the buffer only; :write saves both.')
  same({ vim.api.nvim_buf_get_lines(buffer, 0, -1, false), vim.bo[buffer].modified }, { { 'x = 10', 'y = 20' }, true })
  same(read('src/c.txt'), 'x = 1\ny = 2')
  status_is('idle')
end)

test('a command is shown to its last character, and what is denied does not run', function()
  forget()
  local line = 'touch ' .. home .. '/made && echo ' .. ('x'):rep(300) .. ' ; echo end'
  llm:says({ call = 'run_command', with = { command = line, reason = 'to see' } })
  llm:says('As you like.')
  vim.cmd('BreadBoard ask run it')
  await('the ask', function()
    return store.pending(store.active)[1]
  end)
  pick = of_kind('allow_once')
  vim.cmd('BreadBoard untrust')
  approve()
  sees('(:BreadBoard trust)')
  same(#store.pending(store.active), 1, 'without trust nothing is allowed, and the ask waits')
  pick = of_kind('deny')
  approve()
  sees('As you like.')
  vim.cmd('BreadBoard trust')
  local unsaved = '  Changed in the editor, not saved: `src/c.txt`. The command would find the old text on disk.'
  same(asked[1].floats, { line, 'why: to see', unsaved, '', 'command: ' .. line, 'in: .' })
  sees('— denied')
  check(not vim.uv.fs_stat(home .. '/made'), 'it ran')
  status_is('idle')
end)

test('a patch is shown side by side before it is decided, and a file against its states', function()
  llm:says({
    call = 'propose_patch',
    with = {
      file_path = 'src/a.txt',
      rationale = 'r',
      edits = { { old_text = 'three', new_text = '3' } },
    },
  })
  llm:says('Not done.')
  vim.cmd('BreadBoard ask the rest')
  await('the ask', function()
    return store.pending(store.active)[1]
  end)
  sees('? Write src/a.txt\n  change src/a.txt +1 −1\n  — waits')
  vim.api.nvim_set_current_win(assert(chat.window()))
  vim.cmd('normal! G')
  vim.fn.search('^▸ Patch', 'b')
  local tabs = #vim.api.nvim_list_tabpages()
  press('<CR>')
  local windows = await('two windows with a diff', function()
    local all = vim.api.nvim_tabpage_list_wins(0)
    return #vim.api.nvim_list_tabpages() == tabs + 1 and #all == 2 and all
  end)
  local function sides()
    return vim.tbl_map(function(window)
      return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
    end, windows)
  end
  local want = { { 'one', '2', 'three' }, { 'one', '2', '3' } }
  vim.wait(harness.PATIENCE, function()
    return vim.deep_equal(sides(), want)
  end, 2)
  same(sides(), want)
  same({ vim.wo[windows[1]].diff, vim.wo[windows[2]].diff }, { true, true })
  local right = vim.api.nvim_win_get_buf(windows[2])
  check(vim.startswith(vim.api.nvim_buf_get_name(right), 'bb-diff:'), vim.api.nvim_buf_get_name(right))
  same(vim.bo[right].modifiable, false)
  vim.cmd('tabclose')

  forget()
  pick = of_kind('deny')
  approve()
  sees('Not done.')
  status_is('idle')

  vim.cmd('BreadBoard diff src/c.txt disk')
  await('the other diff', function()
    windows = vim.api.nvim_tabpage_list_wins(0)
    return #windows == 2 and vim.deep_equal(sides(), { { 'x = 1', 'y = 2' }, { 'x = 10', 'y = 20' } })
  end)
  same(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(windows[2])), workspace .. '/src/c.txt', 'it can be edited')
  vim.cmd('tabclose')
end)

test('a command beside an unsaved edit saves it first where the user says so, and then finds it', function()
  forget()
  llm:says({ call = 'run_command', with = { command = 'cat src/c.txt > src/seen.txt', reason = 'to see' } })
  llm:says('Seen.')
  vim.cmd('BreadBoard ask run it on what I see')
  await('the ask', function()
    return store.pending(store.active)[1]
  end)
  pick = function(items)
    same(
      vim.tbl_map(function(item)
        return item.label
      end, items),
      { 'Save and run', 'Run anyway', 'Deny' }
    )
    return items[1]
  end
  approve()
  sees('Seen.')
  same({ read('src/c.txt'), read('src/seen.txt') }, { 'x = 10\ny = 20', 'x = 10\ny = 20' })
  vim.fn.delete(workspace .. '/src/seen.txt')
  status_is('idle')
end)

test('a change that is too long for the chat is shown to its last line before it is allowed', function()
  forget()
  local lines = {}
  for at = 1, 300 do
    lines[at] = ('line %d %s'):format(at, ('x'):rep(80))
  end
  llm:says({
    call = 'propose_patch',
    with = { file_path = 'src/long.txt', rationale = 'it is long', new_content = table.concat(lines, '\n') .. '\n' },
  })
  llm:says('It is long.')
  vim.cmd('BreadBoard ask make a long one')
  local block = await('the ask', function()
    return store.pending(store.active)[1]
  end)
  same(block.permission.subject.truncated, true, 'the view carries a part of it')
  pick = of_kind('allow_once')
  vim.cmd('BreadBoard approve')
  local window = await('the window', function()
    return vim.api.nvim_win_get_config(0).relative ~= '' and vim.api.nvim_get_current_win()
  end)
  same(#asked, 0, 'nobody is asked before the end can be read')
  local all = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
  local want = { 'Write src/long.txt', 'why: it is long', '', 'new file src/long.txt +300 −0', '@@ -0,0 +1,300 @@' }
  for _, line in ipairs(lines) do
    table.insert(want, '+' .. line)
  end
  same(harness.without_answers(all), want)
  press('<CR>')
  sees('It is long.')
  same(read('src/long.txt'), table.concat(lines, '\n'))
  status_is('idle')
end)

test('R002-45: of two changes in a file one is made, and the model hears which', function()
  forget()
  local before = read('src/long.txt')
  local after = before:gsub('line 2 ', 'second ', 1):gsub('line 200 ', 'two hundredth ', 1)
  llm:says({
    call = 'propose_patch',
    with = { file_path = 'src/long.txt', rationale = 'names', new_content = after .. '\n' },
  })
  llm:says('One was made.')
  vim.cmd('BreadBoard ask change two lines')
  await('the ask', function()
    return store.pending(store.active)[1]
  end)
  pick = of_kind('by_change')
  approve()
  local function first_line()
    return vim.api.nvim_win_get_config(0).relative ~= '' and vim.api.nvim_buf_get_lines(0, 0, 1, false)[1]
  end
  await('the first change', function()
    return first_line() == 'src/long.txt, change 1 of 2'
  end)
  press('n')
  same(first_line(), 'src/long.txt, change 2 of 2')
  same(read('src/long.txt'), before)
  press('y')
  sees('One was made.')
  same(read('src/long.txt'), (before:gsub('line 200 ', 'two hundredth ', 1)))
  status_is('idle')
end)

test('a saved rule is listed with who keeps it, and taken back', function()
  local function write(text)
    llm:says({
      call = 'propose_patch',
      with = { file_path = 'src/ruled.txt', rationale = 'r', new_content = text },
    })
    llm:says('Written ' .. text)
    vim.cmd('BreadBoard ask write it')
  end
  write('one')
  await('the ask', function()
    return store.pending(store.active)[1]
  end)
  pick = of_kind('allow_rule')
  approve()
  sees('Written one')
  status_is('idle')
  forget()
  pick = function(items, options)
    return options.prompt == 'Rules' and items[1] or 'Take it back'
  end
  vim.cmd('BreadBoard rules')
  sees('Taken back: write: src/ruled.txt')
  same(#asked[1].shown, 1)
  check(vim.startswith(asked[1].shown[1], 'write: src/ruled.txt (for the session '), asked[1].shown[1])
  check(asked[1].shown[1]:find('; kept by the server', 1, true), asked[1].shown[1])
  write('two')
  await('the agent to ask again', function()
    return store.pending(store.active)[1]
  end)
  pick = of_kind('deny')
  approve()
  sees('Written two')
  status_is('idle')
end)

test('@path completes from the workspace, and gf goes to path:line', function()
  local found
  require('breadboard.files').complete('src/', function(items)
    found = items
  end)
  await('the files', function()
    return found
  end)
  same(
    vim.tbl_map(function(item)
      return item.word
    end, found),
    { 'src/a.txt', 'src/b.txt', 'src/c.txt', 'src/long.txt', 'src/ruled.txt' }
  )
  go_to_line('see src/a.txt:2')
  local column = assert(vim.api.nvim_get_current_line():find('src/a.txt', 1, true))
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_win_get_cursor(0)[1], column })
  press('gf')
  same({ vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1] }, { workspace .. '/src/a.txt', 2 })
end)

test('14: @ finds a file by any part of its path, for omnifunc, nvim-cmp and blink.cmp alike', function()
  vim.cmd('BreadBoard')
  local prompt = require('breadboard.prompt')
  await('the prompt window', function()
    return prompt.buffer() and vim.api.nvim_get_current_buf() == prompt.buffer()
  end)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'see @slong' })
  vim.api.nvim_win_set_cursor(0, { 1, 10 })
  same(vim.bo.omnifunc, "v:lua.require'breadboard.completion'.omnifunc")
  local completion = require('breadboard.completion')
  -- In insert mode the cursor stands behind the last character.
  local cursor = vim.api.nvim_win_get_cursor
  vim.api.nvim_win_get_cursor = function()
    return { 1, 10 }
  end
  same(completion.omnifunc(1), 5)
  vim.api.nvim_win_get_cursor = cursor
  same(completion.omnifunc(0), { { word = 'src/long.txt', abbr = 'src/long.txt', kind = 'f' } })

  local function answer_of(ask)
    local answer
    ask(function(found)
      answer = found
    end)
    return await('an answer', function()
      return answer
    end)
  end
  local wanted = {
    newText = 'src/long.txt',
    range = { start = { line = 0, character = 5 }, ['end'] = { line = 0, character = 10 } },
  }
  local cmp = require('breadboard.cmp').new()
  check(cmp:is_available(), 'in the prompt window')
  local found = answer_of(function(callback)
    cmp:complete({ context = { cursor_before_line = 'see @slong', cursor = { row = 1 } } }, callback)
  end)
  same({ #found.items, found.items[1].textEdit, found.isIncomplete }, { 1, wanted, true })
  local blink = require('breadboard.blink').new()
  check(blink:enabled(), 'in the prompt window')
  found = answer_of(function(callback)
    blink:get_completions({ line = 'see @slong and more', cursor = { 1, 10 } }, callback)
  end)
  same({ #found.items, found.items[1].textEdit, found.is_incomplete_forward }, { 1, wanted, true })
  same(cmp:get_trigger_characters(), { '@', '/' })
  found = answer_of(function(callback)
    cmp:complete({ context = { cursor_before_line = 'nothing here', cursor = { row = 1 } } }, callback)
  end)
  same(found.items, {})
  -- They show the menu then, and the plugin opens none.
  check(completion.shown_elsewhere, 'the menu is theirs')
  completion.shown_elsewhere = false
  found = answer_of(function(callback)
    completion.of('@prob', 1, callback)
  end)
  same(found.items[1].word, 'problems')
  found = answer_of(function(callback)
    completion.of('/exp', 1, callback)
  end)
  same({ found.column, found.items[1].word, found.items[1].abbr }, { 2, 'explain', '/explain' })
  vim.api.nvim_buf_set_lines(0, 0, -1, false, {})
end)

test('a prompt behind a running turn is queued; stop ends the turn and the queue waits', function()
  local gate = model.gate()
  llm:says('I begin', gate, ' never said')
  vim.cmd('BreadBoard ask a long one')
  sees('I begin')
  vim.cmd('BreadBoard ask the second one')
  sees('Queued behind the running turn')
  vim.cmd('BreadBoard stop')
  status_is('idle')
  gate.open()
  check(not shown():find('never said', 1, true), 'the turn went on')
  sees('I begin\n\nℹ Queued behind the running turn (:BreadBoard queue).\n\n⊘ The turn was stopped.')

  forget()
  pick = function(items, options)
    return vim.startswith(options.prompt, 'Waiting') and items[1] or nil
  end
  vim.cmd('BreadBoard queue')
  await('the list', function()
    return asked[2]
  end)
  same({ asked[1].prompt, asked[1].shown, asked[2].prompt }, {
    'Waiting (paused; :BreadBoard queue resume)',
    { 'the second one' },
    'the second one',
  })
  llm:says('The second answer.')
  vim.cmd('BreadBoard queue resume')
  sees('The second answer.')
  status_is('idle')
end)

test('the model is chosen from what the provider names', function()
  forget()
  pick = function(items)
    for _, item in ipairs(items) do
      if item.id == 'other' then
        return item
      end
    end
  end
  vim.cmd('BreadBoard model')
  sees('The model is openai/other.')
  -- Each with what is known of it
  local shown = vim.iter(asked):filter(function(question)
    return vim.startswith(question.prompt, 'Model')
  end):next().shown
  same(#vim.tbl_filter(function(line)
    return line:match('^other · %d+k tokens · no images$') ~= nil
  end, shown), 1)
  same(last_sent('bb/models/set'), { provider = 'openai', name = 'other', url = llm.url })
end)

test('a prompt written in the window is sent once and leaves it empty', function()
  vim.cmd('BreadBoard')
  local prompt = require('breadboard.prompt')
  await('the prompt window', function()
    return prompt.buffer() and vim.api.nvim_get_current_buf() == prompt.buffer()
  end)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'two lines', 'of prompt' })
  llm:says('Two lines it is.')
  press('<CR>')
  sees('## You\ntwo lines\nof prompt')
  sees('Two lines it is.')
  same(vim.api.nvim_buf_get_lines(prompt.buffer(), 0, -1, false), { '' })
  status_is('idle')
end)

test('a range is sent as it stands in the buffer, with its place', function()
  vim.cmd('topleft vertical new')
  vim.cmd('edit ' .. workspace .. '/src/c.txt')
  vim.bo.filetype = 'text'
  llm:says('About these lines.')
  vim.cmd('1,2BreadBoard ask and these?')
  sees('About these lines.')
  same(last_sent('bb/sendMessage').text, 'and these?\n\nsrc/c.txt:1-2\n```text\nx = 10\ny = 20\n```')
  status_is('idle')
end)

test('a gap and an engine that is down are said in the chat', function()
  local handlers = vim.lsp.get_clients({ name = 'breadboard-ls' })[1].handlers
  handlers['bb/connection'](nil, {
    status = 'connected',
    sessionId = store.active,
    gapDetected = true,
    resume = { verdict = 'lost', from = 3, to = 5, reason = 'The log was rotated.' },
  })
  sees('⚠ A part of this session is lost (events 3 to 5). The log was rotated.')
  handlers['bb/connection'](nil, { status = 'error', lastError = 'connection refused' })
  sees('✗ The engine does not answer: connection refused')
  same(require('breadboard').statusline(), 'BB engine down openai/other')
  handlers['bb/connection'](nil, { status = 'connected' })
  same(require('breadboard').statusline(), 'BB idle openai/other')
end)

test('sessions are listed, made, chosen and deleted', function()
  local first = store.active
  vim.cmd('BreadBoard new')
  await('another session', function()
    return store.active ~= first and store.active
  end)
  local second = store.active
  check(not shown():find('flood', 1, true), 'the new chat is empty')
  vim.cmd('BreadBoard select ' .. first)
  sees('The second answer.')
  same(store.active, first)
  forget()
  pick = function(items)
    return items[1]
  end
  vim.cmd('BreadBoard delete ' .. second)
  await('the session to go', function()
    return not store.summary(second)
  end)
  same(asked[1].shown, { 'Delete', 'Keep' })
  check(store.summary(first), 'the other one stays')
end)

test('a server that is killed is said; restart brings the session back, and it goes on', function()
  forget()
  local pid = tonumber(vim.fn.readfile(pid_file)[1])
  vim.uv.kill(pid, 'sigkill')
  sees('✗ The server has ended (signal 9)')
  same(require('breadboard').statusline(), '')
  vim.cmd('BreadBoard stop')
  sees('The server does not run; start it with :BreadBoard restart.')
  vim.cmd('BreadBoard restart')
  sees('The server runs.')
  check(tonumber(vim.fn.readfile(pid_file)[1]) ~= pid, 'another process')
  same(store.trusted, true, 'what the user said of trust still holds')
  llm:says('Back again.')
  vim.cmd('BreadBoard ask are you there?')
  sees('Back again.')
  sees('The second answer.')
  status_is('idle')
end)

test(':checkhealth says what runs', function()
  vim.cmd('BreadBoard health')
  local report = await('the report', function()
    local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
    return text:find('A server runs for', 1, true) and text
  end)
  check(report:find('breadboard%-ls %d'), report)
  check(report:find('The workspace is trusted', 1, true), report)
  check(report:find('Engine embedded: connected', 1, true), report)
end)

test('an agent asks with a rule of its own, a command in a folder and a form, and hears the answers', function()
  -- As text: the first word of a step says what it is, and a table has no first word.
  local script = ([[ [
    {"ask": {"toolCall": {"toolCallId": "c1", "title": "make all", "kind": "execute",
                          "rawInput": {"command": "make all", "cwd": "WORKSPACE/src"}}},
     "on": {"allow_always": [{"chunk": "Made. "}]}},
    {"request": "elicitation/create",
     "params": {"mode": "form", "message": "Who are you?", "requestedSchema": {
       "type": "object", "required": ["name"], "properties": {
         "name": {"type": "string", "title": "Your name"},
         "colour": {"type": "string", "enum": ["red", "green"]},
         "age": {"type": "integer"}}}},
     "on": {"accept": [{"chunk": "${answer.content.name} likes ${answer.content.colour}. "}]}},
    {"request": "elicitation/create",
     "params": {"mode": "url", "message": "Log in", "url": "https://example.org/in", "elicitationId": "e"},
     "on": {"decline": [{"chunk": "Not logged in."}]}}
  ] ]]):gsub('WORKSPACE', workspace)
  require('breadboard').setup({
    cmd = { home .. '/serve', '--stdio' },
    engine = { kind = 'acp', command = binary, args = { 'simulate', 'acp', '--script', script } },
    state_dir = home .. '/agent',
  })
  store.active = nil
  forget()
  vim.cmd('BreadBoard restart')
  await('the other engine', function()
    return store.engine and store.engine.kind == 'acp'
  end)
  vim.cmd('BreadBoard new')
  await('a session', function()
    return store.active
  end)
  vim.cmd('BreadBoard ask go')
  local function asks(title)
    await(title, function()
      local block = store.pending(store.active)[1]
      return block and vim.startswith(block.permission.title, title)
    end)
    forget()
    approve()
  end

  pick = of_kind('allow_rule')
  asks('Run make all')
  same(asked[1].shown, { 'Allow', 'Always allow (kept by the agent)', 'Reject' })
  same(vim.list_slice(asked[1].floats, 2), { '', 'command: make all', 'in: src' })
  sees('Made.')

  local typed = { 'Ada', '' }
  local input, inputs = vim.ui.input, {}
  vim.ui.input = function(options, on_confirm)
    table.insert(inputs, options.prompt)
    on_confirm(table.remove(typed, 1))
  end
  pick = function(items, options)
    return options.kind == 'breadboard_form' and items[2] or items[1]
  end
  asks('Who are you?')
  vim.ui.input = input
  same(inputs, { 'Your name: ', 'age (may be left out): ' })
  same(asked[2].shown, { 'red', 'green', '(leave out)' })
  same(last_sent('bb/approvePermission').content, { name = 'Ada', colour = 'green' })
  sees('Ada likes green.')

  pick = of_kind('deny')
  asks('Visit https://example.org/in')
  check(vim.tbl_contains(asked[1].floats, 'address: https://example.org/in'), vim.inspect(asked[1].floats))
  sees('Not logged in.')
  status_is('idle')
end)

test('the server ends with Neovim', function()
  client.stop()
  await('the end', function()
    return not client.running()
  end)
  await('the process to be gone', function()
    return vim.uv.kill(tonumber(vim.fn.readfile(pid_file)[1]), 0) ~= 0
  end)
  same(said[#said] and said[#said]:find('has ended', 1, true), nil, 'an end that was asked for is no news')
end)
