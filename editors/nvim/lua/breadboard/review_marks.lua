--- The changes of an edit in the buffer of a file: what goes is marked where it stands, what comes stands below it as virtual
--- lines. Owns these marks and nothing else of the buffer.

local choices = require('breadboard.review_choices')
local hunk_place = require('breadboard.hunk_place')

local M = {}

local space = vim.api.nvim_create_namespace('breadboard.review')

--- The line above a change.
---@param review breadboard.Review
---@param one breadboard.Placed
---@return table[] chunks
local function head(review, one)
  local choice = review.choices[one.id]
  local state = choice == nil and 'ghy accepts, ghn rejects' or (choice and 'accepted' or 'rejected') .. ', ghu decides anew'
  if choice == nil and not one.fits then
    state = 'the file has changed here, so it does not fit; ghn rejects'
  end
  return {
    { ('── change %d of %d: '):format(choices.number_of(review, one.id), #review.all), 'BreadBoardHead' },
    { state, one.fits and 'BreadBoardHead' or 'BreadBoardAsk' },
    { ' (]h next, gh? all keys)', 'BreadBoardHead' },
  }
end

---@param sign string
---@param text string
---@param highlight string
---@return table[] chunks
local function virtual(sign, text, highlight)
  -- Filled up, so that its colour reaches as far as that of a line of the buffer.
  local width = math.max(0, vim.o.columns - vim.api.nvim_strwidth(text) - 2)
  return { { sign .. ' ' .. text .. (' '):rep(width), highlight } }
end

---@param buffer integer
---@param row integer before which it stands; one behind the last line means below it
---@param lines table[]
local function put(buffer, row, lines)
  local last = vim.api.nvim_buf_line_count(buffer)
  local above = row == 0
  vim.api.nvim_buf_set_extmark(buffer, space, above and 0 or math.min(row, last) - 1, 0, {
    virt_lines = lines,
    virt_lines_above = above,
    -- Of two at one place, what goes is told before what comes.
    priority = 100,
  })
end

--- Draws the changes of a file anew, where they stand now.
---@param review breadboard.Review
---@param of breadboard.ReviewFile
function M.draw(review, of)
  if not vim.api.nvim_buf_is_loaded(of.buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(of.buffer, space, 0, -1)
  of.placed = hunk_place.place(vim.api.nvim_buf_get_lines(of.buffer, 0, -1, false), of.file.hunks)
  for _, one in ipairs(of.placed) do
    local choice = review.choices[one.id]
    local goes = choice == true and 'BreadBoardSettled' or 'DiffDelete'
    local comes = choice == false and 'BreadBoardSettled' or 'DiffAdd'
    if not one.fits then
      local lines = { head(review, one) }
      for _, text in ipairs(one.old) do
        table.insert(lines, virtual('-', text, goes))
      end
      for _, text in ipairs(one.new) do
        table.insert(lines, virtual('+', text, comes))
      end
      put(of.buffer, one.first, lines)
    else
      local begins = { [one.first] = { head(review, one) } }
      for row, texts in pairs(one.added) do
        begins[row] = begins[row] or {}
        for _, text in ipairs(texts) do
          table.insert(begins[row], virtual('+', text, comes))
        end
      end
      for _, row in ipairs(one.removed) do
        vim.api.nvim_buf_set_extmark(of.buffer, space, row, 0, {
          line_hl_group = goes,
          sign_text = '-',
          sign_hl_group = 'DiffDelete',
          priority = 100,
        })
      end
      for row, lines in pairs(begins) do
        put(of.buffer, row, lines)
      end
    end
  end
end

--- Takes the marks of a buffer away.
---@param buffer integer
function M.clear(buffer)
  vim.api.nvim_buf_clear_namespace(buffer, space, 0, -1)
end

--- The lines of the screen that a change takes.
---@param one breadboard.Placed
---@return integer
function M.height(one)
  return 1 + #one.old + #one.new
end

--- Puts a change on the screen, its head at the top where all of it is much.
---@param of breadboard.ReviewFile
---@param one breadboard.Placed
function M.show(of, one)
  if vim.api.nvim_get_current_buf() ~= of.buffer then
    vim.api.nvim_win_set_buf(0, of.buffer)
  end
  local count = vim.api.nvim_buf_line_count(of.buffer)
  local row = math.max(1, math.min(one.first + 1, count))
  vim.api.nvim_win_set_cursor(0, { row, 0 })
  vim.cmd('normal! zv')
  local room = vim.api.nvim_win_get_height(0)
  local top = math.max(1, row - math.max(0, math.floor((room - M.height(one)) / 2)))
  -- What stands above a line is part of the screen only when it is asked for.
  vim.fn.winrestview({ topline = top, topfill = top == row and 1 + (one.removed[1] == one.first and 0 or #one.new) or 0 })
end

return M
