--- The pure parts: which lines change, how blocks look, what settings, commands and notices say.

local harness = require('harness')
local colours = require('breadboard.colours')
local command = require('breadboard.command')
local config = require('breadboard.config')
local files = require('breadboard.files')
local form = require('breadboard.form')
local lines = require('breadboard.lines')
local notices = require('breadboard.notices')
local render = require('breadboard.render')
local rules = require('breadboard.rules')
local subject = require('breadboard.subject')
local visible = require('breadboard.visible')

local check, same, test = harness.check, harness.same, harness.test

---@param old string[]
---@param hunks breadboard.Hunk[]
local function applied(old, hunks)
  local text = vim.list_slice(old)
  for _, hunk in ipairs(hunks) do
    for _ = hunk.first, hunk.last - 1 do
      table.remove(text, hunk.first + 1)
    end
    for offset, line in ipairs(hunk.lines) do
      table.insert(text, hunk.first + offset, line)
    end
  end
  return text
end

test('what would not be seen in a raw text is written out, and usual text stays', function()
  same(
    visible.of('./bu\1il\u{200b}d \u{202e}x\u{ad}\u{e0041} ⟨'),
    './bu⟨U+0001⟩il⟨U+200B⟩d ⟨U+202E⟩x⟨U+00AD⟩⟨U+E0041⟩ ⟨U+27E8⟩'
  )
  same(visible.of('ls' .. (' '):rep(4000) .. '; touch x'), 'ls⟨4000 spaces⟩; touch x')
  same(visible.of('cargo test\tλ 東京 ünï'), 'cargo test\tλ 東京 ünï')
end)

