--- Sends the prompt of a turn that failed once more, whole and with its attachments. Never by itself.

local body = require('breadboard.body')
local remedy = require('breadboard.remedy')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

function M.run()
  local session = store.active
  if not session then
    store.say(nil, 'info', 'No session is active, so there is nothing to send again.')
    return
  end
  local summary = store.summary(session)
  if summary and (summary.status == 'running' or summary.status == 'waiting') then
    store.say(session, 'info', 'A turn runs, so nothing was sent; wait for its end, or stop it (:BreadBoard stop).')
    return
  end
  local view = store.views[session]
  local prompt, why = remedy.failed(view and view.lanes.chat.blocks or {})
  if not prompt then
    store.say(session, 'info', why --[[@as string]])
    return
  end
  -- The block may show less than was sent.
  body.read(session, prompt.seq, function(err, event)
    if err or not event then
      sessions.refuse(err, session)
      return
    end
    if store.active == session then
      local text = type(event.payload.text) == 'string' and event.payload.text or prompt.text
      sessions.send(text, nil, prompt.attachmentIds)
    end
  end)
end

return M
