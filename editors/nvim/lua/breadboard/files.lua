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

--- What is named without a path, with what goes along then.
local WORDS = {
  { 'problems', 'errors and warnings' },
  { 'selection', 'what is marked' },
  { 'file', 'the file in front' },
  { 'diff', 'the changes that are not committed' },
  { 'git', 'branch and state of the repository' },
  { 'open', 'the files that are open' },
}

--- What completes a path: words that begin so, entries of its folder that begin with its last part, and what the server finds
--- anywhere in the workspace by a part of its path, best first.
---@param path string
---@param callback fun(items: { word: string, abbr: string, kind: string }[])
function M.complete(path, callback)
  local folder, start = path:match('^(.*/)([^/]*)$')
  folder, start = folder or '', start or path
  local items, known = {}, {}
  local function add(item)
    if not known[item.word] then
      known[item.word] = true
      table.insert(items, item)
    end
  end
  for _, word in ipairs(WORDS) do
    if vim.startswith(word[1], path) then
      add({ word = word[1], abbr = word[1], menu = word[2], kind = 'w' })
    end
  end
  sessions.with_active(function(session)
    local params = { sessionId = session, path = folder, gitignore = true }
    client.request('bb/listFiles', params, function(err, listing)
      for _, entry in ipairs(not err and listing.entries or {}) do
        if vim.startswith(entry.name, start) then
          local tail = entry.type == 'directory' and '/' or ''
          add({ word = entry.path .. tail, abbr = entry.name .. tail, kind = entry.type:sub(1, 1) })
        end
      end
      if start == '' then
        return M.add_resources(items, path, callback)
      end
      client.request('bb/findFiles', { query = path }, function(failed, result)
        for _, found in ipairs(not failed and result.paths or {}) do
          local is_folder = vim.endswith(found, '/')
          if not found:find('%s') then
            add({ word = found, abbr = found, kind = is_folder and 'd' or 'f' })
          end
        end
        M.add_resources(items, path, callback)
      end)
    end)
  end)
end

--- The resources of servers of tools that begin so, behind the files.
---@param items table[]
---@param start string
---@param callback fun(items: table[])
function M.add_resources(items, start, callback)
  client.request('bb/mcp/list', vim.empty_dict(), function(err, result)
    for _, server in ipairs(not err and result.servers or {}) do
      for _, resource in ipairs(server.resources or {}) do
        if vim.startswith(resource.mention, start) and not resource.mention:find('%s') then
          table.insert(items, { word = resource.mention, abbr = resource.name, kind = 'r' })
        end
      end
    end
    callback(items)
  end)
end

---@class breadboard.Place
---@field first integer column of its first byte, from 1
---@field last integer column of its last byte
---@field path string
---@field line? integer
---@field column? integer

--- What may be a path with a line behind it, also one of Windows or with letters beyond ASCII.
local WORD = '[%w%._%-/@+~:%%$\\\128-\255]+'
--- Ends of hosts: `example.com:443` is no file.
local HOSTS = { com = true, org = true, net = true, io = true, dev = true, ['local'] = true, example = true }

--- The words of a text that may be a place, as they stand.
---@param text string
---@return breadboard.Place[]
local function words(text)
  local found, at = {}, 1
  while at <= #text do
    local first, last = text:find(WORD, at)
    if not first then
      break
    end
    at = last + 1
    local word = text:sub(first, last):gsub('[%.:]+$', '')
    local path, line, column = word:match('^(.-):(%d+):(%d+)')
    if not path then
      path, line = word:match('^(.-):(%d+)')
    end
    last = first + #word - 1
    local from, hash_end, hash = text:find('^#L(%d+)', last + 1)
    if from and not path then
      line, last = hash, hash_end
    end
    table.insert(found, {
      first = first,
      last = last,
      path = ((path or word):gsub('^@', ''):gsub('\\', '/')),
      line = tonumber(line),
      column = tonumber(column),
    })
  end
  return found
end

