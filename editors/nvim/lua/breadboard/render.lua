--- Blocks and notices as lines of text. Pure. What can be folded has a head that begins with `▸ ` and a body of lines
--- that begin with `  │ `; `fold_level` and `highlight` read that from the line alone, so nothing must be kept for it.

local notices_of = require('breadboard.notices')
local remedy = require('breadboard.remedy')
local subject = require('breadboard.subject')
local tool = require('breadboard.tool')

local M = {}

M.HEAD = '▸ '
M.BODY = '  │ '

local STEP_MARK = { pending = '[ ]', running = '[~]', in_progress = '[~]', done = '[x]', completed = '[x]' }
local LEVEL_MARK = { info = 'ℹ', warning = '⚠', error = '✗' }
local ASK_STATE = {
  pending = 'waits for you: :BreadBoard approve, or <CR> here',
  saving = 'saving what is unsaved, then it runs; :BreadBoard approve answers otherwise',
  allowed = 'allowed',
  denied = 'denied',
  expired = 'expired, which denies',
  cancelled = 'cancelled',
}

local WHERE = { session = ' for this session', workspace = ' for this workspace' }

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

--- What became of an ask. An answer is named where the request had several of its kind.
---@param block table
---@return string
local function standing(block)
  local state, chosen = ASK_STATE[block.status] or block.status, block.chosen
  -- Of several clients of a session another one may have answered.
  if block.client and block.client.name ~= 'Neovim' then
    state = ('%s in %s'):format(state, one_line(block.client.name))
  end
  local rule = chosen and chosen.rule
  if rule then
    local keeper = rule.keptBy and one_line(rule.keptBy) or 'the ' .. rule.holder
    local lies = rule.keptIn and ' in ' .. one_line(rule.keptIn) or ''
    local back = rule.holder == 'server' and '' or '; take it back there'
    return ('allowed, and kept by %s%s%s%s'):format(keeper, lies, WHERE[rule.scope] or '', back)
  end
  local kind
  for _, option in ipairs(chosen and block.permission.options or {}) do
    kind = option.optionId == chosen.optionId and option.kind or kind
  end
  local alike = vim.tbl_filter(function(option)
    return option.kind == kind
  end, kind and block.permission.options or {})
  return #alike > 1 and ('%s: “%s”'):format(state, one_line(chosen.label)) or state
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

