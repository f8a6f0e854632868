--- Taking over a session on which another window works: its turn is stopped there, and who waits hears when it is free.

local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

---@type string? session that is to be taken over
local taking

store.on('state', function()
  local summary = taking and store.summary(taking)
  if summary and not summary.heldBy then
    taking = nil
    store.say(
      summary.sessionId,
      'info',
      'No other window works on this session any more; it goes on with your next prompt.'
    )
  end
end)

--- Stops the turn that another window runs in the active session, so that it can go on here.
function M.run()
  local session = store.active
  local summary = session and store.summary(session)
  if not session or not summary or not summary.heldBy then
    store.say(session, 'info', 'No other window works on this session; send a prompt.')
    return
  end
  local stop = 'Stop it there, and go on here'
  vim.ui.select({ stop, 'Leave it' }, { prompt = 'Another window works on this session' }, function(answer)
    if answer == stop then
      taking = session
      sessions.stop()
    end
  end)
end

return M
