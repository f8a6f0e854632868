--- The keys of a review in the buffers of its files. Owns that what they did before comes back.

local float = require('breadboard.float')

local M = {}

local HELP = {
  { ']h', 'the next change' },
  { '[h', 'the change before' },
  { 'ghy', 'accept this change' },
  { 'ghn', 'reject it' },
  { 'ghu', 'decide anew on it' },
  { 'gha', 'accept all further changes of the file' },
  { 'ghd', 'reject all further changes of the file' },
  { 'ghv', 'view the file side by side, in a tab of its own' },
  { 'gh<CR>', 'send what was decided; the files are changed then' },
  { 'ghq', 'leave the edit waiting' },
  { 'gh?', 'show this list' },
}

--- Shows what each key does.
function M.help()
  local lines = vim.tbl_map(function(key)
    return ('%-7s %s'):format(key[1], key[2])
  end, HELP)
  float.open('Review', lines, { enter = true })
end

--- Sets the keys of a buffer; what they did before is kept.
---@param buffer integer
---@param acts table<string, fun()>
---@return table[] saved
function M.set(buffer, acts)
  local saved = {}
  vim.api.nvim_buf_call(buffer, function()
    for key, act in pairs(acts) do
      local before = vim.fn.maparg(key, 'n', false, true)
      if before.buffer == 1 then
        table.insert(saved, before)
      end
      vim.keymap.set('n', key, act, { buffer = buffer, desc = 'BreadBoard: review of a proposed edit' })
    end
  end)
  return saved
end

--- Takes the keys away and gives back what they did before.
---@param buffer integer
---@param acts table<string, fun()>
---@param saved table[]
function M.unset(buffer, acts, saved)
  for key in pairs(acts) do
    pcall(vim.keymap.del, 'n', key, { buffer = buffer })
  end
  vim.api.nvim_buf_call(buffer, function()
    for _, before in ipairs(saved) do
      vim.fn.mapset('n', false, before)
    end
  end)
end

return M
