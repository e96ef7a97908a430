-- Inserts. ARGV after the first two: how much may be swept; the caller's time, how far it may be ahead, and 1 if nothing is
-- to be written then; the rule by which nothing may be near, or nothing; how much may be read, and how many documents are
-- worth a count; then for each document its id, its record, its text as it is kept, the digest of a text under its id that was
-- counted and is another one, and what was counted of others and is not near: runs, each with the digest of a text. Answers what `sweep` does, then for each document U (unchanged), I (inserted),
-- R (replaced), or for a duplicate matches (`list`), of which the least is the nearest. Where too much was read, the last
-- documents are left without an answer; and where texts are counted, those after a document of which something has to be counted
-- first: the last answer is W (wait) then.
local rule, budget, most = ARGV[7] ~= '' and rule_of(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local ahead_of = sweep(tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1')
if ahead_of > 0 and ARGV[6] == '1' then return { ahead_of } end
-- What is inserted here has not expired.
local filters = rule and has_expired()

-- Looks for what is near or worth a count: runs of either.
local function search(record, facets)
  local found, _, cost = near_runs(query_of(record, facets), rule)
  budget = budget - cost
  return by_worth(found)
end

-- A run and a digest, in bytes.
local CONTENT = 16 + DIGEST

local function set_of(counted)
  local set = {}
  for at = 1, #counted, CONTENT do set[sub(counted, at, at + CONTENT - 1)] = true end
  return set
end

-- Whether anything is near that its caller did not know of: anything by simhashes or signatures, and whatever is worth a
-- count and was not counted.
local function is_disturbed(id, record, facets, counted)
  local near, worth = search(record, facets)
  local matches, n_looked = nearest_of(near, id, filters)
  local is_new, is_counted = matches ~= nil, set_of(counted)
  local function visit(run, _, digest)
    is_new = is_new or not is_counted[run.run .. digest]
    return is_new
  end
  local _, n_worth = each_worth(worth, id, most, filters, visit)
  budget = budget - n_looked - n_worth
  return is_new
end

-- Other documents that are near, the nearest among them, or nil; and whether something has to be counted first.
local function others(id, record, facets, counted)
  if rule.counts then return nil, is_disturbed(id, record, facets, counted) end
  local near = search(record, facets)
  local matches, n_looked = nearest_of(near, id, filters)
  budget = budget - n_looked
  return matches, false
end

-- Writes a document down.
local function write(id, record, facets, text, old, old_facets)
  if old then unfile(id, old, old_facets) end
  put(id, record, facets, text)
end

-- Inserts a document, and answers what became of it.
local function insert(id, record, text, of_own, counted)
  local old, old_facets = record_of(id)
  local was_there = old and is_live(old)
  local own = was_there and compare_own(id, old, record) or ''
  if own == SAME then
    -- One that was damaged is whole then; another Zstandard may have made other bytes.
    if text ~= '' and call('GET', TEXTS .. id) ~= text then call('SET', TEXTS .. id, text) end
    return 'U', false
  elseif rule and rule.counts and own ~= '' and own ~= of_own then
    return 'W', false
  end
  local facets = facets_of(record)
  if rule then
    local matches, is_new = others(id, record, facets, counted)
    if is_new then return 'W', false end
    if matches then return matches, false end
  end
  write(id, record, facets, text, old, old_facets)
  return was_there and 'R' or 'I', true
end

local answers, wrote = { ahead_of }, false
for i = 10, #ARGV, 5 do
  local answer, writes = insert(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
  answers[#answers + 1] = answer
  wrote = wrote or writes
  if answer == 'W' or budget < 0 then break end
end
if wrote then keep(answers) end
return answers
