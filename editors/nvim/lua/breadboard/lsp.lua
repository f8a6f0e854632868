--- What differs between the LSP clients of Neovim 0.10 and of 0.11 and newer. Nothing else in the plugin knows.

local M = {}

local COLON = vim.fn.has('nvim-0.11') == 1 -- from here on the methods of a client take it as `self`

---@param client vim.lsp.Client
---@param name string
local function call(client, name, ...)
  if COLON then
    return client[name](client, ...)
  end
  return client[name](...)
end

--- Starts a server that no buffer is attached to yet.
---@param config vim.lsp.ClientConfig
---@return integer? client_id
function M.start(config)
  if COLON then
    return vim.lsp.start(config, {
      attach = false,
      reuse_client = function()
        return false
      end,
    })
  end
  return vim.lsp.start_client(config)
end

--- Sends a request. The answer is not called after a cancelled request: Neovim drops it.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param answer fun(err?: table, result?: any)
---@return boolean sent
---@return integer? id
function M.request(client, method, params, answer)
  -- Buffer 0 would be the current one, attached or not; the flush of its changes needs no buffer here, because changes
  -- are sent without delay (`debounce_text_changes = 0`).
  return call(client, 'request', method, params, function(err, result)
    answer(err, result)
  end, M.any_buffer(client))
end

--- A buffer of the client's, which `request` wants only to keep book; the current one where it has none.
---@param client vim.lsp.Client
---@return integer
function M.any_buffer(client)
  return next(client.attached_buffers) or vim.api.nvim_get_current_buf()
end

---@param client vim.lsp.Client
---@param method string
---@param params table
---@return boolean sent
function M.notify(client, method, params)
  return call(client, 'notify', method, params)
end

---@param client vim.lsp.Client
---@return boolean
function M.is_stopped(client)
  return call(client, 'is_stopped')
end

--- Asks the server to end; with `force` the process is killed.
---@param client vim.lsp.Client
---@param force? boolean
function M.stop(client, force)
  call(client, 'stop', force)
end

return M