--- The places with a line that a text names.
---@param text string
---@return breadboard.Place[]
function M.places(text)
  return vim.tbl_filter(function(place)
    local first = place.path:match('^([^/]*)')
    return place.line ~= nil
      and not place.path:find('//', 1, true)
      and place.path:match('[^/.]%.%a[%w_-]*$') ~= nil
      and not HOSTS[first:match('%.(%a+)$') or '']
  end, words(text))
end

--- A `path`, `path:line`, `path:line-line` or `path:line:column` around a column.
---@param text string
---@param column integer from 1
---@return breadboard.Place?
function M.place_in(text, column)
  for _, place in ipairs(words(text)) do
    if column >= place.first and column <= place.last then
      return place
    end
  end
end

--- The file that a path means: from the root, with its name in front, or the one whose path ends so. Several files may.
---@param path string
---@param root string with no link in it
---@return string[] files of the workspace
local function files_of(path, root)
  local name = vim.fs.basename(root)
  local tries = { (vim.startswith(path, '/') or path:match('^%a:/')) and path or root .. '/' .. path }
  if vim.startswith(path, name .. '/') then
    table.insert(tries, root .. path:sub(#name + 1))
  end
  for _, try in ipairs(tries) do
    local full = vim.uv.fs_realpath(try)
    if full then
      -- The text is the agent's: only what lies in the workspace is opened.
      full = vim.fs.normalize(full)
      return vim.startswith(full, root .. '/') and { full } or {}
    end
  end
  if path:find('^/') or path:find('^%a:/') or path:find('^%.') then
    return {}
  end
  -- A compiler names a file from its package, and an agent often by its name alone.
  local glob = ':(glob)**/' .. path:gsub('[%*%?%[\\]', '\\%0')
  local command = { 'git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', glob }
  local ran, listed = pcall(function()
    return vim.system(command):wait(2000)
  end)
  if not ran or listed.code ~= 0 then
    return {}
  end
  local found = {}
  for _, file in ipairs(vim.split(listed.stdout, '\0', { trimempty = true })) do
    local full = vim.uv.fs_realpath(root .. '/' .. file)
    if full and vim.startswith(vim.fs.normalize(full), root .. '/') then
      table.insert(found, vim.fs.normalize(full))
    end
  end
  return found
end

---@param file string
---@param place breadboard.Place
local function show(file, place)
  vim.cmd('wincmd p')
  if vim.bo.filetype == 'breadboard' or vim.bo.filetype == 'breadboard-prompt' then
    vim.cmd('topleft vertical new')
  end
  vim.cmd('edit ' .. vim.fn.fnameescape(file))
  if place.line then
    local last = vim.api.nvim_buf_line_count(0)
    vim.api.nvim_win_set_cursor(0, { math.max(1, math.min(place.line, last)), math.max(0, (place.column or 1) - 1) })
    vim.cmd('normal! zz')
  end
end

--- The place with a line that is under the cursor.
---@return breadboard.Place?
function M.under_cursor()
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  for _, place in ipairs(M.places(vim.api.nvim_get_current_line())) do
    if column >= place.first and column <= place.last then
      return place
    end
  end
end

--- Goes to the file under the cursor, in the window that was used before.
---@param quiet? boolean say nothing where there is none
function M.go(quiet)
  local column = vim.api.nvim_win_get_cursor(0)[2] + 1
  local place = M.place_in(vim.api.nvim_get_current_line(), column)
  local named = client.root()
  local root = named and vim.uv.fs_realpath(named)
  if not place or not root then
    return
  end
  root = vim.fs.normalize(root)
  local found = files_of(place.path, root)
  if #found == 0 then
    if not quiet then
      store.say(nil, 'info', ('There is no `%s` in this workspace.'):format(place.path))
    end
    return
  end
  if quiet and vim.fn.isdirectory(found[1]) == 1 then
    return
  end
  -- As the user named the workspace, also where that is a link.
  local function as_named(file)
    return vim.fs.normalize(named) .. file:sub(#root + 1)
  end
  if #found == 1 then
    return show(as_named(found[1]), place)
  end
  vim.ui.select(found, {
    prompt = ('Several files end in %s:'):format(place.path),
    format_item = function(file)
      return file:sub(#root + 2)
    end,
  }, function(file)
    if file then
      show(as_named(file), place)
    end
  end)
end

return M
