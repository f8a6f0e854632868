--- How the chat looks: its groups of highlighting, and the colours that programs printed. Owns their defaults, which a
--- colour scheme or a user replaces.

local colours = require('breadboard.colours')

local M = {}

local paint = vim.api.nvim_create_namespace('breadboard.colours')

--- Above the one colour that the whole line has.
local ABOVE = 4200

local LINKS = {
  BreadBoardUser = 'Title',
  BreadBoardHead = 'Comment',
  BreadBoardBody = 'Comment',
  BreadBoardAdded = 'Added',
  BreadBoardRemoved = 'Removed',
  BreadBoardSettled = 'Comment',
  BreadBoardAsk = 'WarningMsg',
  BreadBoardError = 'ErrorMsg',
  BreadBoardPlace = 'Underlined',
}

--- The colours of a terminal, where the colour scheme names none.
local PALETTE = {
  [0] = '#3b4252',
  [1] = '#cc4b4b',
  [2] = '#5f9e4d',
  [3] = '#b58900',
  [4] = '#4a80c4',
  [5] = '#a060a8',
  [6] = '#3a9a9a',
  [7] = '#b0b4bc',
  [8] = '#6b7280',
  [9] = '#e06c6c',
  [10] = '#7fc06a',
  [11] = '#d7a93b',
  [12] = '#6fa3e8',
  [13] = '#c583cc',
  [14] = '#5bbcbc',
  [15] = '#e6e8ec',
}

local function hue(number)
  return number and (vim.g['terminal_color_' .. number] or PALETTE[number])
end

--- Defines every group that is not defined.
function M.define()
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
  for group, look in pairs(colours.GROUPS) do
    local made = { fg = hue(look.front), bg = hue(look.back), ctermfg = look.front, ctermbg = look.back }
    made.default = true
    if look.style then
      made[look.style] = true
    end
    vim.api.nvim_set_hl(0, group, made)
  end
end

-- Another colour scheme takes away the groups that are no links.
vim.api.nvim_create_autocmd('ColorScheme', {
  group = vim.api.nvim_create_augroup('breadboard.looks', {}),
  callback = M.define,
})

--- Whether what is painted stands where it should.
---@param chat breadboard.Chat
---@param coloured table<integer, breadboard.Stretch[]>
---@param new string[]
---@param hunks breadboard.Hunk[]
local function is_painted(chat, coloured, new, hunks)
  for at in pairs(coloured) do
    if chat.shown[at] ~= new[at] then
      return false
    end
    for _, hunk in ipairs(hunks) do
      if at > hunk.first and at <= hunk.last then
        return false
      end
    end
  end
  return vim.deep_equal(chat.coloured, coloured)
end

--- Paints what is coloured of the lines, where it is not painted yet.
---@param chat breadboard.Chat with the lines that it showed before
---@param coloured table<integer, breadboard.Stretch[]>
---@param new string[] its lines
---@param hunks breadboard.Hunk[] what was rewritten to come there
function M.paint(chat, coloured, new, hunks)
  if is_painted(chat, coloured, new, hunks) then
    return
  end
  chat.coloured = coloured
  vim.api.nvim_buf_clear_namespace(chat.buffer, paint, 0, -1)
  for at, stretches in pairs(coloured) do
    for _, stretch in ipairs(stretches) do
      for _, group in ipairs(stretch.groups) do
        local marked = { end_col = stretch.last, hl_group = group, hl_mode = 'combine', priority = ABOVE }
        vim.api.nvim_buf_set_extmark(chat.buffer, paint, at - 1, stretch.first, marked)
      end
    end
  end
end

return M
