-- Inserts. ARGV: the distance within which nothing may be, or -1; how much may be read; then pairs of an id and its
-- record. Answers for each document U (unchanged), I (inserted), R (replaced), or for a duplicate runs each with an
-- id after it, of which the least is the nearest. Where too much was read, the last documents are left without an answer.
local most, budget = tonumber(ARGV[1]), tonumber(ARGV[2])

-- The first other ids of all the nearest runs that have one.
local function nearest(id, record)
  local high, low = struct.unpack('>I4I4', record, 2)
  local found, n_read = near_runs(high, low, most, record, keys_from(record), #record - 4)
  budget = budget - n_read
  local others = {}
  for _, near in ipairs(found) do
    if #others > 0 and near.distance > others.distance then break end
    for _, other in ipairs(ids_of(near.run, 2)) do
      if other ~= id then
        others.distance = near.distance
        others[#others + 1] = near.run .. other
        break
      end
    end
  end
  others.distance = nil
  return #others > 0 and others
end

local answers, wrote = {}, false
for i = 3, #ARGV, 2 do
  local id, record = ARGV[i], ARGV[i + 1]
  local old = record_of(id)
  local answer = 'U'
  if not (old and same_sketch(old, record)) then
    answer = most >= 0 and nearest(id, record)
    if not answer then
      if old then unfile(id, old) end
      put(id, record)
      wrote = true
      answer = old and 'R' or 'I'
    end
  end
  answers[#answers + 1] = answer
  if budget < 0 then break end
end
if wrote then keep(answers) end
return answers
