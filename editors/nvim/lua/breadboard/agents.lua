--- Agents: which one a session is with, and what it offers there: modes, options, ways to log in. What it offers is
--- asked for each time, so nothing kept here can be stale.

local client = require('breadboard.client')
local config = require('breadboard.config')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

--- The agents that the settings name.
---@return string[]
function M.names()
  local names = vim.tbl_keys(config.current.agents or {})
  table.sort(names)
  return names
end

--- What the agent of the session in front is and offers; called only where it could be read.
---@param callback fun(info: table, session: string)
function M.info(callback)
  sessions.with_active(function(session)
    client.request('bb/session/info', { sessionId = session }, function(err, info)
      if err then
        sessions.refuse(err, session)
      else
        callback(info, session)
      end
    end)
  end)
end

--- The engine of the settings and the agents beside it, as a list to choose from.
---@param question string
---@param callback fun(agent?: string) nil for the engine of the settings
function M.pick(question, callback)
  local engine = store.engine and store.engine.kind or 'engine'
  local choices = { { label = ('the engine of the settings (%s)'):format(engine) } }
  for _, agent in ipairs(M.names()) do
    table.insert(choices, { name = agent, label = agent })
  end
  vim.ui.select(choices, {
    prompt = question,
    kind = 'breadboard_agent',
    format_item = function(choice)
      return choice.label
    end,
  }, function(choice)
    if choice then
      callback(choice.name)
    end
  end)
end

--- Begins a session with an agent, of the settings or known to the server by name; asks which one without a name.
---@param name? string
---@param callback fun(session: string)
function M.start(name, callback)
  if name then
    sessions.create(callback, name)
    return
  end
  sessions.ensure(function()
    if #M.names() == 0 then
      store.say(
        nil,
        'info',
        'The settings name no agents; add `agents` (:help breadboard-agents), or say one: :BreadBoard agent opencode'
      )
      return
    end
    M.pick('A new session with', function(agent)
      sessions.create(callback, agent)
    end)
  end)
end

---@param about { name?: string, description?: string }
---@param id string
---@param current boolean
---@return string
local function line(about, id, current)
  local what = about.description and about.description ~= '' and (': ' .. about.description) or ''
  return (current and '● ' or '  ') .. (about.name or id) .. (what:gsub('%s*\n%s*', ' '))
end

---@param session string
---@param command string
---@param args table
---@param said string
local function set(session, command, args, said)
  client.request('bb/command', { sessionId = session, command = command, args = args }, function(err)
    if err then
      sessions.refuse(err, session)
    else
      store.say(session, 'info', said)
    end
    require('breadboard.info').read(session) -- also after a refusal: what is shown must be what is
  end)
end

--- The modes of an agent and the one in use. Newer agents have them as an option; setting one is the same command.
---@param info table
---@return { id: string, name?: string, description?: string }[], string?
local function modes_of(info)
  for _, option in ipairs(info.configOptions or {}) do
    if option.category == 'mode' and option.options then
      return vim.tbl_map(function(choice)
        return { id = choice.value, name = choice.name, description = choice.description }
      end, option.options), option.currentValue
    end
  end
  local modes = info.modes or {}
  return modes.availableModes or {}, modes.currentModeId
end

--- Chooses how the agent works, by the id or name of a mode or from a list.
---@param wanted? string
function M.mode(wanted)
  M.info(function(info, session)
    local all, current = modes_of(info)
    local function choose(mode)
      if mode then
        set(session, 'set_mode', { modeId = mode.id }, ('The mode is %s.'):format(mode.name or mode.id))
      end
    end
    if #all == 0 then
      store.say(session, 'info', 'This agent offers no modes.')
      return
    end
    if wanted then
      for _, mode in ipairs(all) do
        if mode.id == wanted or mode.name == wanted then
          choose(mode)
          return
        end
      end
      store.say(session, 'error', ('This agent has no mode `%s`; :BreadBoard mode lists what it has.'):format(wanted))
      return
    end
    vim.ui.select(all, {
      prompt = 'Mode',
      kind = 'breadboard_mode',
      format_item = function(mode)
        return line(mode, mode.id, mode.id == current)
      end,
    }, choose)
  end)
