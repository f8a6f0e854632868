--- The rules that answer for the user: a list of them, and taking one back. Never saves one; that is an answer's.

local client = require('breadboard.client')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

--- Who keeps a rule, and in which file of the workspace where that is known.
---@param rule table
---@return string
local function keeper(rule)
  return (rule.keptBy or 'the ' .. rule.holder) .. (rule.keptIn and ' in ' .. rule.keptIn or '')
end

--- A rule with where it holds and who keeps it.
---@param rule table
---@return string
function M.line(rule)
  local where = rule.scope == 'workspace' and 'in this workspace' or rule.scope == 'session' and 'for a session' or nil
  if rule.sessionId then
    local summary = store.summary(rule.sessionId)
    where = ('for the session %s'):format(summary and summary.title or rule.sessionId)
  end
  local parts = where and { where } or {}
  table.insert(parts, 'kept by ' .. keeper(rule))
  if rule.folder then
    table.insert(parts, 'in ' .. rule.folder)
  end
  return ('%s (%s)'):format(rule.pattern, table.concat(parts, '; '))
end

---@param rule table
local function revoke(rule)
  client.request('bb/permission/revoke', { ruleId = rule.ruleId }, function(err)
    if err then
      sessions.refuse(err)
    else
      store.say(nil, 'info', ('Taken back: %s. The agent asks again.'):format(rule.pattern))
    end
  end)
end

---@param rule table
local function choose(rule)
  if not rule.revocable then
    local text = ('`%s` is kept by %s and cannot be taken back here; take it back there.'):format(rule.pattern, keeper(rule))
    store.say(nil, 'info', text)
    return
  end
  vim.ui.select({ 'Take it back', 'Keep' }, { prompt = M.line(rule) }, function(answer)
    if answer == 'Take it back' then
      revoke(rule)
    end
  end)
end

--- Lists every rule of the workspace and its sessions.
function M.show()
  require('breadboard.listing').show({
    method = 'bb/permission/list',
    rows = function(result)
      return result.rules
    end,
    before = function(result)
      return result.approvals and require('breadboard.standing').line(result.approvals)
    end,
    none = 'No rule is saved here. What an agent remembers by itself is listed by the agent only.',
    prompt = 'Rules',
    line = M.line,
    choose = choose,
  })
end

return M
