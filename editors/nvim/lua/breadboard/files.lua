--- Names of files of the workspace: completion of `@path` in prompts, and going to a `path:line` that an answer names.

local client = require('breadboard.client')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

--- The `@path` that ends at the cursor.
---@param before string the line up to the cursor
---@return integer? column of the character behind `@`, from 1
---@return string? path
function M.reference_at(before)
  local at, path = before:match('()@([^%s@]*)$')
  if at and (at == 1 or before:sub(at - 1, at - 1):match('[%s(]')) then
    return at + 1, path
  end
end

--- What completes a path: entries of its folder that begin with its last part.
---@param path string
---@param callback fun(items: { word: string, abbr: string, kind: string }[])
function M.complete(path, callback)
  local folder, start = path:match('^(.*/)([^/]*)$')
  folder, start = folder or '', start or path
  sessions.with_active(function(session)
    local params = { sessionId = session, path = folder, gitignore = true }
    client.request('bb/listFiles', params, function(err, listing)
      local items = {}
      for _, entry in ipairs(not err and listing.entries or {}) do
        if vim.startswith(entry.name, start) then
          local tail = entry.type == 'directory' and '/' or ''
          table.insert(items, { word = entry.path .. tail, abbr = entry.name .. tail, kind = entry.type:sub(1, 1) })
        end
      end
      callback(items)
    end)
  end)
end

--- A `path`, `path:line` or `path:line-line` around a column.
---@param text string
---@param column integer from 1
---@return string? path
---@return integer? line
function M.place_in(text, column)
  local at = 1
  while at <= #text do
    local first, last = text:find('[%w%._%-/@+~:%%]+', at)
    if not first then
      return nil
    end
    if column >= first and column <= last then
      local word = text:sub(first, last):gsub('^@', ''):gsub('[%.:]+$', '')
      local path, line = word:match('^(.-):(%d+)')
      return path or word, tonumber(line)
    end
    at = last + 1
  end
end

--- Goes to the file under the cursor, in the window that was used before.
---@param quiet? boolean say nothing where there is none
function M.go(quiet)
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  local path, line = M.place_in(vim.api.nvim_get_current_line(), column)
  local root = client.root()
  if not path or not root then
    return
  end
  -- The text is the agent's: only what lies in the workspace is opened.
  local full = vim.uv.fs_realpath(vim.startswith(path, '/') and path or root .. '/' .. path)
  local real_root = vim.uv.fs_realpath(root)
  if not full or not real_root or not vim.startswith(full, real_root .. '/') then
    if quiet then
      return
    end
    store.say(nil, 'info', ('There is no `%s` in this workspace.'):format(path))
    return
  end
  if quiet and vim.fn.isdirectory(full) == 1 then
    return
  end
  vim.cmd('wincmd p')
  if vim.bo.filetype == 'breadboard' or vim.bo.filetype == 'breadboard-prompt' then
    vim.cmd('topleft vertical new')
  end
  vim.cmd('edit ' .. vim.fn.fnameescape(root .. full:sub(#real_root + 1)))
  if line then
    local last = vim.api.nvim_buf_line_count(0)
    vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(line, last)), 0 })
    vim.cmd('normal! zz')
  end
end

return M
