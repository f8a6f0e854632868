--- The plugin as the README says to install it, and what an old Neovim is told.

local harness = require('harness')

local check, same, test = harness.check, harness.same, harness.test

local checkout = vim.g.breadboard_checkout
local plugin = checkout .. '/editors/nvim'

local function read(path)
  return table.concat(vim.fn.readfile(path), '\n')
end

test("D12: :help breadboard works after the README's own lines", function()
  local lines = assert(read(plugin .. '/README.md'):match('```lua\n(.-)\n```'))
  local link = vim.fs.normalize('~/src/breadboard-ls')
  vim.fn.mkdir(vim.fs.dirname(link), 'p')
  assert(vim.uv.fs_symlink(checkout, link))
  local before = vim.opt.runtimepath:get()
  vim.opt.runtimepath:remove(plugin)
  assert(load(lines))()
  vim.cmd('help breadboard')
  local name = vim.api.nvim_buf_get_name(0)
  vim.cmd('helpclose')
  vim.opt.runtimepath = before
  same(vim.uv.fs_realpath(name), vim.uv.fs_realpath(plugin .. '/doc/breadboard.txt'))
end)

test('D12: the tags of the help are those that it has now', function()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  vim.uv.fs_copyfile(plugin .. '/doc/breadboard.txt', folder .. '/breadboard.txt')
  vim.cmd('helptags ' .. folder)
  same(read(plugin .. '/doc/tags'), read(folder .. '/tags'), 'run :helptags editors/nvim/doc')
end)

test('every subcommand stands in the help', function()
  local help = read(plugin .. '/doc/breadboard.txt')
  for _, name in ipairs(require('breadboard.command').names()) do
    check(
      name == 'chat' or help:find('\n:[^\n]*BreadBoard ' .. name),
      (':BreadBoard %s is not in the help'):format(name)
    )
  end
end)

test('D14: the keys that the help suggests call subcommands that there are', function()
  local block = assert(read(plugin .. '/doc/breadboard.txt'):match('%*breadboard%-keys%*.->lua\n(.-)\n<'))
  assert(load(block))()
  local names, mapped = require('breadboard.command').names(), 0
  for _, map in ipairs(vim.api.nvim_get_keymap('n')) do
    local name = map.rhs and map.rhs:match('BreadBoard (%a+)')
    if map.rhs and map.rhs:find('BreadBoard', 1, true) then
      mapped = mapped + 1
      check(not name or vim.tbl_contains(names, name), map.rhs)
      vim.keymap.del('n', map.lhs)
    end
  end
  same(mapped, 8)
end)

test('D20: an old Neovim is told once, in one sentence, what it takes', function()
  local has, notify, said = vim.fn.has, vim.notify, {}
  vim.fn.has = function()
    return 0
  end
  vim.notify = function(text)
    table.insert(said, text)
  end
  package.loaded['breadboard.version'] = nil
  local ok, problem = pcall(function()
    require('breadboard').setup({ model = 'ollama/qwen3' })
    require('breadboard').ask('hello')
    same(require('breadboard').statusline(), '')
  end)
  vim.fn.has, vim.notify = has, notify
  package.loaded['breadboard.version'] = nil
  check(ok, tostring(problem))
  same(#said, 1)
  check(said[1]:find('^breadboard needs Neovim 0%.10 or newer; this is %d+%.%d+%.%d+, so'), said[1])
end)
