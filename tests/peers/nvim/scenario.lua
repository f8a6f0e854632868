-- One story through Neovim's own LSP client, headless: initialize, open, ask, stream, cancel, refuse, shut down.
-- Runs on 0.7.2 (`-S`) and newer. Prints one line a step; ends with exit code 0, or 1 at the first step that fails.
-- Needs BB_SERVER (the binary) and BB_HOME (an empty directory for workspace and state).

local PATIENCE = 20000 -- milliseconds that the server may owe us anything; test machines are busy

local uv = vim.uv or vim.loop
local NEW = vim.fn.has('nvim-0.11') == 1 -- methods of the client are called with a colon from here on

local function say(...)
  io.stdout:write(table.concat({ ... }, ' '), '\n')
  io.stdout:flush()
end

local function show(value)
  return (vim.inspect(value):gsub('%s+', ' '))
end

local function check(holds, what)
  if not holds then
    error(what, 0)
  end
end

local function same(actual, expected, what)
  check(vim.deep_equal(actual, expected), ('%s: got %s, want %s'):format(what, show(actual), show(expected)))
end

-- `vim.wait` runs the event loop; `look` is tried again as messages arrive.
local function await(what, look)
  local found
  local arrived = vim.wait(PATIENCE, function()
    found = look()
    return found and true or false
  end, 5)
  check(arrived, ('waited %d s for %s'):format(PATIENCE / 1000, what))
  return found
end

local home = assert(os.getenv('BB_HOME'), 'set BB_HOME to an empty directory')
local binary = assert(os.getenv('BB_SERVER'), 'set BB_SERVER to the breadboard-ls binary')
local workspace = home .. '/workspace'
local file = workspace .. '/src/backoff.rs'

-- The emoji is two units of UTF-16, four bytes and one character: an edit behind it tells the encodings apart.
local DISK = {
  '/// Waits 😀 longer each time.',
  'pub fn wait_time(attempt: u32) -> u64 {',
  '    100 * u64::from(attempt)',
  '}',
}

-- What a client does with `bb/view`: it only applies changes.
local View = {}
View.__index = View

function View.new()
  return setmetatable({ seq = 0, lanes = { chat = {}, tasks = {}, run = {}, debug = {} } }, View)
end

function View:take(params)
  if params.snapshot then
    for name, lane in pairs(params.snapshot.lanes) do
      self.lanes[name] = vim.deepcopy(lane.blocks)
    end
    self.seq = params.snapshot.seq
    return
  end
  if params.toSeq <= self.seq then
    return
  end
  for _, change in ipairs(params.changes) do
    self:apply(change)
  end
  self.seq = params.toSeq
end

