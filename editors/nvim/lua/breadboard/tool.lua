--- A call of a tool as a head and a body: what it does, how it ended, and what came of it. Pure.

local colours = require('breadboard.colours')

local M = {}

local MARK = { running = '…', ok = '✓', failed = '✗', denied = '⊘', cancelled = '⊘' }
--- It ran, and that may be all that was wanted of it; but well it did not end.
local NOT_WELL = '⚠'

--- How long a command in the background runs.
local IN_BACKGROUND = { turn = ' (in the background)', kept = ' (runs on after the turn)' }

local NO_NEWLINE = '\\ No newline at end of file'

--- What a call does. A name alone, such as `Shell`, says nothing of what is run; the command or the file does.
---@param block table
---@return string
local function deed(block)
  local title = block.title or block.name
  if not title:match('^%w+$') or type(block.input) ~= 'table' then
    return title
  end
  local input = block.input
  local aim = input.command or input.file_path or input.filePath or input.absolute_path or input.path
  return type(aim) == 'string' and aim ~= '' and title .. ' ' .. aim or title
end

--- How a command that is over ended; 0 where nothing says that it ended badly.
---@param block table
---@return integer
local function exit_code(block)
  if block.status ~= 'ok' and block.status ~= 'failed' then
    return 0
  end
  -- The built-in engine tells it in the words of the result only.
  local words = (block.preview or ''):match('^The command ended with exit code (%-?%d+)%.')
  return type(block.exitCode) == 'number' and block.exitCode or tonumber(words) or 0
end

---@param block table
---@return string head
---@return string[] body
---@return table<integer, breadboard.Stretch[]> coloured by line of the body, from 1
function M.of(block)
  local body, coloured = {}, {}
  for _, text in ipairs({ block.diff or '', block.preview or '' }) do
    local shown, stretches = colours.lines(text)
    for at, line in ipairs(text ~= '' and shown or {}) do
      -- A diff of a snippet ends where the snippet does, so how the file ends is not in it.
      if line ~= NO_NEWLINE then
        table.insert(body, line)
        coloured[#body] = stretches[at]
      end
    end
  end
  if block.truncated then
    table.insert(body, ('(cut; K shows all%s)'):format(block.bytes and (' %d bytes'):format(block.bytes) or ''))
  end
  if block.artifact then
    table.insert(body, '(artifact: ' .. block.artifact .. ')')
  end
  local mark, told = MARK[block.status] or '?', block.status == 'denied' and ' (denied)' or ''
  if block.status == 'running' then
    told = IN_BACKGROUND[block.background] or told
  end
  local code = exit_code(block)
  if code ~= 0 then
    mark, told = block.status == 'ok' and NOT_WELL or mark, (' (exit code %d)'):format(code)
  end
  return mark .. ' ' .. deed(block) .. told, body, coloured
end

return M
