--- Whole events as lines for people: what an approval covers, what a tool gave back. Shows every field; hides none.

local client = require('breadboard.client')
local visible = require('breadboard.visible')

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

--- The diff inside a payload, wherever the engine put it, and the payload without it.
---@param payload table
---@return string? diff
---@return table rest
local function without_diff(payload)
  local rest = vim.deepcopy(payload)
  for _, holder in ipairs({ rest, rest.args or {}, rest.metadata or {} }) do
    for _, key in ipairs({ 'diff', 'patch' }) do
      if type(holder[key]) == 'string' then
        local diff = holder[key]
        holder[key] = nil
        return diff, rest
      end
    end
  end
  return nil, rest
end

--- What an approval covers: its title, which the server made safe to show, the diff as a diff, and every other field of the
--- ask.
---@param title string
---@param payload? table
---@return string[]
function M.of_ask(title, payload)
  local lines = split(title)
  if not payload then
    return lines
  end
  local diff, rest = without_diff(payload)
  if diff then
    table.insert(lines, '')
    vim.list_extend(lines, split(visible.of((diff:gsub('\n$', '')))))
  end
  table.insert(lines, '')
  local fields = {}
  add(fields, '', rest)
  for _, line in ipairs(fields) do
    table.insert(lines, visible.of(line))
  end
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
    local lines = {}
    add(lines, '', event.payload)
    require('breadboard.float').open(event.type, lines, { enter = true })
  end)
end

return M
