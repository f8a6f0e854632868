--- How turns end and who runs them, as the chat says it, with the real server: stopped, cut, in another window.

local harness = require('harness')
local stage = require('stage')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

local TURNS = [[ {"prompts": [
  {"when": "half", "steps": [{"say": "Half of"}, {"wait": "cancel"}]},
  {"when": "die", "steps": [{"say": "My last words"}, {"exit": 3}]},
  {"when": "permission", "steps": [{"ask": {"toolCall": {"toolCallId": "c1", "title": "Build", "kind": "execute",
                                            "rawInput": {"command": "make"}}}, "on": {"else": []}}]},
  {"when": "whole", "steps": [{"say": "All of it."}]},
  {"when": "Continue where you stopped.", "steps": [{"say": "And the rest."}]}
]} ]]

local function count(text, part)
  local _, found = text:gsub(vim.pesc(part), '')
  return found
end

test('D14: a stop leaves a mark behind the words that were said, which stays', function()
  stage.play(TURNS, function(s)
    vim.cmd('BreadBoard ask half')
    s:sees('Half of')
    vim.cmd('BreadBoard stop')
    s:sees('Half of\n\n⊘ The turn was stopped.')
    vim.cmd('BreadBoard ask whole')
    s:sees('Half of\n\n⊘ The turn was stopped.\n\n## You\nwhole\n\nAll of it.')
    s:idle()
    vim.cmd('BreadBoard restart')
    s:sees('ℹ The server runs.')
    s:sees('Half of\n\n⊘ The turn was stopped.\n\n## You\nwhole')
    same(count(s:shown(), '⊘'), 1)
  end)
end)

test('an agent that ends is said once, with the mark of what is not whole, and no second one', function()
  stage.play(TURNS, function(s)
    vim.cmd('BreadBoard ask die')
    s:sees('⚠ The text above is not whole: the agent ended while it wrote.')
    s:sees('ended with exit code 3')
    s:idle()
    s:hears('The engine does not answer') -- told by `bb/connection` too
    vim.cmd('BreadBoard ask whole')
    s:sees('All of it.')
    same({ count(s:shown(), '⊘'), count(s:shown(), 'not whole'), count(s:shown(), 'exit code 3') }, { 0, 1, 1 })
  end)
end)

test('R001-60: a request that an agent took along says why, and a command continues the session', function()
  stage.play(TURNS, function(s)
    vim.cmd('BreadBoard ask permission')
    await('the request', function()
      return s:status() == 'waiting'
    end)
    vim.uv.kill(s:pid(), 'sigkill')
    s:sees('✗ The server has ended (signal 9)')
    vim.cmd('BreadBoard restart')
    s:sees('breadboard-ls ended before you answered what')
    s:idle()
    vim.cmd('BreadBoard continue')
    s:sees('## You\nContinue where you stopped.')
    s:sees('And the rest.')
    s:idle()
  end)
end)

test('D15: the half answer of a server that was killed is marked as cut, at once and after a restart', function()
  stage.play(TURNS, function(s)
    vim.cmd('BreadBoard ask half')
    s:sees('Half of')
    await('the turn to run', function()
      return s:status() == 'running'
    end)
    vim.uv.kill(s:pid(), 'sigkill')
    s:sees('Half of\n\n✗ The server has ended (signal 9) while this turn ran, so the answer above is cut.')
    vim.cmd('BreadBoard restart')
    s:sees('✗ breadboard-ls ended while this turn ran; what it had said is kept.')
    s:idle()
  end)
end)

test('D15: a server that was killed while nothing ran has cut nothing', function()
  stage.play(TURNS, function(s)
    vim.cmd('BreadBoard ask whole')
    s:sees('All of it.')
    s:idle()
    vim.uv.kill(s:pid(), 'sigkill')
    s:sees('All of it.\n\n✓ Done\n\n✗ The server has ended (signal 9). Nothing that it had stored is lost;')
  end)
end)

--- Another window: a server of its own on the same state, which asks in a session. Gives what ends it.
---@return fun()
local function other_window(s, session, text)
  local lsp = require('breadboard.lsp')
  local function ignore() end
  local id = assert(lsp.start({
    name = 'other window',
    cmd = { os.getenv('BB_SERVER'), '--stdio' },
    root_dir = s.workspace,
    workspace_folders = { { uri = vim.uri_from_fname(s.workspace), name = 'workspace' } },
    init_options = {
      engine = require('breadboard.config').current.engine,
      stateDir = s.state,
      workspaceTrusted = true,
    },
    handlers = { ['bb/view'] = ignore, ['bb/state'] = ignore, ['bb/connection'] = ignore },
  }))
  local other = assert(vim.lsp.get_client_by_id(id))
  await('the other window', function()
    return other.initialized
  end)
  local function request(method, params)
    local answer
    lsp.request(other, method, params, function(err, result)
      answer = err or result
    end)
    return await(method, function()
      return answer
    end)
  end
  request('bb/init', { subscribe = { view = true } })
  local prompt = { sessionId = session, text = text, messageId = ('0'):rep(31) .. '1' }
  same(request('bb/sendMessage', prompt).disposition, 'started')
  return function()
    lsp.stop(other)
  end
