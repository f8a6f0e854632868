--- A Neovim in which nothing was ever set up, for `run.sh`: from the plugin to the first answer of a model by `:BreadBoard setup`, and
--- then what a new user tries next: finding a session by what was said, and a server of tools that the workspace names.
--- Needs what `main.lua` needs, and an init.lua that says no more than where the plugin and the server are.

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
package.path = here .. '/?.lua;' .. package.path

local harness = require('harness')
local await, check, same, test = harness.await, harness.check, harness.same, harness.test
local llm = require('model').start()
local home = vim.fs.normalize(assert(os.getenv('BB_HOME')))
local workspace = home .. '/workspace'

--- What a new user may take, in milliseconds.
local TWO_MINUTES = 120000

local asked = {} -- every vim.ui.select; `pick` answers it
local pick ---@type fun(shown: string[]): integer?
vim.ui.select = function(items, options, on_choice)
  local shown = vim.tbl_map(options.format_item or tostring, items)
  table.insert(asked, { shown = shown, prompt = options.prompt })
  local at = pick(shown)
  on_choice(at and items[at], at)
end

local said = {}
vim.notify = function(text)
  table.insert(said, text)
end

local function screen(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
end

local function chat_shows(text)
  local function shown()
    local window = require('breadboard.chat').window()
    return window and screen(vim.api.nvim_win_get_buf(window)) or ''
  end
  local ok, problem = pcall(await, text .. ' in the chat', function()
    return shown():find(text, 1, true)
  end)
  check(ok, ('%s; it says %s and shows:\n%s'):format(problem, vim.inspect(said), shown():sub(-600)))
end

test('from the plugin to the first answer of a model, with no setting and nothing read, in under two minutes', function()
  -- Given a workspace, and the plugin as its README sets it up, without a model
  vim.fn.mkdir(workspace .. '/.git', 'p')
  vim.fn.writefile({ 'one' }, workspace .. '/a.txt')
  vim.cmd('edit ' .. workspace .. '/a.txt')
  local begun = vim.uv.hrtime()
  -- When the questions of `:BreadBoard setup` are answered as they come
  vim.cmd('BreadBoard setup')
  local terminal = vim.api.nvim_get_current_buf()
  same(vim.bo[terminal].buftype, 'terminal')
  local job = vim.bo[terminal].channel
  local function answer(question, with)
    await(question, function()
      return screen(terminal):find(question, 1, true)
    end)
    vim.fn.chansend(job, (type(with) == 'function' and with() or with) .. '\r')
  end
  answer('A number, or Enter', function()
    return assert(screen(terminal):match('(%d+)  An address of yours'), 'the address is offered')
  end)
  answer('Base URL', llm.url)
  answer('Which model', 'story')
  await('the terminal to close', function()
    return not vim.api.nvim_buf_is_valid(terminal)
  end)
  same(said, { 'breadboard: It is kept; :BreadBoard ask asks.' })
  -- Then it is kept, and the model answers what is asked
  local kept = table.concat(vim.fn.readfile(os.getenv('XDG_CONFIG_HOME') .. '/breadboard-ls/settings.json'), '\n')
  same(vim.json.decode(kept), { model = { provider = 'openai', name = 'story', url = llm.url } })
  llm:says('It is about the harbour.')
  vim.cmd('BreadBoard ask what is this about')
  chat_shows('It is about the harbour.')
  check((vim.uv.hrtime() - begun) / 1e6 < TWO_MINUTES, 'it took longer than two minutes')
end)

test('a session is found by a word of an answer in it', function()
  asked = {}
  pick = function()
    return 1
  end
  local store = require('breadboard.store')
  local first = store.active
  await('the turn to end', function()
    local summary = first and store.summary(first)
    return summary and summary.status == 'idle'
  end)
  vim.cmd('BreadBoard new')
  await('a new session', function()
    return store.active ~= first
  end)
  vim.cmd('BreadBoard sessions HARB about')
  await('that session in front', function()
    return store.active == first
  end)
  same(asked[1].prompt, 'Sessions with "HARB about"')
  same(#asked[1].shown, 1)
  check(asked[1].shown[1]:find('answer: It is about the harbour.', 1, true), asked[1].shown[1])
  require('breadboard.chat').show(first)
  vim.cmd('BreadBoard sessions nowhere')
  chat_shows('Nothing was said with the words "nowhere" in a session of this workspace')
end)

test('a server of tools that the workspace names is listed, allowed once its command was shown, and started again', function()
  vim.cmd('BreadBoard trust')
  local server = vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(here))) .. '/tests/e2e/mcp/server.py'
  local echo = { command = 'python3', args = { server, home .. '/tools-heard' } }
  vim.fn.writefile({ vim.json.encode({ mcpServers = { echo = echo } }) }, workspace .. '/.mcp.json')
  llm:says('Hello.')
  vim.cmd('BreadBoard ask hello')
  chat_shows('Hello.')
  -- It stands in the list, and is asked about with its command.
  local function list(words, choice)
    return await('a row with ' .. words, function()
      asked = {}
      pick = function(shown)
        return shown[1]:find(words, 1, true) and choice or nil
      end
      vim.cmd('BreadBoard mcp')
      vim.wait(2000, function()
        return #asked > 0
      end, 2)
      return asked[1] and asked[1].shown[1]:find(words, 1, true) and asked
    end)
  end
  local shown = await('the server to be named', function()
    asked = {}
    pick = function(rows)
      if rows[1] == 'No' then
        return 2
      end
      return rows[1]:find('named by this workspace, not allowed', 1, true) and 1 or nil
    end
    vim.cmd('BreadBoard mcp')
    vim.wait(2000, function()
      return #asked > 1
    end, 2)
    return #asked > 1 and asked
  end)
  check(shown[2].prompt:find('Start `echo`, which a file of this workspace names? It runs: python3', 1, true), shown[2].prompt)
  same(shown[2].shown, { 'No', 'Allow and start' })
  list('echo (ready: ', 1)
  chat_shows('The tool server `echo` is started again.')
end)

harness.run()
