--- Servers of tools (Model Context Protocol): how each stands, starting one again, and the user's word for one that a file of the
--- workspace names. Never starts one itself; the server does.

local client = require('breadboard.client')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

---@param count integer
---@param word string
---@return string?
local function counted(count, word)
  if count > 0 then
    return ('%d %s%s'):format(count, word, count == 1 and '' or 's')
  end
end

--- A server with how it stands.
---@param server table
---@return string
function M.line(server)
  local stands = server.status
  if server.status == 'unasked' then
    stands = 'named by this workspace, not allowed'
  elseif server.status == 'ready' then
    local offers = {}
    table.insert(offers, counted(#(server.tools or {}), 'tool'))
    table.insert(offers, counted(#(server.commands or {}), 'prompt'))
    table.insert(offers, counted(#(server.resources or {}), 'resource'))
    stands = 'ready' .. (#offers > 0 and ': ' .. table.concat(offers, ', ') or ', and offers nothing')
  end
  local about = server.message or server.definition
  return ('%s (%s)%s'):format(server.name, stands, about and '  ' .. about or '')
end

---@param server table
local function restart(server)
  client.request('bb/mcp/restart', { server = server.name }, function(err)
    if err then
      sessions.refuse(err)
    else
      store.say(nil, 'info', ('The tool server `%s` is started again.'):format(server.name))
    end
  end)
end

---@param server table
local function allow(server)
  local prompt = ('Start `%s`, which a file of this workspace names? It runs: %s'):format(server.name, server.definition or '')
  vim.ui.select({ 'No', 'Allow and start' }, { prompt = prompt }, function(answer)
    if answer ~= 'Allow and start' then
      return
    end
    client.request('bb/mcp/allow', { server = server.name, digest = server.digest }, function(err)
      if err then
        sessions.refuse(err)
      end
    end)
  end)
end

--- Lists the servers; the one that is picked is started again, or allowed.
function M.show()
  require('breadboard.listing').show({
    method = 'bb/mcp/list',
    rows = function(result)
      return result.servers
    end,
    none = 'No tool servers are named; name some in the setting `mcp_servers`.',
    prompt = 'MCP servers: pick one to restart it, or to allow it',
    line = M.line,
    choose = function(server)
      if server.status == 'unasked' then
        allow(server)
      else
        restart(server)
      end
    end,
  })
end

return M
