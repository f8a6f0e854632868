--- What is done without asking: the mode, shown and chosen. Never judges a command; the server does.

local client = require('breadboard.client')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

--- The modes, in the order in which they are offered, each with what it means.
M.modes = { 'ask', 'reads', 'edits', 'listed' }

local MEANS = {
  ask = 'ask for everything',
  reads = 'allow commands that only read, in the workspace',
  edits = 'allow reads, and edits in the workspace',
  listed = 'allow what your list names',
}

--- One line about how it stands.
---@param state table
---@return string
function M.line(state)
  local where = state.runner == 'server_runner' and 'by the server' or "in the editor's terminal, where it has one"
  return ('Approvals: %s. Commands run %s.'):format(MEANS[state.mode] or state.mode, where)
end

---@param mode string
local function set(mode)
  client.request('bb/approvals/set', { mode = mode }, function(err, state)
    if err then
      sessions.refuse(err)
    else
      store.say(nil, 'info', M.line(state) .. ' This holds until the server ends; set `approvals` in your setup to keep it.')
    end
  end)
end

--- Sets a mode, or offers them with the one that holds now.
---@param mode? string
function M.choose(mode)
  if mode and not MEANS[mode] then
    store.say(nil, 'error', ('There is no mode `%s`; choose one of %s.'):format(mode, table.concat(M.modes, ', ')))
    return
  end
  sessions.ensure(function()
    if mode then
      set(mode)
      return
    end
    client.request('bb/permission/list', vim.empty_dict(), function(err, result)
      if err then
        sessions.refuse(err)
        return
      end
      local now = result.approvals and result.approvals.mode
      vim.ui.select(M.modes, {
        prompt = 'Approvals',
        format_item = function(item)
          return MEANS[item] .. (item == now and ' (now)' or '')
        end,
      }, function(item)
        if item then
          set(item)
        end
      end)
    end)
  end)
end

return M
