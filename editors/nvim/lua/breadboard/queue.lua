--- The prompts that wait behind a running turn: seen, changed, moved, taken away, let go on.

local client = require('breadboard.client')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

---@param method string
---@param params table
---@param callback fun(queue: { items: table[], paused: boolean })
local function call(method, params, callback)
  params.sessionId = store.active
  if not params.sessionId then
    store.say(nil, 'info', 'No session is active, so nothing waits.')
    return
  end
  client.request('bb/queue/' .. method, params, function(err, queue)
    if err then
      sessions.refuse(err, params.sessionId)
    else
      callback(queue)
    end
  end)
end

local function first_line(item)
  return vim.split(item.text, '\n')[1]
end

---@param queue { items: table[], paused: boolean }
---@param item table
local function act(queue, item)
  local actions = { 'edit', 'move to the front', 'move to the end', 'remove' }
  vim.ui.select(actions, { prompt = first_line(item) }, function(action)
    local done = function()
      M.show()
    end
    if action == 'edit' then
      vim.ui.input({ prompt = 'Prompt: ', default = item.text }, function(text)
        if text and vim.trim(text) ~= '' then
          call('edit', { messageId = item.messageId, text = text }, done)
        end
      end)
    elseif action == 'move to the front' then
      local first = queue.items[1].messageId
      if first ~= item.messageId then
        call('move', { messageId = item.messageId, before = first }, done)
      end
    elseif action == 'move to the end' then
      call('move', { messageId = item.messageId }, done)
    elseif action == 'remove' then
      call('remove', { messageId = item.messageId }, done)
    end
  end)
end

--- Lists what waits; a chosen prompt can be changed.
function M.show()
  call('list', {}, function(queue)
    if #queue.items == 0 then
      store.say(nil, 'info', queue.paused and 'Nothing waits, and the queue is paused.' or 'Nothing waits.')
      return
    end
    local prompt = queue.paused and 'Waiting (paused; :BreadBoard queue resume)' or 'Waiting'
    vim.ui.select(queue.items, { prompt = prompt, format_item = first_line }, function(item)
      if item then
        act(queue, item)
      end
    end)
  end)
end

--- Lets a paused queue go on.
---@param callback? fun(queue: table)
function M.resume(callback)
  call('resume', {}, function(queue)
    store.say(nil, 'info', 'The queue goes on.')
    if callback then
      callback(queue)
    end
  end)
end

return M
