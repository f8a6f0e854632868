--- What can be done about a failure, as commands that can be typed: the server says it as data. Pure.

local M = {}

--- The lines below a failure.
---@param notice { level: string, retry?: table, login?: table }
---@return string[]
function M.lines(notice)
  local lines = {}
  local login = notice.login or {}
  local terminal = {}
  local function typed(command, inside)
    if command and not terminal[command] then
      terminal[command] = true
      table.insert(lines, ('  :terminal %s%s'):format(command, inside and (', and %s in it'):format(inside) or ''))
    end
  end
  typed(login.command, login.inside)
  for _, method in ipairs(login.methods or {}) do
    if method.by == 'agent' then
      table.insert(lines, ('  :BreadBoard login %s (%s)'):format(method.id, method.name))
    else
      typed(method.command)
    end
  end
  local retry = notice.retry
  if notice.level == 'error' and retry and retry.when ~= 'never' then
    local wait = retry.afterMs
    local first = wait and ('It asks to wait %d s; '):format(math.ceil(wait / 1000)) or ''
    table.insert(lines, ('  %s:BreadBoard retry sends it again.'):format(first))
  end
  for at, line in ipairs(lines) do
    lines[at] = line:gsub('%c', ' ')
  end
  return lines
end

--- The prompt whose turn ended badly at the end of this chat, and what was said last of its failure; or why there is none.
---@param blocks breadboard.Block[]
---@return breadboard.Block? prompt
---@return breadboard.Block|string failure
function M.failed(blocks)
  local notice, outcome
  for at = #blocks, 1, -1 do
    local block = blocks[at]
    if block.kind == 'turn-end' then
      outcome = outcome or block.outcome
    elseif block.kind == 'notice' and block.level == 'error' then
      notice = notice or block
    elseif block.kind == 'user' then
      if notice and notice.retry and notice.retry.when == 'never' then
        return nil, 'The same would be refused again here; begin a new session (:BreadBoard new), or ask for less.'
      elseif not notice and (not outcome or outcome == 'done') then
        return nil, 'The last turn did not fail, so there is nothing to send again.'
      end
      return block, notice or block
    end
  end
  return nil, 'Nothing was asked here yet, so there is nothing to send again.'
end

--- The failure at the end of this chat whose wait is not over, and the seconds that are left of it. The wait began when
--- the turn ended: one of yesterday is over.
---@param blocks breadboard.Block[]
---@param now integer milliseconds since 1970
---@return breadboard.Block? notice
---@return integer? seconds
function M.waits(blocks, now)
  local last = {} ---@type table<string, breadboard.Block>
  for at = #blocks, 1, -1 do
    local block = blocks[at]
    if block.kind == 'user' then
      break
    elseif block.kind ~= 'notice' or block.level == 'error' then
      last[block.kind] = last[block.kind] or block
    end
  end
  local notice, begun, ended = last.notice, last['turn-start'], last['turn-end']
  local retry = notice and notice.retry
  local is_known = begun and begun.startedAt and ended and ended.durationMs
  if not retry or retry.when == 'never' or not retry.afterMs or not is_known then
    return
  end
  local left = begun.startedAt + ended.durationMs + retry.afterMs - now
  if left > 0 then
    return notice, math.ceil(left / 1000)
  end
end

return M
