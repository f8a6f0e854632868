--- Two states of a file side by side: `bb/openDiff`, and the buffers behind `bb-diff:` URIs.

local client = require('breadboard.client')
local sessions = require('breadboard.sessions')
local store = require('breadboard.store')

local M = {}

-- Neovim takes a name for a URL only with `//`, and prefixes every other one with the directory. The server reads both.
local function name_of(uri)
  local rest = uri:match('^bb%-diff:(.*)$')
  return rest and not vim.startswith(rest, '//') and 'bb-diff://' .. rest or uri
end

--- Fills a `bb-diff:` buffer.
---@param buffer integer
---@param uri string
function M.read(buffer, uri)
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].bufhidden = 'wipe'
  local function fill(lines)
    if not vim.api.nvim_buf_is_valid(buffer) then
      return
    end
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].modifiable = false
    vim.bo[buffer].modified = false
  end
  sessions.ensure(function()
    client.request('bb/textDocument', { uri = uri }, function(err, document)
      if err then
        fill({ err.message })
        return
      end
      -- A last line end ends the last line; it does not begin another one.
      fill(vim.split((document.text:gsub('\r?\n$', '')), '\r?\n'))
      -- The user may have closed it while the answer was on its way.
      if vim.api.nvim_buf_is_valid(buffer) then
        local path = uri:match('/([^/]*)$')
        local filetype = vim.filetype.match({ filename = vim.uri_decode(path or ''), buf = buffer })
        vim.b[buffer].breadboard_diff = true
        vim.bo[buffer].syntax = filetype or ''
        if document.truncated then
          store.say(nil, 'warning', 'This side of the diff is larger than what is shown.')
        end
      end
      vim.cmd('silent! diffupdate')
    end)
  end)
end

---@param uri string
local function edit(uri)
  local name = vim.startswith(uri, 'file:') and vim.uri_to_fname(uri) or name_of(uri)
  local buffer = vim.fn.bufadd(name)
  vim.fn.bufload(buffer)
  vim.api.nvim_win_set_buf(0, buffer)
  vim.cmd('diffthis')
end

---@param session string
---@param file string relative to the workspace root
---@param before? string as `beforeRef` of `bb/openDiff`
---@param after? string as `afterRef`
---@param callback? fun(result: table)
function M.show(session, file, before, after, callback)
  local params = { sessionId = session, filePath = file, beforeRef = before, afterRef = after }
  client.request('bb/openDiff', params, function(err, result)
    if err then
      sessions.refuse(err, session)
      return
    end
    vim.cmd('tabnew')
    vim.bo.bufhidden = 'wipe'
    edit(result.left.uri)
    vim.cmd('rightbelow vertical new')
    vim.bo.bufhidden = 'wipe'
    edit(result.right.uri)
    if result.truncated then
      store.say(session, 'warning', 'The diff is cut: a side is larger than what is compared.')
    end
    vim.api.nvim_echo({ { ('%s: +%d −%d'):format(result.title, result.added, result.removed) } }, false, {})
    if callback then
      callback(result)
    end
  end)
end

--- Whether a block is a tool call whose result is a diff.
---@param block breadboard.Block
---@return boolean
function M.carried(block)
  local text = block.kind == 'tool' and (block.diff or block.preview) or ''
  return vim.startswith(text, '@@ ') or text:find('\n@@ ', 1, true) ~= nil
end

---@param path string
---@return string
local function short(path)
  local root = client.root()
  return root and vim.startswith(path, root .. '/') and path:sub(#root + 2) or path
end

--- One side of what a tool changed.
---@param path string
---@param text? string nil: there was no file
---@param when string
local function side(path, text, when)
  local buffer = vim.api.nvim_get_current_buf()
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].swapfile = false
  local lines = type(text) == 'string' and vim.split((text:gsub('\r?\n$', '')), '\r?\n') or {}
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
  vim.bo[buffer].syntax = vim.filetype.match({ filename = path, buf = buffer }) or ''
  vim.wo.winbar = ('%s: %s'):format(short(path), when):gsub('%%', '%%%%')
  vim.cmd('diffthis')
end

--- The diffs in an event of an agent.
---@param event table
---@return { path: string, oldText?: string, newText: string }[]
local function diffs_of(event)
  local content = type(event.payload) == 'table' and event.payload.content
  return vim.tbl_filter(function(part)
    return type(part) == 'table' and part.type == 'diff' and type(part.newText) == 'string'
  end, type(content) == 'table' and content or {})
end

--- What a tool call changed, side by side as the agent told it; where it told only lines, those in a window.
---@param session string
---@param block breadboard.Block
function M.tool(session, block)
  local function show(change)
    if not change then
      return
    end
    vim.cmd('tabnew')
    side(change.path, change.oldText, 'before')
    vim.cmd('rightbelow vertical new')
    side(change.path, change.newText, 'after')
    vim.api.nvim_echo({ { ('%s: what the agent replaced, and with what'):format(short(change.path)) } }, false, {})
  end
  local function take(changes)
    if #changes == 0 then
      local lines = vim.split(((block.diff or block.preview):gsub('\n$', '')), '\n', { plain = true })
      require('breadboard.float').open(block.title or block.name, lines, { filetype = 'diff', enter = true })
    elseif #changes == 1 then
      show(changes[1])
    else
      vim.ui.select(changes, {
        prompt = 'Which file?',
        format_item = function(change)
          return short(change.path)
        end,
      }, show)
    end
  end
  local body = require('breadboard.body')
  body.read(session, block.resultSeq or block.seq, function(_, event)
    local changes = event and diffs_of(event) or {}
    if #changes > 0 or not block.resultSeq or block.resultSeq == block.seq then
      take(changes)
      return
    end
    -- The end of a call need not repeat what its begin said.
    body.read(session, block.seq, function(_, begin)
      take(begin and diffs_of(begin) or {})
    end)
  end)
end

--- What a patch block would change in its first file, or in the one that the user picks.
---@param session string
---@param block breadboard.Block
---@param callback? fun(result: table)
function M.patch(session, block, callback)
  local function show(file)
    if file then
      M.show(session, file.filePath, 'buffer', 'patch:' .. block.patchId, callback)
    end
  end
  if #block.files <= 1 then
    show(block.files[1])
    return
  end
  vim.ui.select(block.files, {
    prompt = 'Which file?',
    format_item = function(file)
      return ('%s +%d −%d'):format(file.filePath, file.added, file.removed)
    end,
  }, show)
end

return M
