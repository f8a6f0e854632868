--- `:BreadBoard` and what its subcommands do. Thin: each line hands over to the module that owns the matter.

local agents = require('breadboard.agents')
local approvals = require('breadboard.approvals')
local chat = require('breadboard.chat')
local client = require('breadboard.client')
local context = require('breadboard.context')
local diff = require('breadboard.diff')
local prompt = require('breadboard.prompt')
local session_list = require('breadboard.session_list')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

---@class breadboard.Call
---@field rest string what follows the subcommand
---@field words string[] the same in words
---@field range? { first: integer, last: integer } lines of the current buffer

---@class breadboard.Subcommand
---@field about string
---@field run fun(call: breadboard.Call)
---@field complete? fun(): string[]

--- Asks in the active session and shows the chat.
---@param text string
function M.ask(text)
  sessions.with_active(function(session)
    chat.show(session)
    sessions.send(text)
  end)
end

--- The lines of a range as a reference that the agent can follow, and the lines themselves, which may be unsaved.
---@param range { first: integer, last: integer }
---@return string
local function quoted(range)
  local root = client.root() or require('breadboard.config').root()
  local name = vim.fs.normalize(vim.api.nvim_buf_get_name(0))
  local path = vim.startswith(name, root .. '/') and name:sub(#root + 2) or vim.fs.basename(name)
  local lines = vim.api.nvim_buf_get_lines(0, range.first - 1, range.last, false)
  local fence = '```'
  for _, line in ipairs(lines) do
    local ticks = line:match('^%s*(```+)')
    if ticks and #ticks >= #fence then
      fence = ticks .. '`'
    end
  end
  local head = ('%s:%d-%d\n%s%s\n'):format(path, range.first, range.last, fence, vim.bo.filetype)
  return '\n\n' .. head .. table.concat(lines, '\n') .. '\n' .. fence
end

local function session_ids()
  return vim.tbl_map(function(summary)
    return summary.sessionId
  end, store.sessions)
end

---@param call breadboard.Call
---@param question string
---@param callback fun(session: string)
local function session_of(call, question, callback)
  if call.words[1] then
    callback(call.words[1])
  else
    session_list.pick(question, callback)
  end
end

local function show(session)
  chat.show(session)
end

---@type table<string, breadboard.Subcommand>
local SUBCOMMANDS = {}

SUBCOMMANDS.context = {
  about = 'show what would be sent with the next prompt, or with a prompt of these words',
  run = function(call)
    context.show(call.rest)
  end,
}

SUBCOMMANDS.ask = {
  about = 'ask in the active session; with a range, about these lines; without words, write in the prompt window',
  run = function(call)
    local about = call.range and quoted(call.range) or ''
    if call.rest == '' then
      prompt.open(about ~= '' and about or nil)
    else
      M.ask(call.rest .. about)
    end
  end,
}

SUBCOMMANDS.chat = {
  about = 'open the chat and the prompt window',
  run = function()
    -- With one in front nothing is chosen from the list.
    local begin = store.active and sessions.ensure or sessions.list
    begin(function()
      local newest = store.newest()
      if store.active or not newest then
        prompt.open()
      else
        sessions.select(newest.sessionId, function()
          prompt.open()
        end)
      end
    end)
  end,
}

SUBCOMMANDS.continue = {
  about = 'ask the engine to continue where it stopped, as after an agent ended',
  run = function()
    M.ask('Continue where you stopped.')
  end,
}

SUBCOMMANDS.continuewith = {
  about = 'continuewith [agent]: continue this conversation in a new session, with another agent or the engine of the settings',
  complete = agents.names,
  run = function(call)
    sessions.with_active(function(session)
      require('breadboard.branches').continue_with(session, call.words[1])
    end)
  end,
}

SUBCOMMANDS.edit = {
  about = 'change the prompt under the cursor of the chat, or the last one; sending it starts a branch of the session',
  run = function()
    require('breadboard.branches').edit()
  end,
}

SUBCOMMANDS.origin = {
  about = 'go to the session that this one is a branch of, or continues',
  run = function()
    require('breadboard.branches').origin()
  end,
}

SUBCOMMANDS.pin = {
  about = 'pin this session, or another one by its id, so that it is first in the list; again to unpin',
  complete = session_ids,
  run = function(call)
    sessions.with_active(function(active)
      local session = call.words[1] or active
      local summary = store.summary(session)
      sessions.pin(session, not (summary and summary.pinned))
    end)
  end,
}

SUBCOMMANDS.stop = {
  about = 'stop the running turn and pause the queue',
  run = function()
    sessions.stop()
  end,
}

SUBCOMMANDS.retry = {
  about = 'send the prompt of a failed turn again',
  run = function()
    require('breadboard.retry').run()
  end,
}

SUBCOMMANDS.take = {
  about = 'stop the turn that another window runs in this session, and continue here',
  run = function()
    require('breadboard.take').run()
  end,
}

SUBCOMMANDS.new = {
  about = 'start a session',
  run = function()
    sessions.create(show)
  end,
}

SUBCOMMANDS.agent = {
  about = 'start a session with an agent, by its name or from a list',
  complete = agents.names,
  run = function(call)
    agents.start(call.words[1], show)
  end,
}

SUBCOMMANDS.mode = {
  about = 'choose how the agent works, by the name of a mode or from a list',
  run = function(call)
    agents.mode(call.rest ~= '' and call.rest or nil)
  end,
}

SUBCOMMANDS.option = {
  about = 'option [name [value]]: see and set what the agent of this session offers',
  run = function(call)
    agents.option(call.words[1], call.words[2])
  end,
}

SUBCOMMANDS.login = {
  about = 'log in to the agent, in one of the ways that it offers',
  run = function(call)
    agents.login(call.rest ~= '' and call.rest or nil)
  end,
}

SUBCOMMANDS.sessions = {
  about = 'sessions [words]: choose a session from a list; with words, from those in which they occur',
  run = function(call)
    local function open(session)
      sessions.select(session, show)
    end
    if call.rest ~= '' then
      session_list.find(call.rest, open)
    else
      session_list.pick('Session', open)
    end
  end,
}

SUBCOMMANDS.setup = {
  about = 'choose who answers: an agent, a model or search only; your choice is tried before it is saved',
  run = function()
    require('breadboard.setup').open()
  end,
}

SUBCOMMANDS.select = {
  about = 'put a session in front, by its id or from a list',
  complete = session_ids,
  run = function(call)
    session_of(call, 'Session', function(session)
      sessions.select(session, show)
    end)
  end,
}

SUBCOMMANDS.delete = {
  about = 'stop and delete a session, by its id or from a list; asks first',
  complete = session_ids,
  run = function(call)
    session_of(call, 'Delete which session', function(session)
      local summary = store.summary(session)
      local question = ('Delete %s?'):format(summary and summary.title or session)
      vim.ui.select({ 'Delete', 'Keep' }, { prompt = question }, function(answer)
        if answer == 'Delete' then
          sessions.delete(session, function()
            chat.close(session)
          end)
        end
      end)
    end)
  end,
}

SUBCOMMANDS.approve = {
  about = 'answer what the agent asks, after seeing exactly what it is',
  run = function()
    approvals.choose()
  end,
}

SUBCOMMANDS.review = {
  about = 'review the edit that waits in its files, change by change',
  run = function()
    require('breadboard.review').choose()
  end,
}

SUBCOMMANDS.changes = {
  about = 'changes [turn]: see what a turn changed in the files, mark what was read, take it back',
  run = function(call)
    sessions.with_active(function(session)
      require('breadboard.changes').show(session, call.words[1])
    end)
  end,
}

SUBCOMMANDS.undo = {
  about = 'undo [turn]: undo what a turn changed; shows first what that does, and asks',
  run = function(call)
    sessions.with_active(function(session)
      require('breadboard.changes').undo(session, call.words[1])
    end)
  end,
}

SUBCOMMANDS.stopcommand = {
  about = 'stop the command that runs in the background and stands under the cursor of the chat',
  run = function()
    local block = chat.block_at_cursor()
    if not block or block.kind ~= 'tool' or not block.background or block.status ~= 'running' then
      store.say(nil, 'info', 'Under the cursor is no command that runs in the background; go to one in the chat.')
      return
    end
    sessions.command('stop_command', { toolCallId = block.toolCallId })
  end,
}

SUBCOMMANDS.mcp = {
  about = 'see how the tool servers are, restart one, or allow one that the workspace names',
  run = function()
    require('breadboard.mcp').show()
  end,
}

SUBCOMMANDS.rules = {
  about = 'see the saved rules, and take one back',
  run = function()
    require('breadboard.rules').show()
  end,
}

SUBCOMMANDS.approvals = {
  about = 'choose what is done without asking: ask, reads, edits or listed; without a word, from a list',
  complete = function()
    return require('breadboard.standing').modes
  end,
  run = function(call)
    require('breadboard.standing').choose(call.words[1])
  end,
}

SUBCOMMANDS.diff = {
  about = 'diff [file [before [after]]]: two states of a file side by side; default the current one against git:HEAD',
  complete = function()
    return { 'disk', 'buffer', 'git:HEAD' }
  end,
  run = function(call)
    local block, of = chat.block_at_cursor()
    if #call.words == 0 and block and block.kind == 'patch' and of then
      diff.patch(of, block)
      return
    end
    local file = call.words[1]
    local name = vim.fs.normalize(vim.api.nvim_buf_get_name(0))
    sessions.with_active(function(session)
      local root = client.root() or ''
      if not file and vim.startswith(name, root .. '/') then
        file = name:sub(#root + 2)
      end
      if not file then
        store.say(
          session,
          'info',
          'The current buffer is no file of the workspace; say which: :BreadBoard diff src/lib.rs'
        )
        return
      end
      diff.show(session, file, call.words[2], call.words[3])
    end)
  end,
}

SUBCOMMANDS.queue = {
  about = 'see and change the prompts that wait; `queue resume` lets a paused queue go on',
  complete = function()
    return { 'resume' }
  end,
  run = function(call)
    local queue = require('breadboard.queue')
    if call.words[1] == 'resume' then
      queue.resume()
    else
      queue.show()
    end
  end,
}

SUBCOMMANDS.model = {
  about = 'choose the model from a list, or by provider/name',
  run = function(call)
    require('breadboard.models').choose(call.words[1])
  end,
}

SUBCOMMANDS.trust = {
  about = 'trust this workspace until Neovim ends, so that the agent may write and run what you allow',
  run = function()
    sessions.trust(true)
  end,
}

SUBCOMMANDS.untrust = {
  about = 'stop trusting this workspace',
  run = function()
    sessions.trust(false)
  end,
}

SUBCOMMANDS.command = {
  about = 'command {name} [json]: give the engine one of its commands',
  run = function(call)
    local name, json = call.rest:match('^(%S+)%s*(.*)$')
    if not name then
      store.say(nil, 'info', 'Say which command: :BreadBoard command list_checkpoints')
      return
    end
    local arguments
    if json ~= '' then
      local ok, decoded = pcall(vim.json.decode, json)
      if not ok or type(decoded) ~= 'table' then
        store.say(nil, 'error', 'What follows the name must be a JSON object, for instance {"checkpoint_id":"c1"}.')
        return
      end
      arguments = decoded
    end
    sessions.command(name, arguments, function(detail)
      require('breadboard.float').open(name, require('breadboard.body').lines(detail), { enter = true })
    end)
  end,
}

SUBCOMMANDS.lane = {
  about = 'lane {chat|tasks|run|debug}: what the window of the chat shows',
  complete = function()
    return { 'chat', 'tasks', 'run', 'debug' }
  end,
  run = function(call)
    local lane = call.words[1] or 'chat'
    if not vim.tbl_contains({ 'chat', 'tasks', 'run', 'debug' }, lane) then
      store.say(nil, 'error', 'There are four lanes: chat, tasks, run and debug.')
      return
    end
    sessions.with_active(function(session)
      chat.show(session, lane)
    end)
  end,
}

SUBCOMMANDS.older = {
  about = 'read an older page of what the chat shows',
  run = function()
    local window = chat.window()
    local shown = window and chat.by_buffer(vim.api.nvim_win_get_buf(window))
    sessions.older(shown and shown.lane or 'chat')
  end,
}

SUBCOMMANDS.restart = {
  about = 'start the server again and put the session back',
  run = function()
    sessions.restart()
  end,
}

SUBCOMMANDS.health = {
  about = 'what :checkhealth breadboard says',
  run = function()
    vim.cmd('checkhealth breadboard')
  end,
}

SUBCOMMANDS.help = {
  about = 'this list',
  run = function()
    local lines = {}
    for _, name in ipairs(M.names()) do
      table.insert(lines, ('%-9s %s'):format(name, SUBCOMMANDS[name].about))
    end
    require('breadboard.float').open(':BreadBoard', lines, { enter = true })
  end,
}

---@return string[]
function M.names()
  local names = vim.tbl_keys(SUBCOMMANDS)
  table.sort(names)
  return names
end

--- What <CR> does in a chat: answers the approval, shows the patch or the diff, goes to the place, under the cursor.
function M.act()
  local block, session = chat.block_at_cursor()
  if block and session and block.kind == 'permission' and store.waits(block) then
    approvals.ask(session, block, nil, true)
  elseif block and block.kind == 'origin' then
    require('breadboard.branches').origin(block.sessionId)
  elseif block and session and block.kind == 'changes' then
    require('breadboard.changes').show(session, block.promptSeq)
  elseif require('breadboard.files').under_cursor() then
    require('breadboard.files').go()
  elseif block and session and block.kind == 'patch' then
    diff.patch(session, block)
  elseif block and session and diff.carried(block) then
    diff.tool(session, block)
  elseif vim.fn.foldlevel('.') > 0 then
    vim.cmd('normal! za')
  else
    require('breadboard.files').go(true)
  end
end

--- Runs `:BreadBoard`. Without a subcommand it opens the chat.
---@param call { args: string, range: integer, line1: integer, line2: integer }
function M.run(call)
  local name, rest = call.args:match('^(%S+)%s*(.-)%s*$')
  local subcommand = SUBCOMMANDS[name or 'chat']
  if not subcommand then
    vim.notify(
      ('breadboard: there is no `:BreadBoard %s`; :BreadBoard help lists what there is'):format(name),
      vim.log.levels.ERROR
    )
    return
  end
  rest = rest or ''
  subcommand.run({
    rest = rest,
    words = vim.split(rest, '%s+', { trimempty = true }),
    range = call.range > 0 and { first = call.line1, last = call.line2 } or nil,
  })
end

---@param lead string
---@param line string
---@param column integer
---@return string[]
function M.complete(lead, line, column)
  local before = line:sub(1, column):match('BreadBoard!?%s+(.*)$') or ''
  local words = vim.split(before, '%s+')
  local choices = {}
  if #words <= 1 then
    choices = M.names()
  else
    local subcommand = SUBCOMMANDS[words[1]]
    choices = subcommand and subcommand.complete and subcommand.complete() or {}
  end
  return vim.tbl_filter(function(choice)
    return vim.startswith(choice, lead)
  end, choices)
end

return M
