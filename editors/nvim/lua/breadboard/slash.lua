--- Commands of the agent (`/plan`) and of the server (`/explain`), completed at the begin of a prompt.

local client = require('breadboard.client')
local store = require('breadboard.store')

local M = {}

--- Commands of the server itself, which add to what goes along; an agent has its own.
local OURS = {
  { name = 'explain', description = 'explain what is marked, or what you name' },
  { name = 'fix', description = 'fix what is marked; the problems go along' },
  { name = 'test', description = 'write tests for what is marked' },
  { name = 'refactor', description = 'change how it is written, not what it does' },
}

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
    local commands = vim.list_extend((err or info.agent) and {} or vim.deepcopy(OURS), not err and info.commands or {})
    for _, command in ipairs(commands) do
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
