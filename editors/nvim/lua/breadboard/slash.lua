--- Commands of the agent (`/plan`), completed at the begin of a prompt.

local client = require('breadboard.client')
local store = require('breadboard.store')

local M = {}

--- The name of a command that ends at the cursor, which only the first word of a prompt is.
---@param before string the line up to the cursor
---@param row integer from 1
---@return integer? column of the character behind the slash, from 1
---@return string? name
function M.reference_at(before, row)
  local name = row == 1 and before:match('^/(%S*)$')
  if name then
    return 2, name
  end
end

--- The commands of the session in front that begin so.
---@param name string
---@param callback fun(items: { word: string, abbr: string, menu: string, info: string }[])
function M.complete(name, callback)
  if not store.active then
    callback({})
    return
  end
  client.request('bb/session/info', { sessionId = store.active }, function(err, info)
    local items = {}
    for _, command in ipairs(not err and info.commands or {}) do
      if vim.startswith(command.name, name) then
        table.insert(items, {
          word = command.name,
          abbr = '/' .. command.name .. (command.hint and (' <' .. command.hint .. '>') or ''),
          menu = command.description or '',
        })
      end
    end
    callback(items)
  end)
end

return M
