-- Looks what an insertion by a rule that counts texts has to count. ARGV after the first two: the rule; how much may be read, and
-- how many documents are worth a count; then for each document its id and its record. Answers for each what its id stands for
-- (`compare_own`); matches (`list`) that are near whatever texts say, of which the least is the nearest; groups of what is worth a
-- count: by what a run is compared, the run, and ids with digests in turn, empty for those that have no text; and 1 if some of
-- these are left out. Where too much was read, the last documents are left without an answer.
local rule, budget, most = rule_of(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local filters = has_expired()

local function look(id, record)
  local old = record_of(id)
  local own = old and is_live(old) and compare_own(id, old, record) or ''
  if own == SAME then return { own, {}, {}, 0 } end
  local found, _, cost = near_runs(query_of(record, facets_of(record)), rule)
  local near, worth = by_worth(found)
  local matches, n_looked = nearest_of(near, id, filters)
  local groups, last = {}, nil
  local function visit(run, other, digest)
    if run ~= last then
      groups[#groups + 1] = { run.features, run.run }
      last = run
    end
    local group = groups[#groups]
    group[#group + 1], group[#group + 2] = other, digest
  end
  local is_cut, n_worth = each_worth(worth, id, most, filters, visit)
  budget = budget - cost - n_looked - n_worth
  return { own, matches or {}, groups, is_cut and 1 or 0 }
end

local answers = {}
for i = 6, #ARGV, 2 do
  answers[#answers + 1] = look(ARGV[i], ARGV[i + 1])
  if budget < 0 then break end
end
return answers
