--- Raw text for a place where somebody decides by it: what would not be seen is written out. Names and values of a form
--- are raw, since they are given back. What the server gives out to be shown (titles, subjects, rules) has its marks
--- already and never passes here: they would be marked again.

local M = {}

--- First and last of each run of characters that are not seen, or that move the text around them.
local UNSEEN = {
  { 0x7f, 0xa0 },
  { 0xad, 0xad },
  { 0x34f, 0x34f },
  { 0x61c, 0x61c },
  { 0x115f, 0x1160 },
  { 0x1680, 0x1680 },
  { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f },
  { 0x2000, 0x200f },
  { 0x2028, 0x202f },
  { 0x205f, 0x206f },
  { 0x27e8, 0x27e9 },
  { 0x2800, 0x2800 },
  { 0x3000, 0x3000 },
  { 0x3164, 0x3164 },
  { 0xe000, 0xf8ff },
  { 0xfe00, 0xfe0f },
  { 0xfeff, 0xfeff },
  { 0xffa0, 0xffa0 },
  { 0xfff0, 0xfffc },
  { 0x1bca0, 0x1bca3 },
  { 0x1d173, 0x1d17a },
  { 0xe0000, 0x10ffff },
}

---@param code integer
---@return string
local function mark(code)
  return ('⟨U+%04X⟩'):format(code)
end

---@param text string
---@return string
function M.of(text)
  local shown = text:gsub('[\194-\244][\128-\191]+', function(character)
    local code = vim.fn.char2nr(character, true)
    for _, run in ipairs(UNSEEN) do
      if code >= run[1] and code <= run[2] then
        return mark(code)
      end
    end
  end)
  shown = shown:gsub('[%z\1-\8\11-\31\127]', function(character)
    return mark(character:byte())
  end)
  -- More blanks in a row than an indented text has.
  shown = shown:gsub((' '):rep(81) .. '+', function(blanks)
    return ('⟨%d spaces⟩'):format(#blanks)
  end)
  return shown
end

return M
