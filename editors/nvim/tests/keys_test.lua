--- One key answers an approval, by the options' own labels, with the real server.

local harness = require('harness')
local keys = require('breadboard.keys')
local stage = require('stage')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test

test('each label has a key of its own, a letter that it has, and none that moves around', function()
  local function of(labels, capital)
    return table.concat(keys.of(labels, capital), ' ')
  end
  local ours = { 'Allow once', 'Allow for this session', 'Always allow in this workspace', 'Deny' }
  same(of(ours, { false, true, true, false }), 'a A I d')
  same(of({ 'Allow', 'Always allow', 'Reject' }, { false, true, false }), 'a A r')
  same(of({ 'Yes', 'Yes, and do not ask again', 'No' }, { false, true, false }), 'y Y n')
  same(of({ 'Go', 'Go', 'Halt' }), 'o 1 a')
  same(of({ '允许', '拒绝' }), '1 2')
end)

local ASKS = [[ [
  {"tool_call": {"toolCallId": "c1", "title": "Edit a.txt", "kind": "edit", "status": "pending", "content": [
    {"type": "diff", "path": "WORKSPACE/a.txt", "oldText": "one\ntwo\n", "newText": "one\n2\n"}]}},
  {"ask": {"toolCall": {"toolCallId": "c1"}, "options": [
     {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
     {"optionId": "all", "name": "Yes, allow all edits during this session", "kind": "allow_always"},
     {"optionId": "no", "name": "No, and tell me what to do instead", "kind": "reject_once"}]},
   "on": {"yes": [{"say": "Once."}], "all": [{"say": "For ever."}], "else": [{"say": "Not at all."}]}}
] ]]

local THREE = ('{"prompts": [{"steps": %s}, {"steps": %s}, {"steps": %s}]}'):format(ASKS, ASKS, ASKS)

test('D14: one key answers, as the window says it; q leaves it waiting', function()
  stage.play(THREE, function(s)
    s:write('a.txt', { 'one', 'two' })
    vim.cmd('BreadBoard ask edit it')
    s:ask()
    vim.cmd('BreadBoard approve')
    local lines = s:lines(0)
    same(vim.list_slice(lines, 3), {
      'change a.txt +1 −1',
      '@@ -1,2 +1,2 @@',
      ' one',
      '-two',
      '+2',
      '',
      '[y] Yes',
      '[Y] Yes, allow all edits during this session (kept by the agent)',
      '[n] No, and tell me what to do instead',
      '[q] Leave it waiting',
    }, vim.inspect(lines))
    s:press('q')
    s:ask()
    check(vim.api.nvim_win_get_config(0).relative == '', 'the window is closed')
    vim.cmd('BreadBoard approve')
    s:press('y')
    s:sees('Once.')
    s:idle()

    vim.cmd('BreadBoard ask edit it')
    s:ask()
    vim.cmd('BreadBoard approve')
    s:press('n')
    s:sees('Not at all.')
    s:idle()
    same(s.asked, {}, 'no list was needed')
  end)
end)

test('with `popup` each ask is put through the list as it comes, and no key of the window answers', function()
  stage.play(THREE, function(s)
    s:write('a.txt', { 'one', 'two' })
    s.pick = function(items)
      check(vim.api.nvim_win_get_config(0).relative == '', 'the window is not entered')
      return items[1]
    end
    vim.cmd('BreadBoard ask edit it')
    s:sees('Once.')
    same(#s.asked, 1)
    check(vim.tbl_contains(s.asked[1].floats, '-two'), vim.inspect(s.asked))
    check(not table.concat(s.asked[1].floats):find('[y]', 1, true), vim.inspect(s.asked))
  end, { popup = true })
end)

test('D17: what an agent remembers is said to be its own, on its card and in the list', function()
  stage.play(THREE, function(s)
    s:write('a.txt', { 'one', 'two' })
    vim.cmd('BreadBoard ask edit it')
    s:ask()
    vim.cmd('BreadBoard approve')
    s:press('Y')
    s:sees('For ever.')
    s:sees('— allowed, and kept by breadboard-ls; take it back there')
    s:idle()
    s.pick = function(items)
      return items[1]
    end
    vim.cmd('BreadBoard rules')
    s:sees(
      'ℹ `Yes, allow all edits during this session` is kept by breadboard-ls and cannot be taken back here; take it back there.'
    )
  end)
end)

local LONG = [[ [
  {"ask": {"toolCall": {"toolCallId": "c1", "title": "Write long.txt", "kind": "edit", "content": [
    {"type": "diff", "path": "WORKSPACE/long.txt", "oldText": null, "newText": "TEXT"}]}},
   "on": {"allow_once": [{"say": "Written."}], "else": [{"say": "Refused."}]}}
] ]]

test('what does not fit must be read to its end before one key allows it', function()
  local text = ('line\\n'):rep(120)
  stage.play((LONG:gsub('TEXT', function()
    return text
  end)), function(s)
    vim.cmd('BreadBoard ask write it')
    s:ask()
    vim.cmd('BreadBoard approve')
    await('the window', function()
      return vim.api.nvim_win_get_config(0).relative ~= ''
    end)
    s:press('a')
    s:ask()
    check(vim.api.nvim_win_get_config(0).relative ~= '', 'it is still open')
    s:press('G')
    s:press('a')
    s:sees('Written.')
  end)
end)