end

--- The values of an option.
---@param option table
---@return { value: string|boolean, name: string, description?: string }[]
local function values_of(option)
  if option.type == 'boolean' then
    return { { value = true, name = 'On' }, { value = false, name = 'Off' } }
  end
  return option.options or {}
end

---@param option table
---@return string
local function value_name(option)
  for _, choice in ipairs(values_of(option)) do
    if choice.value == option.currentValue then
      return choice.name or tostring(choice.value)
    end
  end
  return tostring(option.currentValue)
end

---@param session string
---@param option table
---@param wanted? string
local function choose_value(session, option, wanted)
  local name = option.name or option.id
  local function choose(choice)
    if choice then
      local said = ('%s is %s.'):format(name, choice.name or tostring(choice.value))
      set(session, 'set_config_option', { configId = option.id, value = choice.value }, said)
    end
  end
  if wanted then
    for _, choice in ipairs(values_of(option)) do
      if tostring(choice.value) == wanted or choice.name == wanted then
        choose(choice)
        return
      end
    end
    store.say(session, 'error', ('%s cannot be `%s`; :BreadBoard option lists what it can be.'):format(name, wanted))
    return
  end
  vim.ui.select(values_of(option), {
    prompt = name,
    kind = 'breadboard_option',
    format_item = function(choice)
      return line(choice, tostring(choice.value), choice.value == option.currentValue)
    end,
  }, choose)
end

--- Sets an option of the agent, by its id (or category) and value, or from lists.
---@param id? string
---@param value? string
function M.option(id, value)
  M.info(function(info, session)
    local all = info.configOptions or {}
    if #all == 0 then
      store.say(session, 'info', 'This agent offers no options.')
      return
    end
    if id then
      for _, option in ipairs(all) do
        if option.id == id or option.name == id or option.category == id then
          choose_value(session, option, value)
          return
        end
      end
      store.say(session, 'error', ('This agent has no option `%s`.'):format(id))
      return
    end
    vim.ui.select(all, {
      prompt = 'Option',
      kind = 'breadboard_option',
      format_item = function(option)
        return ('%s: %s'):format(option.name or option.id, value_name(option))
      end,
    }, function(option)
      if option then
        choose_value(session, option)
      end
    end)
  end)
end

---@param session string
---@param method table
local function log_in(session, method)
  local name = method.name or method.id
  if method.type == 'terminal' then
    local what = method.description and (': ' .. method.description) or '; its own documentation says with what.'
    store.say(session, 'warning', ('“%s” is done in a terminal%s'):format(name, what))
    return
  end
  store.say(session, 'info', ('Logging in with “%s”; a browser may open.'):format(name))
  local params = { sessionId = session, command = 'authenticate', args = { methodId = method.id } }
  client.request('bb/command', params, function(err)
    if err then
      sessions.refuse(err, session)
    else
      store.say(session, 'info', 'Logged in; send the prompt again.')
    end
  end)
end

--- Logs in at the agent, by the id or name of a way or from the list of those that it offers.
---@param wanted? string
function M.login(wanted)
  M.info(function(info, session)
    local agent = info.agent
    local methods = agent and agent.authMethods or {}
    if not agent then
      store.say(session, 'info', 'No agent holds this session; only an agent has a login of its own.')
      return
    elseif #methods == 0 then
      local text = 'The agent `%s` names no way to log in here; log in with its own program in a terminal.'
      store.say(session, 'info', text:format(agent.name))
      return
    end
    for _, method in ipairs(methods) do
      if wanted and (method.id == wanted or method.name == wanted) then
        log_in(session, method)
        return
      end
    end
    vim.ui.select(methods, {
      prompt = ('Log in at %s'):format(agent.name),
      kind = 'breadboard_login',
      format_item = function(method)
        local place = method.type == 'terminal' and ' (in a terminal)' or ''
        return line(method, method.id, false):gsub('^  ', '') .. place
      end,
    }, function(method)
      if method then
        log_in(session, method)
      end
    end)
  end)
end

return M
