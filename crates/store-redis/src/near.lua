-- Searches. ARGV after the first two: the rule, how many matches are wanted, how much may be read; then queries, in the form of
-- records. Answers for each query how many match whatever texts say, how many runs were read, matches (`list`), among them the
-- nearest, and all ids that are worth a count. Where too much was read, the last queries are left without an answer.
local rule, limit, budget = rule_of(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local filters = has_expired()
local answers = {}
for i = 6, #ARGV do
  local found, n_read, cost = near_runs(query_of(ARGV[i], facets_of(ARGV[i])), rule)
  local decided, worth = by_worth(found)
  local matches, n_listed, n_matches, farthest = {}, 0, 0, nil
  for _, near in ipairs(decided) do
    -- Among those that are equally near the ids decide, so all its runs are asked.
    local wants_ids = limit > 0 and (n_listed < limit or is_as_near(near, farthest))
    local n, ids, n_looked = live_of(near.run, wants_ids and limit or 0, filters)
    n_matches = n_matches + n
    budget = budget - n_looked
    if #ids > 0 then farthest = near end
    list(matches, near, ids)
    n_listed = n_listed + #ids
  end
  local counted = {}
  for _, near in ipairs(worth) do
    local _, ids, n_looked = live_of(near.run, ALL, filters)
    budget = budget - n_looked - #ids
    for _, id in ipairs(ids) do counted[#counted + 1] = id end
  end
  answers[#answers + 1] = { n_matches, n_read, matches, counted }
  budget = budget - cost - n_listed
  if budget < 0 then break end
end
return answers
