--- Where a file is shown from a chat. Owns that a window of ours is never taken for one.

local M = {}

--- A window for code: the last one, or one beside the chat.
function M.enter()
  if vim.api.nvim_win_get_config(0).relative ~= '' then
    vim.cmd('wincmd p')
  end
  local function is_ours()
    local filetype = vim.bo.filetype
    return filetype == 'breadboard' or filetype == 'breadboard-prompt' or vim.bo.buftype ~= ''
  end
  if is_ours() then
    vim.cmd('wincmd p')
  end
  if is_ours() then
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      vim.api.nvim_set_current_win(window)
      if not is_ours() and vim.api.nvim_win_get_config(window).relative == '' then
        return
      end
    end
    vim.cmd('topleft vertical new')
  end
end

return M
