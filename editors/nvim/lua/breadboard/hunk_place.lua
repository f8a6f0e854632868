--- Where the changes of an edit stand in the lines of a file. Pure. A change belongs where it says, else in the only place
--- that has its lines; anywhere else it fits nowhere. What the server made safe to show is compared as what it stands for.

local M = {}

---@class breadboard.Placed
---@field id string
---@field fits boolean
---@field first integer first line of the file that goes, or before which something comes, from 0
---@field last integer behind the last line that goes
---@field removed integer[] lines that go, from 0
---@field added table<integer, string[]> what comes before a line, by that line
---@field old string[] the lines that go, as they are shown
---@field new string[] the lines that come, as they are shown
---@field context integer lines that stay before the first change

--- The mark of a carriage return.
local RETURN = '␍'
--- Most that one mark stands for here: a longer line fits nowhere, which is said.
local MOST = 10000

---@param code integer
---@return string
local function character(code)
  return vim.fn.nr2char(code, true)
end

--- The text behind one that was made safe to show.
---@param shown string
---@return string
function M.reveal(shown)
  local text = shown:gsub('⇥', '\t'):gsub('⏎', '\n'):gsub(RETURN, '\r')
  return (text:gsub('⟨(.-)⟩', function(inside)
    local spaces = inside:match('^(%d+) spaces?$')
    if spaces then
      return (' '):rep(math.min(tonumber(spaces) or 0, MOST))
    end
    local made = {}
    for item in inside:gmatch('%S+') do
      local count, number = item:match('^(%d+)×U%+(%x+)$')
      number = number or item:match('^U%+(%x+)$')
      local code = tonumber(number or '', 16)
      if not code or code > 0x10ffff then
        return nil -- it is no mark
      end
      made[#made + 1] = character(code):rep(math.min(tonumber(count) or 1, MOST))
    end
    return table.concat(made)
  end))
end

---@param line string
---@return string
local function without_return(line)
  return (line:gsub('\r$', ''))
end

--- The lines of a change: what each is, as it is shown, and as it stands in the file.
---@param content string
---@return { kind: string, text: string, bare: string }[]
function M.lines(content)
  local lines, ends = {}, {}
  for _, line in ipairs(vim.split((content:gsub('\n$', '')), '\n', { plain = true })) do
    local kind = line:sub(1, 1)
    if kind == ' ' or kind == '-' or kind == '+' then
      local text = line:sub(2):gsub('\r$', RETURN)
      lines[#lines + 1] = { kind = kind, text = text }
      ends[vim.endswith(text, RETURN)] = true
    end
  end
  local mixed = ends[true] and ends[false]
  for _, line in ipairs(lines) do
    local bare = vim.endswith(line.text, RETURN) and line.text:sub(1, -#RETURN - 1) or line.text
    line.bare = M.reveal(bare)
    line.text = mixed and line.text or bare
  end
  return lines
end

---@param now string[]
---@param wanted string[]
---@param said integer from 0
---@param from integer
---@return integer?
local function place(now, wanted, said, from)
  local function fits(at)
    if at < from or at + #wanted > #now then
      return false
    end
    for index, line in ipairs(wanted) do
      if without_return(now[at + index]) ~= line then
        return false
      end
    end
    return true
  end
  if #wanted == 0 then
    return said >= from and math.min(said, #now) or nil
  elseif fits(said) then
    return said
  end
  local only
  for at = from, #now - #wanted do
    if fits(at) then
      if only then
        return nil
      end
      only = at
    end
  end
  return only
end

--- The changes of a file in its lines, in their order.
---@param now string[]
---@param hunks table[]
---@return breadboard.Placed[]
function M.place(now, hunks)
  -- An empty buffer has one empty line, and a file that is to be made has none.
  if #now == 1 and now[1] == '' then
    now = {}
  end
  local placed, done = {}, 0
  for _, hunk in ipairs(hunks) do
    local lines, before = M.lines(hunk.content), {}
    for _, line in ipairs(lines) do
      if line.kind ~= '+' then
        before[#before + 1] = line.bare
      end
    end
    local said = math.max(0, hunk.oldStart - 1)
    local found = place(now, before, said, done)
    local at = found or math.max(done, math.min(said, #now))
    local one = {
      id = hunk.id,
      fits = found ~= nil,
      first = at,
      last = at,
      removed = {},
      added = {},
      old = {},
      new = {},
      context = 0,
    }
    local row, changed = at, false
    for _, line in ipairs(lines) do
      if line.kind == '+' then
        one.added[row] = one.added[row] or {}
        table.insert(one.added[row], line.text)
        table.insert(one.new, line.text)
      elseif line.kind == '-' then
        table.insert(one.removed, row)
        table.insert(one.old, line.text)
      end
      if line.kind ~= ' ' then
        one.first = changed and one.first or row
        changed = true
        one.last = line.kind == '-' and row + 1 or math.max(one.last, row)
      end
      if line.kind ~= '+' and found then
        row = row + 1
      end
    end
    table.insert(placed, one)
    done = found and at + #before or at
  end
  return placed
end

return M
