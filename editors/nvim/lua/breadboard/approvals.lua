--- Answers to what the agent asks. Shows exactly what an answer covers before it can be given, and always sends the
--- digest of what was shown. Never answers by itself.

local client = require('breadboard.client')
local config = require('breadboard.config')
local float = require('breadboard.float')
local form = require('breadboard.form')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')
local subject = require('breadboard.subject')

local M = {}

---@param session string
---@param permission table
---@param option table
---@param content? table what was filled in
---@param callback? fun(result?: table)
local function decide(session, permission, option, content, callback)
  client.request('bb/approvePermission', {
    sessionId = session,
    requestId = permission.requestId,
    decision = option.kind,
    optionId = option.optionId,
    digest = permission.digest,
    content = content,
  }, function(err, result)
    if err then
      sessions.refuse(err, session)
    elseif result.outcome == 'already_resolved' then
      local by = result.resolvedBy and (' by ' .. result.resolvedBy) or ''
      store.say(session, 'info', ('This was settled before: %s%s.'):format(result.resolution or 'decided', by))
    end
    if callback then
      callback(result)
    end
  end)
end

--- What can be answered where allowing is out of the question.
---@param options table[]
---@return table[]
local function denials(options)
  local found = vim.tbl_filter(function(option)
    return option.kind == 'deny'
  end, options)
  return #found > 0 and found or { { kind = 'deny', label = 'Deny' } }
end

---@param session string
---@param permission table
---@param refusal? string why it cannot be allowed
---@param callback? fun(result?: table)
local function put(session, permission, refusal, callback)
  local lines = subject.whole(permission)
  local input = permission.subject.input
  local schema = permission.subject.kind == 'question' and input and input.schema or nil
  refusal = refusal or subject.refusal(permission) or schema and form.refusal(schema) or nil
  if refusal then
    vim.list_extend(lines, { '', refusal })
  end
  local shown = float.open('The agent asks', lines, {
    filetype = 'diff',
    enter_tall = 'The agent asks: read to the end, <CR> answers, q leaves it waiting',
  })

  local function answer()
    vim.cmd('redraw')
    vim.ui.select(refusal and denials(permission.options) or permission.options, {
      prompt = vim.split(permission.title, '\n')[1] .. ' ?',
      kind = 'breadboard_approval',
      format_item = subject.option,
    }, function(option)
      if option and option.kind ~= 'deny' and schema then
        form.ask(schema, function(content)
          shown.close()
          if content then
            decide(session, permission, option, content, callback)
          end
        end)
        return
      end
      shown.close()
      if option then
        decide(session, permission, option, nil, callback)
      end
    end)
  end

  if shown.tall then
    -- Its end can be read only by whoever can scroll, so the question waits.
    vim.keymap.set('n', '<CR>', answer, { buffer = shown.buffer, desc = 'BreadBoard: answer' })
  else
    answer()
  end
end

--- Puts one approval to the user, all of it.
---@param session string
---@param block breadboard.Block
---@param callback? fun(result?: table)
function M.ask(session, block, callback)
  local permission = block.permission
  if not permission.subject.truncated then
    put(session, permission, nil, callback)
    return
  end
  local params = { sessionId = session, requestId = permission.requestId }
  client.request('bb/permission/get', params, function(err, result)
    if err then
      put(session, permission, ('It can only be denied: all of it could not be read: %s'):format(err.message), callback)
    elseif result.status ~= 'pending' then
      store.say(session, 'info', ('This was settled before: %s.'):format(result.status))
    elseif result.permission.digest ~= permission.digest or result.permission.subject.truncated then
      put(session, permission, 'It can only be denied: the server did not give all of it.', callback)
    else
      put(session, result.permission, nil, callback)
    end
  end)
end

--- Puts an approval of the active session to the user: the only one, or the one that he picks.
---@param callback? fun(result?: table)
function M.choose(callback)
  local session = store.active
  local pending = store.pending(session)
  if not session or #pending == 0 then
    store.say(session, 'info', 'Nothing waits for an answer.')
    return
  end
  if #pending == 1 then
    M.ask(session, pending[1], callback)
    return
  end
  vim.ui.select(pending, {
    prompt = 'Which one?',
    format_item = function(block)
      return vim.split(block.permission.title, '\n')[1]
    end,
  }, function(block)
    if block then
      M.ask(session, block, callback)
    end
  end)
end

local announced = {} ---@type table<string, boolean>

store.on('approval', function(session)
  for _, block in ipairs(store.pending(session)) do
    if not announced[block.id] then
      announced[block.id] = true
      if config.current.popup and session == store.active then
        vim.schedule(function()
          M.ask(session, block)
        end)
      else
        local title = vim.split(block.permission.title, '\n')[1]
        vim.notify(('breadboard: the agent asks: %s (:BreadBoard approve)'):format(title), vim.log.levels.WARN)
      end
    end
  end
end)

return M
