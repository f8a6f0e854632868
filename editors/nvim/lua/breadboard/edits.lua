--- Edits that the server makes in buffers after they were allowed, and their way to the disk when the server asks for it: where
--- nothing was unsaved before, or on the user's word. What the disk has otherwise is never overwritten.

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

--- Writes a buffer as `:write` does, with the hooks that the user has.
---@param buffer integer
---@return boolean written
local function write(buffer)
  local written, problem = pcall(vim.api.nvim_buf_call, buffer, function()
    vim.fn.mkdir(vim.fs.dirname(vim.api.nvim_buf_get_name(buffer)), 'p')
    vim.cmd('silent write')
  end)
  if not written then
    vim.notify('breadboard: an edit is applied but could not be written: ' .. tostring(problem), vim.log.levels.ERROR)
  end
  return written and not vim.bo[buffer].modified
end

--- Answers `workspace/applyEdit`.
function M.apply(err, params, context)
  local buffers = buffers_of(params and params.edit or {})
  disk.check(buffers)
  local unsaved = vim.tbl_filter(function(buffer)
    return vim.bo[buffer].modified
  end, buffers)
  local answer = vim.lsp.handlers['workspace/applyEdit'](err, params, context)
  if answer and answer.applied and config.current.save_edits then
    for _, buffer in ipairs(unsaved) do
      local text = '%s had unsaved changes, so the edit stands in the buffer only; :write saves both.'
      store.say(nil, 'info', text:format(disk.name(buffer)))
    end
  end
  return answer
end

--- Answers `bb/document/save`. A text that is not the one which the server means is not written.
---@param params { uri: string, version: integer? }
---@return { saved: boolean }
function M.save(_, params)
  local buffer = vim.uri_to_bufnr(params.uri)
  if not config.current.save_edits or not vim.api.nvim_buf_is_loaded(buffer) then
    return { saved = false }
  end
  local version = type(params.version) == 'number' and params.version or nil
  if version and version ~= vim.lsp.util.buf_versions[buffer] then
    return { saved = false }
  end
  disk.check({ buffer })
  return { saved = not disk.is_behind(buffer) and write(buffer) }
end

client.serve('workspace/applyEdit', M.apply)
client.serve('bb/document/save', M.save)

return M
