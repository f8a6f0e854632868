--- What this Neovim knows of the server: sessions, their views, the engine, trust, notices. One writer, `sessions`.
--- Who draws listens with `on`. Never sends anything.

local notices_of = require('breadboard.notices')
local view = require('breadboard.view')

---@class breadboard.Notice
---@field level 'info'|'warning'|'error'
---@field text string
---@field after? string id of the chat block behind which it stands; none: before all

---@class breadboard.Store
---@field epoch? string
---@field engine? { kind: string, status: string, capabilities: string[], model?: string }
---@field engine_problem? string
---@field trusted boolean
---@field sessions { sessionId: string, title?: string, status?: string, pendingPermissionCount?: integer }[]
---@field active? string
---@field views table<string, breadboard.View>
---@field notices table<string, breadboard.Notice[]>
local M = { trusted = false, sessions = {}, views = {}, notices = {} }

--- Most notices kept for a session: a link that fails all day must not fill the memory. The oldest go.
local MOST_NOTICES = 200

---@type table<string, fun(session?: string)[]>
local listeners = {}

--- Hears of a change: `view` and `notice` (with the session), `state`, `approval` (with the session).
---@param what 'view'|'notice'|'state'|'approval'
---@param take fun(session?: string)
function M.on(what, take)
  listeners[what] = listeners[what] or {}
  table.insert(listeners[what], take)
end

---@param what 'view'|'notice'|'state'|'approval'
---@param session? string
function M.tell(what, session)
  for _, take in ipairs(listeners[what] or {}) do
    take(session)
  end
end

--- A sentence for the user, in the chat of the session and, when it is a warning or worse, as a message.
---@param session? string the active one when absent
---@param level 'info'|'warning'|'error'
---@param text string
---@param login? table how one logs in, where that is what is missing
function M.say(session, level, text, login)
  session = session or M.active
  if session then
    local notices = M.notices[session] or {}
    M.notices[session] = notices
    local held = M.views[session]
    local blocks = held and held.lanes.chat.blocks or {}
    table.insert(notices, { level = level, text = text, login = login, after = blocks[#blocks] and blocks[#blocks].id })
    if #notices > MOST_NOTICES then
      table.remove(notices, 1)
    end
    M.tell('notice', session)
  end
  if level ~= 'info' or not session then
    local levels = { info = vim.log.levels.INFO, warning = vim.log.levels.WARN, error = vim.log.levels.ERROR }
    -- What the chat has whole need not stop anybody with a prompt to press Enter.
    M.notify('breadboard: ' .. notices_of.of_remedy(text), levels[level], session ~= nil)
  end
end

--- A message for the user. Where it stands somewhere else in full it is cut to what fits beside the command line.
---@param text string
---@param level integer
---@param stands boolean whether the chat has it
function M.notify(text, level, stands)
  if stands then
    text = text:gsub('%s*\n%s*', ' ')
    if vim.api.nvim_strwidth(text) > vim.v.echospace then
      text = vim.fn.strcharpart(text, 0, math.max(1, vim.v.echospace - 1)) .. '…'
    end
  end
  vim.notify(text, level)
end

--- How an ask stands that can be answered: also one for which files are saved first, since an editor may never say that it saved.
M.WAITING = { pending = true, saving = true }

---@param block breadboard.Block
---@return boolean
function M.waits(block)
  return M.WAITING[block.status] == true
end

--- The ids of the approvals that wait in a view.
---@param held breadboard.View
---@return table<string, boolean>
local function waiting(held)
  local ids = {}
  for _, block in ipairs(held.lanes.chat.blocks) do
    if block.kind == 'permission' and block.status == 'pending' then
      ids[block.id] = true
    end
  end
  return ids
end

---@param session string
---@param held breadboard.View
---@param before table<string, boolean> the approvals that waited before
local function changed(session, held, before)
  M.views[session] = held
  M.tell('view', session)
  for id in pairs(waiting(held)) do
    if not before[id] then
      M.tell('approval', session)
      return
    end
  end
end

--- Replaces the view of a session.
---@param session string
---@param held breadboard.View
function M.put_view(session, held)
  changed(session, held, M.views[session] and waiting(M.views[session]) or {})
end

--- Takes a `bb/view`. True when the session must be selected anew to have a whole view.
---@param params table
---@return boolean stale
function M.take_view(params)
  local session = params.sessionId
  local held = M.views[session]
  if not held then
    if params.snapshot then
      M.put_view(session, params.snapshot)
      return false
    end
    if params.fromSeq > 1 then
      return true
    end
    held = view.empty(params.epoch)
    M.views[session] = held
  end
  local before = waiting(held)
  local after, what = view.take(held, params)
  if what == 'applied' then
    changed(session, after, before)
  end
  return what == 'stale'
end

--- The approvals of every session that wait: those of the session in front first, each with its session.
---@return { session: string, block: breadboard.Block }[]
function M.all_pending()
  local found = {}
  local function add(session)
    local summary = M.summary(session)
    if summary and summary.heldBy then
      return -- it is answered where it runs
    end
    for _, block in ipairs(M.pending(session)) do
      table.insert(found, { session = session, block = block })
    end
  end
  if M.active then
    add(M.active)
  end
  local others = vim.tbl_keys(M.views)
  table.sort(others)
  for _, session in ipairs(others) do
    if session ~= M.active then
      add(session)
    end
  end
  return found
end

--- The approvals of a session that wait, oldest first.
---@param session? string
---@return breadboard.Block[]
function M.pending(session)
  local held = session and M.views[session]
  local found = {}
  for _, block in ipairs(held and held.lanes.chat.blocks or {}) do
    if block.kind == 'permission' and M.waits(block) then
      table.insert(found, block)
    end
  end
  return found
end

---@param session string
---@return table?
function M.summary(session)
  for _, summary in ipairs(M.sessions) do
    if summary.sessionId == session then
      return summary
    end
  end
end

--- The session that was used last; in the list the pinned ones stand before it.
---@return table?
function M.newest()
  local newest
  for _, summary in ipairs(M.sessions) do
    if not newest or (summary.updatedAt or 0) > (newest.updatedAt or 0) then
      newest = summary
    end
  end
  return newest
end

--- Forgets a session.
---@param session string
function M.drop(session)
  M.views[session] = nil
  M.notices[session] = nil
  if M.active == session then
    M.active = nil
  end
  M.tell('state')
end

return M
