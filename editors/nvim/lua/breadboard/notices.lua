--- The sentences for what went wrong between engine, server and editor. Pure.

local M = {}

---@param resume { verdict: string, events?: integer, from?: integer, to?: integer, reason?: string }
---@return string? level nothing to say when absent
---@return string? text
function M.of_resume(resume)
  local range = ''
  if resume.from and resume.to then
    range = (' (events %d to %d)'):format(resume.from, resume.to)
  elseif resume.from then
    range = (' (from event %d)'):format(resume.from)
  end
  local reason = resume.reason and (' ' .. resume.reason) or ''
  if resume.verdict == 'lost' then
    return 'warning', 'A part of this session is lost' .. range .. '.' .. reason
  end
  if resume.verdict == 'resynced' then
    return 'info', 'Nothing is missing; the whole history was read again' .. range .. '.' .. reason
  end
end

---@param params { status: string, retryCount?: integer, lastError?: string, gapDetected?: boolean, resume?: table }
---@return string? level
---@return string? text
function M.of_connection(params)
  if params.resume then
    local level, text = M.of_resume(params.resume)
    if level then
      return level, text
    end
  end
  if params.gapDetected then
    return 'warning', 'Events of the engine are missing; what is shown may have a gap.'
  end
  if params.status == 'error' then
    return 'error', 'The engine does not answer: ' .. (params.lastError or 'no reason was given')
  end
end

--- What somebody does about a failure, in the words of this plugin: it keeps no tokens, and addresses are its settings.
---@param text string
---@return string
function M.of_remedy(text)
  text = text:gsub(
    'in your editor, or in the environment variable ([%u_]+)',
    'in the environment variable %1 and start Neovim again'
  )
  text = text:gsub('begin a new session%.$', 'begin a new session (:BreadBoard new).')
  -- The last part is what to do; `whoever runs it, or correct …` is one too.
  local remedy = (text:match('; ([^;]+)%.$') or ''):gsub('^.*, or correct ', 'correct ')
  local verb = remedy:match('^%a+')
  local is_setting = verb == 'correct' or verb == 'check' or verb == 'give'
  if is_setting and remedy:find('address', 1, true) and not remedy:find(':help', 1, true) then
    local setting = text:find('model', 1, true) and 'model' or 'engine'
    text = ('%s (the setting `%s`, :help breadboard-settings).'):format(text:sub(1, -2), setting)
  end
  return text
end

--- How a model is chosen here, where an answer ends with the sentence that one is wanted.
---@param text string
---@return string
function M.of_model(text)
  local wanted = 'To get answers from a model, choose one. Until then each answer is what searching finds.\n'
  if text:sub(-#wanted) ~= wanted then
    return text
  end
  local named = wanted:gsub('choose one', 'choose one (:BreadBoard model)')
  return text:sub(1, -#wanted - 1) .. named
end

--- A number with more decimals than a person reads is rounded to four.
---@param text string
---@return string
function M.round(text)
  return (
    text:gsub('%d+%.%d%d%d%d%d+', function(number)
      return (('%.4f'):format(number):gsub('0+$', ''):gsub('%.$', ''))
    end)
  )
end

--- An amount of money in the words of the server.
---@param amount number
---@return string
function M.amount(amount)
  if amount > 0 and amount < 0.0001 then
    return 'less than 0.0001'
  end
  return (('%.4f'):format(amount):gsub('0+$', ''):gsub('%.$', ''))
end

M.HELD = '⚠ Another window works on this session, so it can only be read here until its turn is over; '
  .. ':BreadBoard take stops it there and goes on here.'

---@param code integer
---@param signal integer
---@param cut boolean whether a turn of the session ran
---@return string
function M.of_exit(code, signal, cut)
  local how = signal ~= 0 and ('signal %d'):format(signal) or ('exit code %d'):format(code)
  return ('The server has ended (%s)%s. Nothing that it had stored is lost; :BreadBoard restart starts it again.'):format(
    how,
    cut and ' while this turn ran, so the answer above is cut' or ''
  )
end

return M
