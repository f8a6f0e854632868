--- Agents and what they offer: which one, modes, options, commands, logins. With the real server.

local harness = require('harness')
local stage = require('stage')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

local OFFERS = [[ {"agent": {
  "modes": {"currentModeId": "ask", "availableModes": [
    {"id": "ask", "name": "Ask first", "description": "each edit is asked"}, {"id": "code", "name": "Code"}]},
  "configOptions": [
    {"id": "effort", "name": "Effort", "type": "select", "currentValue": "low",
     "options": [{"value": "low", "name": "Low"}, {"value": "high", "name": "High"}]},
    {"id": "web", "name": "Web search", "type": "boolean", "currentValue": false}],
  "commands": [{"name": "plan", "description": "make a plan", "input": {"hint": "what for"}},
               {"name": "review", "description": "look at the changes"}]},
 "prompts": [{"steps": [
   {"update": {"sessionUpdate": "usage_update", "used": 100, "size": 1000,
               "cost": {"amount": 0.006400000000000001, "currency": "USD"}}},
   {"say": "I am the first."}]}]} ]]

local SECOND = [[ [{"say": "I am the second."}] ]]

local function by_label(label)
  return function(items, options)
    for _, item in ipairs(items) do
      if (options.format_item and options.format_item(item) or item):find(label, 1, true) then
        return item
      end
    end
  end
end

test('D14: an agent of the settings is picked, and a session begins with it', function()
  stage.play(OFFERS, function(s)
    require('breadboard.config').current.agents = { second = s:agent(SECOND) }
    s.pick = by_label('second')
    vim.cmd('BreadBoard agent')
    local store = require('breadboard.store')
    await('the session', function()
      return store.active
    end)
    same(s.asked[1].prompt, 'A new session with')
    same(s.asked[1].shown, { 'the engine of the settings (acp)', 'second' })
    vim.cmd('BreadBoard ask who are you?')
    s:sees('I am the second.')
    same(store.summary(store.active).agent, 'second')
    same(require('breadboard.command').complete('se', 'BreadBoard agent se', 19), { 'second' })

    s.pick = by_label('the engine')
    local second = store.active
    vim.cmd('BreadBoard agent')
    await('the other session', function()
      return store.active ~= second
    end)
    vim.cmd('BreadBoard ask who are you?')
    s:sees('I am the first.')
    s:idle()
    s.pick = function() end
    vim.cmd('BreadBoard sessions')
    table.sort(s.asked[3].shown)
    same(s.asked[3].shown, { '  who are you? (idle, second)', '* who are you? (idle, breadboard-ls)' })
  end)
end)

--- Tells a call, asks for it, and then writes through the editor.
local WRITES = [[ [
  {"tool_call": {"toolCallId": "c1", "title": "Write", "kind": "edit", "status": "pending", "content": [
    {"type": "diff", "path": "WORKSPACE/a.txt", "oldText": OLD, "newText": "one\n2\n"}]}},
  {"ask": {"toolCall": {"toolCallId": "c1"}, "options": [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]}},
  {"request": "fs/write_text_file", "params": {"path": "WORKSPACE/a.txt", "content": "one\n2\n"}},
  {"say": "Written."}
] ]]

