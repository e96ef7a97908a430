-- Searches. ARGV after the first two: the greatest distance, how many matches are wanted, how much may be read; then queries
-- of a fingerprint and keys each. Answers for each query how many match, how many runs were read, and runs each with an
-- id after it, among them the nearest. Where too much was read, the last queries are left without an answer.
local most, limit, budget = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local filters = has_expired()
local answers = {}
for i = 6, #ARGV do
  local query = ARGV[i]
  local high, low = struct.unpack('>I4I4', query)
  local found, n_read = near_runs(high, low, most, query, 9, #query)
  local matches, n_matches, farthest = {}, 0, -1
  for _, near in ipairs(found) do
    -- Among those of one distance the ids decide, so all its runs are asked.
    local wants_ids = limit > 0 and (#matches < limit or near.distance == farthest)
    local n, ids, n_looked = live_of(near.run, wants_ids and limit or 0, filters)
    n_matches = n_matches + n
    budget = budget - n_looked
    if #ids > 0 then farthest = near.distance end
    for _, id in ipairs(ids) do
      matches[#matches + 1] = near.run .. id
    end
  end
  answers[#answers + 1] = { n_matches, n_read, matches }
  budget = budget - n_read - #matches
  if budget < 0 then break end
end
return answers
