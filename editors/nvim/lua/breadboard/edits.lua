--- Edits that the server makes in buffers after they were allowed. Writes what had nothing unsaved, since a command that
--- follows reads the disk; what the user has not saved, or what the disk has otherwise, is never written.

local client = require('breadboard.client')
local config = require('breadboard.config')
local disk = require('breadboard.disk')
local store = require('breadboard.store')

local M = {}

--- The documents of a workspace edit, open or not.
---@param edit table
---@return integer[]
local function buffers_of(edit)
  local uris = vim.tbl_keys(edit.changes or {})
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      table.insert(uris, change.textDocument.uri)
    end
  end
  return vim.tbl_map(vim.uri_to_bufnr, uris)
end

---@param buffer integer
local function write(buffer)
  local written, problem = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.fn.mkdir(vim.fs.dirname(vim.api.nvim_buf_get_name(buffer)), 'p')
    vim.cmd('silent noautocmd write')
  end)
  if not written then
    vim.notify('breadboard: an edit is applied but could not be written: ' .. tostring(problem), vim.log.levels.ERROR)
  end
end

--- Answers `workspace/applyEdit`.
function M.apply(err, params, context)
  local buffers = buffers_of(params and params.edit or {})
  disk.check(buffers)
  local clean = vim.tbl_filter(function(buffer)
    return not vim.bo[buffer].modified and not disk.is_behind(buffer)
  end, buffers)
  local unsaved = vim.tbl_filter(function(buffer)
    return vim.bo[buffer].modified
  end, buffers)
  local answer = vim.lsp.handlers['workspace/applyEdit'](err, params, context)
  if answer and answer.applied and config.current.save_edits then
    vim.tbl_map(write, clean)
    for _, buffer in ipairs(unsaved) do
      local text = '%s had unsaved changes, so the edit stands in the buffer only; :write saves both.'
      store.say(nil, 'info', text:format(disk.name(buffer)))
    end
  end
  return answer
end

client.serve('workspace/applyEdit', M.apply)

return M