end

test('a session of another window is read-only and says so, until it is taken over', function()
  stage.play(TURNS, function(s)
    local store = require('breadboard.store')
    vim.cmd('BreadBoard ask whole')
    s:sees('All of it.')
    s:idle()
    vim.cmd('BreadBoard take')
    s:sees('ℹ No other window works on this session; send a prompt.')
    local leave = other_window(s, store.active, 'half')
    s:sees('## You\nhalf')
    s:sees(
      '⚠ Another window works on this session, so it can only be read here until its turn is over; :BreadBoard take'
    )
    check(require('breadboard').statusline():find('running elsewhere', 1, true), require('breadboard').statusline())

    vim.cmd('BreadBoard ask whole again')
    s:sees('✗ Another window works on this session; follow it here, stop it, or wait until its turn is over.')
    s.pick = function() end
    vim.cmd('BreadBoard sessions')
    check(s.asked[1].shown[1]:find(', in another window)', 1, true), s.asked[1].shown[1])

    s.pick = function(items)
      return items[1]
    end
    vim.cmd('BreadBoard take')
    s:sees('ℹ No other window works on this session any more; it goes on with your next prompt.')
    check(not s:shown():find('⚠ Another window', 1, true), s:shown())
    s:sees('⊘ The turn was stopped.')
    vim.cmd('BreadBoard ask whole once more')
    s:sees('## You\nwhole once more\n\nAll of it.')
    leave()
  end)
end)

test('what a session asks in another window is answered there, and announced only there', function()
  stage.play(TURNS, function(s)
    local store = require('breadboard.store')
    vim.cmd('BreadBoard ask whole')
    s:sees('All of it.')
    s:idle()
    local leave = other_window(s, store.active, 'permission')
    s:ask()
    s:sees('⚠ Another window works on this session')
    vim.cmd('BreadBoard approve')
    s:sees('ℹ What waits here is answered in the window that works on this session.')
    same({ s:times('asks'), require('breadboard').statusline():find('?', 1, true) }, { 0 })
    leave()
  end)
end)

local EDITS = [[ [
  {"tool_call": {"toolCallId": "c1", "title": "Edit a.txt", "kind": "edit", "status": "in_progress", "content": [
    {"type": "diff", "path": "WORKSPACE/a.txt", "oldText": "one\ntwo", "newText": "one\n2\n"}]}},
  {"tool_call_update": {"toolCallId": "c1", "status": "completed"}},
  {"chunk": "See src/b.txt:2 for the rest.\nAnd FOLDER/src/b.txt:3:2\nor b.txt:1\nor no/such.txt:9."}
] ]]

test('D14: <CR> on a tool call with a diff shows it side by side, and on a place goes there', function()
  stage.play(EDITS, function(s)
    s:write('src/b.txt', { 'one', 'two', 'three' })
    vim.cmd('BreadBoard ask edit')
    s:sees('See src/b.txt:2')
    s:idle()
    check(not s:shown():find('No newline', 1, true), 'a snippet says nothing of how the file ends:\n' .. s:shown())
    s:go_to_line('Edit a.txt')
    local tabs = #vim.api.nvim_list_tabpages()
    s:press('<CR>')
    await('the diff', function()
      return #vim.api.nvim_list_tabpages() == tabs + 1
    end)
    local sides = vim.tbl_map(function(window)
      return { vim.wo[window].winbar, vim.wo[window].diff, s:lines(vim.api.nvim_win_get_buf(window)) }
    end, vim.api.nvim_tabpage_list_wins(0))
    same(sides, { { 'a.txt: before', true, { 'one', 'two' } }, { 'a.txt: after', true, { 'one', '2' } } })
    vim.cmd('tabclose')

    s:go_to_line('src/b.txt:2')
    s:press('<CR>')
    same({ vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)[1] }, { s:path('src/b.txt'), 2 })
    local function goes(text)
      s:go_to_line(text)
      s:press('<CR>')
      return vim.api.nvim_buf_get_name(0), vim.api.nvim_win_get_cursor(0)
    end
    local file, cursor = goes(vim.fs.basename(s.workspace) .. '/src/b.txt:3:2')
    same({ file, cursor }, { s:path('src/b.txt'), { 3, 1 } }, 'the name of the folder stands in front')
    vim.fn.system({ 'git', '-C', s.workspace, 'init', '-q' })
    file, cursor = goes('b.txt:1')
    same({ file, cursor }, { s:path('src/b.txt'), { 1, 0 } }, 'the path ends so')
    goes('no/such.txt:9')
    s:sees('There is no `no/such.txt` in this workspace.')
  end)
