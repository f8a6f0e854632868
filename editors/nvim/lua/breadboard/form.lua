--- A form that an agent asks for: its fields, one question for each, and what was filled in. Never sends it.

local visible = require('breadboard.visible')

local M = {}

---@class breadboard.Field
---@field name string
---@field required boolean
---@field schema table

local KINDS = { string = true, number = true, integer = true, boolean = true }

--- The fields of a flat object: those that must be filled in first, in the order that the schema gives them.
---@param schema table
---@return breadboard.Field[]
function M.fields(schema)
  local properties, fields, seen = schema.properties or {}, {}, {}
  for _, name in ipairs(schema.required or {}) do
    if properties[name] and not seen[name] then
      seen[name] = true
      table.insert(fields, { name = name, required = true, schema = properties[name] })
    end
  end
  local others = vim.tbl_filter(function(name)
    return not seen[name]
  end, vim.tbl_keys(properties))
  table.sort(others)
  for _, name in ipairs(others) do
    table.insert(fields, { name = name, required = false, schema = properties[name] })
  end
  return fields
end

--- What a field is called.
---@param field breadboard.Field
---@return string
function M.label(field)
  local name = field.schema.title or visible.of(field.name)
  local about = field.schema.description and (': ' .. field.schema.description) or ''
  local label = name .. about .. (field.required and '' or ' (may be left out)')
  return (label:gsub('%s*\n%s*', ' '))
end

--- The values that a field can have, where it names them.
---@param schema table
---@return { value: any, label: string }[]?
local function choices(schema)
  local found = {}
  if schema.type == 'boolean' then
    return { { value = true, label = 'Yes' }, { value = false, label = 'No' } }
  elseif schema.enum then
    local names = schema.enumNames or {}
    for at, value in ipairs(schema.enum) do
      table.insert(found, { value = value, label = visible.of(tostring(names[at] or value)) })
    end
    return found
  elseif schema.oneOf then
    for _, one in ipairs(schema.oneOf) do
      -- Titles have their marks already.
      table.insert(found, { value = one.const, label = one.title or visible.of(tostring(one.const)) })
    end
    return found
  end
end

--- Why this form cannot be filled in here; nil: it can.
---@param schema table
---@return string?
function M.refusal(schema)
  for _, field in ipairs(M.fields(schema)) do
    local options = choices(field.schema)
    if options and #options == 0 or not options and not KINDS[field.schema.type] then
      return ('This form asks for `%s`, which cannot be filled in here.'):format(visible.of(field.name))
    end
  end
end

--- What was typed as a value of the field, or why it is none.
---@param field breadboard.Field
---@param text string
---@return any value
---@return string? problem
function M.read(field, text)
  local schema = field.schema
  if schema.type == 'string' then
    local length = vim.fn.strchars(text)
    if length < (schema.minLength or 0) then
      return nil, ('at least %d characters'):format(schema.minLength)
    elseif length > (schema.maxLength or math.huge) then
      return nil, ('at most %d characters'):format(schema.maxLength)
    end
    return text
  end
  local number = tonumber(vim.trim(text))
  if not number or number ~= number or math.abs(number) == math.huge then
    return nil, 'a number'
  elseif schema.type == 'integer' and number % 1 ~= 0 then
    return nil, 'a whole number'
  elseif number < (schema.minimum or -math.huge) then
    return nil, ('%s or more'):format(schema.minimum)
  elseif number > (schema.maximum or math.huge) then
    return nil, ('%s or less'):format(schema.maximum)
  end
  return number
end

---@param field breadboard.Field
---@param callback fun(filled?: boolean, value: any) `filled` is nil when the question was left
local function ask_choice(field, options, callback)
  if not field.required then
    options = vim.list_extend({}, options)
    table.insert(options, { label = '(leave out)', left_out = true })
  end
  vim.ui.select(options, {
    prompt = M.label(field),
    kind = 'breadboard_form',
    format_item = function(option)
      return option.label
    end,
  }, function(option)
    if option then
      callback(not option.left_out, option.value)
    else
      callback()
    end
  end)
end

---@param field breadboard.Field
---@param callback fun(filled?: boolean, value: any) `filled` is nil when the question was left
---@param problem? string
---@param typed? string
local function ask_text(field, callback, problem, typed)
  local given = field.schema.default
  local default = typed or given ~= nil and tostring(given) or nil
  vim.ui.input({
    prompt = M.label(field) .. (problem and (' [' .. problem .. ']') or '') .. ': ',
    -- A default with characters that are not seen would be sent unread.
    default = default and visible.of(default) == default and default or nil,
  }, function(text)
    if not text then
      callback()
      return
    end
    if text == '' and not field.required then
      callback(false)
      return
    end
    local value, wrong = M.read(field, text)
    if wrong then
      ask_text(field, callback, wrong, text)
    else
      callback(true, value)
    end
  end)
end

--- Asks for one field after the other. Leaving any question ends it without an answer.
---@param schema table
---@param callback fun(content?: table) nil when a question was left
function M.ask(schema, callback)
  local fields, content = M.fields(schema), vim.empty_dict()
  local function next_field(at)
    local field = fields[at]
    if not field then
      callback(content)
      return
    end
    local function take(filled, value)
      if filled == nil then
        callback(nil)
        return
      elseif filled then
        content[field.name] = value
      end
      next_field(at + 1)
    end
    local options = choices(field.schema)
    if options then
      ask_choice(field, options, take)
    else
      ask_text(field, take)
    end
  end
  next_field(1)
end

return M
