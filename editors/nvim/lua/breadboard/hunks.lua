--- An edit that is decided change by change. Owns which change is on the screen, what a key decides of it and of what is
--- left, and that a change which is taller than the screen is read to its end before it is made. Writes nothing: the
--- server does, once all of it is decided.

local client = require('breadboard.client')
local float = require('breadboard.float')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

--- What can be typed below a change.
local ANSWERS = {
  '[y] Make it',
  '[n] Leave it out',
  '[a] Make it and all further changes of the file',
  '[d] Leave out this and all further changes of the file',
  '[q] Leave the edit waiting',
}

--- How many changes an edit has that can be decided one by one.
---@param permission table
---@return integer
function M.count(permission)
  local about = permission.subject
  if permission.parts and permission.patchId then
    return permission.parts
  end
  if about.kind ~= 'edit' or about.unknown or not permission.patchId then
    return 0
  end
  local count = 0
  for _, file in ipairs(about.files) do
    for _, line in ipairs(vim.split(file.diff or '', '\n', { plain = true })) do
      count = count + (vim.startswith(line, '@@ ') and 1 or 0)
    end
  end
  return count
end

---@param file table
---@return string
local function path_of(file)
  return file.root and (file.root .. '/' .. file.filePath) or file.filePath
end

--- Sends what was decided of every change, and says which file was left as it is.
---@param session string
---@param patch table
---@param decided table[]
---@param callback? fun(result?: table)
function M.send(session, patch, decided, callback)
  client.request('bb/patch/decide', {
    sessionId = session,
    patchId = patch.patchId,
    scope = 'hunk',
    hunks = decided,
    digest = patch.digest,
  }, function(err, result)
    if err then
      sessions.refuse(err, session)
    else
      for _, file in ipairs(result.files) do
        if file.outcome == 'conflict' then
          store.say(session, 'error', ('%s was left as it is: %s'):format(path_of(file), file.message or ''))
        elseif file.outcome == 'partly' then
          store.say(session, 'info', ('%s was changed in part.'):format(path_of(file)))
        end
      end
    end
    if callback then
      callback(result)
    end
  end)
end

--- Shows one change after the other; nothing is sent before the last one has its answer.
---@param session string
---@param patch table
---@param callback? fun(result?: table)
local function review(session, patch, callback)
  local all = {}
  for _, file in ipairs(patch.files) do
    for _, hunk in ipairs(file.hunks) do
      table.insert(all, { file = file, hunk = hunk })
    end
  end
  local decided = {}

  local function show()
    local one = all[#decided + 1]
    if not one then
      M.send(session, patch, decided, callback)
      return
    end
    local hunk = one.hunk
    local lines = {
      ('%s, change %d of %d'):format(path_of(one.file), #decided + 1, #all),
      ('@@ -%d,%d +%d,%d @@'):format(hunk.oldStart, hunk.oldLines, hunk.newStart, hunk.newLines),
    }
    vim.list_extend(lines, vim.split((hunk.content:gsub('\n$', '')), '\n', { plain = true }))
    if hunk.label and hunk.label ~= vim.NIL then
      table.insert(lines, 2, hunk.label)
    end
    local content = #lines
    table.insert(lines, '')
    vim.list_extend(lines, ANSWERS)
    local shown = float.open('Change by change', lines, {
      filetype = 'diff',
      enter = true,
      enter_tall = 'Change by change: read to the end, then answer',
    })

    local function on(key, accepted, and_more)
      vim.keymap.set('n', key, function()
        if accepted and vim.fn.line('w$', shown.window) < content then
          vim.api.nvim_echo({ { 'Read it to the end first (G).', 'WarningMsg' } }, false, {})
          return
        end
        shown.close()
        repeat
          table.insert(decided, { id = all[#decided + 1].hunk.id, accepted = accepted })
          local following = all[#decided + 1]
        until not and_more or not following or following.file ~= one.file
        show()
      end, { buffer = shown.buffer, nowait = true, desc = 'BreadBoard: decide on this change' })
    end
    on('y', true, false)
    on('n', false, false)
    on('a', true, true)
    on('d', false, true)
  end
  show()
end

--- Puts the changes of an edit to the user, one by one.
---@param session string
---@param permission table
---@param callback? fun(result?: table)
function M.decide(session, permission, callback)
  client.request('bb/patch/get', { sessionId = session, patchId = permission.patchId }, function(err, result)
    if err then
      sessions.refuse(err, session)
    elseif result.patch.digest ~= permission.digest then
      store.say(session, 'warning', 'This edit is another one by now; look at it again.')
    else
      review(session, result.patch, callback)
    end
  end)
end

return M
