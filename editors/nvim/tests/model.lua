--- A model on loopback that speaks OpenAI's streaming protocol and says what a test tells it to.
--- Waits at gates that the test opens, never for a time.

local M = {}
M.__index = M

---@class tests.Gate
---@field open fun()

--- A step that holds a reply back until it is opened.
---@return table
function M.gate()
  local gate = { opened = false }
  function gate.open()
    gate.opened = true
    if gate.go_on then
      gate.go_on()
    end
  end
  return gate
end

local function chunk(delta, finish)
  local choice = { index = 0, delta = delta, finish_reason = finish }
  return 'data: ' .. vim.json.encode({ choices = { choice } }) .. '\n\n'
end

local function tool_call(name, arguments)
  local call = {
    index = 0,
    id = 'call_0',
    type = 'function',
    ['function'] = { name = name, arguments = vim.json.encode(arguments) },
  }
  return chunk({ tool_calls = { call } })
end

-- Plays the steps of one reply: a text, `{ call = name, with = arguments }`, or a gate.
local function play(socket, steps)
  local finish, at = 'stop', 0
  local function go_on()
    while not socket:is_closing() do
      at = at + 1
      local step = steps[at]
      if step == nil then
        socket:write(chunk(vim.empty_dict(), finish) .. 'data: [DONE]\n\n', function()
          if not socket:is_closing() then
            socket:close()
          end
        end)
        return
      end
      if type(step) == 'string' then
        socket:write(chunk({ content = step }))
      elseif step.call then
        finish = 'tool_calls'
        socket:write(tool_call(step.call, step.with))
      elseif step.reason then
        socket:write(chunk({ reasoning_content = step.reason }))
      elseif not step.opened then
        step.go_on = go_on
        return
      end
    end
  end
  go_on()
end

local function answer(self, socket, request)
  table.insert(self.asked, request)
  if request.path:match('/models$') then
    local body = vim.json.encode({
      object = 'list',
      data = { { id = 'story', object = 'model' }, { id = 'other', object = 'model' } },
    })
    socket:write(
      ('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s'):format(
        #body,
        body
      ),
      function()
        socket:close()
      end
    )
    return
  end
  local steps = table.remove(self.replies, 1)
  if not steps then
    socket:write('HTTP/1.1 500 No Reply\r\ncontent-length: 0\r\nconnection: close\r\n\r\n', function()
      socket:close()
    end)
    return
  end
  socket:write('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n')
  play(socket, steps)
end

--- Listens. `replies` are given one after the other; `asked` holds what came.
---@param replies? table[]
function M.start(replies)
  local self = setmetatable({ replies = replies or {}, asked = {}, server = assert(vim.uv.new_tcp()) }, M)
  assert(self.server:bind('127.0.0.1', 0))
  assert(self.server:listen(16, function()
    local socket = assert(vim.uv.new_tcp())
    self.server:accept(socket)
    local held = ''
    socket:read_start(function(err, data)
      if err or not data then
        if not socket:is_closing() then
          socket:close()
        end
        return
      end
      held = held .. data
      local head, body = held:match('^(.-)\r\n\r\n(.*)$')
      local length = head and tonumber(head:lower():match('content%-length: (%d+)') or 0)
      if head and #body >= length then
        held = ''
        local path = head:match('^%u+ (%S+)')
        vim.schedule(function()
          answer(self, socket, { path = path, body = length > 0 and vim.json.decode(body) or nil })
        end)
      end
    end)
  end))
  self.url = ('http://127.0.0.1:%d/v1/'):format(self.server:getsockname().port)
  return self
end

--- One more reply.
function M:says(...)
  table.insert(self.replies, { ... })
end

return M