test('replacements turn any text into any other, and equal texts need none', function()
  math.randomseed(7)
  for _ = 1, 2000 do
    local function text()
      local made = {}
      for at = 1, math.random(0, 12) do
        made[at] = ({ 'a', 'b', 'c', '' })[math.random(4)]
      end
      return made
    end
    local old, new = text(), text()
    local hunks = lines.changes(old, new)
    same(applied(old, hunks), new, vim.inspect({ old, new, hunks }))
    check(#hunks > 0 or vim.deep_equal(old, new), 'no replacement for a change')
    check(#hunks == 0 or not vim.deep_equal(old, new), 'a replacement for nothing')
  end
end)

test('two changes far apart leave the lines between them alone', function()
  local old, new = {}, {}
  for at = 1, 100 do
    old[at] = 'line ' .. at
    new[at] = old[at]
  end
  new[10], new[90] = 'ten', 'ninety'
  same(lines.changes(old, new), {
    { first = 89, last = 90, lines = { 'ninety' } },
    { first = 9, last = 10, lines = { 'ten' } },
  })
end)

test('what can be folded is told by its lines alone', function()
  local tool =
    { id = 't', kind = 'tool', seq = 1, name = 'read', status = 'ok', title = 'read a.txt', preview = '1\n2' }
  local drawn = render.block(tool)
  same(drawn, { '▸ ✓ read a.txt', '  │ 1', '  │ 2' })
  same(vim.tbl_map(render.fold_level, drawn), { '>1', '1', '1' })
  local edit = { id = 'e', kind = 'tool', seq = 2, name = 'edit', status = 'denied', title = 'edit a.txt' }
  edit.diff, edit.preview = '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-1\n+2\n', 'You said no.'
  same(render.block(edit), {
    '▸ ⊘ edit a.txt (denied)',
    '  │ --- a.txt',
    '  │ +++ a.txt',
    '  │ @@ -1 +1 @@',
    '  │ -1',
    '  │ +2',
    '  │ You said no.',
  })
  same(render.fold_level('text'), '0')
end)

test('D21: a command that did not end well says its exit code, and has no ✓', function()
  local function head(block)
    return render.block(vim.tbl_extend('force', { kind = 'tool', name = 'run', title = 'run make' }, block))[1]
  end
  same({
    head({ status = 'ok', exitCode = 0 }),
    head({ status = 'ok', exitCode = 3, preview = 'out\nerr\n[exit code 3]' }),
    head({ status = 'failed', exitCode = 3 }),
    head({ status = 'failed', exitCode = vim.NIL }),
    head({ status = 'running', exitCode = 3 }),
    head({ status = 'running', background = 'turn' }),
    head({ status = 'running', background = 'kept' }),
    head({ status = 'ok', background = 'kept' }),
    head({ status = 'ok', preview = 'The command ended with exit code 3.\nstdout:' }),
    head({ status = 'ok', preview = 'The command ended with exit code 0.\nstdout:' }),
    head({ status = 'ok', preview = 'It said: The command ended with exit code 3.' }),
  }, {
    '▸ ✓ run make',
    '▸ ⚠ run make (exit code 3)',
    '▸ ✗ run make (exit code 3)',
    '▸ ✗ run make',
    '▸ … run make',
    '▸ … run make (in the background)',
    '▸ … run make (runs on after the turn)',
    '▸ ✓ run make',
    '▸ ⚠ run make (exit code 3)',
    '▸ ✓ run make',
    '▸ ✓ run make',
  })
end)

test('every kind of block has its lines, and no line holds a line end', function()
  local blocks = {
    { kind = 'user', text = 'why\nso', lines = { '## You', 'why', 'so' } },
    { kind = 'assistant', text = 'because\n', streaming = true, lines = { 'because' } },
    { kind = 'reasoning', text = 'hm\nah', streaming = false, lines = { '▸ Thinking: hm', '  │ hm', '  │ ah' } },
    { kind = 'tool', name = 'run', status = 'failed', title = 'run\nmake', lines = { '▸ ✗ run ⏎ make' } },
    {
      kind = 'tool',
      name = 'execute',
      status = 'ok',
      title = 'Shell',
      input = { command = 'make all' },
      lines = { '▸ ✓ Shell make all' },
    },
    { kind = 'tool', name = 'edit', status = 'ok', title = 'WriteFile', input = vim.NIL, lines = { '▸ ✓ WriteFile' } },
    {
      kind = 'tool',
      name = 'run',
      status = 'ok',
      preview = '\27[1;32mok\27[0m ⟨U+001B⟩[2K',
      lines = { '▸ ✓ run', '  │ ok ⟨U+001B⟩[2K' },
    },
    {
      kind = 'tool',
      name = 'run',
      status = 'ok',
      preview = 'x',
      truncated = true,
      bytes = 9000,
      lines = { '▸ ✓ run', '  │ x', '  │ (cut; K shows all 9000 bytes)' },
    },
    {
      kind = 'permission',
      status = 'pending',
      permission = { title = 'rm -r x\n&& make', subject = { kind = 'command', command = 'rm -r y', cwd = 'sub' } },
      lines = {
        '? rm -r x',
        '  && make',
        '  command: rm -r y',
        '  in: sub',
        '  — waits for you: :BreadBoard approve, or <CR> here',
      },
    },
    {
      kind = 'permission',
      status = 'saving',
      permission = { title = 'make', subject = { kind = 'command', command = 'make', cwd = '.' } },
      lines = { '? make', '  in: .', '  — saving what is unsaved, then it runs; :BreadBoard approve answers otherwise' },
    },
    {
      kind = 'permission',
      status = 'pending',
      problem = 'The editor did not save `a.txt`.',
      permission = { title = 'make', subject = { kind = 'command', command = 'make', cwd = '.' } },
      lines = {
        '? make',
        '  in: .',
        '  ✗ The editor did not save `a.txt`.',
        '  — waits for you: :BreadBoard approve, or <CR> here',
      },
    },
    {
      kind = 'permission',
      status = 'denied',
      permission = { title = 'rm -r x', subject = { kind = 'command', command = 'rm -r x', cwd = 'sub' } },
      lines = { '? rm -r x', '  — denied' },
    },
    {
      kind = 'permission',
      status = 'allowed',
      chosen = { optionId = 'a', label = 'Always', rule = { pattern = 'x', holder = 'agent', keptBy = 'claude' } },
      permission = { title = 'rm -r x', subject = { kind = 'command', command = 'rm -r x', cwd = 'sub' } },
      lines = { '? rm -r x', '  — allowed, and kept by claude; take it back there' },
    },
    {
      kind = 'plan',
      steps = { { text = 'one', status = 'done', files = { 'a' } }, { text = 'two' } },
      lines = { 'Plan:', '- [x] one (a)', '- [ ] two' },
    },
    {
      kind = 'patch',
      patchId = 'p',
      files = { { filePath = 'a', added = 1, removed = 2 } },
      rationale = 'why',
      diff = '-b\n+c\n',
      lines = { '▸ Patch a +1 −2: why', '  │ -b', '  │ +c' },
    },
    { kind = 'command', command = 'compact', status = 'accepted', lines = { '/compact: accepted' } },
    {
      kind = 'task',
      taskId = 't',
      title = 'look',
      status = 'running',
      parentId = 'p',
      lines = { '- look: running  under p' },
    },
    {
      kind = 'checkpoint',
      checkpointId = 'c',
      title = 'before',
      status = 'made',
      lines = { 'Checkpoint before: made' },
    },
    { kind = 'link', uri = 'file:///l', label = 'log', lines = { 'log: file:///l' } },
    {
      kind = 'assistant',
      text = 'Found.\n\nTo get answers from a model, choose one. Until then each answer is what searching finds.\n',
      lines = {
        'Found.',
        '',
        'To get answers from a model, choose one (:BreadBoard model). Until then each answer is what searching finds.',
      },
    },
    { kind = 'turn-start', engine = 'claude', model = 'Opus', lines = { 'claude · Opus' } },
    {
      kind = 'turn-end',
      outcome = 'done',
      durationMs = 61999,
      inputTokens = 1200,
      outputTokens = 34,
      cost = { amount = 0.25, currency = 'EUR' },
      lines = { '✓ Done (1 min 1 s · 1200 tokens read, 34 written · 0.25 EUR)' },
    },
    {
      kind = 'turn-end',
      outcome = 'done',
      cost = { amount = 1.5e-05, currency = 'USD' },
      lines = { '✓ Done (less than 0.0001 USD)' },
    },
    {
      kind = 'turn-end',
      outcome = 'done',
      cost = { amount = 12.345678, currency = 'USD' },
      lines = { '✓ Done (12.3457 USD)' },
    },
    { kind = 'turn-end', outcome = 'stopped', durationMs = 1250, lines = { '⊘ The turn was stopped. (1.2 s)' } },
    { kind = 'turn-end', outcome = 'cut', text = 'It ended at its limit.', lines = { '✗ It ended at its limit.' } },
    { kind = 'turn-end', outcome = 'failed', totalTokens = 7, lines = { '✗ The turn failed. (7 tokens)' } },
    { kind = 'summary', success = true, text = 'The turn is done.', lines = { '✓ The turn is done.' } },
    { kind = 'notice', level = 'warning', text = 'mind\nthis', lines = { '⚠ mind', '  this' } },
    { kind = 'unknown', type = 'x.y', preview = '{}', lines = { '▸ x.y', '  │ {}' } },
    { kind = 'of a later version', text = 'news', lines = { '▸ of a later version', '  │ news' } },
  }
  for _, block in ipairs(blocks) do
    local want = block.lines
    block.lines = nil
    same(render.block(block), want, block.kind)
  end
end)

local UNKNOWN = 'The agent did not tell exactly what it would do, so it can be allowed once only.'

test('every kind of subject is shown whole to who decides, and in short in the chat', function()
  local cases = {
    {
      title = 'Write a, b and c',
      subject = {
        kind = 'edit',
        reason = 'to see\nmore',
        files = {
          { filePath = 'a', change = 'modify', added = 1, removed = 2, diff = '@@ -1,2 +1 @@\n-x\n-y\n+z\n' },
          { filePath = 'b', root = 'lib', change = 'rename', oldPath = 'old' },
          { filePath = 'c', change = 'create', added = 1, diff = '@@ -0,0 +1 @@\n+w' },
          { filePath = 'd', change = 'delete' },
        },
      },
      whole = {
        'Write a, b and c',
        'why: to see',
        '  more',
        '',
        'change a +1 −2',
        '@@ -1,2 +1 @@',
        '-x',
        '-y',
        '+z',
        '',
        'rename lib: old → b',
        '',
        'new file c +1',
        '@@ -0,0 +1 @@',
        '+w',
        '',
        'delete d',
      },
      brief = { 'change a +1 −2', 'rename lib: old → b', 'new file c +1', 'delete d' },
    },
    {
      title = 'Write a',
      subject = { kind = 'edit', unknown = true, files = { { filePath = 'a', change = 'modify' } } },
      whole = { 'Write a', UNKNOWN, '', 'change a' },
      brief = { 'change a', UNKNOWN },
    },
    {
      title = 'Write a',
      subject = {
        kind = 'edit',
        truncated = true,
        files = { { filePath = 'a', change = 'modify', added = 9, removed = 0, truncated = true } },
      },
      whole = { 'Write a', 'This is not all of it.', '', 'change a +9 −0', '(the diff of this file is cut)' },
      brief = { 'change a +9 −0' },
    },
    {
      title = 'Run `make`',
      subject = { kind = 'command', command = 'make', cwd = 'sub', env = { B = '2', A = 'x\nin: .' }, reason = 'r' },
      whole = { 'Run `make`', 'why: r', '', 'command: make', 'in: sub', 'with: A=x', '  in: .', 'with: B=2' },
      brief = { 'in: sub', 'with: A=x ⏎ in: .', 'with: B=2' },
    },
    {
      title = 'Look it up',
      subject = {
        kind = 'tool',
        name = 'fetch',
        input = { url = 'http://a/b', deep = { z = { 1, true, '/' }, a = 'q' }, body = 'one\n  url: two' },
      },
      whole = {
        'Look it up',
        '',
        'tool: fetch',
        '  body: one',
        '      url: two',
        '  deep: {"a":"q","z":[1,true,"/"]}',
        '  url: http://a/b',
      },
      brief = { 'tool: fetch {"body":"one\\n  url: two","deep":{"a":"q","z":[1,true,"/"]},"url":"http://a/b"}' },
    },
    {
      title = 'Use ping',
      subject = { kind = 'tool', name = 'ping', input = vim.empty_dict() },
      whole = { 'Use ping', '', 'tool: ping' },
      brief = { 'tool: ping' },
    },
    {
      title = 'Log in',
      subject = {
        kind = 'question',
        text = 'Log in\naddress: there',
        input = { message = 'Log in', url = 'https://a.b/c' },
      },
      whole = {
        'Log in',
        '',
        'question: Log in',
        '  address: there',
        '',
        'address: https://a.b/c',
        '(it is not opened; visit it yourself if you want to)',
      },
      brief = { 'Log in ⏎ address: there', 'address: https://a.b/c' },
    },
    {
      title = 'Who?',
      subject = {
        kind = 'question',
        text = 'Who?',
        input = {
          message = 'Who?',
          schema = {
            required = { 'name' },
            properties = { age = { type = 'integer' }, name = { title = 'Your name' } },
          },
        },
      },
      whole = { 'Who?', 'asks for: Your name', 'asks for: age (may be left out)' },
      brief = {},
    },
  }
  for _, case in ipairs(cases) do
    same(subject.whole(case), case.whole, case.title)
    same(subject.brief(case), case.brief, case.title)
    same(subject.refusal(case), nil)
  end
  same(
    subject.refusal({ subject = { kind = 'later' } }),
    'It can only be denied: this plugin cannot show what is a `later`.'
  )
end)

test('the chat names five files of an edit and cuts a long line', function()
  local many = {}
  for at = 1, 7 do
    many[at] = { filePath = 'f' .. at, change = 'modify' }
  end
  local brief = subject.brief({ title = 't', subject = { kind = 'edit', files = many } })
  same(brief, { 'change f1', 'change f2', 'change f3', 'change f4', 'change f5', 'and 2 more' })
  brief = subject.brief({ title = 't', subject = { kind = 'command', command = ('ü'):rep(500), cwd = '.' } })
  same(brief, { 'command: ' .. ('ü'):rep(151) .. '…', 'in: .' })
end)

test('an answer is named with its own rule and with who keeps it', function()
  local cases = {
    { { label = 'Allow once', kind = 'allow_once' }, 'Allow once' },
    { { label = 'Always', kind = 'allow_rule', rule = { pattern = 'x', scope = 'session', holder = 'server' } }, 'Always (x)' },
    { { label = 'Always', kind = 'allow_rule', rule = { pattern = 'x *', holder = 'engine' } }, 'Always (x *; kept by the engine)' },
    {
      { label = 'Always', kind = 'allow_rule', rule = { pattern = 'x *', holder = 'engine', keptIn = '.e/rules.json' } },
      'Always (x *; kept by the engine in .e/rules.json)',
    },
    { { label = 'Always', kind = 'allow_rule', rule = { pattern = 'any', holder = 'agent' } }, 'Always (any; kept by the agent)' },
    { { label = 'Always', kind = 'allow_rule', rule = { pattern = 'Always', holder = 'agent' } }, 'Always (kept by the agent)' },
  }
  for _, case in ipairs(cases) do
    same(subject.option(case[1]), case[2])
  end
end)

test('a rule is listed with where it holds and who keeps it', function()
  local cases = {
    {
      { pattern = 'x', scope = 'workspace', holder = 'server', folder = '/w' },
      'x (in this workspace; kept by the server; in /w)',
    },
    {
      { pattern = 'x', scope = 'session', holder = 'server', sessionId = 's' },
      'x (for the session s; kept by the server)',
    },
    { { pattern = 'x', holder = 'agent' }, 'x (kept by the agent)' },
    {
      { pattern = 'x', scope = 'workspace', holder = 'engine', keptBy = 'breadboard', keptIn = '.e/rules.json' },
      'x (in this workspace; kept by breadboard in .e/rules.json)',
    },
  }
  for _, case in ipairs(cases) do
    same(rules.line(case[1]), case[2])
  end
end)

test('what is typed into a field is a value of its type, or is said not to be', function()
  local cases = {
    { { type = 'string' }, 'a b', 'a b' },
    { { type = 'string', minLength = 2 }, 'ü', nil, 'at least 2 characters' },
    { { type = 'string', maxLength = 1 }, 'üü', nil, 'at most 1 characters' },
    { { type = 'number' }, ' 1.5 ', 1.5 },
    { { type = 'number' }, 'one', nil, 'a number' },
    { { type = 'number' }, '', nil, 'a number' },
    { { type = 'integer' }, '7', 7 },
    { { type = 'integer' }, '7.5', nil, 'a whole number' },
    { { type = 'integer', minimum = 8 }, '7', nil, '8 or more' },
    { { type = 'integer', maximum = 6 }, '7', nil, '6 or less' },
  }
  for _, case in ipairs(cases) do
    local value, problem = form.read({ name = 'f', schema = case[1], required = true }, case[2])
    same({ value, problem }, { case[3], case[4] }, case[2])
  end
  same(form.refusal({ properties = { a = { type = 'string' }, b = { enum = { 'x' } } } }), nil)
  same(
    form.refusal({ properties = { ['a\u{200b}'] = { type = 'array' } } }),
    'This form asks for `a⟨U+200B⟩`, which cannot be filled in here.'
  )
end)

test('R003-35: who answers stands beside the prompt, and is no text of the chat', function()
  local lane = {
    blocks = {
      { id = 'u', kind = 'user', text = 'go', seq = 4 },
      { id = 't', kind = 'turn-start', engine = 'claude', seq = 4 },
      { id = 'a', kind = 'assistant', text = 'done', seq = 5 },
    },
  }
  local drawing = render.lane(lane, {})
  same(drawing.lines, { '## You', 'go', '', 'done' })
  same(drawing.beside, { [1] = 'claude' })
  -- Where the prompt is on an older page it has a line of its own.
  table.remove(lane.blocks, 1)
  drawing = render.lane(lane, {})
  same({ drawing.lines, drawing.beside }, { { 'claude', '', 'done' }, {} })
end)

test('A6: every failure is told whole, with what is done about it in Neovim', function()
  local file = io.open(vim.g.breadboard_checkout .. '/tests/fixtures/remedies.json')
  local sentences = vim.json.decode(file:read('*a'))
  file:close()
  local function setting(which)
    return { '%.$', (' (the setting `%s`, :help breadboard-settings).'):format(which) }
  end
  local model, engine = setting('model'), setting('engine')
  local function variable(name)
    return { 'in your editor, or in', 'in', name .. '%.', name .. ' and start Neovim again.' }
  end
  -- What is said otherwise than by the server, by words that only one sentence has; all else is as it says it.
  local otherwise = {
    model = {
      ['HTTP 401'] = variable('BREADBOARD_MODEL_TOKEN'),
      ['HTTP 403'] = model,
      ['HTTP 404'] = model,
      ['HTTP 413'] = { '%.$', ' (:BreadBoard new).' },
      ['HTTP 302'] = model,
      ['could not be read'] = model,
      ['speaks no HTTP'] = model,
      ['speaks no TLS'] = model,
    },
    engine = {
      ['wants a token'] = variable('BREADBOARD_API_TOKEN'),
      ['HTTP 403'] = engine,
      ['HTTP 404'] = engine,
      ['HTTP 302'] = engine,
      ['not the JSON'] = engine,
      ['speaks no HTTP'] = engine,
      ['speaks no TLS'] = engine,
    },
    agent = {},
  }
  for whose, rows in pairs(otherwise) do
    local met = 0
    for _, sentence in ipairs(sentences[whose]) do
      local want = sentence
      for words, changes in pairs(rows) do
        if sentence:find(words, 1, true) then
          met = met + 1
          for at = 1, #changes, 2 do
            want = want:gsub(changes[at], changes[at + 1])
          end
        end
      end
      same(render.block({ kind = 'notice', level = 'error', text = sentence }), { '✗ ' .. want })
      same(render.notice({ level = 'error', text = want }), { '✗ ' .. want }, 'what is said so already stays')
    end
    same(met, vim.tbl_count(rows), whose)
  end
end)

test('D17: a settled ask says what was chosen, where that holds and who keeps it', function()
  local options = {
    { optionId = 'save', label = 'Save and run', kind = 'allow_once' },
    { optionId = 'once', label = 'Run anyway', kind = 'allow_once' },
    { optionId = 'no', label = 'Deny', kind = 'deny' },
  }
  local function drawn(status, chosen, client)
    local permission = { requestId = 'r1', title = 'make', options = options }
    local block = { id = 'p', kind = 'permission', status = status, permission = permission, chosen = chosen }
    block.client = client and { name = client, version = '1' }
    return render.lane({ blocks = { block } }, {}).lines[2]
  end
  local function rule(holder, scope, keeper, file)
    local kept = { holder = holder, scope = scope, pattern = 'x', keptBy = keeper, keptIn = file }
    return { optionId = 'always', label = 'Always', rule = kept }
  end
  same(drawn('allowed', rule('server', 'session')), '  — allowed, and kept by the server for this session')
  same(
    drawn('allowed', rule('engine', 'workspace', 'breadboard')),
    '  — allowed, and kept by breadboard for this workspace; take it back there'
  )
  same(
    drawn('allowed', rule('engine', 'workspace', 'breadboard', '.e/rules.json')),
    '  — allowed, and kept by breadboard in .e/rules.json for this workspace; take it back there'
  )
  same(drawn('allowed', rule('agent', nil, 'claude')), '  — allowed, and kept by claude; take it back there')
  same(drawn('allowed', { optionId = 'once', label = 'Run anyway' }), '  — allowed: “Run anyway”')
  same(drawn('denied', { optionId = 'no', label = 'Deny' }), '  — denied')
  same(drawn('allowed', nil), '  — allowed')
  -- And where, when that was another client of the session.
  same(drawn('denied', nil, 'Neovim'), '  — denied')
  same(drawn('denied', nil, 'Visual Studio Code'), '  — denied in Visual Studio Code')
  same(drawn('allowed', { optionId = 'once', label = 'Run anyway' }, 'two'), '  — allowed in two: “Run anyway”')
end)

test('a notice stands behind the block that was last when it came', function()
  local lane = {
    hasMore = true,
    blocks = {
      { id = 'a', kind = 'assistant', text = 'one' },
      { id = 'b', kind = 'assistant', text = 'two' },
    },
  }
  local drawing = render.lane(lane, {
    { level = 'error', text = 'gone', after = 'a' },
    { level = 'info', text = 'early' },
  })
  same(drawing.lines, {
    '(there is more above: :BreadBoard older)',
    '',
    'ℹ early',
    '',
    'one',
    '',
    '✗ gone',
    '',
    'two',
  })
  same({ drawing.owners[5].id, drawing.owners[7], drawing.owners[9].id }, { 'a', nil, 'b' })
end)

test('a lost part and a gap are said with what is known of them', function()
  local function said(...)
    return { notices.of_connection(...) }
  end
  same(
    said({ status = 'connected', resume = { verdict = 'lost', from = 4, to = 9, reason = 'The engine restarted.' } }),
    {
      'warning',
      'A part of this session is lost (events 4 to 9). The engine restarted.',
    }
  )
  same(said({ status = 'connected', gapDetected = true }), {
    'warning',
    'Events of the engine are missing; what is shown may have a gap.',
  })
  same(said({ status = 'error', lastError = 'refused' }), { 'error', 'The engine does not answer: refused' })
  same(said({ status = 'connected', resume = { verdict = 'replayed', events = 3 } }), {})
  same({ notices.of_resume({ verdict = 'resynced', from = 4, to = 9 }) }, {
    'info',
    'Nothing is missing; the whole history was read again (events 4 to 9).',
  })
  same({ notices.of_resume({ verdict = 'complete' }) }, {})
end)

test('a setting that does not exist, or of another type, is refused by name', function()
  local function refusal(options)
    local ok, problem = pcall(config.set, options)
    return not ok and problem
  end
  same(refusal({ trust = true }), 'breadboard: there is no setting `trust`; see :help breadboard-settings')
  same(refusal({ cmd = 'x' }), 'breadboard: `cmd` must be a table, not a string')
  same(refusal({ trusted = 'yes' }), 'breadboard: `trusted` must be a boolean or a table or a function, not a string')
end)

test('a list of folders trusts each and what is below, and no neighbour', function()
  config.set({ trusted = { '/srv/mine/' } })
  same(
    { config.trusts('/srv/mine'), config.trusts('/srv/mine/a'), config.trusts('/srv/mine2'), config.trusts('/srv') },
    {
      true,
      true,
      false,
      false,
    }
  )
  config.set({
    trusted = function(root)
      return root == '/x'
    end,
  })
  same({ config.trusts('/x'), config.trusts('/y') }, { true, false })
  config.set({})
  same(config.trusts('/x'), false)
end)

test('a model is provider/name, and a slash in a name is not a provider', function()
  same(config.parse_model('ollama/qwen3'), { provider = 'ollama', name = 'qwen3' })
  same(config.parse_model('org/model'), { name = 'org/model' })
  same(config.parse_model('gpt'), { name = 'gpt' })
end)

test('subcommands complete by what was typed', function()
  same(command.complete('s', 'BreadBoard s', 12), { 'select', 'sessions', 'setup', 'stop', 'stopcommand' })
  same(command.complete('r', 'BreadBoard queue r', 18), { 'resume' })
  same(command.complete('git', 'BreadBoard diff a.txt git', 25), { 'git:HEAD' })
  same(vim.fn.getcompletion('BreadBoard appr', 'cmdline'), { 'approvals', 'approve' })
end)

test('an @path is found where it ends at the cursor, and no address is one', function()
  same({ files.reference_at('see @src/li') }, { 6, 'src/li' })
  same({ files.reference_at('@') }, { 2, '' })
  same({ files.reference_at('mail a@b') }, {})
  same({ files.reference_at('@a b') }, {})
end)

test('a place is read around the cursor', function()
  local function at(text, column)
    local place = files.place_in(text, column)
    return place and { place.path, place.line, place.column } or {}
  end
  same(at('see `src/a.rs:12`.', 8), { 'src/a.rs', 12 })
  same(at('src/a.rs:12-14', 1), { 'src/a.rs', 12 })
  same(at('src/a.rs:12:5, and', 3), { 'src/a.rs', 12, 5 })
  same(at('in @src/a.rs, there', 6), { 'src/a.rs' })
  same(at('  ', 1), {})
end)

test('what is marked as a place has a path and a line', function()
  local function named(text)
    return vim.tbl_map(function(place)
      return { text:sub(place.first, place.last), place.path, place.line }
    end, files.places(text))
  end
  same(named('see `uploads/src/lib.rs:8-12`, größe.rs:1 and src/a.ts:3:15.'), {
    { 'uploads/src/lib.rs:8-12', 'uploads/src/lib.rs', 8 },
    { 'größe.rs:1', 'größe.rs', 1 },
    { 'src/a.ts:3:15', 'src/a.ts', 3 },
  })
  same(named([[C:\proj\lib.rs:8 or src\lib.rs:9 or src/lib.rs#L7]]), {
    { [[C:\proj\lib.rs:8]], 'C:/proj/lib.rs', 8 },
    { [[src\lib.rs:9]], 'src/lib.rs', 9 },
    { 'src/lib.rs#L7', 'src/lib.rs', 7 },
  })
  same(named('at 10:30:45 https://a.org/b.rs:3 example.com:443 127.0.0.1:80 localhost:8080 src/a.rs'), {})
end)

test('D10: what can be done about a failure is told as what can be typed', function()
  local remedy = require('breadboard.remedy')
  local function lines(level, retry, login)
    return remedy.lines({ level = level, retry = retry, login = login })
  end
  same(lines('error'), {})
  same(lines('error', { taken = 'no', when = 'never' }), {})
  same(lines('warning', { taken = 'no', when = 'later' }), {})
  same(lines('error', { taken = 'perhaps', when = 'changed' }), { '  :BreadBoard retry sends it again.' })
  same(
    lines('error', { taken = 'no', when = 'later', afterMs = 12500 }),
    { '  It asks to wait 13 s; :BreadBoard retry sends it again.' }
  )
  same(lines('warning', nil, { command = 'gemini', inside = '/auth', variable = 'GEMINI_API_KEY' }), {
    '  :terminal gemini, and /auth in it',
  })
  same(
    lines('warning', nil, {
      command = 'codex login',
      methods = {
        { id = 'key', name = 'API\nkey', by = 'agent' },
        { id = 'tty', name = 'Log in', by = 'terminal', command = 'codex login' },
        { id = 'web', name = 'Web', by = 'terminal', command = 'codex login --web' },
      },
    }),
    { '  :terminal codex login', '  :BreadBoard login key (API key)', '  :terminal codex login --web' }
  )
end)

test('what a program printed is its words, and the look of each stretch of a line', function()
  local function read(text)
    local words, coloured = colours.lines(text)
    local flat = {}
    for at, stretches in pairs(coloured) do
      for _, stretch in ipairs(stretches) do
        local groups = table.concat(stretch.groups, ' '):gsub('BreadBoard', '')
        table.insert(flat, ('%d:%s=%s'):format(at, words[at]:sub(stretch.first + 1, stretch.last), groups))
      end
    end
    table.sort(flat)
    return { words, flat }
  end
  same(read('plain\n'), { { 'plain' }, {} })
  same(read('a \27[31mred\27[0m é \27[92;44mboth\27[39m back\27[49m'), {
    { 'a red é both back' },
    { '1: back=OnBlue', '1:both=BrightGreen OnBlue', '1:red=Red' },
  })
  same(read('\27[1;33mWARN\27[22m on\n\nover\27[m\n\27[3;4mx\27[23my\27[24mz\27[0m\n'), {
    { 'WARN on', '', 'over', 'xyz' },
    { '1: on=Yellow', '1:WARN=Yellow Bold', '3:over=Yellow', '4:x=Italic Underline', '4:y=Underline' },
  })
  -- A colour that is mixed takes its numbers with it, and the one before away.
  same(read('\27[31;38;5;31mm\27[32;48;2;31;32;33mg'), { { 'mg' }, { '1:g=Green' } })
end)

test('colours of a result stand where the chat has its words', function()
  local lane = {
    blocks = {
      { id = 'u', kind = 'user', text = 'go', seq = 1 },
      { id = 't', kind = 'tool', name = 'run', status = 'ok', seq = 2, diff = '+a\n' },
    },
  }
  lane.blocks[2].preview = 'one\n\27[31mtwo\27[0m\n'
  local drawing = render.lane(lane, {})
  same(drawing.lines, { '## You', 'go', '', '▸ ✓ run', '  │ +a', '  │ one', '  │ two' })
  same(drawing.coloured, { [7] = { { first = 6, last = 9, groups = { 'BreadBoardRed' } } } })
  same(drawing.lines[7]:sub(7, 9), 'two')
end)

test('the wait of what failed last counts down from the end of its turn, and what is over is over', function()
  local function turn(seq, retry, started)
    return {
      { id = 'u' .. seq, kind = 'user', text = 'go', seq = seq },
      { id = 't' .. seq, kind = 'turn-start', seq = seq, startedAt = started },
      { id = 'n' .. seq, kind = 'notice', level = 'error', text = 'Busy.', seq = seq, retry = retry },
      { id = 'e' .. seq, kind = 'turn-end', outcome = 'failed', seq = seq, durationMs = 500 },
    }
  end
  local busy = { taken = 'no', when = 'later', afterMs = 13000 }
  local function left(blocks, now)
    local drawing = render.lane({ blocks = blocks }, {}, nil, now)
    local beside = {}
    for at, text in pairs(drawing.beside) do
      if drawing.lines[at]:find('It asks to wait', 1, true) then
        table.insert(beside, text)
      end
    end
    return { beside, drawing.waits }
  end
  same(left(turn(1, busy, 1000), 1500), { { '13 s left' }, 13 })
  same(left(turn(1, busy, 1000), 1501), { { '13 s left' }, 13 })
  same(left(turn(1, busy, 1000), 14499), { { '1 s left' }, 1 })
  same(left(turn(1, busy, 1000), 14500), { {} })
  same(left(turn(1, { taken = 'no', when = 'later', afterMs = 600000 }, 1000), 1500), { { '10 min left' }, 600 })
  for _, other in ipairs({ { taken = 'no', when = 'never', afterMs = 13000 }, { taken = 'no', when = 'later' } }) do
    same(left(turn(1, other, 1000), 1500), { {} })
  end
  -- Somebody went on: nothing waits for the first any more.
  same(left(vim.list_extend(turn(1, busy, 1000), { { id = 'u9', kind = 'user', text = 'on', seq = 9 } }), 1500), { {} })
  -- A turn of which no end is known counts nothing.
  same(left(vim.list_slice(turn(1, busy, 1000), 1, 3), 1500), { {} })
end)

test('the prompt that can be sent again is that of the last turn, where it failed', function()
  local remedy = require('breadboard.remedy')
  local user = { id = 'u', kind = 'user', text = 'go' }
  local function error_of(when)
    return { id = 'n', kind = 'notice', level = 'error', text = 'No.', retry = when and { taken = 'no', when = when } }
  end
  local function ends(outcome)
    return { id = 'e', kind = 'turn-end', outcome = outcome }
  end
  for _, blocks in ipairs({
    { user, error_of('later'), ends('failed') },
    { user, error_of(), ends('failed') },
    { user, ends('cut') },
    { user, ends('stopped') },
  }) do
    same(remedy.failed(blocks), user)
  end
  local function refused(blocks)
    local prompt, why = remedy.failed(blocks)
    same(prompt, nil)
    return why
  end
  check(refused({}):find('Nothing was asked', 1, true))
  check(refused({ user, ends('done') }):find('did not fail', 1, true))
  check(refused({ user, error_of('later'), user, ends('done') }):find('did not fail', 1, true))
  check(refused({ user, error_of('never'), ends('failed') }):find('refused again', 1, true))
end)
