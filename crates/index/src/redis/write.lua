-- What the scripts that write begin with, after `bucket.lua`. KEYS[8] keeps the answer for whoever did not get it: a
-- script that is run again with the same key has done its work, and only repeats what it said. Longer than any caller
-- tries (`server.rs`).
local ANSWER, ANSWER_SECONDS = KEYS[8], 180

-- A script sweeps no more documents once they were in more buckets than this.
local SWEPT_BUCKETS = 4096

do
  local again = call('GET', ANSWER)
  if again then return cmsgpack.unpack(again) end
end

local function keep(answers)
  call('SET', ANSWER, cmsgpack.pack(answers), 'EX', ANSWER_SECONDS)
end

-- The run of a record, and where its keys begin.
local function run_of(record)
  return sub(record, 2, time_at(record) - 1), keys_from(record)
end

-- Whether two records are of equal sketches, whatever their times and sources.
local function same_sketch(a, b)
  local run_a, first_a = run_of(a)
  local run_b, first_b = run_of(b)
  return run_a == run_b and sub(a, first_a, -5) == sub(b, first_b, -5)
end

-- A run has just become large: its ids by time. `time` is of the one that has no time yet.
local function fill_run_times(run, time)
  for _, member in ipairs(call('ZRANGE', RUNS .. run, 0, -1)) do
    call('ZADD', RUN_TIMES .. run, call('ZSCORE', TIMES, member) or time, member)
  end
end

-- A document has left its run, which has `n` now.
local function take_from_run_times(run, id, n)
  if n == SMALL then
    call('DEL', RUN_TIMES .. run)
  elseif n > SMALL then
    call('ZREM', RUN_TIMES .. run, id)
  end
end

-- Files a document under its run, and a run that is new under all its keys.
local function put(id, record)
  local run, first = run_of(record)
  call('SET', DOCUMENTS .. id, record)
  call('ZADD', IDS, 0, id)
  call('ZADD', RUNS .. run, 0, id)
  local n = call('ZCARD', RUNS .. run)
  if n == 1 then
    for at = first, #record - 4, 5 do
      call('ZADD', BUCKETS .. sub(record, at, at + 4), 0, run)
    end
  end
  if not EXPIRED then return end
  local time = time_of(record)
  call('ZADD', TIMES, time, id)
  if n == SMALL + 1 then
    fill_run_times(run, time)
  elseif n > SMALL then
    call('ZADD', RUN_TIMES .. run, time, id)
  end
end

-- Takes a document out of its run, and a run that is empty then out of all its buckets. The record stays.
local function unfile(id, record)
  local run, first = run_of(record)
  call('ZREM', RUNS .. run, id)
  local n = call('ZCARD', RUNS .. run)
  if n == 0 then
    for at = first, #record - 4, 5 do
      call('ZREM', BUCKETS .. sub(record, at, at + 4), run)
    end
  end
  if EXPIRED then take_from_run_times(run, id, n) end
end

-- The record of a document, or false. One of another version has its keys elsewhere.
local function record_of(id)
  local record = call('GET', DOCUMENTS .. id)
  if not record then return false end
  local at = #record > 10 and byte(record, 1) == 2 and time_at(record)
  local n_key_bytes = at and #record >= at + 12 and #record - keys_from(record) - 3
  if not n_key_bytes or n_key_bytes < 0 or n_key_bytes % 5 ~= 0 then
    error('DAMAGED ' .. id, 0)
  end
  return record
end

-- Takes a document away altogether.
local function remove(id, record)
  unfile(id, record)
  call('DEL', DOCUMENTS .. id)
  call('ZREM', IDS, id)
  if EXPIRED then call('ZREM', TIMES, id) end
end

-- Removes what has expired, the oldest first, at most `most` documents. Before anything is inserted: a server that is
-- full refuses a script whose first step needs room.
local function sweep(most)
  if not EXPIRED then return end
  local n_buckets = 0
  for _, id in ipairs(call('ZRANGEBYSCORE', TIMES, '-inf', ARGV[1], 'LIMIT', 0, most)) do
    local record = record_of(id)
    if record then
      n_buckets = n_buckets + (#record - keys_from(record) - 3) / 5
      remove(id, record)
    else
      call('ZREM', TIMES, id)
    end
    if n_buckets > SWEPT_BUCKETS then break end
  end
end
