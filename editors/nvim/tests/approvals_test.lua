--- What is put to the user and what is sent, with a server and a user that the test plays.

local approvals = require('breadboard.approvals')
local client = require('breadboard.client')
local harness = require('harness')
local rules = require('breadboard.rules')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local check, same, test = harness.check, harness.same, harness.test

local SESSION = 's'
local OPTIONS = {
  { optionId = 'yes', label = 'Allow once', kind = 'allow_once' },
  { optionId = 'no', label = 'Deny', kind = 'deny' },
}

local function floats()
  return vim.tbl_filter(function(window)
    return vim.api.nvim_win_get_config(window).relative ~= ''
  end, vim.api.nvim_list_wins())
end

local function permission(subject, options)
  return { requestId = 'r', digest = 'd', title = 'Do it', subject = subject, options = options or OPTIONS }
end

--- Runs `act` with answers of the server by method and of the user in order. What he was asked and what was sent.
---@param server table<string, { err?: table, result?: table }>
---@param user any[] a label to choose, a text to type, or vim.NIL to leave
---@param act fun()
local function play(server, user, act)
  local sent, asked, said = {}, {}, {}
  local request, ensure, say = client.request, sessions.ensure, store.say
  local select, input = vim.ui.select, vim.ui.input
  local function answer()
    local given = table.remove(user, 1)
    return given ~= vim.NIL and given or nil
  end
  client.request = function(method, params, callback)
    table.insert(sent, { method, params })
    local given = server[method] or { result = { outcome = 'recorded' } }
    callback(given.err, given.result)
  end
  sessions.ensure = function(callback)
    callback()
  end
  store.say = function(_, _, text)
    table.insert(said, text)
  end
  vim.ui.select = function(items, options, on_choice)
    local format, chosen, labels = options.format_item or tostring, answer(), {}
    local found
    for at, item in ipairs(items) do
      labels[at] = format(item)
      found = labels[at] == chosen and item or found
    end
    local window = floats()[1]
    local shown = window and vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false) or nil
    table.insert(asked, { prompt = options.prompt, labels = labels, shown = shown })
    on_choice(found)
  end
  vim.ui.input = function(options, on_confirm)
    table.insert(asked, { prompt = options.prompt, default = options.default })
    on_confirm(answer())
  end
  local ok, problem = pcall(act)
  client.request, sessions.ensure, store.say = request, ensure, say
  vim.ui.select, vim.ui.input = select, input
  check(ok, tostring(problem))
  return { sent = sent, asked = asked, said = said }
end

---@param asks table
local function ask(asks)
  return function()
    approvals.ask(SESSION, { id = 'b', kind = 'permission', seq = 1, permission = asks })
  end
end

local function answered(option, content)
  return {
    'bb/approvePermission',
    {
      sessionId = SESSION,
      requestId = 'r',
      decision = option == 'yes' and 'allow_once' or 'deny',
      optionId = option,
      digest = 'd',
      content = content,
    },
  }
end

local function edit(diff, truncated)
  return {
    kind = 'edit',
    truncated = truncated,
    files = { { filePath = 'a', change = 'create', added = 2, removed = 0, diff = diff, truncated = truncated } },
  }
end