function View:apply(change)
  local blocks, at = self.lanes[change.lane], nil
  for index, block in ipairs(blocks) do
    if block.id == change.id then
      at = index
    end
  end
  if change.op == 'put' and not at and change.after then
    for index = #blocks, 1, -1 do
      if blocks[index].id == change.after then
        table.insert(blocks, index + 1, vim.deepcopy(change.block))
        break
      end
    end
  elseif change.op == 'put' then
    blocks[at or #blocks + 1] = vim.deepcopy(change.block)
  elseif change.op == 'append' then
    check(at, 'append to a block that was never put: ' .. change.id)
    blocks[at].text = blocks[at].text .. change.text
  elseif change.op == 'remove' then
    if at then
      table.remove(blocks, at)
    end
  else
    error('unknown change ' .. tostring(change.op), 0)
  end
end

-- The blocks that a snapshot shows: the newest page of each lane.
function View:page_like(snapshot)
  local page = {}
  for name, lane in pairs(snapshot.lanes) do
    local held = self.lanes[name]
    page[name] = lane.hasMore and vim.list_slice(held, #held - #lane.blocks + 1, #held) or held
  end
  return page
end

local function blocks_of(snapshot)
  local page = {}
  for name, lane in pairs(snapshot.lanes) do
    page[name] = lane.blocks
  end
  return page
end

local heard = { ['bb/events'] = {}, ['bb/view'] = {} }
local exit_code, client, buffer, client_id

local function keep(method)
  return function(_, params)
    table.insert(heard[method], params)
  end
end

local function request(method, params, callback)
  local sent, id
  if NEW then
    sent, id = client:request(method, params, callback, buffer)
  else
    sent, id = client.request(method, params, callback, buffer)
  end
  check(sent, 'could not send ' .. method)
  return id
end

local function call(method, params)
  local answer
  request(method, params, function(err, result)
    answer = { err = err, result = result }
  end)
  await('an answer to ' .. method, function()
    return answer
  end)
  return answer.err, answer.result
end

local function served(method, params)
  local err, result = call(method, params)
  check(not err, method .. ' was refused: ' .. show(err))
  return result
end

local function refused(method, params, code, name)
  local err, result = call(method, params)
  check(err, method .. ' was served: ' .. show(result))
  same(err.code, code, 'code of ' .. method)
  if name then
    same(err.data and err.data.code, name, 'data.code of ' .. method)
  end
  check(#err.message > 10, 'a refusal says a sentence')
end

local story = {}

function story.start()
  vim.fn.mkdir(workspace .. '/src', 'p')
  vim.fn.writefile(DISK, file)
  vim.fn.writefile({ 'Nothing about waiting here.' }, workspace .. '/notes.md')
  vim.cmd('edit ' .. vim.fn.fnameescape(file))
  buffer = vim.api.nvim_get_current_buf()
  local config = {
    name = 'breadboard-ls',
    cmd = { binary, '--stdio' },
    root_dir = workspace,
    init_options = { stateDir = home .. '/state' },
    handlers = { ['bb/events'] = keep('bb/events'), ['bb/view'] = keep('bb/view') },
    on_exit = function(code)
      exit_code = code
    end,
  }
  if vim.lsp.start then
    client_id = vim.lsp.start(config, { bufnr = buffer })
  else
    config.workspace_folders = { { uri = vim.uri_from_fname(workspace), name = 'workspace' } }
    client_id = vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(buffer, client_id)
  end
  await('initialize', function()
    client = vim.lsp.get_client_by_id(client_id)
    return client and client.initialized and client.attached_buffers[buffer]
  end)
  local announced = client.server_capabilities.experimental.breadboard
  same(announced.v, 1, 'version of the wire')
  check(vim.tbl_contains(announced.methods, 'bb/sendMessage'), 'bb/sendMessage is announced')
  say('initialize: version', tostring(announced.v), 'offset', client.offset_encoding)
end

function story.unsaved_change()
  vim.api.nvim_buf_set_lines(buffer, 0, 1, false, { '/// Waits 😀 a random while.' })
  vim.api.nvim_buf_set_text(buffer, 1, 7, 1, 7, { 'jittered_' })
  check(vim.api.nvim_buf_get_option(buffer, 'modified'), 'the change is not saved')
  say('open: unsaved change made')
end

local epoch, session

function story.hello()
  local hello = served('bb/init', vim.empty_dict())
  same(hello.v, 1, 'v')
  same(hello.engine.kind, 'embedded', 'engine')
  same(hello.workspaceTrusted, false, 'workspaceTrusted')
  epoch = hello.epoch
  session = served('bb/createSession', vim.empty_dict()).sessionId
  say('bb/init and bb/createSession: session', session)
end

local function events()
  local all = {}
  for _, batch in ipairs(heard['bb/events']) do
    if batch.sessionId == session then
      vim.list_extend(all, batch.events)
    end
  end
  return all
end

function story.ask_and_stream()
  local prompt = { sessionId = session, text = 'Where is jittered_wait_time defined?', messageId = 'peer-nvim-1' }
  local accepted = served('bb/sendMessage', prompt)
  same(accepted, { sessionId = session, messageId = 'peer-nvim-1', disposition = 'started' }, 'bb/sendMessage')
  await('run.finished', function()
    for _, event in ipairs(events()) do
      if event.class == 'run.finished' then
        return true
      end
    end
  end)
  local expected = 1
  for _, batch in ipairs(heard['bb/events']) do
    if batch.sessionId == session then
      same(batch.epoch, epoch, 'epoch')
      same(batch.fromSeq, expected, 'fromSeq')
      for _, event in ipairs(batch.events) do
        same(event.seq, expected, 'seq')
        expected = expected + 1
      end
      same(batch.toSeq, expected - 1, 'toSeq')
    end
  end
  say('bb/events:', tostring(expected - 1), 'events in order, without holes')
end

function story.view()
  local fresh = served('bb/selectSession', { sessionId = session })
  local held
  local function catch_up()
    held = View.new()
    for _, params in ipairs(heard['bb/view']) do
      if params.sessionId == session then
        held:take(params)
      end
    end
    return vim.deep_equal(held:page_like(fresh.view), blocks_of(fresh.view))
  end
  vim.wait(PATIENCE, catch_up, 5)
  same(held:page_like(fresh.view), blocks_of(fresh.view), 'applied changes and the snapshot')
  local answer = {}
  for _, block in ipairs(fresh.view.lanes.chat.blocks) do
    if block.kind == 'assistant' then
      table.insert(answer, block.text)
    end
  end
  check(table.concat(answer, '\n'):match('src/backoff%.rs:%d+'), 'the answer cites src/backoff.rs: ' .. show(answer))
  say('bb/view: applied changes equal the snapshot at', tostring(fresh.seq))
end

function story.snippet()
  local snippet = served('bb/readFileSnippet', { sessionId = session, path = 'src/backoff.rs' })
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') .. '\n'
  same(snippet.content, text, 'content')
  same(snippet.source, 'buffer', 'source')
  same(vim.fn.readfile(file), DISK, 'the file on disk')
  say('bb/readFileSnippet: the unsaved buffer')
end

-- Neovim never calls the callback of a request whose answer is -32800, and forgets the request when it arrives.
function story.cancel()
  local deaf, reached, sockets = uv.new_tcp(), false, {}
  deaf:bind('127.0.0.1', 0)
  deaf:listen(8, function()
    local socket = uv.new_tcp()
    deaf:accept(socket)
    table.insert(sockets, socket)
    reached = true
  end)
  local url = ('http://127.0.0.1:%d/'):format(deaf:getsockname().port)
  local chosen
  request('bb/models/set', { provider = 'ollama', name = 'never-answers', url = url }, function()
    chosen = true
  end)
  local called = {}
  local id = request('bb/models/list', vim.empty_dict(), function(err, result)
    table.insert(called, { err = err, result = result })
  end)
  await('the server asking the provider that never answers', function()
    return reached
  end)
  check(client.requests[id], 'nothing was answered before the cancel')
  if NEW then
    client:cancel_request(id)
  else
    client.cancel_request(id)
  end
  await('the answer to the cancelled request', function()
    return client.requests[id] == nil
  end)
  for _, socket in ipairs(sockets) do
    socket:close()
  end
  deaf:close()
  await('the answer to bb/models/set', function()
    return chosen
  end)
  served('bb/listSessions', vim.empty_dict())
  for _, answer in ipairs(called) do
    same(answer.err and answer.err.code, -32800, 'answer to the cancelled request')
  end
  check(#called <= 1, 'at most one answer')
  say('cancel: answered, callbacks', tostring(#called))
end

function story.refusals()
  refused('bb/nope', vim.empty_dict(), -32601)
  refused('bb/sendMessage', { sessionId = 7 }, -32602, 'invalid_params')
  refused('bb/selectSession', { sessionId = 'no-such' }, -32803, 'unknown_session')
  say('refusals: -32601, -32602, -32803')
end

function story.shutdown()
  if NEW then
    client:stop()
  else
    client.stop()
  end
  await('the process to end', function()
    return exit_code ~= nil
  end)
  same(exit_code, 0, 'exit code')
  say('shutdown: exit code', tostring(exit_code))
end

local ORDER = {
  'start',
  'unsaved_change',
  'hello',
  'ask_and_stream',
  'view',
  'snippet',
  'cancel',
  'refusals',
  'shutdown',
}

for _, step in ipairs(ORDER) do
  local ok, problem = pcall(story[step])
  if not ok then
    say('FAILED', step .. ':', tostring(problem))
    vim.cmd('cquit 1')
  end
end
say('ok', #ORDER .. '', 'steps')
vim.cmd('qall!')
