--- A change that is taller than the window, in a window of its own. Owns that it is read to its end before it is accepted.

local float = require('breadboard.float')

local M = {}

--- Shows a change and asks for the decision on it.
---@param title string
---@param hunks table[] the changes of its file
---@param id string which of them
---@param decide fun(accepted: boolean)
function M.read(title, hunks, id, decide)
  local lines = { title }
  for _, hunk in ipairs(hunks) do
    if hunk.id == id then
      vim.list_extend(lines, vim.split((hunk.content:gsub('\n$', '')), '\n', { plain = true }))
    end
  end
  local content = #lines
  vim.list_extend(lines, { '', '[y] Accept', '[n] Reject', '[q] Leave it undecided' })
  local shown = float.open('A tall change', lines, {
    filetype = 'diff',
    enter = true,
    enter_tall = 'A tall change: read to the end, then answer',
  })
  local function on(key, accepted)
    vim.keymap.set('n', key, function()
      if accepted and vim.fn.line('w$', shown.window) < content then
        vim.api.nvim_echo({ { 'Read it to the end first (G).', 'WarningMsg' } }, false, {})
        return
      end
      shown.close()
      decide(accepted)
    end, { buffer = shown.buffer, nowait = true, desc = 'BreadBoard: decide on this change' })
  end
  on('y', true)
  on('n', false)
end

return M
