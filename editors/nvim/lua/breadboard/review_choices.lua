--- What was chosen of an edit that is reviewed: how much, and what sending it does, in words. Changes nothing.

local M = {}

---@param review breadboard.Review
---@return integer left, integer accepted
function M.counts(review)
  local left, accepted = 0, 0
  for _, id in ipairs(review.all) do
    left = left + (review.choices[id] == nil and 1 or 0)
    accepted = accepted + (review.choices[id] and 1 or 0)
  end
  return left, accepted
end

--- What sending does, in words.
---@param review breadboard.Review
---@return string
function M.sending(review)
  local left, accepted = M.counts(review)
  local all = #review.all
  if left > 0 then
    return ('%d of %d changes to decide'):format(left, all)
  elseif accepted == 0 then
    return all == 1 and 'reject the change' or ('reject all %d changes'):format(all)
  elseif accepted == all then
    return all == 1 and 'accept the change' or ('accept all %d changes'):format(all)
  end
  return ('accept %d of %d changes'):format(accepted, all)
end

--- The number of a change among all of the edit, from 1.
---@param review breadboard.Review
---@param id string
---@return integer
function M.number_of(review, id)
  for number, one in ipairs(review.all) do
    if one == id then
      return number
    end
  end
  return 0
end

return M
