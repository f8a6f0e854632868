--- The plugin as a user's configuration sees it. Owns no state; everything is in the modules named here.

local M = {}

--- Takes the settings. Starts nothing: the server starts at the first use of `:BreadBoard`.
---@param options? breadboard.Options
function M.setup(options)
  if not require('breadboard.version').suffices() then
    return
  end
  require('breadboard.config').set(options)
end

--- Asks in the active session, or in a new one where none is active, and shows the chat.
---@param text string
function M.ask(text)
  if require('breadboard.version').suffices() then
    require('breadboard.command').ask(text)
  end
end

--- Stops the running turn of the active session.
function M.stop()
  if require('breadboard.version').suffices() then
    require('breadboard.sessions').stop()
  end
end

--- A short text for a status line; empty while no server runs.
---@return string
function M.statusline()
  if not require('breadboard.version').suffices() then
    return ''
  end
  return require('breadboard.statusline').text()
end

return M
