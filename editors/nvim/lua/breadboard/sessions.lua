--- Conversations with the server: hello, sessions, prompts, trust, restart. The only writer of the store.
--- Never draws; failures are said through the store.

local client = require('breadboard.client')
local config = require('breadboard.config')
local disk = require('breadboard.disk')
local info = require('breadboard.info')
local notices = require('breadboard.notices')
local store = require('breadboard.store')

require('breadboard.edits') -- answers the server's edits

local M = {}

---@type boolean?
local trust_given -- what `:BreadBoard trust` said; wins over the settings until Neovim ends

---@param err { message: string, data?: { code?: string, details?: any } }
---@param session? string
local function refuse(err, session)
  local text = err.message
  if err.data and err.data.code == 'untrusted_workspace' then
    text = text .. ' (:BreadBoard trust)'
  end
  local details = err.data and err.data.details
  store.say(session, 'error', text, type(details) == 'table' and details.login or nil)
end
M.refuse = refuse

---@type table<string, string>
local status_of = {}

local function take_state(params)
  store.sessions = params.sessions
  for _, summary in ipairs(params.sessions) do
    local before = status_of[summary.sessionId]
    status_of[summary.sessionId] = summary.status
    if before and before ~= summary.status then
      disk.look(summary.sessionId)
    end
  end
  store.tell('state')
end

local function take_connection(params)
  if not params.sessionId and store.engine then
    store.engine.status = params.status
  end
  store.engine_problem = params.status == 'error' and params.lastError or nil
  local level, text = notices.of_connection(params)
  if level and text then
    store.say(params.sessionId, level, text)
  end
  store.tell('state')
end

---@type table<string, boolean>
local selecting = {}

local function take_view(params)
  if disk.concerns(params) then
    disk.look(params.sessionId)
  end
  info.hear(params)
  if store.take_view(params) and not selecting[params.sessionId] then
    M.read(params.sessionId)
  end
end

client.listen('bb/view', take_view)
client.listen('bb/state', take_state)
client.listen('bb/connection', take_connection)

local function last_seen()
  if not store.epoch or not next(store.views) then
    return nil
  end
  local sessions = {}
  for session, view in pairs(store.views) do
    sessions[session] = view.seq
  end
  return { epoch = store.epoch, sessions = sessions }
end

local greeted = false
---@type fun()?
local after_exit

client.on_exit(function(code, signal, expected)
  greeted = false
  selecting = {}
  info.forget()
  store.engine = nil
  if not expected then
    for _, summary in ipairs(store.sessions) do
      local runs = summary.status == 'running' or summary.status == 'waiting'
      if runs and not summary.heldBy and summary.sessionId ~= store.active then
        store.say(summary.sessionId, 'info', notices.of_exit(code, signal, true))
      end
    end
    local front = store.active and store.summary(store.active) or {}
    local cut = (front.status == 'running' or front.status == 'waiting') and not front.heldBy
    store.say(nil, 'error', notices.of_exit(code, signal, cut))
  end
  store.tell('state')
  local go_on = after_exit
  after_exit = nil
  if go_on then
    go_on()
  end
end)

local function greet(callback)
  local params = { subscribe = { events = false, view = true, tabs = false }, lastSeen = last_seen() }
  client.request('bb/init', params, function(err, hello)
    if err then
      callback(err.message)
      return
    end
    greeted = true
    local new_epoch = store.epoch ~= nil and store.epoch ~= hello.epoch
    store.epoch = hello.epoch
    store.engine = hello.engine
    store.sessions = hello.sessions
    store.trusted = hello.workspaceTrusted
    for session, resume in pairs(hello.resume or {}) do
      local level, text = notices.of_resume(resume)
      if level and text then
        store.say(session, level, text)
      end
    end
    if new_epoch then
      store.views = {} -- all numbers start anew
    end
    store.tell('state')
    callback()
  end)
end

--- Starts the server and says hello, unless that is done, and calls back. On failure says why and does not call.
---@param callback fun()
function M.ensure(callback)
  if greeted and client.running() then
    callback()
    return
  end
  local root = client.root() or config.root()
  local trusted = trust_given
  if trusted == nil then
    trusted = config.trusts(root)
  end
  client.start(trusted, function(err)
    if err then
      store.say(nil, 'error', err)
      return
    end
    if greeted then
      callback()
      return
    end
    greet(function(problem)
      if problem then
        store.say(nil, 'error', problem)
      else
        callback()
      end
    end)
  end)
end

--- Engines that keep the sessions of several clients.
local SHARED = { breadboard = true, desktop = true }

--- Has the sessions listed anew where the engine keeps them: it has those of other clients too.
---@param callback fun()
function M.list(callback)
  M.ensure(function()
    if not (store.engine and SHARED[store.engine.kind]) then
      callback()
      return
    end
    client.request('bb/listSessions', nil, function(err, result)
      if err then
        refuse(err)
      else
        take_state(result)
      end
      callback()
    end)
  end)
end

--- Reads a session's newest view.
---@param session string
---@param callback? fun()
function M.read(session, callback)
  selecting[session] = true
  client.request('bb/selectSession', { sessionId = session }, function(err, result)
    selecting[session] = nil
    if err then
      refuse(err, store.active)
      return
    end
    local level, text = notices.of_resume(result.resume)
    store.put_view(session, result.view)
    local summary = store.summary(session)
    if summary and summary.agent then
      info.read(session)
    end
    if level and text then
      store.say(session, level, text)
    end
    if callback then
      callback()
    end
  end)
end

