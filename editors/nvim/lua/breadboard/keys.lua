--- One key for each of some labels: a letter that the label has, and no key that moves around in a window. Pure.

local M = {}

--- Keys for reading on, for leaving, and for selecting text.
local TAKEN = 'hjklgGqNwbeuvVz'

---@param label string
---@return string[] letters the first of each word, then the others
local function letters(label)
  local found = {}
  for first in label:lower():gmatch('%f[%a](%a)') do
    table.insert(found, first)
  end
  for letter in label:lower():gmatch('%a') do
    table.insert(found, letter)
  end
  for digit = 1, 9 do
    table.insert(found, tostring(digit))
  end
  return found
end

--- Keys for labels, in their order. A label behind the last free key has none.
---@param labels string[]
---@param capital? table<integer, boolean> labels whose key takes more than a slip: a capital letter
---@return table<integer, string>
function M.of(labels, capital)
  local used, keys = {}, {}
  for at, label in ipairs(labels) do
    for _, key in ipairs(letters(label)) do
      key = capital and capital[at] and key:upper() or key
      if not used[key] and not TAKEN:find(key, 1, true) then
        used[key] = true
        keys[at] = key
        break
      end
    end
  end
  return keys
end

return M
