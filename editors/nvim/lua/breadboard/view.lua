--- The view of one session, as the server tells it. Applies snapshots and changes and does nothing else: reducing
--- events is the server's.

---@class breadboard.Block: table
---@field id string
---@field kind string
---@field seq integer
---@field turn? integer
---@field text? string

---@class breadboard.Lane
---@field blocks breadboard.Block[]
---@field hasMore boolean

---@class breadboard.View
---@field epoch string
---@field seq integer
---@field lanes table<string, breadboard.Lane>

---@class breadboard.Change
---@field lane string
---@field op 'put'|'append'|'remove'
---@field id string
---@field block? breadboard.Block
---@field after? string
---@field text? string

local M = {}

local HAS_TEXT = { user = true, assistant = true, reasoning = true, summary = true, notice = true }

---@param epoch string
---@return breadboard.View
function M.empty(epoch)
  local lanes = {}
  for _, lane in ipairs({ 'chat', 'tasks', 'run', 'debug' }) do
    lanes[lane] = { blocks = {}, hasMore = false }
  end
  return { epoch = epoch, seq = 0, lanes = lanes }
end

-- The newest blocks change most, so the search begins at the end.
local function place(blocks, id)
  for at = #blocks, 1, -1 do
    if blocks[at].id == id then
      return at
    end
  end
end

--- Applies one change. A changed block is a new table, so that who drew the old one sees it.
---@param view breadboard.View
---@param change breadboard.Change
function M.apply(view, change)
  local lane = view.lanes[change.lane]
  if not lane then
    return -- a lane of a later version
  end
  local blocks = lane.blocks
  local at = place(blocks, change.id)
  if change.op == 'put' and not at and change.after then
    local before = place(blocks, change.after)
    if before then
      table.insert(blocks, before + 1, change.block)
    end
  elseif change.op == 'put' then
    blocks[at or #blocks + 1] = change.block
  elseif change.op == 'append' then
    local block = at and blocks[at]
    if block and HAS_TEXT[block.kind] then
      blocks[at] = vim.tbl_extend('force', block, { text = (block.text or '') .. change.text })
    end
  elseif change.op == 'remove' and at then
    table.remove(blocks, at)
  end
end

--- Takes the params of one `bb/view`. Answers `stale` when the view must be read anew with `bb/selectSession`.
---@param view breadboard.View
---@param params { epoch: string, toSeq: integer, changes: breadboard.Change[], snapshot?: breadboard.View }
---@return breadboard.View view
---@return 'applied'|'ignored'|'stale' what
function M.take(view, params)
  if params.epoch ~= view.epoch then
    return view, 'stale'
  end
  if params.toSeq <= view.seq then
    return view, 'ignored'
  end
  if params.snapshot then
    return params.snapshot, 'applied'
  end
  for _, change in ipairs(params.changes) do
    M.apply(view, change)
  end
  view.seq = params.toSeq
  return view, 'applied'
end

--- Puts an older page, from `bb/view/page`, in front of a lane.
---@param view breadboard.View
---@param name string
---@param page breadboard.Lane
function M.prepend(view, name, page)
  local lane = view.lanes[name]
  local blocks = vim.list_extend({}, page.blocks)
  lane.blocks = vim.list_extend(blocks, lane.blocks)
  lane.hasMore = page.hasMore
end

return M
