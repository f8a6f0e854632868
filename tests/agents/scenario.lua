-- One turn of opencode in Neovim's own LSP client, headless: initialize, prompt, stream, end, shut down.
-- Needs BB_SERVER (the binary), BB_HOME (a directory with `workspace` in it) and BB_ENGINE (the engine setting, as JSON).

local PATIENCE = tonumber(os.getenv('BB_PATIENCE_MS') or '20000')
local NEW = vim.fn.has('nvim-0.11') == 1 -- methods of the client are called with a colon from here on

local home = assert(os.getenv('BB_HOME'), 'set BB_HOME')
local workspace = home .. '/workspace'
local heard, exit_code, client, buffer, session = {}, nil, nil, nil, nil

local function say(text)
  io.stdout:write(text, '\n')
  io.stdout:flush()
end

local function check(holds, what)
  if not holds then
    error(what, 0)
  end
end

local function await(what, look)
  local found
  local arrived = vim.wait(PATIENCE, function()
    found = look()
    return found and true or false
  end, 5)
  check(arrived, ('waited %d s for %s'):format(PATIENCE / 1000, what))
  return found
end

local function served(method, params)
  local answer
  local function take(err, result)
    answer = { err = err, result = result }
  end
  local sent
  if NEW then
    sent = client:request(method, params, take, buffer)
  else
    sent = client.request(method, params, take, buffer)
  end
  check(sent, 'could not send ' .. method)
  await('an answer to ' .. method, function()
    return answer
  end)
  check(not answer.err, method .. ' was refused: ' .. vim.inspect(answer.err))
  return answer.result
end

local function events()
  local all = {}
  for _, batch in ipairs(heard) do
    if batch.sessionId == session then
      vim.list_extend(all, batch.events)
    end
  end
  return all
end

local story = {}

function story.start()
  vim.cmd('edit ' .. vim.fn.fnameescape(workspace .. '/hello.txt'))
  buffer = vim.api.nvim_get_current_buf()
  local config = {
    name = 'breadboard-ls',
    cmd = { assert(os.getenv('BB_SERVER'), 'set BB_SERVER'), '--stdio' },
    root_dir = workspace,
    init_options = {
      stateDir = home .. '/nvim-state',
      engine = vim.fn.json_decode((assert(os.getenv('BB_ENGINE'), 'set BB_ENGINE'))),
      workspaceTrusted = true,
    },
    handlers = {
      ['bb/events'] = function(_, params)
        table.insert(heard, params)
      end,
    },
    on_exit = function(code)
      exit_code = code
    end,
  }
  local id
  if vim.lsp.start then
    id = vim.lsp.start(config, { bufnr = buffer })
  else
    config.workspace_folders = { { uri = vim.uri_from_fname(workspace), name = 'workspace' } }
    id = vim.lsp.start_client(config)
    vim.lsp.buf_attach_client(buffer, id)
  end
  await('initialize', function()
    client = vim.lsp.get_client_by_id(id)
    return client and client.initialized and client.attached_buffers[buffer]
  end)
  local hello = served('bb/init', vim.empty_dict())
  check(hello.engine.kind == 'acp', 'the engine is ' .. hello.engine.kind)
end

function story.turn()
  session = served('bb/createSession', vim.empty_dict()).sessionId
  served('bb/sendMessage', { sessionId = session, text = 'SCENARIO:plain hi', messageId = 'agents-nvim-1' })
  local ended = await('run.finished', function()
    for _, event in ipairs(events()) do
      if event.class == 'run.finished' then
        return event
      end
    end
  end)
  check(ended.payload.stopReason == 'end_turn', 'the turn ended with ' .. vim.inspect(ended.payload))
end

function story.answer()
  local text = {}
  for _, block in ipairs(served('bb/selectSession', { sessionId = session }).view.lanes.chat.blocks) do
    if block.kind == 'assistant' then
      table.insert(text, block.text)
    end
  end
  check(table.concat(text) == 'Hello from the model.', 'the answer is ' .. vim.inspect(text))
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
  check(exit_code == 0, 'exit code ' .. exit_code)
end

local order = { 'start', 'turn', 'answer', 'shutdown' }
for _, step in ipairs(order) do
  local ok, problem = pcall(story[step])
  if not ok then
    say('FAILED ' .. step .. ': ' .. tostring(problem))
    vim.cmd('cquit 1')
  end
  say(step .. ': ok')
end
vim.cmd('qall!')
