--- Whole events as lines for people, such as what a tool gave back. Shows every field; hides none.

local client = require('breadboard.client')

local M = {}

---@param text string
---@return string[]
local function split(text)
  return vim.split(text, '\n', { plain = true })
end

---@param lines string[]
---@param name string
---@param value any
local function add(lines, name, value)
  if type(value) == 'table' then
    local keys = vim.tbl_keys(value)
    table.sort(keys, function(a, b)
      return tostring(a) < tostring(b)
    end)
    if #keys == 0 then
      table.insert(lines, name .. ': (empty)')
    end
    for _, key in ipairs(keys) do
      local child = type(key) == 'number' and ('%s[%d]'):format(name, key) or (name == '' and key or name .. '.' .. key)
      add(lines, child, value[key])
    end
    return
  end
  local parts = split(tostring(value))
  if #parts == 1 then
    table.insert(lines, name .. ': ' .. parts[1])
    return
  end
  table.insert(lines, name .. ':')
  for _, part in ipairs(parts) do
    table.insert(lines, '  ' .. part)
  end
end

--- Any value as lines: a field each.
---@param value any
---@return string[]
function M.lines(value)
  local lines = {}
  add(lines, '', type(value) == 'table' and value or { value })
  return lines
end

--- Reads the event behind a block.
---@param session string
---@param seq integer
---@param callback fun(err?: table, event?: table)
function M.read(session, seq, callback)
  client.request('bb/eventBody', { sessionId = session, seq = seq }, function(err, result)
    callback(err, result and result.event)
  end)
end

--- Shows the whole event behind the block under the cursor.
function M.show()
  local block, session = require('breadboard.chat').block_at_cursor()
  if not block or not session then
    return
  end
  M.read(session, block.resultSeq or block.seq, function(err, event)
    if err or not event then
      require('breadboard.sessions').refuse(err, session)
      return
    end
    require('breadboard.float').open(event.type, M.lines(event.payload), { enter = true })
  end)
end

return M
