--- What a permission would do, as lines: all of it for whoever decides, a few for the chat. Pure. What the server gives
--- out is safe to show; names and values of a form are not, since they are given back, and pass `visible`.

local form = require('breadboard.form')

local M = {}

local CHANGES = { modify = 'change', create = 'new file', delete = 'delete', rename = 'rename' }
local UNKNOWN = 'The agent did not tell exactly what it would do, so it can be allowed once only.'
--- Files that the chat names.
local NAMED = 5
--- Characters of one line in the chat.
local SHORT = 160

---@param text string
---@return string[]
local function split(text)
  return vim.split((text:gsub('\n+$', '')), '\n', { plain = true })
end

--- Adds `name: text`. Further lines stand indented, so that none of them passes for one of ours.
---@param lines string[]
---@param name string
---@param text string
local function add(lines, name, text)
  local parts = vim.split(text, '\n', { plain = true })
  lines[#lines + 1] = name .. ': ' .. parts[1]
  local indent = name:match('^ *') .. '  '
  for at = 2, #parts do
    lines[#lines + 1] = indent .. parts[at]
  end
end

--- JSON with its keys in order and without `\/`, which is what `vim.json.encode` makes of a path.
---@param value any
---@return string
local function compact(value)
  if type(value) ~= 'table' then
    return (vim.json.encode(value):gsub('\\(.)', { ['/'] = '/' }))
  end
  local parts = {}
  if vim.islist(value) and next(value) ~= nil then
    for at, item in ipairs(value) do
      parts[at] = compact(item)
    end
    return '[' .. table.concat(parts, ',') .. ']'
  end
  local names = vim.tbl_keys(value)
  if #names == 0 then
    return vim.json.encode(value)
  end
  table.sort(names)
  for at, name in ipairs(names) do
    parts[at] = compact(name) .. ':' .. compact(value[name])
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

---@param value any
---@return string
local function said(value)
  return type(value) == 'string' and value or compact(value)
end

---@param input any
---@return boolean
local function is_empty(input)
  return input == nil or type(input) == 'table' and next(input) == nil
end

--- Each field of an object with its value, in the order of the names.
---@param fields table
---@return fun(): string?, string?
local function each(fields)
  local names = vim.tbl_keys(fields)
  table.sort(names)
  local at = 0
  return function()
    at = at + 1
    if names[at] then
      return names[at], said(fields[names[at]])
    end
  end
end

---@param file table
---@return string
local function file_line(file)
  local root = file.root and (file.root .. ': ') or ''
  local from = file.oldPath and (file.oldPath .. ' → ') or ''
  local added = file.added and (' +%d'):format(file.added) or ''
  local removed = file.removed and (' −%d'):format(file.removed) or ''
  return ('%s %s%s%s%s%s'):format(CHANGES[file.change] or file.change, root, from, file.filePath, added, removed)
end

---@type table<string, fun(lines: string[], subject: table, title: string)>
local WHOLE = {}

function WHOLE.edit(lines, subject)
  for _, file in ipairs(subject.files) do
    vim.list_extend(lines, { '', file_line(file) })
    vim.list_extend(lines, file.diff and split(file.diff) or {})
    if file.truncated then
      lines[#lines + 1] = '(the diff of this file is cut)'
    end
  end
end

function WHOLE.command(lines, subject)
  lines[#lines + 1] = ''
  add(lines, 'command', subject.command)
  add(lines, 'in', subject.cwd)
  for name, value in each(subject.env or {}) do
    add(lines, 'with', name .. '=' .. value)
  end
end

function WHOLE.tool(lines, subject)
  lines[#lines + 1] = ''
  add(lines, 'tool', subject.name)
  local input = subject.input
  if type(input) == 'table' and not vim.islist(input) then
    for name, value in each(input) do
      add(lines, '  ' .. name, value)
    end
  elseif not is_empty(input) then
    add(lines, '  with', said(input))
  end
end

function WHOLE.question(lines, subject, title)
  if subject.text ~= title then
    lines[#lines + 1] = ''
    add(lines, 'question', subject.text)
  end
  local input = subject.input or {}
  if input.url then
    vim.list_extend(lines, { '', 'address: ' .. input.url, '(it is not opened; visit it yourself if you want to)' })
  end
  for _, field in ipairs(input.schema and form.fields(input.schema) or {}) do
    add(lines, 'asks for', form.label(field))
  end
end

--- All that an answer covers.
---@param permission table
---@return string[]
function M.whole(permission)
  local subject, lines = permission.subject, split(permission.title)
  if subject.reason then
    add(lines, 'why', subject.reason)
  end
  if subject.unknown then
    lines[#lines + 1] = UNKNOWN
  end
  if subject.truncated then
    lines[#lines + 1] = 'This is not all of it.'
  end
  local draw = WHOLE[subject.kind]
  if draw then
    draw(lines, subject, permission.title)
  end
  return lines
end

--- Why it cannot be shown, and so not be allowed; nil: it can.
---@param permission table
---@return string?
function M.refusal(permission)
  local kind = permission.subject.kind
  return not WHOLE[kind] and ('It can only be denied: this plugin cannot show what is a `%s`.'):format(kind) or nil
end

---@type table<string, fun(lines: string[], subject: table, title: string)>
local BRIEF = {}

function BRIEF.edit(lines, subject)
  for at = 1, math.min(#subject.files, NAMED) do
    lines[#lines + 1] = file_line(subject.files[at])
  end
  if #subject.files > NAMED then
    lines[#lines + 1] = ('and %d more'):format(#subject.files - NAMED)
  end
end

function BRIEF.command(lines, subject, title)
  if not title:find(subject.command, 1, true) then
    lines[#lines + 1] = 'command: ' .. subject.command
  end
  lines[#lines + 1] = 'in: ' .. subject.cwd
  for name, value in each(subject.env or {}) do
    lines[#lines + 1] = ('with: %s=%s'):format(name, value)
  end
end

function BRIEF.tool(lines, subject)
  local input = subject.input
  lines[#lines + 1] = 'tool: ' .. subject.name .. (is_empty(input) and '' or ' ' .. said(input))
end

function BRIEF.question(lines, subject, title)
  if subject.text ~= title then
    lines[#lines + 1] = subject.text
  end
  if subject.input and subject.input.url then
    lines[#lines + 1] = 'address: ' .. subject.input.url
  end
end

--- What the chat shows of a permission that waits, below its title.
---@param permission table
---@return string[]
function M.brief(permission)
  local subject, lines = permission.subject, {}
  local draw = BRIEF[subject.kind]
  if draw then
    draw(lines, subject, permission.title)
  end
  for at, line in ipairs(lines) do
    line = line:gsub('%s*\n%s*', ' ⏎ ')
    if vim.fn.strchars(line) > SHORT then
      line = vim.fn.strcharpart(line, 0, SHORT) .. '…'
    end
    lines[at] = line
  end
  if subject.unknown then
    lines[#lines + 1] = UNKNOWN
  end
  return lines
end

local KNOWN = { allow_once = true, allow_rule = true, deny = true, by_change = true, in_file = true }

--- Whether this plugin knows what an option does.
---@param option table
---@return boolean
function M.known(option)
  return KNOWN[option.kind] == true
end

--- What an answer is called, with the rule that it would save and who would keep it.
---@param option table
---@return string
function M.option(option)
  local rule = option.rule
  if not M.known(option) then
    return ('%s (this plugin does not know what it does)'):format(option.label)
  elseif not rule then
    return option.label
  end
  -- An agent names its rule by what its option says, and a long label is cut.
  if rule.holder == 'agent' and option.label:find('⟨… %d+ more characters') then
    return ('%s (kept by the agent)'):format(rule.pattern)
  end
  local about = rule.pattern ~= option.label and { rule.pattern } or {}
  if rule.holder ~= 'server' then
    table.insert(about, 'kept by the ' .. rule.holder .. (rule.keptIn and ' in ' .. rule.keptIn or ''))
  end
  return #about > 0 and ('%s (%s)'):format(option.label, table.concat(about, '; ')) or option.label
end

return M
