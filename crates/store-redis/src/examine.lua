-- Looks at what SCAN and its like have listed, and mends it in the same moment if it may. Nothing comes between, so what is
-- not as it should be here is so indeed. ARGV after the first two: what is looked at; 1 if it mends; then pairs. Answers for each
-- pair 1 where something is wrong, and 0 where nothing is, or where it has gone since.
local what, mends = ARGV[3], ARGV[4] == '1'

-- The record of a document, or false; whether there is one that cannot be read, which belongs no script knows where; and the
-- ways in which it is filed.
local function readable(id)
  local is_readable, record, facets = pcall(record_of, id)
  return is_readable and record, not is_readable, facets
end

local check = {}

-- A document must be wherever its record says.
function check.d(id)
  local record, _, facets = readable(id)
  if not record then return false end
  local missing = {}
  local function expect(key, member, score)
    local found = call('ZSCORE', key, member)
    if not found or tonumber(found) ~= score then
      missing[#missing + 1] = key
      if mends then call('ZADD', key, score, member) end
    end
  end
  local run = run_of(record)
  expect(IDS, id, 0)
  each_bucket(record, facets, function(bucket, member) expect(bucket, member, 0) end)
  local n_before = call('ZCARD', RUNS .. run)
  expect(RUNS .. run, id, 0)
  if EXPIRED then
    local time = time_of(record)
    expect(TIMES, id, time)
    local n = call('ZCARD', RUNS .. run)
    if n == SMALL + 1 and n_before == SMALL then
      fill_run_times(run, time)
    elseif n > SMALL then
      expect(RUN_TIMES .. run, id, time)
    end
  end
  return #missing > 0
end

-- Whether two records say the same but of a text, which the first names and the second does not.
local function is_but_told(record, untold)
  return sub(record, 2, last_of(record)) == sub(untold, 2, -5)
end

-- A document whose record names a text must have one. One that has lost it becomes one that came without: `untold` is what
-- its record is then, if it is still what the caller has read.
function check.l(id, untold)
  local record = readable(id)
  if not record or not is_told(record) or call('EXISTS', TEXTS .. id) == 1 then return false end
  if mends and is_but_told(record, untold) then call('SET', DOCUMENTS .. id, untold) end
  return true
end

-- A text must be of a document whose record names it.
function check.x(id)
  if call('EXISTS', TEXTS .. id) == 0 then return false end
  local record, is_damaged = readable(id)
  if is_damaged or record and is_told(record) then return false end
  if mends then call('DEL', TEXTS .. id) end
  return true
end

-- An id of a run must have a record of this run.
function check.r(run, id)
  if not call('ZSCORE', RUNS .. run, id) then return false end
  local record, is_damaged = readable(id)
  if is_damaged or record and run_of(record) == run then return false end
  if mends then
    call('ZREM', RUNS .. run, id)
    if EXPIRED then take_from_run_times(run, id, call('ZCARD', RUNS .. run)) end
  end
  return true
end

-- An id of a large run by time must be one of the run, which must be large.
function check.t(run, id)
  if not call('ZSCORE', RUN_TIMES .. run, id) then return false end
  if call('ZCARD', RUNS .. run) > SMALL and call('ZSCORE', RUNS .. run, id) then return false end
  if mends then call('ZREM', RUN_TIMES .. run, id) end
  return true
end

-- An id must have a record.
function check.i(id)
  if call('EXISTS', DOCUMENTS .. id) == 1 then return false end
  if not call('ZSCORE', IDS, id) and not call('ZSCORE', TIMES, id) then return false end
  if mends then
    call('ZREM', IDS, id)
    call('ZREM', TIMES, id)
  end
  return true
end

-- A run of a bucket must have ids, whose records list the bucket for a facet of these bits.
function check.b(bucket, member)
  if not call('ZSCORE', BUCKETS .. bucket, member) then return false end
  local run = run_of_member(member)
  local id = call('ZRANGE', RUNS .. run, 0, 0)[1]
  if id then
    local record, _, facets = readable(id)
    -- Else the id is a ghost itself, or nobody knows.
    if not record or run_of(record) ~= run then return false end
    local is_listed = false
    each_bucket(record, facets, function(listed, as)
      is_listed = is_listed or as == member and listed == BUCKETS .. bucket
    end)
    if is_listed then return false end
  end
  if mends then call('ZREM', BUCKETS .. bucket, member) end
  return true
end

local answers, is_wrong_anywhere = {}, false
for i = 5, #ARGV, 2 do
  local is_wrong = check[what](ARGV[i], ARGV[i + 1])
  is_wrong_anywhere = is_wrong_anywhere or is_wrong
  answers[#answers + 1] = is_wrong and 1 or 0
end
if mends and is_wrong_anywhere then keep(answers) end
return answers
