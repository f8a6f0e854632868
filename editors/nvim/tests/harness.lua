--- The smallest test runner: named tests in order, waits on conditions, a count at the end. Knows no plugin.

local M = {}

--- What the server or Neovim may owe a test, in milliseconds; test machines are busy.
M.PATIENCE = 20000

---@type { name: string, run: fun() }[]
local tests = {}

---@param name string
---@param run fun()
function M.test(name, run)
  table.insert(tests, { name = name, run = run })
end

local function show(value)
  return type(value) == 'string' and value or (vim.inspect(value):gsub('%s+', ' '))
end

---@param holds any
---@param what string
function M.check(holds, what)
  if not holds then
    error(what, 2)
  end
end

---@param actual any
---@param expected any
---@param what? string
function M.same(actual, expected, what)
  if not vim.deep_equal(actual, expected) then
    error(('%s\n  got  %s\n  want %s'):format(what or 'not the same', show(actual), show(expected)), 2)
  end
end

--- What an approval window shows above its answers and their keys.
---@param lines string[]
---@return string[]
function M.without_answers(lines)
  local last = #lines
  while last > 0 and lines[last]:find('^%[[%w ]%] ') do
    last = last - 1
  end
  return vim.list_slice(lines, 1, last < #lines and last - 1 or last) -- an empty line stands between
end

--- Runs the event loop until `look` gives something, and gives that.
---@generic T
---@param what string
---@param look fun(): T?
---@return T
function M.await(what, look)
  local found
  vim.wait(M.PATIENCE, function()
    found = look()
    return found and true or false
  end, 2)
  if not found then
    error(('waited %d s for %s'):format(M.PATIENCE / 1000, what), 2)
  end
  return found
end

--- Runs every test; the process ends with 0 only when all passed.
function M.run()
  local failed = 0
  for _, test in ipairs(tests) do
    local begun = vim.uv.hrtime()
    local ok, problem = xpcall(test.run, function(err)
      return debug.traceback(tostring(err), 2)
    end)
    local took = (vim.uv.hrtime() - begun) / 1e6
    io.stdout:write(('%s %s (%d ms)\n'):format(ok and 'ok    ' or 'FAILED', test.name, took))
    if not ok then
      failed = failed + 1
      io.stdout:write('  ' .. problem:gsub('\n', '\n  ') .. '\n')
    end
    io.stdout:flush()
  end
  io.stdout:write(('%d passed, %d failed\n'):format(#tests - failed, failed))
  io.stdout:flush()
  vim.cmd(failed == 0 and #tests > 0 and 'qall!' or 'cquit 1')
end

return M
