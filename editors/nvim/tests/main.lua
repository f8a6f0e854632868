--- Runs every test of the plugin in this Neovim: `nvim --headless -u NONE -i NONE -n -S editors/nvim/tests/main.lua`.
--- Not with `-l`: Neovim 0.12 has no screen there, and drawing after a change of `columns` ends it.
--- Needs BB_SERVER (the binary) and BB_HOME (an empty directory).

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
local plugin = vim.fs.dirname(here)

vim.g.breadboard_checkout = vim.fs.dirname(vim.fs.dirname(plugin))
vim.opt.runtimepath:prepend(plugin)
package.path = here .. '/?.lua;' .. package.path
vim.cmd('runtime plugin/breadboard.lua')
vim.o.columns, vim.o.lines = 160, 50

require('view_test')
require('parts_test')
require('approvals_test')
require('chat_test')
require('story_test')
require('disk_test')
require('agents_test')
require('keys_test')
require('review_test')
require('changes_test')
require('turns_test')
require('branches_test')
require('windows_test')
require('versions_test')
require('host_test')
require('install_test')
require('harness').run()
