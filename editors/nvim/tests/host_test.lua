--- A host with the real server on both ends: paired with by its code, its token in a file, and a turn that runs there.

local harness = require('harness')
local stage = require('stage')

local await, check, same, test = harness.await, harness.check, harness.same, harness.test
local binary = assert(os.getenv('BB_SERVER'), 'set BB_SERVER to the breadboard-ls binary')

--- Starts a host of this folder; its address and its pairing code, and what ends it.
local function host_of(s)
  local said = ''
  local words = { binary, 'engine', '--listen=127.0.0.1:0', '--pair', '--trust' }
  vim.list_extend(words, { '--workspace', s.workspace, '--state-dir', s.state .. '-host' })
  local process = vim.system(words, {
    stderr = function(_, piece)
      said = said .. (piece or '')
    end,
  })
  local code = await('the pairing code', function()
    return said:match('Pairing code: (%S+)')
  end)
  return said:match('Listening on (%S+);'), code, process
end

test('a host is paired with by its code, and the turns run there with the token of a file', function()
  stage.play('{"prompts": []}', function(s)
    s:write('retry.lua', { 'local retry_delay = 3' })
    local url, code, process = host_of(s)
    local file = s.state .. '-token'
    local paired = vim.system({ binary, 'pair', url, '--token-file', file }, { stdin = code .. '\n' }):wait()
    same(paired.code, 0, paired.stderr)
    require('breadboard').setup({
      cmd = { binary, '--stdio' },
      engine = { kind = 'desktop', url = url },
      token_file = file,
      state_dir = s.state,
      root = s.workspace,
      trusted = true,
    })
    vim.cmd('BreadBoard ask where is the retry_delay')
    s:sees('retry.lua')
    s:idle()
    local problems = vim.tbl_filter(function(text)
      return text:find('token', 1, true) ~= nil
    end, s.said)
    same(problems, {})
    process:kill('sigterm')
    process:wait()
  end)
end)

test('a token file that gives no token is said with what writes one', function()
  stage.play('{"prompts": []}', function(s)
    require('breadboard').setup({
      cmd = { binary, '--stdio' },
      token_file = s.state .. '-nowhere',
      state_dir = s.state,
      root = s.workspace,
    })
    vim.cmd('BreadBoard ask hello')
    s:hears('breadboard-ls pair --token-file')
    s:idle()
    check(true)
  end)
end)
