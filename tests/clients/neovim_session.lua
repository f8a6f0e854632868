--- A usual session of the Neovim plugin, for `record.sh` to write down. `nvim --headless -u NONE -i NONE -n -S` of this file;
--- needs BB_CMD (the program and its arguments, one a line), BB_WORKSPACE and BB_STATE.

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
local checkout = vim.fs.dirname(vim.fs.dirname(here))
vim.opt.runtimepath:prepend(checkout .. '/editors/nvim')
vim.cmd('runtime plugin/breadboard.lua')
vim.o.columns, vim.o.lines = 160, 50

local workspace = vim.fs.normalize(assert(os.getenv('BB_WORKSPACE')))

local function await(what, look)
  local found
  vim.wait(20000, function()
    found = look()
    return found and true or false
  end, 2)
  if not found then
    io.stderr:write('waited for ' .. what .. '\n')
    vim.cmd('cquit 1')
  end
  return found
end

local store = require('breadboard.store')
local function status_is(status)
  await('the session to be ' .. status, function()
    local summary = store.active and store.summary(store.active)
    return summary and summary.status == status
  end)
end
local function chat_shows(text)
  await(text .. ' in the chat', function()
    local window = require('breadboard.chat').window()
    local lines = window and vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false) or {}
    return table.concat(lines, '\n'):find(text, 1, true)
  end)
end

vim.ui.select = function(items, _, on_choice)
  on_choice(items[1])
end
vim.cmd.cd(workspace)
vim.cmd.edit('src/lib.rs')
require('breadboard').setup({
  cmd = vim.split(vim.trim(assert(os.getenv('BB_CMD'))), '\n'),
  state_dir = os.getenv('BB_STATE'),
  trusted = true,
})
vim.cmd('BreadBoard ask Where is the number of retries?')
chat_shows('✓ Done')
status_is('idle')
vim.cmd('BreadBoard ask replace `retries` with `attempts` in src/lib.rs')
status_is('waiting')
vim.cmd('BreadBoard approve')
vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'xt', false)
status_is('idle')
chat_shows('1 file')
vim.cmd('BreadBoard sessions')
vim.cmd('BreadBoard stop')
vim.cmd('qall!')
