--- The sessions of the workspace as a list to choose from: what each is about, how it is, whose it is.

local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

--- A session on one line: what it is about, how it is, whose it is.
---@param summary table
---@return string
local function line(summary)
  local mark = summary.sessionId == store.active and '* ' or '  '
  local facts = { summary.status or 'idle' }
  if (summary.pendingPermissionCount or 0) > 0 then
    table.insert(facts, ('%d wait'):format(summary.pendingPermissionCount))
  end
  if summary.agent then
    table.insert(facts, summary.agent)
  end
  if summary.heldBy then
    table.insert(facts, 'in another window')
  end
  if summary.pinned then
    table.insert(facts, 'pinned')
  end
  return ('%s%s (%s)'):format(mark, summary.title or summary.sessionId, table.concat(facts, ', '))
end

---@param prompt_text string
---@param callback fun(session: string)
function M.pick(prompt_text, callback)
  sessions.list(function()
    if #store.sessions == 0 then
      store.say(nil, 'info', 'There are no sessions yet; :BreadBoard ask begins one.')
      return
    end
    vim.ui.select(store.sessions, { prompt = prompt_text, format_item = line }, function(summary)
      if summary then
        callback(summary.sessionId)
      end
    end)
  end)
end

--- The sessions in which these words were said, each with where.
---@param words string
---@param callback fun(session: string)
function M.find(words, callback)
  require('breadboard.listing').show({
    method = 'bb/listSessions',
    params = { query = words },
    rows = function(result)
      return result.sessions
    end,
    none = ('Nothing was said with the words "%s" in a session of this workspace, and no title has them.'):format(words),
    prompt = ('Sessions with "%s"'):format(words),
    line = function(summary, result)
      local place = ((result.found or {})[summary.sessionId] or {})[1]
      if not place then
        return line(summary)
      end
      local by = place.by == 'prompt' and 'asked' or 'answer'
      return ('%s  %s: %s'):format(line(summary), by, place.text)
    end,
    choose = function(summary)
      callback(summary.sessionId)
    end,
  })
end

return M