--- Makes a session and puts it in front.
---@param callback? fun(session: string)
---@param agent? string with which agent; absent: with the engine of the settings
function M.create(callback, agent)
  M.ensure(function()
    client.request('bb/createSession', agent and { agent = agent }, function(err, result)
      if err then
        refuse(err)
        return
      end
      store.active = result.sessionId
      if not store.views[result.sessionId] then
        store.put_view(result.sessionId, require('breadboard.view').empty(store.epoch))
      end
      store.tell('state')
      if callback then
        callback(result.sessionId)
      end
    end)
  end)
end

--- Puts a session in front and reads it.
---@param session string
---@param callback? fun(session: string)
function M.select(session, callback)
  M.ensure(function()
    M.read(session, function()
      store.active = session
      store.tell('state')
      if callback then
        callback(session)
      end
    end)
  end)
end

--- Makes a session that begins with the conversation of another one, and puts it in front.
---@param session string the other one, which stays as it is
---@param from { before?: string, engine?: 'own'|'current', agent?: string }
---@param callback? fun(session: string)
function M.branch(session, from, callback)
  M.ensure(function()
    local params = vim.tbl_extend('force', { sessionId = session }, from)
    client.request('bb/session/branch', params, function(err, result)
      if err then
        refuse(err, session)
      else
        M.select(result.sessionId, callback)
      end
    end)
  end)
end

--- Has a session stand before the others in the list, or no more.
---@param session string
---@param pinned boolean
function M.pin(session, pinned)
  M.ensure(function()
    client.request('bb/session/pin', { sessionId = session, pinned = pinned }, function(err)
      if err then
        refuse(err, session)
      else
        store.say(session, 'info', pinned and 'Pinned: this session stands first.' or 'Not pinned any more.')
      end
    end)
  end)
end

--- The active session, or a new one.
---@param callback fun(session: string)
function M.with_active(callback)
  M.ensure(function()
    if store.active then
      callback(store.active)
    else
      M.create(callback)
    end
  end)
end

---@param session string
---@param callback? fun()
function M.delete(session, callback)
  M.ensure(function()
    client.request('bb/deleteSession', { sessionId = session }, function(err)
      if err then
        refuse(err)
        return
      end
      store.drop(session)
      if callback then
        callback()
      end
    end)
  end)
end

local function message_id()
  local bytes = assert(vim.uv.random(16))
  return (bytes:gsub('.', function(byte)
    return ('%02x'):format(byte:byte())
  end))
end

--- Sends a prompt in the active session. It is queued by the server when a turn runs.
---@param text string
---@param callback? fun(disposition?: 'started'|'queued') nil when it was refused, which is said
---@param attachments? string[] ids of what goes with it
function M.send(text, callback, attachments)
  M.with_active(function(session)
    local params = { sessionId = session, text = text, messageId = message_id(), attachmentIds = attachments }
    client.request('bb/sendMessage', params, function(err, result)
      if err then
        refuse(err, session)
      elseif result.disposition == 'queued' then
        store.say(session, 'info', 'Queued behind the running turn (:BreadBoard queue).')
      end
      if callback then
        callback(result and result.disposition)
      end
    end)
  end)
end

--- Stops the running turn of the active session and pauses its queue.
---@param callback? fun(stopping: boolean)
function M.stop(callback)
  local session = store.active
  if not session then
    store.say(nil, 'info', 'No session is active, so there is nothing to stop.')
    return
  end
  client.request('bb/stop', { sessionId = session }, function(err, result)
    if err then
      refuse(err, session)
      return
    end
    if not result.stopping then
      store.say(session, 'info', 'Nothing was running.')
    end
    if callback then
      callback(result.stopping)
    end
  end)
end

--- Tells the server whether the user trusts this workspace, until Neovim ends.
---@param trusted boolean
function M.trust(trusted)
  trust_given = trusted
  M.ensure(function()
    client.notify('bb/workspaceTrust', { trusted = trusted })
    store.trusted = trusted
    store.say(nil, 'info', ('%s %s.'):format(client.root(), trusted and 'is trusted' or 'is not trusted any more'))
    store.tell('state')
  end)
end

--- Gives the engine one of its commands.
---@param command string
---@param args? table
---@param callback? fun(detail: any) what the engine says of it
function M.command(command, args, callback)
  M.with_active(function(session)
    client.request('bb/command', { sessionId = session, command = command, args = args }, function(err, result)
      if err then
        refuse(err, session)
        return
      end
      store.say(session, 'info', ('%s: %s'):format(command, result.status))
      if callback and result.detail ~= nil then
        callback(result.detail)
      end
    end)
  end)
end

--- Reads an older page of a lane of the active session.
---@param lane string
function M.older(lane)
  local session = store.active
  local view = session and store.views[session]
  local held = view and view.lanes[lane]
  if not held or not held.hasMore then
    store.say(session, 'info', 'There is nothing older.')
    return
  end
  local params = { sessionId = session, lane = lane, before = held.blocks[1] and held.blocks[1].id }
  client.request('bb/view/page', params, function(err, page)
    if err then
      refuse(err, session)
    elseif store.views[session] == view and held.blocks[1] and held.blocks[1].id == params.before then
      require('breadboard.view').prepend(view, lane, page)
      store.tell('view', session)
    end
  end)
end

--- Ends the server, if one runs, starts it again and puts the active session back in front.
---@param callback? fun()
function M.restart(callback)
  local function start()
    M.ensure(function()
      local session = store.active
      store.say(session, 'info', 'The server runs.')
      if session and store.summary(session) then
        M.read(session, callback)
      elseif callback then
        callback()
      end
    end)
  end
  if not client.running() then
    start()
    return
  end
  after_exit = start
  client.stop()
end

return M
