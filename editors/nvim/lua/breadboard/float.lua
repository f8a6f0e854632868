--- A window above the others that shows some lines. Owns its size, place and end; knows nothing of what it shows.

local M = {}

---@param title string
---@param lines string[]
--- `enter_tall` is the title for lines that are more than fit; their window is entered, so that they can be read.
---@param options? { filetype?: string, enter?: boolean, enter_tall?: string }
---@return { window: integer, buffer: integer, tall: boolean, close: fun() }
function M.open(title, lines, options)
  options = options or {}
  local buffer = vim.api.nvim_create_buf(false, true)
  local safe = vim.tbl_map(function(line)
    return (line:gsub('\n', ' '))
  end, lines)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, safe)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].syntax = options.filetype or ''
  local widest = vim.api.nvim_strwidth(title) + 2
  for _, line in ipairs(safe) do
    widest = math.max(widest, vim.api.nvim_strwidth(line))
  end
  local width = math.max(20, math.min(widest, vim.o.columns - 4))
  local height = 0
  for _, line in ipairs(safe) do
    height = height + math.max(1, math.ceil(vim.api.nvim_strwidth(line) / width))
  end
  local most = math.max(1, vim.o.lines - 8)
  local tall = height > most
  local entered = options.enter == true or tall and options.enter_tall ~= nil
  height = math.max(1, math.min(height, most))
  title = tall and options.enter_tall or title
  local window = vim.api.nvim_open_win(buffer, entered, {
    relative = 'editor',
    row = 1,
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    width = width,
    height = height,
    border = 'rounded',
    style = 'minimal',
    title = ' ' .. title .. ' ',
  })
  vim.wo[window].wrap = true -- an approval must not hide the end of a long line
  local function close()
    if vim.api.nvim_win_is_valid(window) then
      vim.api.nvim_win_close(window, true)
    end
  end
  if entered then
    vim.keymap.set('n', 'q', close, { buffer = buffer, desc = 'BreadBoard: close' })
  end
  return { window = window, buffer = buffer, tall = tall, close = close }
end

return M
