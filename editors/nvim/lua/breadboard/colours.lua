--- What a program printed, as a terminal reads it: its words, and the look of each stretch of a line. Pure. Knows the
--- sixteen colours that every terminal has, bold, italic and underlined; a colour that is mixed is left away.

local M = {}

local NAMES = { 'Black', 'Red', 'Green', 'Yellow', 'Blue', 'Magenta', 'Cyan', 'White' }

---@class breadboard.Stretch
---@field first integer the byte before it
---@field last integer its last byte
---@field groups string[]

--- The groups of highlighting: by name, the number of their colour in a terminal, or their style.
---@type table<string, { front?: integer, back?: integer, style?: string }>
M.GROUPS = {
  BreadBoardBold = { style = 'bold' },
  BreadBoardItalic = { style = 'italic' },
  BreadBoardUnderline = { style = 'underline' },
}
for at, name in ipairs(NAMES) do
  M.GROUPS['BreadBoard' .. name] = { front = at - 1 }
  M.GROUPS['BreadBoardBright' .. name] = { front = at + 7 }
  M.GROUPS['BreadBoardOn' .. name] = { back = at - 1 }
  M.GROUPS['BreadBoardOnBright' .. name] = { back = at + 7 }
end

--- What a code sets, and to which group; `false` where it takes a group away.
local CODES = {
  [1] = { 'bold', 'BreadBoardBold' },
  [3] = { 'italic', 'BreadBoardItalic' },
  [4] = { 'underline', 'BreadBoardUnderline' },
  [22] = { 'bold', false },
  [23] = { 'italic', false },
  [24] = { 'underline', false },
  [39] = { 'front', false },
  [49] = { 'back', false },
}
for at, name in ipairs(NAMES) do
  CODES[29 + at] = { 'front', 'BreadBoard' .. name }
  CODES[89 + at] = { 'front', 'BreadBoardBright' .. name }
  CODES[39 + at] = { 'back', 'BreadBoardOn' .. name }
  CODES[99 + at] = { 'back', 'BreadBoardOnBright' .. name }
end

---@param look table<string, string>
---@param parameters string
local function change(look, parameters)
  local codes = {}
  for code in (parameters .. ';'):gmatch('(%d*)[;:]') do
    table.insert(codes, tonumber(code) or 0)
  end
  local at = 1
  while at <= #codes do
    local code, sets = codes[at], CODES[codes[at]]
    if code == 0 then
      for what in pairs(look) do
        look[what] = nil
      end
    elseif sets then
      look[sets[1]] = sets[2] or nil
    elseif code == 38 or code == 48 then
      look[code == 38 and 'front' or 'back'] = nil
      at = at + (codes[at + 1] == 5 and 2 or codes[at + 1] == 2 and 4 or 1)
    end
    at = at + 1
  end
end

---@param look table<string, string>
---@return string[]
local function groups(look)
  local found = {}
  for _, what in ipairs({ 'front', 'back', 'bold', 'italic', 'underline' }) do
    table.insert(found, look[what])
  end
  return found
end

--- The lines of a text without its colours, and what is coloured of each.
---@param text string
---@return string[] lines
---@return table<integer, breadboard.Stretch[]> coloured by line, from 1
function M.lines(text)
  local lines, coloured, look = { '' }, {}, {}
  local function add(words)
    for at, piece in ipairs(vim.split(words, '\n', { plain = true })) do
      if at > 1 then
        table.insert(lines, '')
      end
      local line = lines[#lines]
      if piece ~= '' and next(look) then
        coloured[#lines] = coloured[#lines] or {}
        table.insert(coloured[#lines], { first = #line, last = #line + #piece, groups = groups(look) })
      end
      lines[#lines] = line .. piece
    end
  end
  local done = 1
  for first, parameters, last in text:gmatch('()\27%[([%d;:]*)m()') do
    add(text:sub(done, first - 1))
    change(look, parameters)
    done = last
  end
  add(text:sub(done))
  while #lines > 1 and lines[#lines] == '' do
    table.remove(lines)
  end
  return lines, coloured
end

return M
