--- The proposed edits that wait and can be decided change by change, one of which is picked.

local hunks = require('breadboard.hunks')
local store = require('breadboard.store')

local M = {}

--- Gives the only one, or the one that is picked.
---@param open fun(session: string, permission: table)
function M.choose(open)
  local waiting = vim.tbl_filter(function(one)
    return hunks.count(one.block.permission) > 0
  end, store.all_pending())
  local function take(one)
    if one then
      open(one.session, one.block.permission)
    end
  end
  if #waiting == 0 then
    store.say(nil, 'info', 'No proposed edit waits that can be decided change by change.')
  elseif #waiting == 1 then
    take(waiting[1])
  else
    vim.ui.select(waiting, {
      prompt = 'Which one?',
      format_item = function(one)
        return vim.split(one.block.permission.title, '\n')[1]
      end,
    }, take)
  end
end

return M
