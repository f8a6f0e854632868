--- The source for nvim-cmp: `require('cmp').register_source('breadboard', require('breadboard.cmp').new())`.
--- Owns the shape that nvim-cmp wants, and nothing of what is found.

local completion = require('breadboard.completion')

local M = {}
M.__index = M

function M.new()
  completion.shown_elsewhere = true
  return setmetatable({}, M)
end

function M:is_available()
  return vim.bo.filetype == 'breadboard-prompt'
end

function M:get_debug_name()
  return 'breadboard'
end

function M:get_trigger_characters()
  return completion.triggers
end

--- What is replaced begins behind the sign: a path has dots and slashes in it.
function M:get_keyword_pattern()
  return [=[[^@[:space:]]*]=]
end

---@param params table of nvim-cmp
---@param callback fun(answer: { items: table[], isIncomplete: boolean })
function M:complete(params, callback)
  local before = params.context.cursor_before_line
  local row = params.context.cursor.row
  completion.of(before, row, function(found)
    callback({ items = found and completion.as_lsp(found, row, #before) or {}, isIncomplete = true })
  end)
end

return M
