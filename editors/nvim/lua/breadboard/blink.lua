--- The source for blink.cmp: a provider with `module = 'breadboard.blink'`.
--- Owns the shape that blink.cmp wants, and nothing of what is found.

local completion = require('breadboard.completion')

local M = {}
M.__index = M

function M.new()
  completion.shown_elsewhere = true
  return setmetatable({}, M)
end

function M:enabled()
  return vim.bo.filetype == 'breadboard-prompt'
end

function M:get_trigger_characters()
  return completion.triggers
end

---@param context table of blink.cmp: the line, and the cursor as Neovim has it
---@param callback fun(answer: { items: table[], is_incomplete_forward: boolean, is_incomplete_backward: boolean })
function M:get_completions(context, callback)
  local row, column = unpack(context.cursor)
  completion.of(context.line:sub(1, column), row, function(found)
    callback({
      items = found and completion.as_lsp(found, row, column) or {},
      is_incomplete_forward = true,
      is_incomplete_backward = true,
    })
  end)
end

return M
