--- `:BreadBoard setup`: the choice of who answers, as `breadboard-ls setup` asks it, in a terminal of Neovim. Writes nothing itself:
--- what is chosen is kept in the user's own settings file, which counts where the plugin's settings name neither engine nor model.

local client = require('breadboard.client')
local config = require('breadboard.config')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

--- Something was chosen: the server takes it with its next start.
---@param buffer integer the terminal
---@param ran boolean whether the server ran when it was opened
local function kept(buffer, ran)
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.api.nvim_buf_delete(buffer, { force = true })
  end
  local settings = config.current
  if settings.engine or settings.model then
    store.say(nil, 'info', 'It is kept. Here the settings of the plugin count, which name an engine or a model; take it out of them.')
  else
    store.say(nil, 'info', 'It is kept; :BreadBoard ask asks.')
    if ran and client.running() then
      sessions.restart()
    end
  end
end

--- Opens it.
function M.open()
  local program = config.current.cmd[1]
  if vim.fn.executable(program) == 0 then
    store.say(nil, 'error', ('`%s` is not a program; install breadboard-ls or set `cmd`.'):format(program))
    return
  end
  local ran = client.running()
  vim.cmd('botright new')
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].bufhidden = 'wipe'
  local words = { program, 'setup', '--workspace', client.root() or config.root() }
  local options = {
    on_exit = function(_, code)
      vim.schedule(function()
        if code == 0 then
          kept(buffer, ran)
        end
      end)
    end,
  }
  if vim.fn.has('nvim-0.11') == 1 then
    options.term = true
    vim.fn.jobstart(words, options)
  else
    vim.fn.termopen(words, options)
  end
  vim.cmd('startinsert')
end

return M
