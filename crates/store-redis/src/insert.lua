-- Inserts. ARGV after the first two: how much may be swept; the caller's time, how far it may be ahead, and 1 if nothing is
-- to be written then; the rule by which nothing may be near, or nothing; how much may be read; then pairs of an id and its
-- record. Answers what `sweep` does, then for each document U (unchanged), I (inserted), R (replaced), or for a duplicate
-- matches (`list`), of which the least is the nearest. Where too much was read, the last documents are left without an answer.
local rule, budget = ARGV[7] ~= '' and rule_of(ARGV[7]), tonumber(ARGV[8])
local ahead_of = sweep(tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1')
if ahead_of > 0 and ARGV[6] == '1' then return { ahead_of } end
-- What is inserted here has not expired.
local filters = rule and has_expired()

-- Other ids of all the nearest runs that have one, the first of each run among them.
local function nearest(id, record, facets)
  local found, _, cost = near_runs(query_of(record, facets), rule)
  budget = budget - cost
  local matches, first = {}, nil
  for _, near in ipairs(found) do
    if first and not is_as_near(near, first) then break end
    local _, ids, n_looked = live_of(near.run, 2, filters)
    budget = budget - n_looked
    local others = {}
    for _, other in ipairs(ids) do
      if other ~= id then others[#others + 1] = other end
    end
    if #others > 0 then first = near end
    list(matches, near, others)
  end
  return first and matches
end

local answers, wrote = { ahead_of }, false
for i = 9, #ARGV, 2 do
  local id, record = ARGV[i], ARGV[i + 1]
  local old, old_facets = record_of(id)
  local was_there = old and is_live(old)
  local answer = 'U'
  if not (was_there and same_sketch(old, record)) then
    local facets = facets_of(record)
    answer = rule and nearest(id, record, facets)
    if not answer then
      if old then unfile(id, old, old_facets) end
      put(id, record, facets)
      wrote = true
      answer = was_there and 'R' or 'I'
    end
  end
  answers[#answers + 1] = answer
  if budget < 0 then break end
end
if wrote then keep(answers) end
return answers
