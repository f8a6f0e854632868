--- A real agent that edits and runs, in a real Neovim with the plugin: it asks once, shows the whole, and obeys; what it wrote is
--- what the buffer shows.
--- Needs BB_SERVER, BB_HOME, BB_PLUGIN (the folder of the plugin), BB_AGENT and BB_ENGINE (its name, and the setting as JSON).

local function env(name)
  return (assert(os.getenv(name), 'set ' .. name))
end

vim.opt.runtimepath:prepend(env('BB_PLUGIN'))
package.path = env('BB_PLUGIN') .. '/tests/?.lua;' .. package.path
vim.cmd('runtime plugin/breadboard.lua')
vim.o.columns, vim.o.lines = 160, 50

local harness = require('harness')
local stage = require('stage')

local check, same = harness.check, harness.same
harness.PATIENCE = tonumber(os.getenv('BB_PATIENCE_MS') or '90000')

local AGENT = env('BB_AGENT')
local BEFORE = { 'Hello, world', 'second line' }
local AFTER = { 'Hello, breadboard', 'second line' }

local function asks()
  local store = require('breadboard.store')
  return vim.tbl_filter(function(block)
    return block.kind == 'permission'
  end, store.views[store.active].lanes.chat.blocks)
end

--- The key that the window of an approval has for the first answer of this kind.
local function key_of(kind, ask, lines)
  for _, option in ipairs(ask.permission.options) do
    if option.kind == kind then
      for _, line in ipairs(lines) do
        local key, label = line:match('^%[(%w)%] (.*)$')
        if label == option.label then
          return key
        end
      end
    end
  end
  error('no key for ' .. kind .. ' in ' .. vim.inspect(lines))
end

--- One turn: what its approval shows, and how it stands after an answer of this kind.
local function turn(s, scenario, kind)
  local sofar = require('breadboard.store').active and #asks() or 0
  vim.cmd(('BreadBoard ask SCENARIO:%s in %s'):format(scenario, s.workspace))
  local ask = s:ask()
  same(s:read('hello.txt'), BEFORE, 'nothing is written before the answer')
  check(vim.fn.filereadable(s:path('made.txt')) == 0, 'nothing runs before the answer')
  vim.cmd('BreadBoard approve')
  local lines = s:lines(0)
  s:press(key_of(kind, ask, lines))
  s:idle()
  same(#asks(), sofar + 1, 'it is asked once')
  return harness.without_answers(lines), asks()[sofar + 1].status
end

harness.test(AGENT .. ' in Neovim asks for one edit and one command, shows each whole, and obeys', function()
  stage.play('[]', function(s)
    s:write('hello.txt', BEFORE)
    local buffer = s:edit('hello.txt')
    local change = { 'Edit hello.txt', '', 'change hello.txt +1 −1', '@@ -1,2 +1,2 @@', '-Hello, world' }
    vim.list_extend(change, { '+Hello, breadboard', ' second line' })
    local command = 'command: echo made >made.txt && echo it ran'

    for _, scenario in ipairs({ 'edit', 'run' }) do
      local shown, status = turn(s, scenario, 'deny')
      if scenario == 'edit' then
        same(shown, change)
      else
        check(vim.tbl_contains(shown, command), vim.inspect(shown))
      end
      same(status, 'denied')
      same(s:read('hello.txt'), BEFORE)
      check(vim.fn.filereadable(s:path('made.txt')) == 0, 'what is denied is not run')
    end

    local _, ran = turn(s, 'run', 'allow_once')
    same(ran, 'allowed')
    same(s:read('made.txt'), { 'made' })
    vim.fn.delete(s:path('made.txt'))

    local shown, edited = turn(s, 'edit', 'allow_once')
    same(shown, change)
    same(edited, 'allowed')
    same(s:read('hello.txt'), AFTER)
    harness.await('the buffer to show it', function()
      return vim.deep_equal(s:lines(buffer), AFTER)
    end)
    check(not vim.bo[buffer].modified, 'the buffer is as the disk')
    s:sees('The greeting was changed.')
    io.stdout:write(s:shown() .. '\n')
  end, { engine = vim.json.decode(env('BB_ENGINE')) })
end)

harness.run()
