--- Whether this Neovim is new enough, said once where it is not. Uses nothing that an old one does not have.

local M = {}

local said = false

---@return boolean
function M.suffices()
  if vim.fn.has('nvim-0.10') == 1 then
    return true
  end
  if not said then
    said = true
    local version = vim.version()
    vim.notify(
      ('breadboard needs Neovim 0.10 or newer; this is %d.%d.%d, so :BreadBoard is not there.'):format(
        version.major,
        version.minor,
        version.patch
      ),
      vim.log.levels.WARN
    )
  end
  return false
end

return M
