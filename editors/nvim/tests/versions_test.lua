--- Servers of other releases: an older one, which lacks what came late, a newer one, which says what nobody knows yet, and one of
--- another version of the protocol. Each is the real server behind `tests/clients/other_version.mjs`.

local harness = require('harness')
local stage = require('stage')

local check, same, test = harness.check, harness.same, harness.test
local binary = assert(os.getenv('BB_SERVER'), 'set BB_SERVER to the breadboard-ls binary')
local node = vim.fn.exepath('node')
local stand_in = vim.g.breadboard_checkout .. '/tests/clients/other_version.mjs'

--- Plays a story with the server as one of another release.
local function with(release, story)
  if node == '' then
    io.stdout:write('       (left out: there is no node to stand in for a server of another release)\n')
    return
  end
  stage.play('{"prompts": []}', function(s)
    s:write('src/lib.rs', { 'pub fn retries() -> u32 {', '    3', '}' })
    require('breadboard').setup({
      cmd = { node, stand_in, release, binary, '--stdio' },
      state_dir = s.state,
      root = s.workspace,
      trusted = true,
    })
    vim.v.errmsg = ''
    story(s)
    same(vim.v.errmsg, '')
  end)
end

--- A question and an edit: what everybody does. `label`: how the edit is answered; the first answer where it is absent.
local function usual(s, label)
  vim.cmd('BreadBoard ask where is the number of retries?')
  s:sees('src/lib.rs:1')
  s:idle()
  vim.cmd('BreadBoard ask replace `retries` with `attempts` in src/lib.rs')
  s:ask()
  s.pick = function(items)
    local wanted = vim.tbl_filter(function(option)
      return option.label == label
    end, items)
    return label and wanted[1] or items[1]
  end
  vim.cmd('BreadBoard approve')
  s:press('<CR>')
  s:sees('Replaced with `attempts`')
  -- In its buffer: an older server does not ask for it to be saved.
  same(s:lines(vim.fn.bufnr(s:path('src/lib.rs')))[1], 'pub fn attempts() -> u32 {')
end

test('an older server is used as far as it goes, and what it lacks is a sentence', function()
  with('older', function(s)
    usual(s)
    vim.cmd('BreadBoard changes')
    s:sees('This server does not tell what a turn changed; update it.')
    vim.cmd('BreadBoard pin')
    s:sees('There is no method `bb/session/pin`; update the server.')
  end)
end)

test('of a newer server nothing is lost, and what nobody knows yet does no harm', function()
  with('newer', function(s)
    -- With an answer that no plugin of this release knows.
    usual(s, 'Allow on Sundays')
    -- A block of a kind that the plugin does not know stands there as a text that is folded.
    check(s:shown():find('▸ hologram\n  │ seen from the side', 1, true), s:shown())
    s:idle()
    -- And words for how something stands: as they were said.
    for _, said in ipairs({ 'Weave a carpet', 'Somebody may listen.', 'Cast a spell', 'excused', 'postponed' }) do
      check(s:shown():find(said, 1, true), said .. ' is missing in\n' .. s:shown())
    end
  end)
end)

test('a server of another version of the protocol is refused with what to do, and ends', function()
  for release, said in pairs({
    broken = 'speaks version 2 of the protocol and this plugin version 1; update the plugin.',
    ancient = 'speaks version 0 of the protocol and this plugin version 1; update breadboard-ls.',
  }) do
    with(release, function(s)
      vim.cmd('BreadBoard ask hello')
      s:hears(said)
      harness.await('the end of the server', function()
        return not require('breadboard.client').running()
      end)
    end)
  end
end)
