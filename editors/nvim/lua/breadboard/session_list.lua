--- The sessions of the workspace as a list to choose from: what each is about, how it is, whose it is.

local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

---@param prompt_text string
---@param callback fun(session: string)
function M.pick(prompt_text, callback)
  sessions.list(function()
    if #store.sessions == 0 then
      store.say(nil, 'info', 'There are no sessions yet; :BreadBoard ask begins one.')
      return
    end
    vim.ui.select(store.sessions, {
      prompt = prompt_text,
      format_item = function(summary)
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
        return ('%s%s (%s)'):format(mark, summary.title or summary.sessionId, table.concat(facts, ', '))
      end,
    }, function(summary)
      if summary then
        callback(summary.sessionId)
      end
    end)
  end)
end

return M
