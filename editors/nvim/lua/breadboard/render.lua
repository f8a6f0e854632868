--- Blocks and notices as lines of text. Pure. What can be folded has a head that begins with `▸ ` and a body of lines
--- that begin with `  │ `; `fold_level` and `highlight` read that from the line alone, so nothing must be kept for it.

local notices_of = require('breadboard.notices')
local subject = require('breadboard.subject')

local M = {}

M.HEAD = '▸ '
M.BODY = '  │ '

local TOOL_MARK = { running = '…', ok = '✓', failed = '✗', denied = '⊘', cancelled = '⊘' }
local STEP_MARK = { pending = '[ ]', running = '[~]', in_progress = '[~]', done = '[x]', completed = '[x]' }
local LEVEL_MARK = { info = 'ℹ', warning = '⚠', error = '✗' }
local ASK_STATE = {
  pending = 'waits for you: :BreadBoard approve, or <CR> here',
  allowed = 'allowed',
  denied = 'denied',
  expired = 'expired, which denies',
  cancelled = 'cancelled',
}

local NO_NEWLINE = '\\ No newline at end of file'

---@param text? string
---@return string[]
local function split(text)
  return vim.split(((text or ''):gsub('\n+$', '')), '\n', { plain = true })
end

local function one_line(text)
  return (tostring(text or ''):gsub('%s*\n%s*', ' ⏎ '))
end

---@param head string
---@param body string[]
---@return string[]
local function folded(head, body)
  local lines = { M.HEAD .. one_line(head) }
  for _, line in ipairs(body) do
    table.insert(lines, M.BODY .. line)
  end
  return lines
end

---@param first string
---@param text string
---@return string[]
local function marked(first, text)
  local lines = split(text)
  lines[1] = first .. lines[1]
  for at = 2, #lines do
    lines[at] = '  ' .. lines[at]
  end
  return lines
end

---@type table<string, fun(block: table): string[]>
local KINDS = {}

