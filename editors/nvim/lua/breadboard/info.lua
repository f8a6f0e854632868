--- What the agent of each session is and offers, as far as it was told: read anew when its lane `run` changes, since an
--- agent that changes its mode says so there. For what is only shown; who acts on it asks the server.

local client = require('breadboard.client')
local store = require('breadboard.store')

local M = {}

---@type table<string, table>
local infos = {}
---@type table<string, 'reading'|'again'>
local state = {}

--- Reads it, and once more where something changed while it was read. What cannot be read stays as it was.
---@param session string
function M.read(session)
  if state[session] then
    state[session] = 'again'
    return
  end
  state[session] = 'reading'
  client.request('bb/session/info', { sessionId = session }, function(err, info)
    local again = state[session] == 'again'
    state[session] = nil
    if not err then
      infos[session] = info
      store.tell('state')
    end
    if again and not err then
      M.read(session)
    end
  end)
end

--- Hears a `bb/view`.
---@param params { sessionId: string, changes?: breadboard.Change[], snapshot?: table }
function M.hear(params)
  local summary = store.summary(params.sessionId)
  if not summary or not summary.agent then
    return
  end
  for _, change in ipairs(params.changes or {}) do
    if change.lane == 'run' then
      M.read(params.sessionId)
      return
    end
  end
end

--- How the agent of a session works, by the name that it gives to its mode.
---@param session string
---@return string?
function M.mode(session)
  local info = infos[session] or {}
  local modes = info.modes or {}
  for _, mode in ipairs(modes.availableModes or {}) do
    if mode.id == modes.currentModeId then
      return mode.name or mode.id
    end
  end
  -- Newer agents have it among their options.
  for _, option in ipairs(info.configOptions or {}) do
    if option.category == 'mode' then
      for _, choice in ipairs(option.options or {}) do
        if choice.value == option.currentValue then
          return choice.name or tostring(choice.value)
        end
      end
    end
  end
end

--- Forgets all: the server has ended.
function M.forget()
  infos, state = {}, {}
end

return M
