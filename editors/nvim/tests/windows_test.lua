--- Two turns at once, and a narrow Neovim, with the real server: what was found by looking at one on a terminal.

local harness = require('harness')
local stage = require('stage')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

local TURNS = [[ {"prompts": [
  {"when": "ask", "steps": [
    {"ask": {"toolCall": {"toolCallId": "c1", "title": "Edit a file with a rather long name in WORKSPACE/a.txt",
                          "kind": "execute", "rawInput": {"command": "make"}}},
     "on": {"allow_once": [{"say": "Made."}], "else": [{"say": "Not made."}]}}]},
  {"when": "long", "steps": [{"say": "It begins."}, {"wait": {"file": "WORKSPACE/go"}}, {"say": "It ends."}]},
  {"when": "paragraph", "steps": [{"repeat": 300, "steps": [{"chunk": "one more piece of it, "}]}, {"chunk": "the end."}]}
]} ]]

test(
  'two turns at once: what asks behind the session in front is said with its name, and answered from there',
  function()
    stage.play(TURNS, function(s)
      local store = require('breadboard.store')
      vim.cmd('BreadBoard ask ask me')
      s:ask()
      local asking = store.active
      s.said = {}
      vim.cmd('BreadBoard new')
      await('another session', function()
        return store.active ~= asking
      end)
      local front = store.active
      vim.cmd('BreadBoard ask long')
      s:sees('It begins.')
      await('both to run', function()
        return s:status() == 'running' and store.summary(asking).status == 'waiting'
      end)
      same(require('breadboard').statusline(), 'BB running ?1')
      vim.cmd('BreadBoard approve')
      check(vim.tbl_contains(s:lines(0), 'command: make'), vim.inspect(s:lines(0)))
      s:press('a')
      await('the answer behind', function()
        local lines = s:lines(require('breadboard.chat').of(asking).buffer)
        return vim.tbl_contains(lines, 'Made.')
      end)
      same(store.active, front, 'the session in front stays there')
      check(not s:shown():find('Made.', 1, true), 'nothing of the one comes into the other:\n' .. s:shown())
      vim.api.nvim_set_current_win((assert(require('breadboard.chat').window())))
      same(require('breadboard.chat').bar(), 'long · breadboard-ls · running')
      s:write('go', {})
      s:sees('It ends.')
      s:idle()

      -- And the other way round: it asks while another one is in front.
      vim.cmd('BreadBoard select ' .. asking)
      await('the first session', function()
        return store.active == asking
      end)
      vim.cmd('BreadBoard ask ask me again')
      s:ask()
      vim.cmd('BreadBoard select ' .. front)
      await('the second session', function()
        return store.active == front
      end)
      vim.cmd('BreadBoard ask ask me here too')
      s:ask()
      s.pick = function() end
      vim.cmd('BreadBoard approve')
      same(#s.asked[1].shown, 2)
      check(not s.asked[1].shown[1]:find('(session', 1, true), s.asked[1].shown[1])
      check(s.asked[1].shown[2]:find(' (session ask me)', 1, true), s.asked[1].shown[2])
    end)
  end
)

test(
  'in 44 columns the chat opens below, the end of a long paragraph is seen, and no message waits for Enter',
  function()
    local columns = vim.o.columns
    vim.o.columns = 44
    local ok, problem = pcall(stage.play, TURNS, function(s)
      s:write('a.txt', { 'one' })
      s:edit('a.txt')
      vim.cmd('BreadBoard ask paragraph')
      s:sees('the end.')
      s:idle()
      local window = assert(require('breadboard.chat').window())
      same(vim.api.nvim_win_get_width(window), 44)
      -- The end of the turn comes as a line of its own, and the window follows when it is drawn.
      await('the end of the paragraph on the screen', function()
        vim.cmd('redraw')
        local last = vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(window))
        local text = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), last - 1, last, false)[1]
        return vim.fn.screenpos(window, last, #text).row > 0
      end)

      vim.cmd('BreadBoard ask ask me')
      s:ask()
      s:hears('gent asks')
      vim.cmd('BreadBoard mode nonsense')
      s:sees('This agent')
      for _, text_said in ipairs(s.said) do
        check(vim.api.nvim_strwidth(text_said) <= vim.v.echospace, text_said)
      end

      vim.cmd('BreadBoard approve')
      vim.cmd('redraw')
      local position = vim.api.nvim_win_get_position(0)
      check(position[2] + vim.api.nvim_win_get_width(0) + 2 <= 44, vim.inspect(position))
      s:press('d')
      s:press('q')
    end)
    vim.o.columns = columns
    check(ok, tostring(problem))
  end
)
