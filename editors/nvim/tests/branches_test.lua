--- Sessions that begin with the conversation of another one, and pinned ones, with the real server and a simulated agent.

local harness = require('harness')
local stage = require('stage')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

local ECHO = [[ {"prompts": [{"when": "", "steps": [{"say": "I read: ${prompt}"}]}]} ]]
local SECOND = [[ {"prompts": [{"when": "", "steps": [{"say": "second: ${prompt}"}]}]} ]]

local function prompt_window(s, text)
  return await('the prompt window', function()
    local buffer = require('breadboard.prompt').buffer()
    return buffer and table.concat(s:lines(buffer), '\n') == text and buffer
  end)
end

test('a changed prompt begins a branch: the old session stays, and a line at the top leads back to it', function()
  stage.play(ECHO, function(s)
    local store = require('breadboard.store')
    vim.cmd('BreadBoard ask where is it?')
    s:sees('I read: where is it?')
    s:idle()
    vim.cmd('BreadBoard ask make it 5')
    s:sees('I read: make it 5\n\n✓ Done')
    s:idle()
    local original, before = store.active, s:shown()
    -- When the second prompt is changed, under the cursor
    s:go_to_line('make it 5')
    vim.cmd('BreadBoard edit')
    local buffer = prompt_window(s, 'make it 5')
    check(require('breadboard.prompt').bar():find('Begins a branch', 1, true))
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { 'make it 7' })
    require('breadboard.prompt').send()
    -- Then it is asked in a session of its own, behind what was said before
    s:sees('## You\nmake it 7')
    s:sees('I read: make it 7')
    s:idle()
    check(store.active ~= original)
    local shown = s:shown()
    check(vim.startswith(shown, 'ℹ Branch of “where is it?”: <CR> here'), shown)
    check(shown:find('I read: where is it?', 1, true), shown)
    check(shown:find('This session is a branch of “where is it?”, from before the prompt “make it 5”.', 1, true), shown)
    check(not shown:find('I read: make it 5', 1, true), shown)
    -- The agent has our record of it
    check(shown:find('Agent: I read: where is it?', 1, true), shown)
    same(store.summary(store.active).title, 'Branch: make it 7')
    same(table.concat(s:lines(buffer)), '')
    same(require('breadboard.prompt').bar(), '')
    -- And back by the line at the top
    s:go_to_line('Branch of')
    s:press('<CR>')
    await('the original', function()
      return store.active == original
    end)
    same(s:shown(), before)
  end)
end)

test('a session goes on with another agent from a list, and again with the engine of the settings', function()
  stage.play(ECHO, function(s)
    local store = require('breadboard.store')
    require('breadboard.config').current.agents = { second = s:agent(SECOND) }
    vim.cmd('BreadBoard ask where is it?')
    s:sees('I read: where is it?')
    s:idle()
    s.pick = function(items)
      return items[2]
    end
    vim.cmd('BreadBoard continuewith')
    s:sees('This session continues “where is it?” with second.')
    same(s.asked[1].prompt, 'Continue "where is it?" with')
    same(s.asked[1].shown, { 'the engine of the settings (acp)', 'second' })
    same(store.summary(store.active).agent, 'second')
    vim.cmd('BreadBoard ask and then?')
    s:sees('second: and then?')
    s:sees('User: where is it?')
    s:idle()
    s.pick = function(items)
      return items[1]
    end
    vim.cmd('BreadBoard continuewith')
    s:sees('This session continues “Continued: where is it?” with')
    vim.cmd('BreadBoard origin')
    await('the one before', function()
      return store.summary(store.active).agent == 'second'
    end)
  end)
end)

test('a pinned session stands first in the list, until it is pinned no more', function()
  stage.play(ECHO, function(s)
    local store = require('breadboard.store')
    vim.cmd('BreadBoard ask first')
    s:sees('I read: first')
    s:idle()
    local first = store.active
    vim.cmd('BreadBoard new')
    await('a new session', function()
      return store.active ~= first
    end)
    vim.cmd('BreadBoard ask second')
    s:sees('I read: second')
    s:idle()
    vim.cmd('BreadBoard pin ' .. first)
    await('the pin', function()
      return store.sessions[1].sessionId == first and store.sessions[1].pinned
    end)
    s.pick = function() end
    vim.cmd('BreadBoard sessions')
    same(s.asked[1].shown, { '  first (idle, breadboard-ls, pinned)', '* second (idle, breadboard-ls)' })
    vim.cmd('BreadBoard pin ' .. first)
    await('no pin', function()
      return store.sessions[1].sessionId ~= first and not store.sessions[2].pinned
    end)
  end)
end)
