--- A list that the server keeps, as one to choose from. Never says what its rows mean; whoever shows it does.

local client = require('breadboard.client')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

---@class breadboard.Listing
---@field method string the request that gives the list
---@field params? table
---@field rows fun(result: table): table[] the rows in its answer
---@field before? fun(result: table): string? what is said in front of it
---@field none string|fun(result: table): string what is said where there are none
---@field prompt string
---@field line fun(row: table, result: table): string
---@field choose fun(row: table) what happens with the one that was picked

---@param listing breadboard.Listing
function M.show(listing)
  sessions.ensure(function()
    client.request(listing.method, listing.params or vim.empty_dict(), function(err, result)
      if err then
        sessions.refuse(err)
        return
      end
      local before = listing.before and listing.before(result)
      local rows = listing.rows(result)
      if #rows == 0 then
        local none = listing.none
        if type(none) == 'function' then
          none = none(result)
        end
        store.say(nil, 'info', before and before .. ' ' .. none or none)
        return
      end
      if before then
        store.say(nil, 'info', before)
      end
      vim.ui.select(rows, {
        prompt = listing.prompt,
        format_item = function(row)
          return listing.line(row, result)
        end,
      }, function(row)
        if row then
          listing.choose(row)
        end
      end)
    end)
  end)
end

return M