function KINDS.user(block)
  local lines = split(block.text)
  table.insert(lines, 1, '## You')
  if block.attachmentIds and #block.attachmentIds > 0 then
    table.insert(lines, ('(%d attached)'):format(#block.attachmentIds))
  end
  return lines
end

function KINDS.assistant(block)
  local lines = split(block.text)
  if block.truncated then
    table.insert(lines, '(cut here; the whole is in the events of the session)')
  end
  return lines
end

function KINDS.reasoning(block)
  local lines = split(block.text)
  return folded('Thinking: ' .. lines[1], #lines > 1 and lines or {})
end

function KINDS.tool(block)
  local shown = {}
  for _, text in ipairs({ block.diff or '', block.preview or '' }) do
    if text ~= '' then
      vim.list_extend(shown, split((text:gsub('\n$', ''))))
    end
  end
  -- A diff of a snippet ends where the snippet does, so how the file ends is not in it.
  local body = vim.tbl_filter(function(line)
    return line ~= NO_NEWLINE
  end, shown)
  if block.truncated then
    table.insert(body, ('(cut; K shows all%s)'):format(block.bytes and (' %d bytes'):format(block.bytes) or ''))
  end
  if block.artifact then
    table.insert(body, '(artifact: ' .. block.artifact .. ')')
  end
  local told = block.status == 'denied' and ' (denied)' or ''
  return folded((TOOL_MARK[block.status] or '?') .. ' ' .. (block.title or block.name) .. told, body)
end

function KINDS.permission(block)
  local lines = split(block.permission.title)
  if block.status == 'pending' then
    vim.list_extend(lines, subject.brief(block.permission))
  end
  table.insert(lines, '— ' .. (ASK_STATE[block.status] or block.status))
  return marked('? ', table.concat(lines, '\n'))
end

function KINDS.plan(block)
  local lines = { 'Plan:' }
  for _, step in ipairs(block.steps or {}) do
    local files = step.files and #step.files > 0 and (' (' .. table.concat(step.files, ', ') .. ')') or ''
    table.insert(lines, ('- %s %s%s'):format(STEP_MARK[step.status] or '[ ]', one_line(step.text), files))
  end
  return lines
end

function KINDS.patch(block)
  local files = {}
  for _, file in ipairs(block.files or {}) do
    table.insert(files, ('%s +%d −%d'):format(file.filePath, file.added, file.removed))
  end
  local why = block.rationale and (': ' .. block.rationale) or ''
  return folded('Patch ' .. table.concat(files, ', ') .. why, block.diff and split(block.diff) or {})
end

function KINDS.command(block)
  return { ('/%s: %s'):format(one_line(block.command), one_line(block.status)) }
end

function KINDS.task(block)
  local under = block.parentId and ('  under ' .. block.parentId) or ''
  return { ('- %s: %s%s'):format(one_line(block.title), one_line(block.status), one_line(under)) }
end

function KINDS.checkpoint(block)
  return { ('Checkpoint %s: %s'):format(one_line(block.title), one_line(block.status)) }
end

function KINDS.link(block)
  return { ('%s: %s'):format(one_line(block.label), one_line(block.uri)) }
end

function KINDS.summary(block)
  return marked(block.success and '✓ ' or '✗ ', block.text)
end

function KINDS.notice(block)
  local text = notices_of.round(notices_of.of_login(block.text))
  return marked((LEVEL_MARK[block.level] or 'ℹ') .. ' ', text)
end

function KINDS.unknown(block)
  return folded(block.type, split(block.preview))
end

--- The lines of one block. A kind of a later version is shown by its name and text.
---@param block breadboard.Block
---@return string[]
function M.block(block)
  local lines = (KINDS[block.kind] or function(unknown)
    return folded(unknown.kind, split(unknown.text))
  end)(block)
  for at, line in ipairs(lines) do
    -- A line of a buffer holds no line end; Neovim would refuse the whole.
    lines[at] = line:gsub('\n', ' ')
  end
  return lines
end

---@param notice breadboard.Notice
---@return string[]
function M.notice(notice)
  return KINDS.notice(notice)
end

---@param line string
---@return string for `foldexpr`
function M.fold_level(line)
  if vim.startswith(line, M.HEAD) then
    return '>1'
  end
  return vim.startswith(line, M.BODY) and '1' or '0'
end

---@param line string
---@return string? group
function M.highlight(line)
  if line == '## You' then
    return 'BreadBoardUser'
  end
  if vim.startswith(line, M.HEAD) then
    return 'BreadBoardHead'
  end
  if vim.startswith(line, M.BODY) then
    local first = line:sub(#M.BODY + 1, #M.BODY + 1)
    return first == '+' and 'BreadBoardAdded' or first == '-' and 'BreadBoardRemoved' or 'BreadBoardBody'
  end
  if vim.startswith(line, '? ') or vim.startswith(line, '⚠ ') then
    return 'BreadBoardAsk'
  end
  if vim.startswith(line, '✗ ') then
    return 'BreadBoardError'
  end
  if vim.startswith(line, '⊘ ') then
    return 'BreadBoardHead'
  end
end

---@class breadboard.Drawing
---@field lines string[]
---@field owners table<integer, breadboard.Block> the block of each line, from 1

---@type table<breadboard.Block, string[]>
local drawn = setmetatable({}, { __mode = 'k' }) -- by identity: a block that changes is a new table

---@param block breadboard.Block
local function cached(block)
  local lines = drawn[block]
  if not lines then
    lines = M.block(block)
    drawn[block] = lines
  end
  return lines
end

local FOLDS = { reasoning = true, tool = true, patch = true, unknown = true }

--- What the server says of a turn that somebody stopped, whatever its engine says.
local STOPPED = 'The turn was stopped.'

--- Ends of turns that did not go well, which stand in the lane `run`, by the block of the chat that each is behind.
--- Where the chat has an error of that turn already, that says it.
---@param chat breadboard.Block[]
---@param run breadboard.Block[]
---@return table<string, string[]>
local function bad_ends(chat, run)
  local found = {}
  for _, summary in ipairs(run) do
    if summary.kind == 'summary' and not summary.success then
      local at = #chat
      while at > 0 and chat[at].seq > summary.seq do
        at = at - 1
      end
      local told = false
      -- The next turn begins with its prompt.
      local function told_by(block)
        told = told or block.kind == 'notice' and block.level == 'error'
        return block.kind == 'user'
      end
      for back = at, 1, -1 do
        if told_by(chat[back]) then
          break
        end
      end
      for on = at + 1, #chat do
        if told_by(chat[on]) then
          break
        end
      end
      local stopped = summary.text == STOPPED
      if at > 0 and (stopped or not told) then
        found[chat[at].id] = marked(stopped and '⊘ ' or '✗ ', summary.text)
      end
    end
  end
  return found
end

--- Fewest characters of a reason that two sentences share only when they tell of the same.
local SAME_REASON = 20

--- Whether the lane says already why: the server tells of a failure as an event and by `bb/connection`.
---@param notice breadboard.Notice
---@param texts string[] what the notices among the blocks say
---@return boolean
local function is_told(notice, texts)
  local reason = (notice.text:match(': (.+)$') or notice.text):gsub('[%s.]+$', '')
  for _, text in ipairs(#reason >= SAME_REASON and texts or {}) do
    if text:find(reason, 1, true) then
      return true
    end
  end
  return false
end

--- A whole lane with its notices.
---@param lane breadboard.Lane
---@param notices breadboard.Notice[]
---@param run? breadboard.Lane for the chat: the lane that says how turns ended
---@param last? string what stands below all
---@return breadboard.Drawing
function M.lane(lane, notices, run, last)
  local ends = bad_ends(lane.blocks, run and run.blocks or {})
  local lines, owners = {}, {}
  local before ---@type string?

  ---@param more string[]
  ---@param kind string
  ---@param owner? breadboard.Block
  local function add(more, kind, owner)
    -- What folds stands close together; everything else has air around it.
    if before and not (FOLDS[before] and FOLDS[kind]) then
      lines[#lines + 1] = ''
    end
    before = kind
    for _, line in ipairs(more) do
      lines[#lines + 1] = line
      owners[#lines] = owner
    end
  end

  local behind = {} ---@type table<string, breadboard.Notice[]>
  local held, texts = {}, {}
  for _, block in ipairs(lane.blocks) do
    held[block.id] = true
    if block.kind == 'notice' then
      table.insert(texts, block.text)
    end
  end
  if lane.hasMore then
    add({ '(there is more above: :BreadBoard older)' }, 'more')
  end
  for _, notice in ipairs(notices) do
    if notice.after and held[notice.after] then
      behind[notice.after] = behind[notice.after] or {}
      table.insert(behind[notice.after], notice)
    elseif not is_told(notice, texts) then
      add(M.notice(notice), 'notice')
    end
  end
  for _, block in ipairs(lane.blocks) do
    add(cached(block), block.kind, block)
    if ends[block.id] then
      add(ends[block.id], 'notice')
    end
    for _, notice in ipairs(behind[block.id] or {}) do
      if not is_told(notice, texts) then
        add(M.notice(notice), 'notice')
      end
    end
  end
  if last then
    add({ last }, 'notice')
  end
  return { lines = lines, owners = owners }
end

return M
