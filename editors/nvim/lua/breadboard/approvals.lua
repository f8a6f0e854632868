--- Answers to what the agent asks. Shows exactly what an answer covers before it can be given, and always sends the
--- digest of what was shown. Never answers by itself.

local body = require('breadboard.body')
local client = require('breadboard.client')
local config = require('breadboard.config')
local float = require('breadboard.float')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

---@param option { label: string, kind: string }
---@param permission table
---@return string
local function label(option, permission)
  if option.kind == 'allow_rule' and permission.rule then
    return ('%s (%s)'):format(option.label, permission.rule.pattern)
  end
  return option.label
end

---@param session string
---@param permission table
---@param option table
---@param callback? fun(result?: table)
local function decide(session, permission, option, callback)
  client.request('bb/approvePermission', {
    sessionId = session,
    requestId = permission.requestId,
    decision = option.kind,
    optionId = option.optionId,
    digest = permission.digest,
  }, function(err, result)
    if err then
      sessions.refuse(err, session)
    elseif result.outcome == 'already_resolved' then
      local by = result.resolvedBy and (' by ' .. result.resolvedBy) or ''
      store.say(session, 'info', ('This was settled before: %s%s.'):format(result.resolution or 'decided', by))
    end
    if callback then
      callback(result)
    end
  end)
end

---@param session string
---@param block breadboard.Block
---@param event? table
---@param callback? fun(result?: table)
local function put(session, block, event, callback)
  local permission = block.permission
  local whole = event and event.permission and event.permission.digest == permission.digest
  local shown = float.open('The agent asks', body.of_ask(permission.title, whole and event.payload or nil), {
    filetype = 'diff',
  })
  vim.cmd('redraw')
  vim.ui.select(permission.options, {
    prompt = vim.split(permission.title, '\n')[1] .. ' ?',
    kind = 'breadboard_approval',
    format_item = function(option)
      return label(option, permission)
    end,
  }, function(option)
    shown.close()
    if option then
      decide(session, permission, option, callback)
    end
  end)
end

--- Puts one approval to the user.
---@param session string
---@param block breadboard.Block
---@param callback? fun(result?: table)
function M.ask(session, block, callback)
  body.read(session, block.seq, function(err, event)
    if err then
      sessions.refuse(err, session)
      return
    end
    put(session, block, event, callback)
  end)
end

--- Puts an approval of the active session to the user: the only one, or the one that he picks.
---@param callback? fun(result?: table)
function M.choose(callback)
  local session = store.active
  local pending = store.pending(session)
  if not session or #pending == 0 then
    store.say(session, 'info', 'Nothing waits for an answer.')
    return
  end
  if #pending == 1 then
    M.ask(session, pending[1], callback)
    return
  end
  vim.ui.select(pending, {
    prompt = 'Which one?',
    format_item = function(block)
      return vim.split(block.permission.title, '\n')[1]
    end,
  }, function(block)
    if block then
      M.ask(session, block, callback)
    end
  end)
end

local announced = {} ---@type table<string, boolean>

store.on('approval', function(session)
  for _, block in ipairs(store.pending(session)) do
    if not announced[block.id] then
      announced[block.id] = true
      if config.current.popup and session == store.active then
        vim.schedule(function()
          M.ask(session, block)
        end)
      else
        local title = vim.split(block.permission.title, '\n')[1]
        vim.notify(('breadboard: the agent asks: %s (:BreadBoard approve)'):format(title), vim.log.levels.WARN)
      end
    end
  end
end)

return M
