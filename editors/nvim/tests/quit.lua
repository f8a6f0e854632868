--- `:qa` while a turn runs, for `run.sh`, which looks whether everything is gone then: Neovim ends at once, with 0.
--- Needs what `main.lua` needs; writes the number of the agent's process into BB_HOME/agent.

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
vim.cmd('runtime plugin/breadboard.lua')

local home, binary = assert(os.getenv('BB_HOME')), assert(os.getenv('BB_SERVER'))
local script = ([[ [{"write": "%s/agent", "content": "$pid"}, {"say": "Half of"}, {"wait": "cancel"}] ]]):format(home)
vim.fn.mkdir(home .. '/workspace', 'p')
require('breadboard').setup({
  cmd = { binary, '--stdio' },
  engine = { kind = 'acp', command = binary, args = { 'simulate', 'acp', '--script', script } },
  state_dir = home .. '/state',
  root = home .. '/workspace',
  trusted = true,
})
vim.cmd('BreadBoard ask go')
local store = require('breadboard.store')
local begun = vim.wait(20000, function()
  local view = store.active and store.views[store.active]
  for _, block in ipairs(view and view.lanes.chat.blocks or {}) do
    if block.kind == 'assistant' and block.text:find('Half of', 1, true) then
      return true
    end
  end
  return false
end, 2)
vim.cmd(begun and 'qa' or 'cquit 2')
