--- What ends at the cursor of a prompt, completed: `@` a file, a folder, a word or a resource, `/` a command. For 'omnifunc', and as a
--- source for nvim-cmp and blink.cmp, where one of them is there: then the plugin opens no menu of its own.

local files = require('breadboard.files')
local slash = require('breadboard.slash')

local M = {}

--- How long 'omnifunc' may keep who types waiting, in milliseconds.
local PATIENCE = 1000

--- Whether another plugin shows what is offered here.
M.shown_elsewhere = false

--- Characters behind which something may be completed.
M.triggers = { '@', '/' }

---@class breadboard.Completion
---@field column integer of the first character that is replaced, from 1
---@field items table[] as |complete-items|

--- What completes a line up to its cursor.
---@param before string
---@param row integer from 1
---@param callback fun(found?: breadboard.Completion) called once
function M.of(before, row, callback)
  for _, source in ipairs({ files, slash }) do
    local column, word = source.reference_at(before, row)
    if column then
      source.complete(word, function(items)
        callback({ column = column, items = items })
      end)
      return
    end
  end
  callback(nil)
end

---@type breadboard.Completion?
local found

--- |complete-functions|
---@param findstart integer
---@return integer|table[]
function M.omnifunc(findstart)
  if findstart ~= 1 then
    return found and found.items or {}
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local answered = false
  found = nil
  M.of(vim.api.nvim_get_current_line():sub(1, column), row, function(completion)
    found, answered = completion, true
  end)
  vim.wait(PATIENCE, function()
    return answered
  end, 10)
  return found and found.column - 1 or -3
end

--- The items as the Language Server Protocol has them, each with the text that it replaces.
---@param completion breadboard.Completion
---@param row integer from 1
---@param column integer of the cursor in bytes, from 0
---@return table[]
function M.as_lsp(completion, row, column)
  local kinds = vim.lsp.protocol.CompletionItemKind
  local names = { f = kinds.File, d = kinds.Folder, r = kinds.Reference }
  return vim.tbl_map(function(item)
    return {
      label = item.abbr or item.word,
      filterText = item.word,
      sortText = item.sort,
      detail = item.menu,
      kind = names[item.kind] or kinds.Keyword,
      textEdit = {
        newText = item.word,
        range = {
          start = { line = row - 1, character = completion.column - 1 },
          ['end'] = { line = row - 1, character = column },
        },
      },
    }
  end, completion.items)
end

return M
