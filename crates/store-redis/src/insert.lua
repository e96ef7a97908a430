-- Inserts. ARGV after the first two: how much may be swept; the caller's time, how far it may be ahead, and 1 if nothing is
-- to be written then; the distance within which nothing may be, or -1; how much may be read; then pairs of an id and its
-- record. Answers what `sweep` does, then for each document U (unchanged), I (inserted), R (replaced), or for a duplicate
-- runs each with an id after it, of which the least is the nearest. Where too much was read, the last documents are left
-- without an answer.
local most, budget = tonumber(ARGV[7]), tonumber(ARGV[8])
local ahead_of = sweep(tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1')
if ahead_of > 0 and ARGV[6] == '1' then return { ahead_of } end
-- What is inserted here has not expired.
local filters = most >= 0 and has_expired()

-- Other ids of all the nearest runs that have one, the first of each run among them.
local function nearest(id, record)
  local high, low = struct.unpack('>I4I4', record, 2)
  local found, n_read = near_runs(high, low, most, record, keys_from(record), #record - 4)
  budget = budget - n_read
  local others = {}
  for _, near in ipairs(found) do
    if #others > 0 and near.distance > others.distance then break end
    local _, ids, n_looked = live_of(near.run, 2, filters)
    budget = budget - n_looked
    for _, other in ipairs(ids) do
      if other ~= id then
        others.distance = near.distance
        others[#others + 1] = near.run .. other
      end
    end
  end
  others.distance = nil
  return #others > 0 and others
end

local answers, wrote = { ahead_of }, false
for i = 9, #ARGV, 2 do
  local id, record = ARGV[i], ARGV[i + 1]
  local old = record_of(id)
  local was_there = old and is_live(old)
  local answer = 'U'
  if not (was_there and same_sketch(old, record)) then
    answer = most >= 0 and nearest(id, record)
    if not answer then
      if old then unfile(id, old) end
      put(id, record)
      wrote = true
      answer = was_there and 'R' or 'I'
    end
  end
  answers[#answers + 1] = answer
  if budget < 0 then break end
end
if wrote then keep(answers) end
return answers
