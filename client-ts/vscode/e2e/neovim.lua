--- A Neovim of the story, with our plugin: what `neovim.mjs` asks of it. Needs E2E_PLUGIN (the folder of the plugin), BB_SERVER, and
--- the place, the address of the host, and the file of its token in E2E_FOLDER, E2E_STATE, E2E_HOST and E2E_TOKEN_FILE.

vim.opt.runtimepath:prepend(assert(os.getenv('E2E_PLUGIN')))
vim.cmd('runtime plugin/breadboard.lua')
vim.o.columns, vim.o.lines = 160, 50

local folder = assert(os.getenv('E2E_FOLDER'))
vim.fn.chdir(folder)
require('breadboard').setup({
  cmd = { assert(os.getenv('BB_SERVER')), '--stdio' },
  engine = { kind = 'desktop', url = assert(os.getenv('E2E_HOST')) },
  token_file = assert(os.getenv('E2E_TOKEN_FILE')),
  state_dir = assert(os.getenv('E2E_STATE')),
  root = folder,
  trusted = true,
})

local store = require('breadboard.store')

Story = {}

--- Chooses the session with this in its title from the list, as its user would; `false` while it is not there.
function Story.choose(title)
  local select, found = vim.ui.select, false
  vim.ui.select = function(items, given, on_choice)
    for _, item in ipairs(items) do
      if given.format_item(item):find(title, 1, true) then
        found = true
        on_choice(item)
        return
      end
    end
  end
  vim.cmd('BreadBoard sessions')
  -- The list comes once the server answered.
  vim.wait(2000, function()
    return found
  end, 5)
  vim.ui.select = select
  return found
end

--- What the chat in front shows.
function Story.shown()
  local chat = require('breadboard.chat')
  return store.active and table.concat(vim.api.nvim_buf_get_lines(chat.of(store.active).buffer, 0, -1, false), '\n') or ''
end

--- How the session in front stands.
function Story.status()
  local summary = store.active and store.summary(store.active)
  return summary and summary.status or ''
end

--- How many requests for approval wait in it.
function Story.waiting()
  return store.active and #store.pending(store.active) or 0
end

--- Opens the request that waits, and answers it with this key.
function Story.answer(key)
  vim.cmd('BreadBoard approve')
  vim.cmd('redraw')
  vim.api.nvim_feedkeys(key, 'xt', false)
  return true
end

--- Asks in the session in front.
function Story.ask(text)
  vim.cmd('BreadBoard ask ' .. text)
  return true
end

--- Makes a session of its own, which is in front then; `false` while it is not there.
function Story.make_session()
  local before = store.active
  vim.cmd('BreadBoard new')
  vim.wait(10000, function()
    return store.active ~= nil and store.active ~= before
  end, 5)
  return store.active ~= before
end
