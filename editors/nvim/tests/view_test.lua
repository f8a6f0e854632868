--- The laws of the view: every fixture of `tests/fixtures/client`, and what the fixtures cannot say.

local harness = require('harness')
local view = require('breadboard.view')

local check, same, test = harness.check, harness.same, harness.test

local folder = vim.g.breadboard_checkout .. '/tests/fixtures/client'
local names = vim.fn.sort(vim.fn.glob(folder .. '/*.json', true, true))

test('there are fixtures', function()
  check(#names >= 7, 'fewer than the seven fixtures in ' .. folder)
end)

for _, name in ipairs(names) do
  local fixture = vim.json.decode(table.concat(vim.fn.readfile(name), '\n'), { luanil = { object = true } })
  test('view: ' .. fixture.description, function()
    local held = fixture.snapshot
    for _, change in ipairs(fixture.changes) do
      view.apply(held, change)
    end
    same(held, fixture.expected, vim.fs.basename(name))
  end)
end

local function put(id, text)
  return { lane = 'chat', op = 'put', id = id, block = { id = id, kind = 'assistant', text = text, seq = 1 } }
end

local function texts(held)
  return vim.tbl_map(function(block)
    return block.text
  end, held.lanes.chat.blocks)
end

test('a message whose toSeq is not above the view is ignored', function()
  local held = view.empty('e')
  local _, first = view.take(held, { epoch = 'e', fromSeq = 1, toSeq = 3, changes = { put('a', 'one') } })
  local _, again = view.take(held, { epoch = 'e', fromSeq = 1, toSeq = 3, changes = { put('a', 'two') } })
  same({ first, again, held.seq, texts(held) }, { 'applied', 'ignored', 3, { 'one' } })
end)

test('a snapshot in a message replaces the view', function()
  local snapshot = view.empty('e')
  snapshot.seq = 9
  local held, what =
    view.take(view.empty('e'), { epoch = 'e', fromSeq = 1, toSeq = 9, changes = {}, snapshot = snapshot })
  same({ held, what }, { snapshot, 'applied' })
end)

test('another epoch changes nothing and asks for a new view', function()
  local held = view.empty('e')
  local after, what = view.take(held, { epoch = 'f', fromSeq = 1, toSeq = 3, changes = { put('a', 'one') } })
  same({ after, what, texts(held) }, { held, 'stale', {} })
end)

test('a changed block is a new table, so that who drew the old one sees it', function()
  local held = view.empty('e')
  view.apply(held, put('a', 'one'))
  local before = held.lanes.chat.blocks[1]
  view.apply(held, { lane = 'chat', op = 'append', id = 'a', text = ' more' })
  same({ before.text, held.lanes.chat.blocks[1].text }, { 'one', 'one more' })
end)

test('an older page goes in front, and says whether there is more', function()
  local held = view.empty('e')
  view.apply(held, put('b', 'two'))
  held.lanes.chat.hasMore = true
  view.prepend(held, 'chat', { blocks = { put('a', 'one').block }, hasMore = false })
  same({ texts(held), held.lanes.chat.hasMore }, { { 'one', 'two' }, false })
end)

test('a lane that this version does not know is left alone', function()
  local held = view.empty('e')
  view.apply(held, { lane = 'later', op = 'put', id = 'a', block = {} })
  same(held, view.empty('e'))
end)
