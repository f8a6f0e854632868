--- Sessions that begin with the conversation of another one: before a prompt that is changed, or all of it with another agent.
--- What is carried on, and what the other one knows of it, is the server's to say; the chat shows its sentences.

local agents = require('breadboard.agents')
local body = require('breadboard.body')
local chat = require('breadboard.chat')
local prompt = require('breadboard.prompt')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

--- The prompt under the cursor of a chat, else the last one of the session in front.
---@return breadboard.Block?
---@return string? session
local function chosen_prompt()
  local under, session = chat.block_at_cursor()
  if under and under.kind == 'user' then
    return under, session
  end
  local view = store.active and store.views[store.active]
  local blocks = view and view.lanes.chat.blocks or {}
  for at = #blocks, 1, -1 do
    if blocks[at].kind == 'user' then
      return blocks[at], store.active
    end
  end
end

--- Puts a prompt that was sent into the prompt window. Sent from there, it begins a branch of its session.
function M.edit()
  local block, session = chosen_prompt()
  if not block or not session then
    store.say(nil, 'info', 'Nothing was asked in this session yet, so there is no prompt to change.')
    return
  end
  -- The block may show less than was sent.
  body.read(session, block.seq, function(err, event)
    if err then
      sessions.refuse(err, session)
      return
    end
    local text = event and type(event.payload.text) == 'string' and event.payload.text or block.text
    local function open()
      prompt.open(text, { session = session, before = block.id, attachments = block.attachmentIds })
    end
    if store.active == session then
      open()
    else
      sessions.select(session, open)
    end
  end)
end

--- Goes on with the conversation of a session in a new one, with an agent by its name or from a list.
---@param session string
---@param name? string
function M.continue_with(session, name)
  local function go_on(agent)
    sessions.branch(session, agent and { agent = agent } or { engine = 'current' }, chat.show)
  end
  if name then
    go_on(name)
    return
  end
  local summary = store.summary(session)
  agents.pick(('Continue "%s" with'):format(summary and summary.title or session), go_on)
end

--- Puts the session that this one began with in front.
---@param origin? string its id; absent: that of the session in front
function M.origin(origin)
  local summary = store.active and store.summary(store.active)
  local from = summary and summary.branchedFrom
  origin = origin or (from and from.sessionId)
  if not origin then
    store.say(nil, 'info', 'This session began by itself, so there is none to go back to.')
  elseif not store.summary(origin) then
    store.say(nil, 'info', 'The session that this one began with was deleted.')
  else
    sessions.select(origin, chat.show)
  end
end

return M