---@type table<string, fun(block: table): string[], table<integer, breadboard.Stretch[]>?>
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
  local lines = split(notices_of.of_model(block.text))
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
  local head, body, coloured = tool.of(block)
  local below = {}
  for at, stretches in pairs(coloured) do
    below[at + 1] = vim.tbl_map(function(stretch)
      return { first = stretch.first + #M.BODY, last = stretch.last + #M.BODY, groups = stretch.groups }
    end, stretches)
  end
  return folded(head, body), below
end

function KINDS.permission(block)
  local lines = split(block.permission.title)
  if block.status == 'pending' or block.status == 'saving' then
    vim.list_extend(lines, subject.brief(block.permission))
  end
  if block.problem then
    table.insert(lines, '✗ ' .. one_line(block.problem))
  end
  table.insert(lines, '— ' .. standing(block))
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

function KINDS.changes(block)
  local lines, added, removed = {}, 0, 0
  for _, file in ipairs(block.files) do
    added, removed = added + file.added, removed + file.removed
    local state = file.state ~= 'as_left' and (' (%s)'):format(one_line(file.state:gsub('_', ' '))) or ''
    table.insert(lines, ('%s +%d −%d%s'):format(one_line(file.filePath), file.added, file.removed, state))
  end
  local count = ('%d file%s'):format(#block.files, #block.files == 1 and '' or 's')
  local head = ('± %s +%d −%d: <CR> lists them, :BreadBoard undo %d takes them back'):format(count, added, removed, block.promptSeq)
  return folded(head, lines)
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
  if block.uri == '' then
    return { one_line(block.label) }
  end
  return { ('%s: %s'):format(one_line(block.label), one_line(block.uri)) }
end

function KINDS.summary(block)
  return marked(block.success and '✓ ' or '✗ ', block.text)
end

--- What a person calls the engines that have no name of their own.
local ENGINES = { embedded = 'built-in engine', breadboard = 'BreadBoard', desktop = 'Desktop' }
local ENDED = {
  done = '✓ Done',
  stopped = '⊘ The turn was stopped.',
  failed = '✗ The turn failed.',
  cut = '✗ The turn was cut off.',
}

--- Who answers, with which model, since when; a day that is not today is said.
---@param block breadboard.Block
---@return string
function M.turn_start(block)
  local words = {}
  if block.engine then
    table.insert(words, one_line(ENGINES[block.engine] or block.engine))
  end
  if block.model then
    table.insert(words, one_line(block.model))
  end
  if block.startedAt then
    local at = math.floor(block.startedAt / 1000)
    local today = os.date('%Y-%m-%d', at) == os.date('%Y-%m-%d')
    table.insert(words, tostring(os.date(today and '%H:%M' or '%Y-%m-%d %H:%M', at)))
  end
  return table.concat(words, ' · ')
end

KINDS['turn-start'] = function(block)
  return { M.turn_start(block) }
end

---@param milliseconds integer
---@return string
local function lasted(milliseconds)
  local seconds = milliseconds / 1000
  if seconds < 10 then
    return ('%.1f s'):format(math.floor(seconds * 10) / 10)
  end
  seconds = math.floor(seconds)
  return seconds < 60 and ('%d s'):format(seconds) or ('%d min %d s'):format(math.floor(seconds / 60), seconds % 60)
end

KINDS['turn-end'] = function(block)
  local spent = {}
  if block.durationMs then
    table.insert(spent, lasted(block.durationMs))
  end
  if block.inputTokens and block.outputTokens then
    table.insert(spent, ('%d tokens read, %d written'):format(block.inputTokens, block.outputTokens))
  elseif block.totalTokens then
    table.insert(spent, ('%d tokens'):format(block.totalTokens))
  end
  if block.cost then
    table.insert(spent, notices_of.amount(block.cost.amount) .. ' ' .. one_line(block.cost.currency))
  end
  local how = block.text and ('✗ ' .. block.text) or ENDED[block.outcome] or ('? ' .. tostring(block.outcome))
  return marked('', #spent > 0 and ('%s (%s)'):format(how, table.concat(spent, ' · ')) or how)
end

function KINDS.notice(block)
  local text = notices_of.of_remedy(notices_of.round(block.text))
  return vim.list_extend(marked((LEVEL_MARK[block.level] or 'ℹ') .. ' ', text), remedy.lines(block))
end

function KINDS.unknown(block)
  return folded(block.type, split(block.preview))
end

--- The lines of one block. A kind of a later version is shown by its name and text.
---@param block breadboard.Block
---@return string[]
---@return table<integer, breadboard.Stretch[]> coloured by line, from 1
function M.block(block)
  local lines, coloured = (KINDS[block.kind] or function(unknown)
    return folded(unknown.kind, split(unknown.text))
  end)(block)
  for at, line in ipairs(lines) do
    -- A line of a buffer holds no line end; Neovim would refuse the whole.
    lines[at] = line:gsub('\n', ' ')
  end
  return lines, coloured or {}
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
  if vim.startswith(line, '⊘ ') or vim.startswith(line, ENDED.done) then
    return 'BreadBoardHead'
  end
end

---@class breadboard.Drawing
---@field lines string[]
---@field owners table<integer, breadboard.Block> the block of each line, from 1
---@field beside table<integer, string> what stands beside a line and is no text of it, from 1
---@field coloured table<integer, breadboard.Stretch[]> what is coloured of a line, from 1
---@field waits? integer seconds until what failed last can be sent again

---@type table<breadboard.Block, { lines: string[], coloured: table<integer, breadboard.Stretch[]> }>
local drawn = setmetatable({}, { __mode = 'k' }) -- by identity: a block that changes is a new table

---@param block breadboard.Block
local function cached(block)
  if not drawn[block] then
    local lines, coloured = M.block(block)
    drawn[block] = { lines = lines, coloured = coloured }
  end
  return drawn[block].lines, drawn[block].coloured
end

local FOLDS = { reasoning = true, tool = true, patch = true, unknown = true }

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
---@param last? string what stands below all
---@param now? integer milliseconds since 1970; without them nothing counts down
---@param origin? { sessionId: string, title?: string, before?: string } the session that this one began with
---@return breadboard.Drawing
function M.lane(lane, notices, last, now, origin)
  local lines, owners, beside, coloured = {}, {}, {}, {}
  local waiting, waits
  if now then
    waiting, waits = remedy.waits(lane.blocks, now)
  end
  local heads = {} ---@type table<integer, integer> the first line of each prompt, by the seq of its event
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
  if origin and not lane.hasMore then
    local how = origin.before and 'Branch of' or 'Continues'
    local text = ('ℹ %s “%s”: <CR> here, or :BreadBoard origin, leads there'):format(how, one_line(origin.title or 'another session'))
    add({ text }, 'origin', { id = 'origin', kind = 'origin', sessionId = origin.sessionId })
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
    local head = block.kind == 'turn-start' and heads[block.seq]
    if head then
      -- Beside the prompt that it answers: no line of its own.
      beside[head] = M.turn_start(block)
    else
      local shown, colours_of = cached(block)
      add(shown, block.kind, block)
      for at, stretches in pairs(colours_of) do
        coloured[#lines - #shown + at] = stretches
      end
    end
    if block == waiting then
      beside[#lines] = waits < 120 and ('%d s left'):format(waits) or ('%d min left'):format(math.ceil(waits / 60))
    end
    if block.kind == 'user' then
      heads[block.seq] = #lines - #(cached(block)) + 1
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
  return { lines = lines, owners = owners, beside = beside, coloured = coloured, waits = waits }
end

return M
