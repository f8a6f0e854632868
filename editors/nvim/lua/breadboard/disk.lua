--- Open files that somebody else wrote, as an agent does: read anew where nothing is unsaved, said once where something
--- is. Never writes a file, and never decides for who has switched 'autoread' off.

local client = require('breadboard.client')
local store = require('breadboard.store')

local M = {}

local SAYS = {
  conflict = '%s changed on disk; your unsaved changes are kept (:BreadBoard diff %s disk buffer shows both).',
  changed = "%s changed on disk, and 'autoread' is off here; :edit reads it.",
  created = '%s was created on disk; your text is kept (:BreadBoard diff %s disk buffer shows both).',
  deleted = '%s was deleted on disk; its text is kept in the buffer.',
}

---@type table<integer, boolean> buffers that do not hold what the disk holds
local behind = {}

--- Whether the text on disk is another one than the buffer was read from.
---@param buffer integer
---@return boolean
function M.is_behind(buffer)
  return behind[buffer] == true
end

--- A buffer's file, relative to the workspace.
---@param buffer integer
---@return string
function M.name(buffer)
  local name = vim.fs.normalize(vim.api.nvim_buf_get_name(buffer))
  local root = client.root()
  return root and vim.startswith(name, root .. '/') and name:sub(#root + 2) or name
end

--- A file that is larger than an empty line is not what an empty buffer was read from.
local EMPTY_LINE = 2

--- Whether a buffer was opened before its file was there: Neovim would ask about it as soon as it is.
---@param buffer integer
---@param size integer of the file now, 0 where there is none
---@return boolean
local function is_new(buffer, size)
  local empty = not vim.bo[buffer].modified
    and vim.api.nvim_buf_line_count(buffer) == 1
    and vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] == ''
  return vim.b[buffer].breadboard_new == true or (empty and size > EMPTY_LINE)
end

--- Whether Neovim may read a buffer anew by itself.
---@param buffer integer
---@return boolean
local function may_read(buffer)
  local reads = vim.bo[buffer].autoread -- nil where the buffer has no value of its own
  if reads == nil then
    reads = vim.go.autoread
  end
  return reads and not vim.bo[buffer].modified
end

--- Compares buffers with their files, and does what is to be done.
---@param buffers integer[]
---@param session? string where it is said
function M.check(buffers, session)
  local found = {}
  -- Neovim itself reads anew what is unmodified; with an autocommand it asks about nothing else.
  local watch = vim.api.nvim_create_autocmd('FileChangedShell', {
    callback = function(event)
      if SAYS[vim.v.fcs_reason] then
        table.insert(found, { buffer = event.buf, text = SAYS[vim.v.fcs_reason] })
      end
    end,
  })
  for _, buffer in ipairs(buffers) do
    local stat = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buffer))
    local size = stat and stat.size or 0
    if not is_new(buffer, size) then
      pcall(vim.cmd, ('silent checktime %d'):format(buffer))
    elseif size > 0 and may_read(buffer) then
      pcall(vim.api.nvim_buf_call, buffer, function()
        vim.cmd('silent edit')
      end)
    elseif size > 0 then
      table.insert(found, { buffer = buffer, text = SAYS.created })
    end
  end
  vim.api.nvim_del_autocmd(watch)
  for _, one in ipairs(found) do
    if not behind[one.buffer] then
      local name = M.name(one.buffer)
      store.say(session, 'warning', (one.text:gsub('%%s', (name:gsub('%%', '%%%%')))))
    end
    behind[one.buffer] = true
  end
end

local due = false
---@type string?
local due_in

--- Compares every open file of the workspace, soon and once however often it is asked for.
---@param session? string where it is said
function M.look(session)
  due_in = session or due_in
  if due then
    return
  end
  due = true
  vim.schedule(function()
    due = false
    M.check(vim.tbl_filter(client.belongs, vim.api.nvim_list_bufs()), due_in)
    due_in = nil
  end)
end

vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'BufUnload' }, {
  group = vim.api.nvim_create_augroup('breadboard_disk', { clear = true }),
  callback = function(event)
    behind[event.buf] = nil
  end,
})

--- Blocks that change while an agent does something; the others are words.
local DEEDS = { tool = true, permission = true, patch = true, summary = true, command = true, checkpoint = true }

--- Whether a `bb/view` tells of something after which files may be others.
---@param params { changes?: breadboard.Change[], snapshot?: table }
---@return boolean
function M.concerns(params)
  for _, change in ipairs(params.changes or {}) do
    if change.block and DEEDS[change.block.kind] then
      return true
    end
  end
  return params.snapshot ~= nil
end

return M