test('D8: an edit of an agent is asked about once, shown as the change that it is, and written', function()
  for _, old in ipairs({ '"one\\ntwo\\n"', 'null' }) do
    local script = WRITES:gsub('OLD', function()
      return old
    end)
    stage.play('[]', function(s)
      local writer = vim.tbl_extend('force', s:agent(script), { fileSystem = true })
      require('breadboard.config').current.agents = { writer = writer }
      s:write('a.txt', { 'one', 'two' })
      s.pick = by_label('writer')
      vim.cmd('BreadBoard agent')
      local store = require('breadboard.store')
      await('the session', function()
        return store.active
      end)
      vim.cmd('BreadBoard ask edit it')
      s:ask()
      vim.cmd('BreadBoard approve')
      local lines = s:lines(0)
      check(vim.tbl_contains(lines, 'change a.txt +1 −1'), vim.inspect(lines))
      check(vim.tbl_contains(lines, '-two') and vim.tbl_contains(lines, '+2'), vim.inspect(lines))
      s:press('y')
      s:sees('Written.')
      s:idle()
      local asks = vim.tbl_filter(function(block)
        return block.kind == 'permission'
      end, store.views[store.active].lanes.chat.blocks)
      same(#asks, 1, 'asked once')
      same(asks[1].status, 'allowed')
      same(s:read('a.txt'), { 'one', '2' })
      -- And the card of the call names the file as the workspace does
      check(s:shown():find('+++ a.txt', 1, true), s:shown())
    end)
  end
end)

test('D14: without agents in the settings the picker says where they go', function()
  stage.play(SECOND, function(s)
    vim.cmd('BreadBoard new')
    await('the session', function()
      return require('breadboard.store').active
    end)
    vim.cmd('BreadBoard agent')
    s:sees(
      'The settings name no agents; add `agents` (:help breadboard-agents), or say one: :BreadBoard agent opencode'
    )
  end)
end)

test('D14: modes and options are picked from lists or named, and no JSON comes into the chat', function()
  stage.play(OFFERS, function(s)
    s.pick = by_label('Code')
    vim.cmd('BreadBoard mode')
    s:sees('ℹ The mode is Code.')
    local chat, store = require('breadboard.chat'), require('breadboard.store')
    vim.api.nvim_set_current_win(chat.show(store.active))
    await('the mode above the chat', function()
      return chat.bar() == 'New session · breadboard-ls (Code) · idle'
    end)
    same(s.asked[1].shown, { '● Ask first: each edit is asked', '  Code' })
    vim.cmd('BreadBoard mode Ask first')
    s:sees('ℹ The mode is Ask first.')
    vim.cmd('BreadBoard mode nonsense')
    s:sees('✗ This agent has no mode `nonsense`; :BreadBoard mode lists what it has.')

    s.asked = {}
    s.pick = function(items, options)
      return by_label(options.prompt == 'Option' and 'Effort' or 'High')(items, options)
    end
    vim.cmd('BreadBoard option')
    s:sees('ℹ Effort is High.')
    same(s.asked[1].shown, { 'Effort: Low', 'Web search: Off' })
    same(s.asked[2].shown, { '● Low', '  High' })
    vim.cmd('BreadBoard option web On')
    s:sees('ℹ Web search is On.')
    s.asked = {}
    s.pick = function() end
    vim.cmd('BreadBoard option')
    await('the list', function()
      return s.asked[1]
    end)
    same(s.asked[1].shown, { 'Effort: High', 'Web search: On' })
    check(not s:shown():find('[{}]'), s:shown())
  end)
end)

test('D14: a mode that an agent has as an option is chosen as any mode', function()
  local offers = [[ {"agent": {"configOptions": [
    {"id": "how", "name": "How", "category": "mode", "type": "select", "currentValue": "ask",
     "options": [{"value": "ask", "name": "Ask first"}, {"value": "code", "name": "Code"}]}]},
   "prompts": [{"steps": [{"say": "I am here."}]}]} ]]
  stage.play(offers, function(s)
    s.pick = by_label('Code')
    vim.cmd('BreadBoard mode')
    s:sees('ℹ The mode is Code.')
    same(s.asked[1].shown, { '● Ask first', '  Code' })
    vim.cmd('BreadBoard mode nonsense')
    s:sees('✗ This agent has no mode `nonsense`; :BreadBoard mode lists what it has.')
    vim.cmd('BreadBoard mode ask')
    s:sees('ℹ The mode is Ask first.')
  end)
end)

test('an agent that changes its mode by itself is shown with the new one', function()
  local script = OFFERS:gsub(
    '{"say": "I am the first."}',
    '{"update": {"sessionUpdate": "current_mode_update", "currentModeId": "code"}}, {"wait": "cancel"}'
  )
  stage.play(script, function(s)
    vim.cmd('BreadBoard ask go')
    local chat, store = require('breadboard.chat'), require('breadboard.store')
    await('the session', function()
      return store.active
    end)
    vim.api.nvim_set_current_win(chat.show(store.active))
    await('the other mode', function()
      return chat.bar() == 'go · breadboard-ls (Code) · running'
    end)
    await('it on the screen', function()
      vim.cmd('redraw')
      local row = vim.api.nvim_win_get_position(0)[1] + 1
      local shown = ''
      for column = 1, vim.o.columns do
        shown = shown .. vim.fn.screenstring(row, column)
      end
      return shown:find('breadboard-ls (Code) · running', 1, true)
    end)
  end)
end)

test('D14: the status line of every window follows, also of those that are not current', function()
  stage.play(OFFERS, function(s)
    local store = require('breadboard.store')
    local laststatus, statusline = vim.o.laststatus, vim.o.statusline
    vim.o.laststatus = 2
    vim.o.statusline = '%{v:lua.require("breadboard.statusline").text()}'
    -- No chat: it draws the bars of all windows by itself.
    local begun
    require('breadboard.sessions').ensure(function()
      begun = true
    end)
    await('the server', function()
      return begun
    end)
    s:write('a.txt', { 'a' })
    s:write('b.txt', { 'b' })
    s:edit('a.txt')
    vim.cmd('silent only | split')
    s:edit('b.txt')
    local function shown()
      vim.cmd('redraw')
      return vim.tbl_map(function(window)
        local row = vim.api.nvim_win_get_position(window)[1] + vim.api.nvim_win_get_height(window) + 1
        local text = ''
        for column = 1, 20 do
          text = text .. vim.fn.screenstring(row, column)
        end
        return vim.trim(text)
      end, vim.api.nvim_tabpage_list_wins(0))
    end
    local ok, problem = pcall(function()
      same(shown(), { 'BB', 'BB' })
      store.trusted = false
      same(shown(), { 'BB', 'BB' }, 'nothing was told yet')
      store.tell('state')
      same(shown(), { 'BB untrusted', 'BB untrusted' })
    end)
    store.trusted = true
    vim.o.laststatus, vim.o.statusline = laststatus, statusline
    check(ok, tostring(problem))
  end)
end)

test('D14: what a command gives back is shown in a window, a field a line', function()
  stage.play(OFFERS, function(s)
    vim.cmd('BreadBoard command set_config_option {"configId":"effort","value":"high"}')
    s:sees('ℹ set_config_option: accepted')
    local lines = await('the window', function()
      return vim.api.nvim_win_get_config(0).relative ~= '' and s:lines(0)
    end)
    check(vim.tbl_contains(lines, 'configOptions[1].currentValue: high'), vim.inspect(lines))
    s:press('q')
    check(not s:shown():find('[{}]'), s:shown())
  end)
end)

test('D14: / at the begin of a prompt completes the commands of the agent, and elsewhere does not', function()
  stage.play(OFFERS, function(s)
    local slash = require('breadboard.slash')
    vim.cmd('BreadBoard ask hello')
    s:sees('I am the first.')
    local function words(name)
      local found
      slash.complete(name, function(items)
        found = items
      end)
      return await('the commands', function()
        return found
      end)
    end
    same(words('p'), { { word = 'plan', abbr = '/plan <what for>', menu = 'make a plan' } })
    same(#words(''), 2)
    same({ slash.reference_at('/pl', 1) }, { 2, 'pl' })
    same({ slash.reference_at('see /pl', 1), slash.reference_at('/pl', 2), slash.reference_at('/plan for', 1) }, {})

    vim.cmd('BreadBoard')
    local prompt = require('breadboard.prompt')
    await('the prompt window', function()
      return prompt.buffer() and vim.api.nvim_get_current_buf() == prompt.buffer()
    end)
    local complete, menu = vim.fn.complete, nil
    vim.fn.complete = function(column, items)
      menu = { column, items[1].word }
    end
    -- The mode is what a person is in who types; feedkeys would have left it before the answer comes.
    local mode = vim.fn.mode
    vim.fn.mode = function()
      return 'i'
    end
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { '/rev' })
    vim.api.nvim_win_set_cursor(0, { 1, 4 })
    vim.api.nvim_exec_autocmds('TextChangedI', { buffer = prompt.buffer() })
    local ok, problem = pcall(await, 'the menu', function()
      return menu
    end)
    vim.fn.complete, vim.fn.mode = complete, mode
    check(ok, tostring(problem))
    same(menu, { 2, 'review' })

    local users, while_typing = vim.o.completeopt, nil
    vim.api.nvim_create_autocmd('InsertCharPre', {
      once = true,
      callback = function()
        while_typing = vim.o.completeopt
      end,
    })
    s:press('ix<Esc>')
    same(
      { while_typing, vim.o.completeopt },
      { 'menuone,noinsert,noselect', users },
      'nothing is put in before it is chosen'
    )
  end)
end)

test('D20: what a turn cost is said with no more decimals than a person reads', function()
  stage.play(OFFERS, function(s)
    vim.cmd('BreadBoard ask hello')
    s:sees('I am the first.')
    s:idle()
    vim.cmd('BreadBoard lane run')
    local chat, store = require('breadboard.chat'), require('breadboard.store')
    await('the lane', function()
      local shown = table.concat(s:lines(chat.of(store.active, 'run').buffer), '\n')
      return shown:find('cost so far 0.0064 USD.', 1, true)
    end)
  end)
end)

local LOGIN = [[ {"agent": {"authRequired": true, "authMethods": [
   {"id": "api-key", "name": "API key", "description": "from OPENAI_API_KEY"},
   {"id": "shell", "name": "Subscription", "type": "terminal", "description": "run `codex login`"}]},
  "prompts": [{"steps": [{"say": "Welcome."}]}, {"steps": [{"say": "Welcome again."}]}]} ]]

test('D10: a login is said as what can be typed, picked from a list, and the prompt goes through after it', function()
  stage.play(LOGIN, function(s)
    vim.cmd('BreadBoard ask hello')
    s:sees('“API key”: from OPENAI_API_KEY, or “Subscription” in a terminal: run `codex login`.')
    s:sees('\n  :BreadBoard login api-key (API key)\n  :terminal codex login')
    check(not s:shown():find('methodId', 1, true) and not s:shown():find('authenticate', 1, true), s:shown())
    check(not table.concat(s.said):find('methodId', 1, true), vim.inspect(s.said))

    s.pick = by_label('Subscription')
    vim.cmd('BreadBoard login')
    s:sees('⚠ “Subscription” is done in a terminal: run `codex login`')
    same(s.asked[1].prompt, 'Log in at breadboard-ls')
    same(s.asked[1].shown, { 'API key: from OPENAI_API_KEY', 'Subscription: run `codex login` (in a terminal)' })

    vim.cmd('BreadBoard login api-key')
    s:sees('ℹ Logged in; send the prompt again.')
    vim.cmd('BreadBoard ask hello again')
    s:sees('Welcome.')
  end)
end)

test('D11: :checkhealth looks at the engine of the settings, not at another one', function()
  stage.play(OFFERS, function(s)
    vim.cmd('BreadBoard ask hello')
    s:sees('I am the first.')
    vim.cmd('BreadBoard health')
    local report = await('the report', function()
      local text = table.concat(s:lines(0), '\n')
      return text:find('A server runs for', 1, true) and text
    end)
    check(not report:find('embedded', 1, true), report)
    check(report:find('acp', 1, true) and report:find(s.state, 1, true), report)
    check(report:find('`doctor` found nothing wrong', 1, true), report)
    vim.cmd('silent! bwipeout!')
  end)
end)
