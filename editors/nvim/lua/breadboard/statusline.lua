--- A short text for a status line. Reads the store; asks nobody.

local client = require('breadboard.client')
local store = require('breadboard.store')

local M = {}

--- For instance `BB running ?2 openai/gpt`; empty while no server runs.
---@return string
function M.text()
  if not client.running() then
    return ''
  end
  local parts = { 'BB' }
  local summary = store.active and store.summary(store.active)
  if store.engine_problem then
    table.insert(parts, 'engine down')
  elseif summary then
    table.insert(parts, summary.status or 'idle')
    if summary.heldBy then
      table.insert(parts, 'elsewhere')
    end
  end
  local waiting = #store.all_pending()
  if waiting > 0 then
    table.insert(parts, '?' .. waiting)
  end
  if store.engine and store.engine.model then
    table.insert(parts, store.engine.model)
  end
  if not store.trusted then
    table.insert(parts, 'untrusted')
  end
  -- `%` begins an item in a status line.
  return (table.concat(parts, ' '):gsub('%%', '%%%%'))
end

store.on('state', function()
  vim.cmd('silent! redrawstatus!') -- of every window, since each may show it
end)

return M
