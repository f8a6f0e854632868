--- The model of the built-in engine: what there is, and which one answers.

local client = require('breadboard.client')
local config = require('breadboard.config')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

---@param model breadboard.ModelSetting
---@param callback? fun(result: table)
local function set(model, callback)
  local configured = config.model()
  if
    configured
    and configured.url
    and not model.url
    and (not model.provider or model.provider == configured.provider)
  then
    -- Another model at the same place; a name alone would go to the provider's own address.
    model = vim.tbl_extend('keep', model, { provider = configured.provider, url = configured.url })
  end
  client.request('bb/models/set', model, function(err, result)
    if err then
      sessions.refuse(err)
      return
    end
    if store.engine then
      store.engine.model = result.current
    end
    store.say(nil, 'info', ('The model is %s.'):format(result.current or model.name))
    store.tell('state')
    if callback then
      callback(result)
    end
  end)
end

--- What a model can and costs, as far as it is known.
---@param model table
---@return string
local function words(model)
  local said = { model.name }
  if model.contextWindow then
    said[#said + 1] = ('%dk tokens'):format(math.floor(model.contextWindow / 1000))
  end
  if model.images ~= nil then
    said[#said + 1] = model.images and 'sees images' or 'no images'
  end
  if model.price then
    said[#said + 1] = ('%g in, %g out'):format(model.price.input, model.price.output)
  end
  return table.concat(said, ' · ')
end

--- Chooses by name, or asks which one when no name is given.
---@param name? string `provider/name` or a name
---@param callback? fun(result: table)
function M.choose(name, callback)
  sessions.ensure(function()
    if name then
      set(config.parse_model(name), callback)
      return
    end
    client.request('bb/models/list', nil, function(err, result)
      if err then
        sessions.refuse(err)
        return
      end
      if #result.models == 0 then
        store.say(nil, 'info', 'The provider names no models; say one: :BreadBoard model ollama/qwen3')
        return
      end
      vim.ui.select(result.models, {
        prompt = 'Model' .. (result.current and (' (now ' .. result.current .. ')') or ''),
        format_item = words,
      }, function(model)
        if model then
          set({ provider = model.provider, name = model.id }, callback)
        end
      end)
    end)
  end)
end

return M
