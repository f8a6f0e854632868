-- Entry points that exist before `setup`: the command and the buffers of diffs. Loads nothing until one is used.

if vim.g.loaded_breadboard then
  return
end
vim.g.loaded_breadboard = true

-- Before anything that an older Neovim does not have.
if not require('breadboard.version').suffices() then
  return
end

vim.api.nvim_create_user_command('BreadBoard', function(call)
  require('breadboard.command').run(call)
end, {
  nargs = '*',
  range = true,
  desc = 'Talk to a coding agent; :BreadBoard help lists the subcommands',
  complete = function(lead, line, column)
    return require('breadboard.command').complete(lead, line, column)
  end,
})

vim.api.nvim_create_autocmd('BufReadCmd', {
  group = vim.api.nvim_create_augroup('breadboard_diff', { clear = true }),
  pattern = 'bb-diff:/*', -- with a slash: without one only the last part of a name would be compared
  callback = function(event)
    require('breadboard.diff').read(event.buf, event.match)
  end,
})

-- Neovim tells nobody later that a buffer was opened before its file was there, and an agent may make that file.
local new = vim.api.nvim_create_augroup('breadboard_new', { clear = true })
vim.api.nvim_create_autocmd('BufNewFile', {
  group = new,
  callback = function(event)
    vim.b[event.buf].breadboard_new = true
  end,
})
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost' }, {
  group = new,
  callback = function(event)
    vim.b[event.buf].breadboard_new = nil
  end,
})
