--- Answers to what the agent asks. Shows exactly what an answer covers before it can be given, and always sends the
--- digest of what was shown. Never answers by itself.

local client = require('breadboard.client')
local config = require('breadboard.config')
local float = require('breadboard.float')
local form = require('breadboard.form')
local hunks = require('breadboard.hunks')
local keys = require('breadboard.keys')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')
local subject = require('breadboard.subject')

local M = {}

--- Fewest characters of an ask that tell somebody something.
local LEAST_SAID = 12

--- The decision of an option. One of a kind that is not known goes by its id, which the server takes for the answer; beside it
--- stands no, for whoever would read that alone.
---@param option table
---@return string
local function decision(option)
  return subject.known(option) and option.kind or 'deny'
end

---@param session string
---@param permission table
---@param option table
---@param content? table what was filled in
---@param callback? fun(result?: table)
local function decide(session, permission, option, content, callback)
  client.request('bb/approvePermission', {
    sessionId = session,
    requestId = permission.requestId,
    decision = decision(option),
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

--- No answers by themselves: they lead to one for each change.
local BY_CHANGE = { kind = 'by_change', label = 'Decide change by change' }
local IN_FILE = { kind = 'in_file', label = 'Review in the file' }

--- What can be answered where allowing is out of the question.
---@param options table[]
---@return table[]
local function denials(options)
  local found = vim.tbl_filter(function(option)
    return option.kind == 'deny'
  end, options)
  return #found > 0 and found or { { kind = 'deny', label = 'Deny' } }
end

--- The answers below what is shown, each with its key.
---@param lines string[]
---@param options table[]
---@return table<integer, string> keys
local function add_answers(lines, options)
  local labels = vim.tbl_map(subject.option, options)
  -- What lasts, or what nobody here knows, is not answered by a slip.
  local lasting = vim.tbl_map(function(option)
    return option.kind == 'allow_rule' or not subject.known(option)
  end, options)
  local found = keys.of(labels, lasting)
  table.insert(lines, '')
  for at, label in ipairs(labels) do
    table.insert(lines, ('[%s] %s'):format(found[at] or ' ', label))
  end
  table.insert(lines, '[q] Leave it waiting')
  return found
end

---@param session string
---@param permission table
---@param refusal? string why it cannot be allowed
---@param by_key boolean whether the window is entered, and its keys answer
---@param callback? fun(result?: table)
local function put(session, permission, refusal, by_key, callback)
  local lines = subject.whole(permission)
  local input = permission.subject.input
  local schema = permission.subject.kind == 'question' and input and input.schema or nil
  refusal = refusal or subject.refusal(permission) or schema and form.refusal(schema) or nil
  if refusal then
    vim.list_extend(lines, { '', refusal })
  end
  local options = refusal and denials(permission.options) or permission.options
  if not refusal and hunks.count(permission) > 1 then
    options = vim.list_extend(vim.list_slice(options), { BY_CHANGE, IN_FILE })
  end
  local content = #lines
  local key_of = by_key and add_answers(lines, options) or {}
  local shown = float.open('The agent asks', lines, {
    filetype = 'diff',
    enter = by_key,
    enter_tall = by_key and 'The agent asks: read to the end, then answer'
      or 'The agent asks: read to the end, <CR> answers, q leaves it waiting',
  })

  local function take(option)
    if option == BY_CHANGE then
      shown.close()
      hunks.decide(session, permission, callback)
      return
    end
    if option == IN_FILE then
      shown.close()
      require('breadboard.review').open(session, permission, callback)
      return
    end
    if option.kind ~= 'deny' and schema then
      form.ask(schema, function(filled)
        shown.close()
        if filled then
          decide(session, permission, option, filled, callback)
        end
      end)
      return
    end
    shown.close()
    decide(session, permission, option, nil, callback)
  end

  local function answer()
    vim.cmd('redraw')
    vim.ui.select(options, {
      prompt = vim.split(permission.title, '\n')[1] .. ' ?',
      kind = 'breadboard_approval',
      format_item = subject.option,
    }, function(option)
      if option then
        take(option)
      elseif not by_key then
        shown.close()
      end
    end)
  end

  for at, option in ipairs(options) do
    if key_of[at] then
      vim.keymap.set('n', key_of[at], function()
        if option.kind == 'deny' or option == BY_CHANGE or option == IN_FILE or vim.fn.line('w$', shown.window) >= content then
          take(option)
        else
          vim.api.nvim_echo({ { 'Read it to the end first (G).', 'WarningMsg' } }, false, {})
        end
      end, { buffer = shown.buffer, nowait = true, desc = 'BreadBoard: ' .. option.label })
    end
  end
  if by_key or shown.tall then
    -- Its end can be read only by whoever can scroll, so the question waits.
    vim.keymap.set('n', '<CR>', answer, { buffer = shown.buffer, desc = 'BreadBoard: answer from a list' })
  else
    answer()
  end
end

--- Puts one approval to the user, all of it.
---@param session string
---@param block breadboard.Block
---@param callback? fun(result?: table)
---@param by_key? boolean for a user who asked for it: the window is entered, and one key answers
function M.ask(session, block, callback, by_key)
  local permission = block.permission
  local function show(asked, refusal)
    put(session, asked, refusal, by_key == true, callback)
  end
  if not permission.subject.truncated then
    show(permission)
    return
  end
  local params = { sessionId = session, requestId = permission.requestId }
  client.request('bb/permission/get', params, function(err, result)
    if err then
      show(permission, ('It can only be denied: all of it could not be read: %s'):format(err.message))
    elseif not store.WAITING[result.status] then
      store.say(session, 'info', ('This was settled before: %s.'):format(result.status))
    elseif result.permission.digest ~= permission.digest or result.permission.subject.truncated then
      show(permission, 'It can only be denied: the server did not give all of it.')
    else
      show(result.permission)
    end
  end)
end

--- The session of an approval where it is not the one in front, for a label.
---@param session? string
---@return string
local function of_session(session)
  if not session or session == store.active then
    return ''
  end
  local summary = store.summary(session)
  return (' (session %s)'):format(summary and summary.title or session)
end

--- Puts an approval to the user: the only one that waits in any session, or the one that he picks. The session in front
--- comes first.
---@param callback? fun(result?: table)
function M.choose(callback)
  local pending = store.all_pending()
  if #pending == 0 then
    local elsewhere = #store.pending(store.active) > 0
    local text = 'What waits here is answered in the window that works on this session.'
    store.say(store.active, 'info', elsewhere and text or 'Nothing waits for an answer.')
    return
  end
  if #pending == 1 then
    M.ask(pending[1].session, pending[1].block, callback, true)
    return
  end
  vim.ui.select(pending, {
    prompt = 'Which one?',
    format_item = function(one)
      return vim.split(one.block.permission.title, '\n')[1] .. of_session(one.session)
    end,
  }, function(one)
    if one then
      M.ask(one.session, one.block, callback, true)
    end
  end)
end

--- What is said of an ask that came, in as much room as there is: what it is gives way, what to type does not.
---@param what string
---@return string
local function announcement(what)
  local long, tail = 'breadboard: the agent asks: ', ' (:BreadBoard approve)'
  local room = vim.v.echospace - #long - #tail
  if vim.api.nvim_strwidth(what) <= room then
    return long .. what .. tail
  elseif room >= LEAST_SAID then
    return long .. vim.fn.strcharpart(what, 0, room - 1) .. '…' .. tail
  end
  return 'Agent asks' .. tail
end

local announced = {} ---@type table<string, boolean>

---@param session string
local function announce(session)
  for _, block in ipairs(store.pending(session)) do
    if not announced[block.id] then
      announced[block.id] = true
      if config.current.popup and session == store.active then
        vim.schedule(function()
          M.ask(session, block)
        end)
      else
        local title = vim.split(block.permission.title, '\n')[1]
        store.notify(announcement(title .. of_session(session)), vim.log.levels.WARN, true)
      end
    end
  end
end

--- Announces what waits here. An ask comes before the state that counts it, and only that says whether another window
--- works on the session: there it is announced and answered.
local function announce_all()
  for _, summary in ipairs(store.sessions) do
    if not summary.heldBy and (summary.pendingPermissionCount or 0) > 0 then
      announce(summary.sessionId)
    end
  end
end

store.on('approval', announce_all)
store.on('state', announce_all)

return M