test('what came cut is read whole before anybody is asked', function()
  local whole = permission(edit('@@ -0,0 +1,2 @@\n+x\n+y'))
  local server = { ['bb/permission/get'] = { result = { permission = whole, status = 'pending' } } }
  local seen = play(server, { 'Allow once' }, ask(permission(edit('@@ -0,0 +1,2 @@\n+x\n', true))))
  same(seen.asked, {
    {
      prompt = 'Do it ?',
      labels = { 'Allow once', 'Deny' },
      shown = { 'Do it', '', 'new file a +2 −0', '@@ -0,0 +1,2 @@', '+x', '+y' },
    },
  })
  same(seen.sent, { { 'bb/permission/get', { sessionId = SESSION, requestId = 'r' } }, answered('yes') })
  same(#floats(), 0)
end)

test('what cannot be had whole can only be denied, and why is said', function()
  local cut = permission(edit('+x', true))
  local other = vim.tbl_extend('force', permission(edit('+x')), { digest = 'other' })
  local cases = {
    { { err = { message = 'No journal.' } }, 'It can only be denied: all of it could not be read: No journal.' },
    {
      { result = { permission = cut, status = 'pending' } },
      'It can only be denied: the server did not give all of it.',
    },
    {
      { result = { permission = other, status = 'pending' } },
      'It can only be denied: the server did not give all of it.',
    },
  }
  for _, case in ipairs(cases) do
    local seen = play({ ['bb/permission/get'] = case[1] }, { 'Deny' }, ask(cut))
    same(seen.asked[1].labels, { 'Deny' })
    same(seen.asked[1].shown[#seen.asked[1].shown], case[2])
    same(seen.sent[2], answered('no'))
  end
  local none = permission(edit('+x', true), { OPTIONS[1] })
  local seen = play({ ['bb/permission/get'] = cases[1][1] }, { 'Deny' }, ask(none))
  same(seen.sent[2][2].decision, 'deny')
  same(seen.sent[2][2].optionId, nil, 'the agent offers nothing that denies')
end)

test('an option of a kind that nobody knows goes by its id, and with no beside it', function()
  local options = { OPTIONS[1], { optionId = 'sundays', label = 'On Sundays', kind = 'allow_on_sundays' } }
  local label = 'On Sundays (this plugin does not know what it does)'
  local seen = play({}, { label }, ask(permission(edit('+x'), options)))
  same(seen.asked[1].labels, { 'Allow once', label })
  same(seen.sent, { answered('sundays') })
end)

test('what was settled while it was read is not put to anybody', function()
  local asks = permission(edit('+x', true))
  local server = { ['bb/permission/get'] = { result = { permission = permission(edit('+x')), status = 'expired' } } }
  local seen = play(server, {}, ask(asks))
  same({ seen.asked, seen.said }, { {}, { 'This was settled before: expired.' } })
end)

test('what does not fit is read to the end first, and asked about with <CR>', function()
  local lines = { '@@ -0,0 +1,200 @@' }
  for at = 1, 200 do
    lines[at + 1] = '+line ' .. at
  end
  local before = vim.api.nvim_get_current_win()
  local seen = play({}, { 'Deny' }, function()
    ask(permission(edit(table.concat(lines, '\n'))))()
    local window = floats()[1]
    same(vim.api.nvim_get_current_win(), window, 'its window is entered')
    vim.cmd('normal! G')
    same(vim.api.nvim_get_current_line(), '+line 200')
    vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<CR>', true, false, true), 'xt', false)
  end)
  same(#seen.asked, 1)
  same(seen.sent, { answered('no') })
  same({ #floats(), vim.api.nvim_get_current_win() }, { 0, before })
end)

local SCHEMA = {
  type = 'object',
  required = { 'name', 'colour' },
  properties = {
    name = { type = 'string', title = 'Your name', minLength = 1 },
    colour = { type = 'string', enum = { 'r', 'g' }, enumNames = { 'Red', 'Green' } },
    age = { type = 'integer', description = 'in years', default = 7 },
    again = { type = 'boolean' },
  },
}

local function form()
  return permission({ kind = 'question', text = 'Do it', input = { message = 'Do it', schema = SCHEMA } })
end

test('a form is asked for field by field, and sent with the answer', function()
  local seen = play({}, { 'Allow once', '', 'Ada', 'Green', 'No', '36' }, ask(form()))
  same(seen.sent, { answered('yes', { name = 'Ada', colour = 'g', again = false, age = 36 }) })
  table.remove(seen.asked, 1)
  local prompts = vim.tbl_map(function(question)
    return { question.prompt, question.labels or question.default }
  end, seen.asked)
  same(prompts, {
    { 'Your name: ' },
    { 'Your name [at least 1 characters]: ', '' },
    { 'colour', { 'Red', 'Green' } },
    { 'again (may be left out)', { 'Yes', 'No', '(leave out)' } },
    { 'age: in years (may be left out): ', '7' },
  })
  same(#floats(), 0)
end)

test('what may be left out of a form is left out, and a form that is left sends nothing', function()
  local seen = play({}, { 'Allow once', 'Ada', 'Red', '(leave out)', '' }, ask(form()))
  same(seen.sent, { answered('yes', { name = 'Ada', colour = 'r' }) })
  seen = play({}, { 'Allow once', 'Ada', vim.NIL }, ask(form()))
  same({ seen.sent, #floats() }, { {}, 0 })
  seen = play({}, { 'Deny' }, ask(form()))
  same(seen.sent, { answered('no') })
end)

test('a form with a field that cannot be asked for can only be denied', function()
  local asks = form()
  asks.subject.input.schema = { properties = { many = { type = 'array' } } }
  local seen = play({}, { 'Deny' }, ask(asks))
  same(seen.asked[1].labels, { 'Deny' })
  check(vim.tbl_contains(seen.asked[1].shown, 'This form asks for `many`, which cannot be filled in here.'), 'why')
end)

test('an address is shown and never opened', function()
  local open, opened = vim.ui.open, {}
  vim.ui.open = function(address)
    table.insert(opened, address)
  end
  local asks = permission({ kind = 'question', text = 'Do it', input = { message = 'Do it', url = 'https://a.b/c' } })
  local seen = play({}, { 'Allow once' }, ask(asks))
  vim.ui.open = open
  check(vim.tbl_contains(seen.asked[1].shown, 'address: https://a.b/c'), vim.inspect(seen.asked[1].shown))
  same({ seen.sent, opened }, { { answered('yes') }, {} })
end)

test('a rule of the server is taken back, and one that another keeps is not', function()
  local listed = {
    pending = {},
    rules = {
      { ruleId = '1', pattern = 'x', scope = 'workspace', holder = 'server', revocable = true },
      { ruleId = '2', pattern = 'y', holder = 'agent', revocable = false },
    },
  }
  local server = { ['bb/permission/list'] = { result = listed }, ['bb/permission/revoke'] = { result = {} } }
  local mine, theirs = 'x (in this workspace; kept by the server)', 'y (kept by the agent)'
  local seen = play(server, { mine, 'Take it back' }, rules.show)
  same(seen.asked[1].labels, { mine, theirs })
  same(seen.sent[2], { 'bb/permission/revoke', { ruleId = '1' } })
  same(seen.said, { 'Taken back: x. The agent asks again.' })
  seen = play(server, { mine, 'Keep' }, rules.show)
  same(#seen.sent, 1)
  seen = play(server, { theirs }, rules.show)
  same(#seen.sent, 1)
  same(seen.said, { '`y` is kept by the agent and cannot be taken back here; take it back there.' })
  listed.rules = {}
  same(play(server, {}, rules.show).said, {
    'No rule is saved here. What an agent remembers by itself is listed by the agent only.',
  })
end)

test('R002-45: an edit of several changes is decided change by change, and sent once each has its answer', function()
  local function hunk(id, at, content)
    return { id = id, oldStart = at, oldLines = 1, newStart = at, newLines = 1, content = content, state = 'proposed' }
  end
  local patch = {
    patchId = 'p',
    digest = 'd',
    files = {
      { filePath = 'a', hunks = { hunk('1', 1, '-a\n+b\n'), hunk('2', 9, '-c\n+d\n'), hunk('3', 20, '-e\n+f\n') } },
      { filePath = 'b', root = 'web', hunks = { hunk('4', 1, '-g\n+h\n') } },
    },
  }
  local asks = permission(edit('@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,1 +9,1 @@\n-c\n+d'))
  asks.patchId = 'p'
  local files = {
    { filePath = 'a', outcome = 'partly' },
    { filePath = 'b', root = 'web', outcome = 'conflict', message = 'It changed.' },
  }
  local shown = {}
  local seen = play({
    ['bb/patch/get'] = { result = { patch = patch } },
    ['bb/patch/decide'] = { result = { patchId = 'p', files = files } },
  }, { 'Decide change by change' }, function()
    ask(asks)()
    for _, key in ipairs({ 'n', 'a', 'y' }) do
      local buffer = vim.api.nvim_win_get_buf(floats()[1])
      table.insert(shown, vim.api.nvim_buf_get_lines(buffer, 0, 4, false))
      vim.api.nvim_feedkeys(key, 'mx', false)
    end
  end)
  same(seen.asked[1].labels, { 'Allow once', 'Deny', 'Decide change by change', 'Review in the file' })
  same(shown, {
    { 'a, change 1 of 4', '@@ -1,1 +1,1 @@', '-a', '+b' },
    { 'a, change 2 of 4', '@@ -9,1 +9,1 @@', '-c', '+d' },
    { 'web/b, change 4 of 4', '@@ -1,1 +1,1 @@', '-g', '+h' },
  })
  local decided = {
    { id = '1', accepted = false },
    { id = '2', accepted = true },
    { id = '3', accepted = true },
    { id = '4', accepted = true },
  }
  same(seen.sent, {
    { 'bb/patch/get', { sessionId = SESSION, patchId = 'p' } },
    {
      'bb/patch/decide',
      { sessionId = SESSION, patchId = 'p', scope = 'hunk', hunks = decided, digest = 'd' },
    },
  })
  same(seen.said, { 'a was changed in part.', 'web/b was left as it is: It changed.' })
  same(#floats(), 0)
end)

test('an edit that is left in its middle waits, and one change or one that was not told is no edit of several', function()
  local asks = permission(edit('@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,1 +9,1 @@\n-c\n+d'))
  asks.patchId = 'p'
  local hunk = { id = '1', oldStart = 1, oldLines = 1, newStart = 1, newLines = 1, content = '-a\n+b\n' }
  local patch = { patchId = 'p', digest = 'd', files = { { filePath = 'a', hunks = { hunk, hunk } } } }
  local seen = play({ ['bb/patch/get'] = { result = { patch = patch } } }, { 'Decide change by change' }, function()
    ask(asks)()
    vim.api.nvim_feedkeys('y', 'mx', false)
    vim.api.nvim_feedkeys('q', 'mx', false)
  end)
  same(#seen.sent, 1)
  same(#floats(), 0)
  -- Another edit than the one that was shown
  patch.digest = 'other'
  seen = play({ ['bb/patch/get'] = { result = { patch = patch } } }, { 'Decide change by change' }, ask(asks))
  same(seen.said, { 'This edit is another one by now; look at it again.' })
  local one = permission(edit('@@ -1,1 +1,1 @@\n-a\n+b'))
  one.patchId = 'p'
  local untold = permission(edit('@@ -1,1 +1,1 @@\n-a\n+b\n@@ -9,1 +9,1 @@\n-c\n+d'))
  for _, other in ipairs({ one, untold }) do
    same(play({}, { 'Deny' }, ask(other)).asked[1].labels, { 'Allow once', 'Deny' })
  end
end)
