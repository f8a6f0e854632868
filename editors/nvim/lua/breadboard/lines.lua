--- Which lines of a buffer must be rewritten so that it shows a new text. Pure but for the diff library.

local M = {}

local diff = vim.text and vim.text.diff or vim.diff

--- Longest stretch that is compared line by line; a longer one (another session, a long history) is rewritten whole,
--- which takes less time than the comparison.
local MOST_COMPARED = 4000

---@class breadboard.Hunk
---@field first integer first line to replace, from 0
---@field last integer line behind the last one to replace
---@field lines string[]

---@param lines string[]
---@param first integer
---@param last integer
local function text_of(lines, first, last)
  if last < first then
    return ''
  end
  return table.concat(lines, '\n', first, last) .. '\n'
end

--- The replacements that turn `old` into `new`, from the bottom to the top, so that each holds while the ones before it
--- are done. Lines that are equal are in none of them.
---@param old string[]
---@param new string[]
---@return breadboard.Hunk[]
function M.changes(old, new)
  local head = 0
  while head < #old and head < #new and old[head + 1] == new[head + 1] do
    head = head + 1
  end
  local tail = 0
  while tail < #old - head and tail < #new - head and old[#old - tail] == new[#new - tail] do
    tail = tail + 1
  end
  local old_last, new_last = #old - tail, #new - tail
  if old_last == head and new_last == head then
    return {}
  end
  if old_last - head <= 1 or new_last == head or old_last - head > MOST_COMPARED then
    return { { first = head, last = old_last, lines = vim.list_slice(new, head + 1, new_last) } }
  end
  local hunks = {}
  local found = diff(text_of(old, head + 1, old_last), text_of(new, head + 1, new_last), { result_type = 'indices' })
  for at = #found, 1, -1 do
    local old_start, old_count, new_start, new_count = unpack(found[at])
    -- Where nothing is replaced the start is the line behind which the new ones go.
    local first = head + (old_count == 0 and old_start or old_start - 1)
    table.insert(hunks, {
      first = first,
      last = first + old_count,
      lines = vim.list_slice(new, head + new_start, head + new_start + new_count - 1),
    })
  end
  return hunks
end

return M