end)

--- What answers everything with the same bytes and hangs up.
---@param answer string
---@return string origin
---@return fun() close
local function peer(answer)
  local server = vim.uv.new_tcp()
  server:bind('127.0.0.1', 0)
  server:listen(16, function()
    local socket = vim.uv.new_tcp()
    server:accept(socket)
    local heard = ''
    socket:read_start(function(problem, data)
      heard = heard .. (data or '')
      local body = heard:match('\r\n\r\n(.*)$')
      local length = tonumber(heard:lower():match('content%-length: *(%d+)') or 0)
      if problem or not data then
        socket:close()
      elseif body and #body >= length then
        socket:read_stop()
        socket:write(answer, function()
          socket:close()
        end)
      end
    end)
  end)
  return ('http://127.0.0.1:%d'):format(server:getsockname().port), function()
    server:close()
  end
end

local REFUSED = {
  { 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\n{}', 'HTTP 401' },
  { 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n', 'HTTP 413' },
  { 'HTTP/1.1 302 Found\r\nLocation: https://login.example/\r\nContent-Length: 0\r\n\r\n', 'HTTP 302' },
  { 'HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n', 'HTTP 500' },
  { 'SSH-2.0-OpenSSH_9\r\n', 'speaks no HTTP' },
}

test('A6: what stands at the address of a model is told in the chat, once, with what is done about it', function()
  local file = io.open(vim.g.breadboard_checkout .. '/tests/fixtures/remedies.json')
  local sentences = vim.json.decode(file:read('*a')).model
  file:close()
  local remedy = require('breadboard.notices').of_remedy
  for _, row in ipairs(REFUSED) do
    local origin, close = peer(row[1])
    local sentence = vim.tbl_filter(function(one)
      return one:find(row[2], 1, true) ~= nil
    end, sentences)[1]
    local ok, problem = pcall(
      stage.play,
      '[]',
      function(s)
        vim.cmd('BreadBoard ask hello')
        local wanted = '✗ ' .. remedy((sentence:gsub('PEER', origin)))
        s:sees(wanted)
        s:idle()
        local _, times = s:shown():gsub(vim.pesc(wanted), '')
        same(times, 1, s:shown())
      end,
      { engine = { kind = 'embedded' }, model = { provider = 'openai', name = 'm', url = origin .. '/v1' } }
    )
    close()
    check(ok, tostring(problem))
  end
end)

test('a prompt that failed is sent again by a command', function()
  local origin, close = peer('HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n')
  local ok, problem = pcall(
    stage.play,
    '[]',
    function(s)
      vim.cmd('BreadBoard retry')
      s:hears('there is nothing to send again')
      vim.cmd('BreadBoard ask hello')
      s:sees('wait 1 second and ask again.\n  It asks to wait 1 s; :BreadBoard retry sends it again.')
      s:idle()
      vim.cmd('BreadBoard retry')
      await('the prompt to be there twice and to have failed twice', function()
        return count(s:shown(), '## You\nhello') == 2 and count(s:shown(), 'HTTP 503') == 2
      end)
      s:idle()
    end,
    { engine = { kind = 'embedded' }, model = { provider = 'openai', name = 'm', url = origin .. '/v1' } }
  )
  close()
  check(ok, tostring(problem))
end)

test('what would be refused again is not sent again', function()
  local origin, close = peer('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n')
  local ok, problem = pcall(
    stage.play,
    '[]',
    function(s)
      vim.cmd('BreadBoard ask hello')
      s:sees('or begin a new session (:BreadBoard new).')
      s:idle()
      check(not s:shown():find(':BreadBoard retry', 1, true), s:shown())
      vim.cmd('BreadBoard retry')
      s:sees('ℹ The same would be refused again here')
      same(count(s:shown(), '## You\nhello'), 1)
    end,
    { engine = { kind = 'embedded' }, model = { provider = 'openai', name = 'm', url = origin .. '/v1' } }
  )
  close()
  check(ok, tostring(problem))
end)
